//! What a guest writes to stdout and stderr: its log, capped and made safe to show.

use std::sync::{Arc, Mutex, PoisonError};

use wasmtime_wasi::{
    async_trait,
    cli::{IsTerminal, StdoutStream},
    p2::{OutputStream, Pollable, StreamError, StreamResult},
};

use crate::limits::{LimitHit, LimitKey};

/// The most that one write may carry, and so what the host may have to allocate for it.
const PERMIT: usize = 4096;

/// The end of a log that goes into the message about a trap.
const LAST_WORDS: usize = 300;

/// The log of one instance. The store's streams and the host share it, hence the lock.
#[derive(Debug, Clone)]
pub(crate) struct GuestLog {
    bytes: Arc<Mutex<Vec<u8>>>,
    limit: u64,
}

impl GuestLog {
    pub(crate) fn new(limit: u64) -> Self {
        Self {
            bytes: Arc::default(),
            limit,
        }
    }

    /// Returns the whole log as text, control characters replaced.
    pub(crate) fn text(&self) -> String {
        clean(&self.bytes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the end of the log on one line.
    pub(crate) fn last_words(&self) -> String {
        let bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let start = bytes.len().saturating_sub(LAST_WORDS);
        clean(&bytes[start..])
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// Adds to the log. Fails where that would be more than the limit.
    pub(crate) fn append(&self, bytes: &[u8]) -> Result<(), LimitHit> {
        let mut log = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let room = self.limit.saturating_sub(log.len() as u64);
        if bytes.len() as u64 > room {
            return Err(LimitHit::bytes(LimitKey::Log, self.limit));
        }
        log.extend_from_slice(bytes);
        Ok(())
    }
}

/// Returns bytes as text that is safe to show.
pub(crate) fn clean(bytes: &[u8]) -> String {
    damper_call::shown(&String::from_utf8_lossy(bytes))
}

impl IsTerminal for GuestLog {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for GuestLog {
    fn async_stream(&self) -> Box<dyn tokio::io::AsyncWrite + Send + Sync> {
        // Only WASI 0.3 asks for this kind of stream, and it is not linked.
        Box::new(tokio::io::sink())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

impl OutputStream for GuestLog {
    fn write(&mut self, bytes: bytes::Bytes) -> StreamResult<()> {
        self.append(&bytes)
            .map_err(|hit| StreamError::Trap(hit.into()))
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(PERMIT)
    }
}

#[async_trait]
impl Pollable for GuestLog {
    async fn ready(&mut self) {}
}
