//! What plugins ask the host to look at before a session's first call.
//!
//! The host looks, and a plugin learns nothing from it: what was found goes to the agent and the
//! person as notices.

use std::{
    env, fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use damper_call::{Preflight, Session};

/// Looks at each thing and returns what was found, one notice each.
pub(super) async fn look(preflights: Vec<Preflight>, session: &Arc<Session>) -> Vec<String> {
    if preflights.is_empty() {
        return Vec::new();
    }
    let session = Arc::clone(session);
    let looking = tokio::task::spawn_blocking(move || {
        preflights
            .into_iter()
            .map(|preflight| match preflight {
                Preflight::Writable(folder) => writable(&folder, &session),
                Preflight::Program(name) => program(&name),
            })
            .collect()
    });
    match looking.await {
        Ok(found) => found,
        Err(error) => {
            tracing::error!(%error, "looking ahead for a session panicked");
            Vec::new()
        }
    }
}

/// Makes a file in a folder and removes it. Only the session's own folders are tried: a plugin
/// must not have the host write where the session may not.
fn writable(folder: &str, session: &Session) -> String {
    let path = session.cwd.join(folder);
    let shown = path.display();
    let resolved = match fs::canonicalize(&path) {
        Ok(resolved) => resolved,
        Err(error) => return format!("`{shown}` is not writable: {error}"),
    };
    let is_inside = session
        .roots
        .iter()
        .filter_map(|root| fs::canonicalize(root).ok())
        .any(|root| resolved.starts_with(root));
    if !is_inside {
        return format!("`{shown}` was not looked at: it is outside of the session's folders");
    }
    match tempfile::Builder::new()
        .prefix(".damper-preflight-")
        .tempfile_in(&resolved)
    {
        Ok(_removed_when_dropped) => format!("`{shown}` is writable"),
        Err(error) => format!("`{shown}` is not writable: {error}"),
    }
}

fn program(name: &str) -> String {
    if name.contains('/') {
        return format!("`{name}` was not looked for: name a program, not a path");
    }
    let found = env::var_os("PATH")
        .into_iter()
        .flat_map(|path| env::split_paths(&path).collect::<Vec<PathBuf>>())
        .map(|folder| folder.join(name))
        .find(|path| is_executable(path));
    match found {
        Some(path) => format!("`{name}` is `{}`", path.display()),
        None => format!("`{name}` is not on the search path"),
    }
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use damper_call::{Door, SessionId};

    use super::*;

    #[test]
    fn looks_at_the_sessions_own_folders_only() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        fs::create_dir_all(root.join("sub")).unwrap();
        fs::write(root.join("file"), "").unwrap();
        std::os::unix::fs::symlink(folder.path(), root.join("out")).unwrap();
        let session = Session::external(SessionId::unique(), Door::Cli, None, root.clone());
        let table = [
            (".", "is writable"),
            ("sub", "is writable"),
            ("none", "is not writable"),
            ("file", "is not writable"),
            ("..", "outside of the session's folders"),
            ("out", "outside of the session's folders"),
            ("/", "outside of the session's folders"),
        ];
        for (path, expected) in table {
            let notice = writable(path, &session);
            assert!(notice.contains(expected), "{path}: {notice}");
        }
        let left: Vec<_> = fs::read_dir(&root).unwrap().collect();
        assert_eq!(left.len(), 3, "nothing is left behind");
    }

    #[test]
    fn finds_programs_by_name() {
        assert!(program("sh").contains("/sh"), "{}", program("sh"));
        assert!(program("no-such-program-here").contains("not on the search path"));
        assert!(program("/bin/sh").contains("not a path"));
    }
}
