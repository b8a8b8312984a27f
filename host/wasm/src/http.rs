//! Requests of plugins to the hosts that their rows grant.
//!
//! Owns which URL a grant covers, which addresses a name may lead to, and what of a request is
//! refused. Follows no redirect, uses no proxy and keeps no cookie or connection, so that what
//! was checked is what is reached. Knows nothing of guests.

mod address;
mod grant;
mod names;
mod request;

use std::{error::Error, fmt::Display, sync::OnceLock, time::Duration};

use reqwest::{Client, Response, Url, redirect, retry};
use rustls::crypto::{CryptoProvider, ring};

use grant::covers;
pub use grant::{HttpGrant, InvalidHttpGrant};
use names::{CheckedNames, LookUp, PrivateAddress, system_look_up};

/// A request of a plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HttpRequest {
    /// The method, in capitals.
    pub method: String,
    /// An absolute URL of the scheme `http` or `https`.
    pub url: String,
    /// The headers: names and values.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body.
    pub body: Option<Vec<u8>>,
}

/// A whole response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HttpResponse {
    /// The status code.
    pub status: u16,
    /// The headers: names and values.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body.
    pub body: Vec<u8>,
}

/// Why there is no response.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HttpError {
    /// No grant covers the host, or its name leads to an address that it does not cover.
    #[error("{0}")]
    NotGranted(String),
    /// The request makes no sense, or asks for what a plugin may not ask for.
    #[error("{0}")]
    InvalidRequest(String),
    /// Headers and body of the response have more than this many bytes.
    #[error("the response is larger than {0} bytes")]
    TooLarge(u64),
    /// There was no whole response in time.
    #[error("there was no response in time")]
    TimedOut,
    /// The name, the connection or the exchange failed.
    #[error("{0}")]
    Failed(String),
}

/// Sends the requests of all plugins.
#[derive(Debug)]
pub(crate) struct HttpClient {
    names: CheckedNames,
    /// For `http`, apart from `secure`, so that a system without certificates can use it.
    plain: OnceLock<Result<Client, String>>,
    /// For `https`. Made when it is first needed, since it reads the system's certificates.
    secure: OnceLock<Result<Client, String>>,
}

impl Default for HttpClient {
    fn default() -> Self {
        Self::new()
    }
}

impl HttpClient {
    /// Returns a client that looks names up as the system does.
    pub(crate) fn new() -> Self {
        Self::with(system_look_up)
    }

    fn with(look_up: LookUp) -> Self {
        Self {
            names: CheckedNames(look_up),
            plain: OnceLock::new(),
            secure: OnceLock::new(),
        }
    }

    /// Sends a request that the grants cover and returns the whole response, whatever its status.
    ///
    /// `timeout` is for all of it: the name, the connection, the request and the response. A
    /// response whose headers and body have more than `max_response_bytes` is cut off.
    pub(crate) async fn send(
        &self,
        grants: &[HttpGrant],
        request: HttpRequest,
        max_response_bytes: u64,
        timeout: Duration,
    ) -> Result<HttpResponse, HttpError> {
        let url = request::check_url(&request.url)?;
        if !covers(grants, &url) {
            let wanted = HttpGrant::of(&url)?;
            return Err(HttpError::NotGranted(format!(
                "the row grants no `http` to `{wanted}`: add it to the row's grant `http`"
            )));
        }
        let client = self.client(&url)?;
        let request = request::check(request, url.clone())?;
        let exchange = async {
            let sent = client.execute(request).await;
            let response = sent.map_err(|error| failure(&url, &error))?;
            read(&url, response, max_response_bytes).await
        };
        tokio::time::timeout(timeout, exchange)
            .await
            .map_err(|_elapsed| HttpError::TimedOut)?
    }

    fn client(&self, url: &Url) -> Result<&Client, HttpError> {
        let client = if url.scheme() == "https" {
            self.secure.get_or_init(|| make_secure(self.names))
        } else {
            self.plain.get_or_init(|| make_plain(self.names))
        };
        client.as_ref().map_err(|why| {
            let scheme = url.scheme();
            HttpError::Failed(format!("the host cannot use `{scheme}`: {why}"))
        })
    }
}

fn make_plain(names: CheckedNames) -> Result<Client, String> {
    build(names, |builder| builder.tls_certs_only([]))
}

fn make_secure(names: CheckedNames) -> Result<Client, String> {
    let client = build(names, |builder| builder.https_only(true));
    client.map_err(|why| format!("{why}; install the system's CA certificates"))
}

fn build(
    names: CheckedNames,
    scheme: impl FnOnce(reqwest::ClientBuilder) -> reqwest::ClientBuilder,
) -> Result<Client, String> {
    if CryptoProvider::get_default().is_none()
        && ring::default_provider().install_default().is_err()
    {
        tracing::debug!("another thread chose the provider of cryptography first");
    }
    scheme(Client::builder())
        .dns_resolver(names)
        .no_proxy()
        .redirect(redirect::Policy::none())
        .retry(retry::never())
        .referer(false)
        // A connection that is kept would be shared by rows that trust each other with nothing.
        .pool_max_idle_per_host(0)
        .build()
        .map_err(|error| root(&error).to_string())
}

/// Reads a response to its end, or to the limit.
async fn read(
    url: &Url,
    mut response: Response,
    max_response_bytes: u64,
) -> Result<HttpResponse, HttpError> {
    let too_large = HttpError::TooLarge(max_response_bytes);
    let headers: Vec<(String, Vec<u8>)> = response
        .headers()
        .iter()
        .map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec()))
        .collect();
    let of_headers: usize = headers
        .iter()
        .map(|(name, value)| name.len() + value.len())
        .sum();
    let limit = max_response_bytes.checked_sub(of_headers as u64);
    let limit = limit.ok_or_else(|| too_large.clone())?;
    if response.content_length().is_some_and(|bytes| bytes > limit) {
        return Err(too_large);
    }
    let mut body = Vec::new();
    while let Some(chunk) = response
        .chunk()
        .await
        .map_err(|error| failure(url, &error))?
    {
        if (body.len() + chunk.len()) as u64 > limit {
            return Err(too_large);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(HttpResponse {
        status: response.status().as_u16(),
        headers,
        body,
    })
}

fn failure(url: &Url, error: &reqwest::Error) -> HttpError {
    let refused = causes(error).find_map(|cause| cause.downcast_ref::<PrivateAddress>());
    match refused {
        Some(refused) => HttpError::NotGranted(refused.to_string()),
        None => failed(url, root(error)),
    }
}

fn failed(url: &Url, why: impl Display) -> HttpError {
    let host = url.host_str().unwrap_or("the host");
    HttpError::Failed(format!("the exchange with `{host}` failed: {why}"))
}

/// Returns the error that the others are about, which says the most in the fewest words.
fn root<'a>(error: &'a (dyn Error + 'static)) -> &'a (dyn Error + 'static) {
    causes(error).last().unwrap_or(error)
}

fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error: &&'a (dyn Error + 'static)| {
        error.source()
    })
}

#[cfg(test)]
mod tests;
