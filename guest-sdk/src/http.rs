//! The hosts that the row lets a plugin speak to.

use serde::{Serialize, de::DeserializeOwned};
use thiserror::Error;

use crate::host;

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The method, for instance `GET`.
    pub method: String,
    /// An absolute URL of the scheme `http` or `https`.
    pub url: String,
    /// The headers.
    pub headers: Vec<Header>,
    /// The body.
    pub body: Option<Vec<u8>>,
}

/// A header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// The name.
    pub name: String,
    /// The value.
    pub value: Vec<u8>,
}

/// A response. Redirects are not followed: the plugin sees them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// The headers.
    pub headers: Vec<Header>,
    /// The body.
    pub body: Vec<u8>,
}

/// Why there is no response.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum HttpError {
    /// The grant `http` does not cover this host; the text names it.
    #[error("the grant `http` does not name {0}: ask for it in GRANTS and give it in the row")]
    NotGranted(String),
    /// The request makes no sense; the text says why.
    #[error("the request makes no sense: {0}")]
    InvalidRequest(String),
    /// The response is larger than this many bytes.
    #[error("the response is larger than {0} bytes")]
    TooLarge(u64),
    /// There was no response in time.
    #[error("there was no response in time")]
    TimedOut,
    /// The connection failed; the text says how.
    #[error("{0}")]
    Failed(String),
}

/// Sends a request and returns the whole response.
///
/// Needs a grant `http` that names the host. A name that leads to an address of a private
/// network is refused; such an address has to be granted itself.
///
/// # Errors
///
/// Why there is no response. A status that tells of an error is a response.
pub fn send(request: Request) -> Result<Response, HttpError> {
    host::send(request)
}

impl Request {
    /// Returns a request without headers and body.
    pub fn new(method: impl Into<String>, url: impl Into<String>) -> Self {
        Self {
            method: method.into(),
            url: url.into(),
            headers: Vec::new(),
            body: None,
        }
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<Vec<u8>>) -> Self {
        self.headers.push(Header {
            name: name.into(),
            value: value.into(),
        });
        self
    }

    /// Takes a value as its JSON body, with the header that says so.
    ///
    /// # Errors
    ///
    /// The value is not one that JSON can say.
    pub fn json(mut self, value: &impl Serialize) -> Result<Self, HttpError> {
        let body = serde_json::to_vec(value)
            .map_err(|error| HttpError::InvalidRequest(error.to_string()))?;
        self.body = Some(body);
        Ok(self.header("content-type", "application/json"))
    }
}

impl Response {
    /// Returns a response without headers.
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: body.into(),
        }
    }

    /// Returns the value of the first header with this name, in whatever case.
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        self.headers
            .iter()
            .find(|header| header.name.eq_ignore_ascii_case(name))
            .map(|header| &*header.value)
    }

    /// Reads its JSON body.
    ///
    /// # Errors
    ///
    /// The body is something else.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, HttpError> {
        serde_json::from_slice(&self.body)
            .map_err(|error| HttpError::Failed(format!("the response is unreadable: {error}")))
    }
}
