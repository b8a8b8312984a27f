//! What of a plugin's request is refused before anything is sent.

use reqwest::{
    Method, Request, Url,
    header::{HeaderMap, HeaderName, HeaderValue},
};

use super::{HttpError, HttpRequest};

/// The methods a plugin may use. `CONNECT` and `TRACE` speak to proxies.
const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/// The longest URL, in bytes: what servers commonly take.
const MAX_URL_BYTES: usize = 8 << 10;

/// The most headers: far more than any interface asks for.
const MAX_HEADERS: usize = 64;

/// The most bytes of names and values of headers: room for a large token, and what servers
/// commonly take.
const MAX_HEADER_BYTES: usize = 16 << 10;

/// The largest body, in bytes: the host holds it beside the guest's own copy.
const MAX_BODY_BYTES: usize = 8 << 20;

/// The headers that belong to the connection, or decide where a message ends or who gets it.
const OF_THE_CONNECTION: [&str; 12] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Returns the URL of a request if a plugin may use its like, whoever it leads to.
pub(super) fn check_url(text: &str) -> Result<Url, HttpError> {
    if text.len() > MAX_URL_BYTES {
        return Err(invalid(format!(
            "a URL has at most {MAX_URL_BYTES} bytes, and this one has {}",
            text.len()
        )));
    }
    let url = Url::parse(text).map_err(|error| {
        invalid(format!(
            "`{text}` is not an absolute URL ({error}): write `https://host/path`"
        ))
    })?;
    if !["http", "https"].contains(&url.scheme()) {
        let scheme = url.scheme();
        return Err(invalid(format!(
            "the scheme `{scheme}` is not supported: use `http` or `https`"
        )));
    }
    // Not repeated in the text: it is a secret.
    if !url.username().is_empty() || url.password().is_some() {
        return Err(invalid(
            "the URL holds a user or a password: send the header `authorization`",
        ));
    }
    Ok(url)
}

/// Returns the request to be sent.
pub(super) fn check(request: HttpRequest, url: Url) -> Result<Request, HttpError> {
    let mut checked = Request::new(check_method(&request.method)?, url);
    *checked.headers_mut() = check_headers(&request.headers)?;
    if let Some(body) = request.body {
        if body.len() > MAX_BODY_BYTES {
            return Err(invalid(format!(
                "a body has at most {MAX_BODY_BYTES} bytes, and this one has {}",
                body.len()
            )));
        }
        *checked.body_mut() = Some(body.into());
    }
    Ok(checked)
}

fn check_method(method: &str) -> Result<Method, HttpError> {
    let known = METHODS.iter().find(|known| **known == method);
    known
        .and_then(|known| known.parse().ok())
        .ok_or_else(|| invalid(format!("`{method}` is not one of {}", METHODS.join(", "))))
}

fn check_headers(headers: &[(String, Vec<u8>)]) -> Result<HeaderMap, HttpError> {
    let bytes: usize = headers
        .iter()
        .map(|(name, value)| name.len() + value.len())
        .sum();
    if headers.len() > MAX_HEADERS || bytes > MAX_HEADER_BYTES {
        return Err(invalid(format!(
            "a request has at most {MAX_HEADERS} headers of {MAX_HEADER_BYTES} bytes together, \
             and this one has {} of {bytes}",
            headers.len()
        )));
    }
    let mut checked = HeaderMap::new();
    for (name, value) in headers {
        let parsed = name
            .parse::<HeaderName>()
            .map_err(|error| invalid(format!("`{name}` cannot name a header: {error}")))?;
        if OF_THE_CONNECTION.contains(&parsed.as_str()) {
            return Err(invalid(format!("the header `{parsed}` is the host's own")));
        }
        // The value is not repeated in the text: it may be a secret.
        let value = HeaderValue::from_bytes(value).map_err(|error| {
            invalid(format!(
                "the value of the header `{parsed}` is no value: {error}"
            ))
        })?;
        checked.append(parsed, value);
    }
    Ok(checked)
}

fn invalid(why: impl Into<String>) -> HttpError {
    HttpError::InvalidRequest(why.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(headers: Vec<(String, Vec<u8>)>) -> HttpRequest {
        HttpRequest {
            method: "GET".to_owned(),
            url: "https://example.com/".to_owned(),
            headers,
            body: None,
        }
    }

    fn header(name: &str, value: &str) -> (String, Vec<u8>) {
        (name.to_owned(), value.as_bytes().to_vec())
    }

    fn checked(request: HttpRequest) -> Result<Request, HttpError> {
        let url = check_url(&request.url)?;
        check(request, url)
    }

    fn check_refused(request: HttpRequest, why: &str) {
        match checked(request) {
            Err(HttpError::InvalidRequest(text)) => assert!(text.contains(why), "{text}"),
            other => panic!("{why}: {other:?}"),
        }
    }

    #[test]
    fn urls_of_other_schemes_or_with_secrets_are_refused() {
        let long = format!("https://example.com/{}", "x".repeat(MAX_URL_BYTES));
        for (url, why) in [
            ("file:///etc/passwd", "`file` is not supported"),
            ("ftp://example.com/", "`ftp` is not supported"),
            ("data:text/plain,x", "`data` is not supported"),
            ("unix:/run/x.sock", "`unix` is not supported"),
            ("/path", "not an absolute URL"),
            ("example.com", "not an absolute URL"),
            ("", "not an absolute URL"),
            ("http://", "not an absolute URL"),
            ("http://a b/", "not an absolute URL"),
            ("https://ann:pw@example.com/", "a user or a password"),
            ("https://ann@example.com/", "a user or a password"),
            ("https://:pw@example.com/", "a user or a password"),
            (long.as_str(), "at most 8192 bytes"),
        ] {
            let mut refused = request(Vec::new());
            refused.url = url.to_owned();
            check_refused(refused, why);
        }
    }

    #[test]
    fn methods_are_those_of_the_list() {
        for method in METHODS {
            let mut allowed = request(Vec::new());
            allowed.method = method.to_owned();
            assert_eq!(checked(allowed).unwrap().method().as_str(), method);
        }
        for method in ["CONNECT", "TRACE", "get", "", "GET /x", "PROPFIND"] {
            let mut refused = request(Vec::new());
            refused.method = method.to_owned();
            check_refused(refused, "is not one of GET, HEAD");
        }
    }

    #[test]
    fn headers_of_the_connection_and_broken_ones_are_refused() {
        for name in OF_THE_CONNECTION {
            let why = format!("`{name}` is the host's own");
            check_refused(request(vec![header(name, "x")]), &why);
            check_refused(request(vec![header(&name.to_uppercase(), "x")]), &why);
        }
        check_refused(request(vec![header("a b", "x")]), "cannot name a header");
        check_refused(request(vec![header("", "x")]), "cannot name a header");
        check_refused(request(vec![header("a\r\nhost", "x")]), "cannot name");
        let smuggled = request(vec![header("a", "x\r\nhost: evil")]);
        check_refused(smuggled, "the header `a` is no value");
    }

    #[test]
    fn headers_and_bodies_are_limited() {
        let many = |count: usize| request(vec![header("a", "x"); count]);
        assert_eq!(checked(many(64)).unwrap().headers().len(), 64);
        check_refused(many(65), "at most 64 headers");

        let large = |bytes: usize| request(vec![header("a", &"x".repeat(bytes - 1))]);
        assert!(checked(large(MAX_HEADER_BYTES)).is_ok());
        check_refused(large(MAX_HEADER_BYTES + 1), "16384 bytes together");

        let mut body = request(Vec::new());
        body.body = Some(vec![0; MAX_BODY_BYTES]);
        let sent = checked(body.clone()).unwrap();
        let sent = sent.body().and_then(reqwest::Body::as_bytes).unwrap();
        assert_eq!(sent.len(), MAX_BODY_BYTES);
        body.body = Some(vec![0; MAX_BODY_BYTES + 1]);
        check_refused(body, "a body has at most 8388608 bytes");
    }
}
