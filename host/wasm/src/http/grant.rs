//! Which hosts a row grants.

use std::{fmt, net::Ipv6Addr, str::FromStr};

use reqwest::Url;
use serde::{Deserialize, Serialize};
use url::Host;

use super::HttpError;

/// The longest host name that DNS knows, in bytes.
const MAX_NAME_BYTES: usize = 253;

/// How much of a refused text is told back.
const MAX_TOLD_CHARS: usize = 128;

/// A host that a plugin may speak to: `host`, `host:port`, an address, or `localhost`.
///
/// Without a port it covers the usual one of the scheme, 80 or 443.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HttpGrant {
    /// As a URL has it: names in lower case and ASCII.
    host: Host,
    port: Option<u16>,
}

/// A text that is not a grant of `http`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not a grant of `http`: {why}; write `host`, `host:port`, an address such as \
     `10.0.0.7:8080` or `[fd00::7]`, or `localhost`"
)]
pub struct InvalidHttpGrant {
    text: String,
    why: String,
}

/// Returns whether a grant covers the host and the port of a URL.
pub(super) fn covers(grants: &[HttpGrant], url: &Url) -> bool {
    grants.iter().any(|grant| grant.covers(url))
}

impl HttpGrant {
    /// Returns the narrowest grant that covers a URL.
    pub(super) fn of(url: &Url) -> Result<Self, HttpError> {
        let host = url.host().map(|host| host.to_owned());
        let host = host
            .ok_or_else(|| HttpError::InvalidRequest(format!("the URL `{url}` names no host")))?;
        let port = url.port();
        Ok(Self { host, port })
    }

    fn covers(&self, url: &Url) -> bool {
        let port = match self.port {
            Some(port) => url.port_or_known_default() == Some(port),
            // A URL has no port where it is the usual one.
            None => url.port().is_none(),
        };
        port && url.host() == Some(borrowed(&self.host))
    }
}

fn borrowed(host: &Host) -> Host<&str> {
    match host {
        Host::Domain(name) => Host::Domain(name),
        Host::Ipv4(address) => Host::Ipv4(*address),
        Host::Ipv6(address) => Host::Ipv6(*address),
    }
}

impl FromStr for HttpGrant {
    type Err = InvalidHttpGrant;

    fn from_str(text: &str) -> Result<Self, InvalidHttpGrant> {
        let parsed = if let Ok(address) = text.parse::<Ipv6Addr>() {
            Ok((Host::Ipv6(address), None))
        } else {
            parse(text)
        };
        let (host, port) = parsed.map_err(|why| InvalidHttpGrant {
            text: text.chars().take(MAX_TOLD_CHARS).collect(),
            why,
        })?;
        Ok(Self { host, port })
    }
}

fn parse(text: &str) -> Result<(Host, Option<u16>), String> {
    if text.contains('/') {
        return Err("it names a scheme or a path, and a grant is for a whole host".to_owned());
    }
    if text.contains('*') {
        return Err("there are no wildcards".to_owned());
    }
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(parse_port(port)?)),
        Some(_) | None => (text, None),
    };
    Ok((parse_host(host)?, port))
}

fn parse_port(text: &str) -> Result<u16, String> {
    // `parse` alone would take a sign.
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(port) if digits && port > 0 => Ok(port),
        Ok(_) | Err(_) => Err(format!("`{text}` is not a port from 1 to 65535")),
    }
}

fn parse_host(text: &str) -> Result<Host, String> {
    let host = Host::parse(text).map_err(|error| format!("`{text}` is not a host ({error})"))?;
    if let Host::Ipv6(_) = host {
        return Ok(host);
    }
    // `%6c`, `0x7f.1` and their like: a profile says plainly whom it trusts.
    if text.is_ascii() && host.to_string() != text.to_ascii_lowercase() {
        return Err(format!("`{text}` stands for `{host}`"));
    }
    match &host {
        Host::Domain(name) if !is_name(name) => Err(format!(
            "`{name}` is not a host, whose name has letters, digits, `-`, `_` and single dots \
             between them"
        )),
        Host::Domain(_) | Host::Ipv4(_) | Host::Ipv6(_) => Ok(host),
    }
}

fn is_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    name.len() <= MAX_NAME_BYTES
        && name
            .split('.')
            .all(|label| !label.is_empty() && label.bytes().all(allowed))
}

impl fmt::Display for HttpGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.host)?;
        match self.port {
            Some(port) => write!(f, ":{port}"),
            None => Ok(()),
        }
    }
}

impl TryFrom<String> for HttpGrant {
    type Error = InvalidHttpGrant;

    fn try_from(text: String) -> Result<Self, InvalidHttpGrant> {
        text.parse()
    }
}

impl From<HttpGrant> for String {
    fn from(grant: HttpGrant) -> String {
        grant.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(text: &str) -> HttpGrant {
        text.parse().unwrap()
    }

    #[test]
    fn grants_are_read_and_written_as_text() {
        for (text, written) in [
            ("example.com", "example.com"),
            ("Example.COM:8443", "example.com:8443"),
            ("localhost", "localhost"),
            ("localhost:1", "localhost:1"),
            ("my_host-1", "my_host-1"),
            ("bücher.example", "xn--bcher-kva.example"),
            ("127.0.0.1", "127.0.0.1"),
            ("10.0.0.7:65535", "10.0.0.7:65535"),
            ("::1", "[::1]"),
            ("fd00::7", "[fd00::7]"),
            ("[fd00:0:0::7]", "[fd00::7]"),
            ("[fd00::7]:8080", "[fd00::7]:8080"),
        ] {
            assert_eq!(grant(text).to_string(), written);
            assert_eq!(grant(written), grant(text));
            let json = serde_json::to_string(&grant(text)).unwrap();
            assert_eq!(json, format!("\"{written}\""));
            assert_eq!(
                serde_json::from_str::<HttpGrant>(&json).unwrap(),
                grant(text)
            );
        }
    }

    #[test]
    fn a_text_that_is_no_grant_is_refused_with_the_right_forms() {
        for (text, why) in [
            ("", "not a host"),
            (":80", "not a host"),
            ("*", "wildcards"),
            ("*.example.com", "wildcards"),
            ("https://example.com", "scheme"),
            ("example.com/api", "scheme or a path"),
            ("10.0.0.0/8", "path"),
            ("user@example.com", "not a host"),
            ("a b", "not a host"),
            ("example.com:", "not a port"),
            ("example.com:0", "not a port"),
            ("example.com:+80", "not a port"),
            ("example.com:65536", "not a port"),
            ("example.com:http", "not a port"),
            ("example.com.", "not a host"),
            ("a..b", "not a host"),
            ("a,b", "not a host"),
            ("exa%6dple.com", "stands for `example.com`"),
            ("2130706433", "stands for `127.0.0.1`"),
            ("0x7f.1", "stands for `127.0.0.1`"),
            ("127.1", "stands for `127.0.0.1`"),
            ("256.0.0.1", "not a host"),
            ("[::1", "not a"),
            ("::1]", "not a host"),
            ("[::1]x", "not a"),
            ("[127.0.0.1]", "not a host"),
            (&"a".repeat(300), "not a host"),
        ] {
            let error = text.parse::<HttpGrant>().unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
            assert!(error.contains("write `host`, `host:port`"), "{error}");
        }
    }

    #[test]
    fn a_grant_covers_its_host_and_port_and_no_other() {
        for (text, url, expected) in [
            ("example.com", "https://example.com/a?b", true),
            ("example.com", "http://example.com", true),
            ("example.com", "https://EXAMPLE.com:443/", true),
            ("example.com", "https://example.com:8443/", false),
            ("example.com", "https://example.com:80/", false),
            ("example.com", "https://www.example.com/", false),
            ("example.com", "https://example.com.evil.test/", false),
            ("example.com", "https://example.com./", false),
            ("example.com", "https://example.com@evil.test/", false),
            ("example.com:443", "https://example.com/", true),
            ("example.com:443", "http://example.com/", false),
            ("example.com:80", "http://example.com/", true),
            ("example.com:8443", "https://example.com:8443/", true),
            ("example.com:8443", "https://example.com/", false),
            ("bücher.example", "https://b\u{fc}cher.example/", true),
            ("localhost", "http://localhost/", true),
            ("localhost", "http://localhost:8080/", false),
            ("localhost:8080", "http://localhost:8080/", true),
            ("localhost", "http://127.0.0.1/", false),
            ("localhost", "http://a.localhost/", false),
            ("127.0.0.1", "http://127.0.0.1/", true),
            ("127.0.0.1", "http://2130706433/", true),
            ("127.0.0.1", "http://localhost/", false),
            ("127.0.0.1", "http://127.0.0.2/", false),
            ("127.0.0.1", "http://[::ffff:127.0.0.1]/", false),
            ("::1", "http://[::1]/", true),
            ("[::1]:9000", "http://[0:0::1]:9000/", true),
            ("[::1]:9000", "http://[::1]/", false),
        ] {
            let parsed = Url::parse(url).unwrap();
            assert_eq!(covers(&[grant(text)], &parsed), expected, "{text} {url}");
            let others = [grant("other.test"), grant("10.0.0.1"), grant(text)];
            assert_eq!(covers(&others, &parsed), expected, "{text} {url}");
            assert!(covers(&[HttpGrant::of(&parsed).unwrap()], &parsed));
        }
        let url = Url::parse("https://example.com").unwrap();
        assert!(!covers(&[], &url));
    }
}
