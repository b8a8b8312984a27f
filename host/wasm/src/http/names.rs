//! Turning names into addresses that a plugin may reach.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    pin::Pin,
};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::address::is_public;

/// The one name that may lead to this machine, and never leads anywhere else.
const LOCALHOST: &str = "localhost";

/// Asks for the addresses of a name.
pub(super) type LookUp = fn(&str) -> Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// A name that leads to an address a grant of the name does not cover.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{name}` leads to {address}, which is not an address of the public internet: grant that \
     address itself and ask for it, not for the name"
)]
pub(super) struct PrivateAddress {
    name: String,
    address: IpAddr,
}

/// Looks names up, each once for a connection, and hands out nothing but checked addresses. The
/// connection is made to these, so an answer that changes a moment later changes nothing.
#[derive(Debug, Clone, Copy)]
pub(super) struct CheckedNames(pub(super) LookUp);

impl Resolve for CheckedNames {
    fn resolve(&self, name: Name) -> Resolving {
        let look_up = self.0;
        Box::pin(async move {
            let name = name.as_str();
            let addresses = if name == LOCALHOST {
                vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]
            } else {
                check(name, look_up(name).await?)?
            };
            let places = addresses.into_iter();
            // Port 0 stands for the port of the URL.
            let places = places.map(|address| SocketAddr::new(address, 0));
            Ok(Box::new(places) as Addrs)
        })
    }
}

/// Refuses all of a name's addresses if one of them is not public: such a name is set up to be
/// tried until the right one comes.
fn check(name: &str, addresses: Vec<IpAddr>) -> Result<Vec<IpAddr>, PrivateAddress> {
    match addresses.iter().find(|address| !is_public(**address)) {
        Some(address) => Err(PrivateAddress {
            name: name.to_owned(),
            address: *address,
        }),
        None => Ok(addresses),
    }
}

/// Asks as all programs of the system do.
pub(super) fn system_look_up(
    name: &str,
) -> Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>> {
    let name = name.to_owned();
    Box::pin(async move {
        let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
        Ok(found.map(|place| place.ip()).collect())
    })
}
