//! The host from start to stop.

mod answer;

use std::{
    io,
    net::SocketAddr,
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use damper_dispatch::{Dispatcher, Machinery};
use damper_door_mcp::HttpSettings;
use damper_journal::{Durability, HostStarted, HostStopped, JournalError, host_stream, now_ms};
use damper_wasm::{Ceilings, CompilerCommand, Runtime, RuntimeSettings, StartError};
use tokio::{
    net::{TcpListener, UnixListener},
    signal::unix::{SignalKind, signal},
    sync::watch as watch_channel,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    crash,
    find::{self, Share},
    home::{Home, HomeError},
    http,
    lock::{Holder, HostLock, LockError},
    reload::Reloader,
    status::{HttpView, RecoveredView, Status},
    watch::{self, WatchState},
};

/// How long calls under way may take when the host stops.
const DRAIN: Duration = Duration::from_secs(10);

/// How long connections may take to carry their last answer.
const GOODBYE: Duration = Duration::from_secs(1);

/// How long a host that was started for somebody's need stays without being used.
const IDLE: Duration = Duration::from_secs(30 * 60);

/// How long a host that a command started waits for the lock: less than the 2 s that the command
/// waits for the host.
const LOCK_PATIENCE: Duration = Duration::from_millis(1500);

/// How often it tries.
const LOCK_STEP: Duration = Duration::from_millis(5);

/// How often an idle host looks whether it is still used.
const IDLE_LOOK: Duration = Duration::from_secs(30);

/// How a host is to be run.
#[derive(Debug)]
pub struct ServeSettings {
    /// Where it keeps everything.
    pub home: Home,
    /// The profile's name.
    pub profile: String,
    /// Patches after the user's own.
    pub patches: Vec<PathBuf>,
    /// Whether the HTTP door is open, and at which address.
    pub http: Option<Option<SocketAddr>>,
    /// Whether it leaves by itself after half an hour without use.
    pub leave_when_idle: bool,
    /// How components are compiled: our own program with a hidden subcommand.
    pub compiler: CompilerCommand,
    /// Our own program, which confines what commands start.
    pub launcher: Option<PathBuf>,
}

/// Why a host does not run.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The home folder is not usable.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// Another host has the home.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The journal is not usable.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// Guests cannot be run.
    #[error(transparent)]
    Runtime(#[from] StartError),
    /// The profile or a patch that was named cannot be had.
    #[error("{0}")]
    Profile(io::Error),
    /// A socket cannot be had.
    #[error("cannot listen: {0}")]
    Listen(#[from] io::Error),
}

/// A running host, as its tasks share it.
struct Host {
    home: Home,
    holder: Holder,
    dispatcher: Dispatcher,
    runtime: Arc<Runtime>,
    reloader: Arc<Reloader>,
    http: Option<HttpView>,
    watcher: WatchState,
    recovered: Vec<RecoveredView>,
    ready: watch_channel::Sender<bool>,
    connections: AtomicUsize,
    stop: CancellationToken,
    tasks: TaskTracker,
}

/// Runs a host until it is told to stop. `announce` is told once, when calls are served.
pub async fn serve(
    settings: ServeSettings,
    announce: impl FnOnce(&Status) + Send,
) -> Result<(), ServeError> {
    settings.home.prepare()?;
    let holder = Holder {
        pid: std::process::id(),
        started_ms: now_ms(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        profile: settings.profile.clone(),
    };
    let _lock = take_lock(&settings.home, &holder, settings.leave_when_idle).await?;
    let share = Share::find();
    find::profile(&settings.home, &share, &settings.profile).map_err(ServeError::Profile)?;
    for patch in &settings.patches {
        find::read_small(patch)
            .and_then(|found| {
                found.ok_or_else(|| io::Error::other(format!("there is no `{}`", patch.display())))
            })
            .map_err(ServeError::Profile)?;
    }
    let control = listen(&settings.home)?;
    let http = match settings.http {
        Some(address) => Some(http::bind(address).await?),
        None => None,
    };
    let host = Host::start(
        settings.home,
        settings.patches,
        holder,
        settings.compiler,
        settings.launcher,
        http.as_ref(),
    )
    .await?;
    let host = Arc::new(host);
    host.tasks.spawn(answer::accept(Arc::clone(&host), control));
    host.reloader.reload().await;
    host.ready.send_replace(true);
    if let Some(listener) = http {
        host.open_http(listener)?;
    }
    let watching = watch::watch(
        Arc::clone(&host.reloader),
        Arc::clone(&host.watcher),
        host.stop.clone(),
    );
    host.tasks.spawn(watching);
    // A host that somebody's command started outlives the terminal of that command.
    let _hangups = settings
        .leave_when_idle
        .then(|| signal(SignalKind::hangup()))
        .transpose()?;
    if settings.leave_when_idle {
        host.tasks.spawn(leave_when_idle(Arc::clone(&host)));
    }
    announce(&host.status());
    let reason = tokio::select! {
        reason = signalled() => reason?,
        () = host.stop.cancelled() => "told to stop",
    };
    host.shut_down(reason).await;
    Ok(())
}

impl Host {
    async fn start(
        home: Home,
        extra: Vec<PathBuf>,
        holder: Holder,
        compiler: CompilerCommand,
        launcher: Option<PathBuf>,
        http: Option<&TcpListener>,
    ) -> Result<Self, ServeError> {
        let journal = crash::open_journal(&home.journal())?;
        let recovered = journal.recover().await?;
        for call in &recovered {
            tracing::warn!(call = %call.call, ending = call.ending.as_str(), "left open by an earlier host");
        }
        let started = HostStarted {
            version: holder.version.clone(),
            pid: holder.pid,
            profile: holder.profile.clone(),
        };
        journal
            .append(&host_stream(), started, Durability::Process)
            .await?;
        let runtime = Arc::new(Runtime::start(RuntimeSettings {
            cache: home.code_cache(),
            host_key: home.host_key()?,
            compiler,
            ceilings: Ceilings::default(),
            hidden: home.hidden(),
        })?);
        let machinery = Machinery::new(Arc::clone(&runtime), journal, home.hidden(), launcher);
        let dispatcher = Dispatcher::new(machinery);
        let reloader = Arc::new(Reloader {
            home: home.clone(),
            share: Share::find(),
            profile: holder.profile.clone(),
            extra,
            runtime: Arc::clone(&runtime),
            dispatcher: dispatcher.clone(),
            one_at_a_time: tokio::sync::Mutex::default(),
            seen: Mutex::default(),
        });
        let http = match http {
            Some(listener) => Some(HttpView {
                url: format!("http://{}/mcp", listener.local_addr()?),
                token_file: {
                    home.token()?;
                    home.http_token()
                },
            }),
            None => None,
        };
        Ok(Self {
            home,
            holder,
            dispatcher,
            runtime,
            reloader,
            http,
            watcher: Arc::new(Mutex::new("starting".to_owned())),
            recovered: recovered.into_iter().map(RecoveredView::from).collect(),
            ready: watch_channel::channel(false).0,
            connections: AtomicUsize::new(0),
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
        })
    }

    fn open_http(self: &Arc<Self>, listener: TcpListener) -> Result<(), ServeError> {
        let settings = HttpSettings {
            token: self.home.token()?,
            address: listener.local_addr()?,
            hosts: Vec::new(),
            cwd: std::env::current_dir()?,
            stop: self.stop.clone(),
        };
        let router = damper_door_mcp::router(self.dispatcher.clone(), settings);
        let stop = self.stop.clone();
        self.tasks.spawn(async move {
            let serving = axum::serve(http::Limited::new(listener), router)
                .with_graceful_shutdown(stop.cancelled_owned());
            if let Err(error) = serving.await {
                tracing::error!(%error, "the HTTP door failed");
            }
        });
        Ok(())
    }

    /// Waits until the first generation is complete.
    async fn is_ready(&self) {
        let mut ready = self.ready.subscribe();
        if ready.wait_for(|ready| *ready).await.is_err() {
            tracing::debug!("the host ended before it was ready");
        }
    }

    /// Closes the doors, lets calls under way end and writes the last record.
    async fn shut_down(self: Arc<Self>, reason: &str) {
        tracing::info!(reason, "stopping");
        self.stop.cancel();
        let in_flight = self.dispatcher.calls_in_flight();
        if tokio::time::timeout(DRAIN, self.dispatcher.drained())
            .await
            .is_err()
        {
            tracing::warn!(
                in_flight,
                "calls were still under way after {} s",
                DRAIN.as_secs()
            );
        }
        // A call that has its outcome is not yet a caller that has its answer.
        self.tasks.close();
        if tokio::time::timeout(GOODBYE, self.tasks.wait())
            .await
            .is_err()
        {
            tracing::debug!("a connection stayed open");
        }
        let stopped = HostStopped {
            reason: reason.to_owned(),
        };
        if let Err(error) = self
            .dispatcher
            .journal()
            .append(&host_stream(), stopped, Durability::Process)
            .await
        {
            tracing::error!(%error, "cannot journal the end");
        }
        if let Err(error) = std::fs::remove_file(self.home.socket()) {
            tracing::debug!(%error, "the socket is gone already");
        }
    }

    fn is_used(&self) -> bool {
        self.connections.load(Ordering::SeqCst) > 0
            || self.dispatcher.calls_in_flight() > 0
            || !self.dispatcher.approvals().pending().is_empty()
    }
}

/// Takes the lock. A host that a command started because none answered waits a little for one
/// that is just dying: the system lets go of a lock only when it has taken the process apart.
async fn take_lock(home: &Home, holder: &Holder, patient: bool) -> Result<HostLock, LockError> {
    let began = Instant::now();
    loop {
        match HostLock::take(&home.lock(), holder) {
            Err(LockError::Held(_) | LockError::Starting)
                if patient && began.elapsed() < LOCK_PATIENCE =>
            {
                tokio::time::sleep(LOCK_STEP).await;
            }
            taken => return taken,
        }
    }
}

/// Makes the control socket, for the owner alone. A socket that is there already belongs to a
/// host that died: the lock is ours.
fn listen(home: &Home) -> Result<UnixListener, ServeError> {
    let path = home.socket();
    match std::fs::remove_file(&path) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error.into()),
    }
    // The folder is the owner's alone, so nobody connects before the mode is set.
    let listener = UnixListener::bind(&path)?;
    #[cfg(unix)]
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    Ok(listener)
}

async fn signalled() -> io::Result<&'static str> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(tokio::select! {
        _ = terminate.recv() => "terminated",
        _ = interrupt.recv() => "interrupted",
    })
}

async fn leave_when_idle(host: Arc<Host>) {
    let mut used = Instant::now();
    while used.elapsed() < IDLE {
        tokio::select! {
            () = tokio::time::sleep(IDLE_LOOK) => {}
            () = host.stop.cancelled() => return,
        }
        if host.is_used() {
            used = Instant::now();
        }
    }
    tracing::info!("nobody used this host for {} minutes", IDLE.as_secs() / 60);
    host.stop.cancel();
}
