//! Whether the client of a handshake's session is still there.
//!
//! In the handshake era a broken connection does not take a request back: the client
//! may come again and resume the stream. A client that died never does, and the call it
//! left behind must not wait for an approval for ever.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
    time::Duration,
};

use tokio::sync::{Mutex, watch};

/// How long a client without any connection is waited for. Clients resume within
/// seconds; a laptop that changes its network takes longer.
const GRACE: Duration = Duration::from_secs(60);

/// The open connections of one session.
pub(crate) struct Presence {
    connections: watch::Sender<usize>,
}

/// One open connection.
pub(crate) struct Connection {
    presence: Arc<Presence>,
}

impl Presence {
    fn new() -> Self {
        Self {
            connections: watch::Sender::new(0),
        }
    }

    /// Counts a connection until what is returned is dropped.
    pub(crate) fn connect(self: &Arc<Self>) -> Connection {
        self.connections.send_modify(|count| *count += 1);
        Connection {
            presence: self.clone(),
        }
    }

    /// Waits until there was no connection for a while.
    pub(crate) async fn gone(&self) {
        self.gone_for(GRACE).await;
    }

    async fn gone_for(&self, grace: Duration) {
        let mut connections = self.connections.subscribe();
        loop {
            // Waiting cannot fail: the sender is `self`.
            if connections.wait_for(|count| *count == 0).await.is_err() {
                return;
            }
            tokio::select! {
                () = tokio::time::sleep(grace) => return,
                _ = connections.wait_for(|count| *count > 0) => {}
            }
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.presence.connections.send_modify(|count| *count -= 1);
    }
}

/// The sessions that have a connection or a running call, by their id in the protocol.
#[derive(Default)]
pub(crate) struct Presences(Mutex<HashMap<String, Weak<Presence>>>);

impl Presences {
    /// Returns the presence of the session `id`.
    pub(crate) async fn of(&self, id: &str) -> Arc<Presence> {
        let mut known = self.0.lock().await;
        if let Some(presence) = known.get(id).and_then(Weak::upgrade) {
            return presence;
        }
        known.retain(|_, presence| presence.strong_count() > 0);
        let presence = Arc::new(Presence::new());
        known.insert(id.to_owned(), Arc::downgrade(&presence));
        presence
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[tokio::test]
    async fn a_client_is_gone_after_a_while_without_connections() {
        let presence = Presences::default().of("a").await;
        let connection = presence.connect();
        let waiting = presence.gone_for(Duration::ZERO).now_or_never();
        assert!(waiting.is_none(), "it is connected");
        drop(connection);
        let waiting = presence.gone_for(Duration::from_secs(3_600)).now_or_never();
        assert!(waiting.is_none(), "it may come again");
        presence.gone_for(Duration::ZERO).await;
    }

    #[tokio::test]
    async fn sessions_are_told_apart_and_forgotten() {
        let presences = Presences::default();
        let a = presences.of("a").await;
        assert!(Arc::ptr_eq(&a, &presences.of("a").await));
        assert!(!Arc::ptr_eq(&a, &presences.of("b").await));
        drop(a);
        let c = presences.of("c").await;
        assert_eq!(presences.0.lock().await.len(), 1);
        drop(c);
    }
}
