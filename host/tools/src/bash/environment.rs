//! What of the host's environment a command sees: a short list, so that no secret of the
//! host (tokens, `DAMPER_HOME`) reaches it by accident.

use std::ffi::{OsStr, OsString};

/// What commands need to find programs, files, their language and time zone, and to
/// trust the certificates that the machine trusts.
const PASSED: [&str; 13] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "CARGO_HOME",
    "RUSTUP_HOME",
];

/// Returns the environment of a command, made from the host's.
pub(super) fn scrubbed(
    host: impl Iterator<Item = (OsString, OsString)>,
) -> Vec<(OsString, OsString)> {
    host.filter(|(name, _)| is_passed(name))
        .chain([("TERM".into(), "dumb".into())])
        .collect()
}

fn is_passed(name: &OsStr) -> bool {
    name.to_str()
        .is_some_and(|name| PASSED.contains(&name) || name.starts_with("LC_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_only_what_is_on_the_list() {
        let host = [
            ("PATH", "/bin"),
            ("LC_ALL", "C"),
            ("TERM", "xterm"),
            ("DAMPER_HOME", "/secret"),
            ("DAMPER_SHARE", "/share"),
            ("BASH_ENV", "/evil"),
            ("BASH_FUNC_ls%%", "() { :; }"),
            ("LD_PRELOAD", "/evil.so"),
            ("API_TOKEN", "secret"),
        ];
        let passed = scrubbed(host.into_iter().map(|(k, v)| (k.into(), v.into())));
        let expected = [("PATH", "/bin"), ("LC_ALL", "C"), ("TERM", "dumb")]
            .map(|(k, v)| (k.into(), v.into()));
        assert_eq!(passed, expected);
    }
}
