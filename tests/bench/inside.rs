//! The host's rooms in this process, without doors: the default profile, compiled and ready.

use std::{fs, path::Path, sync::Arc};

use anyhow::{Context as _, anyhow};
use damper_call::{CallId, Door, Session, SessionId, ToolCall};
use damper_dispatch::{
    CallRequest, Captured, Components, Dispatcher, Fallback, Machinery, Running, prepare,
};
use damper_journal::Journal;
use damper_profile::{PluginRef, RowKind, Source, compose};
use damper_wasm::{
    Ceilings, CompilerCommand, Grants, Guest, Hook, Limits, Runtime, RuntimeSettings,
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// A command as agents run them, about which no guard objects.
pub(crate) const HARMLESS: &str = "cd src && cargo test --workspace 2>&1 | tail -n 40";

/// A command that is denied when nobody is there, so that nothing runs.
pub(crate) const DESTRUCTIVE: &str = "rm -rf build";

/// The rooms of a host.
pub(crate) struct Inside {
    pub(crate) runtime: Arc<Runtime>,
    pub(crate) dispatcher: Dispatcher,
    pub(crate) session: Arc<Session>,
    /// Deleted with this.
    _folder: TempDir,
}

impl Inside {
    /// Loads the default profile, as a host does, with a journal on disk.
    pub(crate) async fn start() -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let runtime = Arc::new(Runtime::start(RuntimeSettings {
            cache: folder.path().join("code-cache"),
            host_key: [7; 32],
            compiler: CompilerCommand {
                program: damper_tests::damper(),
                arguments: vec!["__compile".into()],
            },
            ceilings: Ceilings::default(),
            hidden: Vec::new(),
        })?);
        let journal = Journal::open(&folder.path().join("journal.db"))?;
        let dispatcher = Dispatcher::new(Machinery::new(
            Arc::clone(&runtime),
            journal,
            Vec::new(),
            None,
        ));
        install(&runtime, &dispatcher).await?;
        let session = Session::external(
            SessionId::unique(),
            Door::Cli,
            None,
            folder.path().to_owned(),
        );
        Ok(Self {
            session: dispatcher.open_session(session, None).await?,
            runtime,
            dispatcher,
            _folder: folder,
        })
    }

    /// Returns the guards of the profile.
    pub(crate) fn guards(&self) -> Vec<Arc<Guest>> {
        let generation = self.dispatcher.current();
        let guards = generation.rows.iter().filter_map(|row| match &row.running {
            Running::Plugin(loaded) => {
                let is_guard = loaded.plugin.manifest.hooks.contains(&Hook::Guard);
                is_guard.then(|| Arc::clone(&loaded.hook))
            }
            Running::Nothing | Running::Native(_) => None,
        });
        guards.collect()
    }

    /// Loads a guard of `tests/guests` beside those of the profile, without settings.
    pub(crate) async fn guard(&self, name: &str) -> anyhow::Result<Arc<Guest>> {
        let bytes = fs::read(damper_tests::guest(name))?;
        Ok(Arc::new(Guest {
            plugin: self.runtime.load(&bytes, || {}).await?,
            settings: "{}".into(),
            grants: Grants::default(),
            limits: Limits::HOOK,
        }))
    }

    /// Returns a call of `bash`, as guards get it.
    pub(crate) fn bash(&self, command: &str) -> anyhow::Result<Arc<ToolCall>> {
        let tool = self
            .dispatcher
            .tool_on_surface(&self.session, "bash")
            .context("the default profile has no `bash`")?;
        let Value::Object(arguments) = json!({ "command": command }) else {
            return Err(anyhow!("arguments are an object"));
        };
        let (command, paths) = ToolCall::facts(&tool, &arguments);
        Ok(Arc::new(ToolCall {
            id: CallId::unique(),
            session: Arc::clone(&self.session),
            tool,
            arguments: Value::Object(arguments).to_string().into(),
            command,
            paths,
            cwd: self.session.cwd.clone(),
            received_at_ms: 1_800_000_000_000,
        }))
    }

    /// Returns what a door would ask for `bash`.
    pub(crate) fn request(&self, command: &str) -> CallRequest {
        CallRequest {
            id: None,
            session: Arc::clone(&self.session),
            tool: "bash".to_owned(),
            arguments: json!({ "command": command }).to_string(),
            cancel: CancellationToken::new(),
            progress: None,
        }
    }
}

async fn install(runtime: &Runtime, dispatcher: &Dispatcher) -> anyhow::Result<()> {
    let path = damper_tests::root().join("profiles/default.yaml");
    let bytes = fs::read(&path)?;
    let composition = compose(&Source::at(&path, &bytes), &[])?;
    let mut components = Components::default();
    for row in &composition.rows {
        if let RowKind::Plugin(plugin) = &row.kind {
            components.0.insert(plugin.clone(), Ok(captured(plugin)?));
        }
    }
    let prepared = prepare(
        runtime,
        &dispatcher.current(),
        &composition,
        &components,
        &Fallback::default(),
    )
    .await;
    let refused: Vec<String> = prepared
        .results
        .iter()
        .filter_map(|result| result.reason.clone())
        .collect();
    anyhow::ensure!(refused.is_empty(), "{}", refused.join("\n"));
    dispatcher.install(prepared.generation);
    Ok(())
}

fn captured(plugin: &PluginRef) -> anyhow::Result<Captured> {
    let path = match plugin {
        PluginRef::File(path) => path.clone(),
        PluginRef::Id(id) => {
            let name = Path::new(id).file_name().context("an id has a name")?;
            damper_tests::guest(&name.to_string_lossy())
        }
    };
    let bytes: Arc<[u8]> = fs::read(&path)?.into();
    Ok(Captured {
        digest: Runtime::digest(&bytes),
        path,
        bytes: Some(bytes),
    })
}
