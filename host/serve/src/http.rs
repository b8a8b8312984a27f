//! The HTTP door's address: 127.0.0.1 and a port of our own choice, unless told otherwise.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
};

use tokio::net::TcpListener;

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
