//! Identifiers. Each is a newtype, so that one cannot be taken for another.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// Returned for a text that is not the id it should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a {what}: {why}")]
pub struct InvalidId {
    what: &'static str,
    text: String,
    why: &'static str,
}

/// The longest id, in bytes. Ids become file names and columns of status tables.
const MAX_ID_BYTES: usize = 128;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Returns the id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;

            fn from_str(text: &str) -> Result<Self, InvalidId> {
                check_id(text).map_err(|why| InvalidId {
                    what: $what,
                    text: text.chars().take(MAX_ID_BYTES).collect(),
                    why,
                })?;
                Ok(Self(text.to_owned()))
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidId;

            fn try_from(text: String) -> Result<Self, InvalidId> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

id! {
    /// A tool call: unique for ever, sorting by the time it was made.
    CallId, "call id"
}
id! {
    /// A session: one conversation.
    SessionId, "session id"
}
id! {
    /// A row of a profile, chosen by whoever wrote the profile.
    RowId, "row id"
}
id! {
    /// A question to a person.
    ApprovalId, "approval id"
}

impl CallId {
    /// Returns a new id that no other call has.
    pub fn unique() -> Self {
        Self(format!("c{}", ulid::Ulid::generate()).to_lowercase())
    }
}

impl SessionId {
    /// Returns a new id that no other session has.
    pub fn unique() -> Self {
        Self(format!("s{}", ulid::Ulid::generate()).to_lowercase())
    }
}

impl ApprovalId {
    /// Returns a new id that no other approval has.
    pub fn unique() -> Self {
        Self(format!("a{}", ulid::Ulid::generate()).to_lowercase())
    }
}

fn check_id(text: &str) -> Result<(), &'static str> {
    if text.is_empty() {
        return Err("it is empty");
    }
    if text.len() > MAX_ID_BYTES {
        return Err("it is longer than 128 bytes");
    }
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '/');
    if !text.chars().all(allowed) {
        return Err("only letters, digits and `-_.:/` are allowed");
    }
    Ok(())
}

/// The SHA-256 of a component's bytes, which names exactly one content.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest([u8; 32]);

impl Digest {
    /// Wraps a SHA-256 that has been computed.
    pub const fn from_sha256(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the 32 bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Returns the first 12 hexadecimal digits, enough to tell two builds apart by eye.
    pub fn short(self) -> String {
        self.to_hex()[..12].to_owned()
    }

    /// Returns the 64 hexadecimal digits, without the algorithm's name.
    pub fn to_hex(self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.to_hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Digest {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let invalid = |why| InvalidId {
            what: "digest",
            text: text.chars().take(80).collect(),
            why,
        };
        let hex = text.strip_prefix("sha256:").unwrap_or(text);
        if hex.len() != 64 || !hex.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(invalid("write `sha256:` and 64 hexadecimal digits"));
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(hex.as_bytes().chunks(2)) {
            let digits =
                std::str::from_utf8(pair).map_err(|_not_ascii| invalid("it is not ASCII"))?;
            *byte = u8::from_str_radix(digits, 16)
                .map_err(|_not_hex| invalid("it is not hexadecimal"))?;
        }
        Ok(Self(bytes))
    }
}

impl TryFrom<String> for Digest {
    type Error = InvalidId;

    fn try_from(text: String) -> Result<Self, InvalidId> {
        text.parse()
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> String {
        digest.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_ids_that_could_not_be_shown_or_stored() {
        for text in ["", "a b", "ä", "a\n", &"x".repeat(129)] {
            assert!(text.parse::<RowId>().is_err(), "{text:?}");
        }
        assert_eq!(
            "approval-gate".parse::<RowId>().unwrap().as_str(),
            "approval-gate"
        );
    }

    #[test]
    fn reads_a_digest_back() {
        let digest = Digest::from_sha256([0xab; 32]);
        assert_eq!(digest.to_string().parse::<Digest>().unwrap(), digest);
        assert_eq!(digest.short(), "abababababab");
        assert!("sha256:ab".parse::<Digest>().is_err());
        assert!("sha256:€€€".parse::<Digest>().is_err());
    }

    #[test]
    fn ids_of_calls_differ() {
        assert_ne!(CallId::unique(), CallId::unique());
    }
}
