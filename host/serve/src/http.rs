//! The HTTP door's address: 127.0.0.1 and a port of our own choice, unless told otherwise.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
};

/// Connections at once. What is beyond waits in the system's queue: whoever opens connections
/// without end keeps other HTTP clients out, and neither the control socket nor a descriptor
/// that anything else needs.
const MAX_CONNECTIONS: usize = 128;

/// The port that is tried first.
const PORT: u16 = 7707;

/// How many further ports are tried.
const FURTHER: u16 = 20;

/// Binds the address that was asked for, or the first free port from 7707 on.
pub(crate) async fn bind(address: Option<SocketAddr>) -> io::Result<TcpListener> {
    if let Some(address) = address {
        return TcpListener::bind(address).await.map_err(|error| {
            io::Error::new(error.kind(), format!("cannot listen on {address}: {error}"))
        });
    }
    let mut last = io::Error::other("no port was tried");
    for port in PORT..=PORT + FURTHER {
        match TcpListener::bind(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port)).await {
            Ok(listener) => return Ok(listener),
            Err(error) => last = error,
        }
    }
    Err(io::Error::new(
        last.kind(),
        format!("no port from {PORT} to {} is free: {last}", PORT + FURTHER),
    ))
}

/// A listener that holds at most [`MAX_CONNECTIONS`].
pub(crate) struct Limited {
    listener: TcpListener,
    places: Arc<Semaphore>,
}

/// A connection and its place.
pub(crate) struct Held {
    stream: TcpStream,
    _place: Option<OwnedSemaphorePermit>,
}

impl Limited {
    pub(crate) fn new(listener: TcpListener) -> Self {
        Self {
            listener,
            places: Arc::new(Semaphore::new(MAX_CONNECTIONS)),
        }
    }
}

impl axum::serve::Listener for Limited {
    type Io = Held;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Held, SocketAddr) {
        // Nobody closes the semaphore, so that this only ever waits.
        let place = Arc::clone(&self.places).acquire_owned().await.ok();
        let (stream, address) = axum::serve::Listener::accept(&mut self.listener).await;
        let held = Held {
            stream,
            _place: place,
        };
        (held, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

impl AsyncRead for Held {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Held {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
