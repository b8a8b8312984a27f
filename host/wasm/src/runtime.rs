//! The engine at work: loads components and asks guests, many at once, within bounds.

use std::{
    collections::{BTreeSet, HashMap},
    fs, io,
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use damper_call::{
    Composition, Delivery, Digest, Disposition, Mail, ModeDescription, Opening, Output,
    Question as Approval, RowId, Section, Session, ToolAnswer, ToolCall, ToolDefinition, Verdict,
    Whom,
};
use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;
use tokio_util::task::AbortOnDropHandle;
use wasmtime::{
    Engine,
    component::{Component, HasSelf, Linker},
};

use crate::{
    around::Around,
    bindings::damper::plugin::{clock, config, files, http, log, roster, sessions, state, types},
    cache::{CacheError, CodeCache, Entry},
    compile::{CompileError, CompilerCommand},
    engine::engine,
    failure::GuestFailure,
    grants::Grants,
    hooks::{
        Answer, Asked, ConfigError, Question,
        approval::Route,
        ask_fresh,
        catalogue::Withhold,
        configure::Configure,
        guard::Check,
        message::BeforeSend,
        persona::Sections,
        preset::{Compose, DescribeMode},
        result::Review,
        session::Opened,
        tool::{Definitions, Run},
    },
    limits::Ceilings,
    manifest::read_manifest,
    plugin::{Guest, LoadError, MAX_COMPONENT, Plugin, link},
    state::{About, GuestState},
    ticker::Ticker,
    wasi,
};

/// How a runtime is set up.
#[derive(Debug)]
pub struct RuntimeSettings {
    /// The folder of compiled code.
    pub cache: PathBuf,
    /// The host's secret: seals the code cache and seeds the randomness of guests.
    pub host_key: [u8; 32],
    /// How components are compiled.
    pub compiler: CompilerCommand,
    /// What no row can go above.
    pub ceilings: Ceilings,
    /// The folders that no grant covers: the host's own.
    pub hidden: Vec<PathBuf>,
}

/// Why the runtime cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The engine does not start here.
    #[error("the WebAssembly engine does not start: {0}")]
    Engine(String),
    /// The code cache cannot be used.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// A thread cannot be started.
    #[error("cannot start threads for guests: {0}")]
    Threads(#[from] io::Error),
}

/// Loads components and asks guests.
///
/// Guests run on threads of their own: one that spins can delay other guests for a turn of
/// 10 ms, and never a door or a timer.
pub struct Runtime {
    engine: Engine,
    linker: Linker<GuestState>,
    cache: CodeCache,
    compiler: CompilerCommand,
    /// One compiler at a time: each may use both cores and 2 GiB.
    compiling: tokio::sync::Mutex<()>,
    /// Plugins in use, so that many rows of one component share its code. Loads race for it.
    loaded: Mutex<HashMap<Digest, Weak<Plugin>>>,
    ticker: Ticker,
    places: Arc<Semaphore>,
    waiting: AtomicU32,
    ceilings: Ceilings,
    around: Arc<Around>,
    host_key: [u8; 32],
    /// `None` only while dropping.
    threads: Option<tokio::runtime::Runtime>,
}

impl std::fmt::Debug for Runtime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runtime")
            .field("ceilings", &self.ceilings)
            .finish_non_exhaustive()
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        // Waiting for threads would block whoever drops the last reference.
        if let Some(threads) = self.threads.take() {
            threads.shutdown_background();
        }
    }
}

impl Runtime {
    /// Starts the engine. Takes a few milliseconds; compiles nothing.
    pub fn start(settings: RuntimeSettings) -> Result<Self, StartError> {
        let engine =
            engine(&settings.ceilings).map_err(|error| StartError::Engine(format!("{error:#}")))?;
        let linker = linker(&engine).map_err(|error| StartError::Engine(format!("{error:#}")))?;
        let threads = tokio::runtime::Builder::new_multi_thread()
            .thread_name("damper-guest")
            .on_thread_start(Engine::tls_eager_initialize)
            .enable_all()
            .build()?;
        Ok(Self {
            cache: CodeCache::open(&settings.cache, &settings.host_key, &engine)?,
            compiler: settings.compiler,
            compiling: tokio::sync::Mutex::new(()),
            loaded: Mutex::default(),
            ticker: Ticker::start(&engine)?,
            places: Arc::new(Semaphore::new(settings.ceilings.calls as usize)),
            waiting: AtomicU32::new(0),
            ceilings: settings.ceilings,
            around: Arc::new(Around::of_this_host(settings.hidden)),
            host_key: settings.host_key,
            threads: Some(threads),
            linker,
            engine,
        })
    }

    /// Returns what no row can go above.
    pub const fn ceilings(&self) -> &Ceilings {
        &self.ceilings
    }

    /// Checks, compiles and links a component. `compiling` is told when a compile begins, so
    /// that a person can see why it takes long.
    ///
    /// The bytes are read once, by the caller, and hashed here: what is compiled is what was
    /// hashed. Loading the same bytes again costs next to nothing.
    pub async fn load(
        &self,
        bytes: &[u8],
        compiling: impl FnOnce() + Send,
    ) -> Result<Arc<Plugin>, LoadError> {
        if bytes.len() > MAX_COMPONENT {
            return Err(LoadError::TooLarge(bytes.len()));
        }
        let digest = Digest::from_sha256(Sha256::digest(bytes).into());
        if let Some(plugin) = self.already_loaded(&digest) {
            return Ok(plugin);
        }
        let manifest = read_manifest(bytes)?;
        let component = match self.cache.load(&self.engine, &digest)? {
            Entry::Component(component) => component,
            Entry::Absent | Entry::Unfit(_) => {
                compiling();
                self.compile(&digest, bytes).await?
            }
        };
        let hooks = link(&self.engine, &self.linker, &component, &manifest)?;
        let plugin = Arc::new(Plugin {
            manifest,
            digest,
            hooks,
            keeps_state: imports(&self.engine, &component, "damper:plugin/state"),
        });
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        loaded.retain(|_digest, plugin| plugin.strong_count() > 0);
        loaded.insert(digest, Arc::downgrade(&plugin));
        Ok(plugin)
    }

    /// Returns the digest of a component's bytes.
    pub fn digest(bytes: &[u8]) -> Digest {
        Digest::from_sha256(Sha256::digest(bytes).into())
    }

    fn already_loaded(&self, digest: &Digest) -> Option<Arc<Plugin>> {
        self.loaded
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(digest)?
            .upgrade()
    }

    async fn compile(&self, digest: &Digest, bytes: &[u8]) -> Result<Component, LoadError> {
        let _one_at_a_time = self.compiling.lock().await;
        // Somebody else may have compiled it while this one waited.
        if let Entry::Component(component) = self.cache.load(&self.engine, digest)? {
            return Ok(component);
        }
        let failed =
            |error: io::Error| CompileError::Child(format!("has no place for its files: {error}"));
        let input = self.cache.draft().map_err(failed)?;
        fs::write(input.path(), bytes).map_err(failed)?;
        let output = self.cache.draft().map_err(failed)?;
        self.compiler.compile(input.path(), output.path()).await?;
        self.cache.store(digest, output)?;
        match self.cache.load(&self.engine, digest)? {
            Entry::Component(component) => Ok(component),
            // It compiles, but has more instances, memories or tables than the pool gives it.
            Entry::Unfit(why) => Err(CompileError::Refused(why).into()),
            Entry::Absent => {
                Err(CompileError::Child("left code that does not fit its seal".to_owned()).into())
            }
        }
    }

    /// Returns what guests can learn of the host, for those who know more of it.
    pub fn around(&self) -> &Around {
        &self.around
    }

    /// Asks a guest what is wrong with its row's settings, on an instance of which every hook
    /// has been type-checked.
    pub async fn configure(&self, guest: &Arc<Guest>) -> Answer<Vec<ConfigError>> {
        let question = Configure(Arc::clone(&guest.settings));
        self.ask_one(Arc::clone(guest), question).await
    }

    /// Asks a guest for its tools.
    pub async fn definitions(
        &self,
        guest: &Arc<Guest>,
        row: &RowId,
    ) -> Answer<Vec<ToolDefinition>> {
        self.ask_one(Arc::clone(guest), Definitions(row.clone()))
            .await
    }

    /// Asks a guest what people choose its mode by.
    pub async fn describe_mode(&self, guest: &Arc<Guest>) -> Answer<ModeDescription> {
        self.ask_one(Arc::clone(guest), DescribeMode).await
    }

    /// Asks a guest how a session of its mode is composed. An inner error is the guest's own
    /// word that its mode cannot run.
    pub async fn compose(
        &self,
        asked: Asked,
        session: &Arc<Session>,
    ) -> Answer<Result<Composition, String>> {
        self.ask_one(asked, Compose(Arc::clone(session))).await
    }

    /// Asks a guest for sections of a session's prompt.
    pub async fn sections(&self, asked: Asked, session: &Arc<Session>) -> Answer<Vec<Section>> {
        self.ask_one(asked, Sections(Arc::clone(session))).await
    }

    /// Asks a guest what there is to say to a session that is being opened.
    pub async fn opened(&self, asked: Asked, session: &Arc<Session>) -> Answer<Opening> {
        self.ask_one(asked, Opened(Arc::clone(session))).await
    }

    /// Asks a guest which of all tools a session does not get.
    pub async fn withhold(
        &self,
        asked: Asked,
        session: &Arc<Session>,
        tools: Arc<[Arc<ToolDefinition>]>,
    ) -> Answer<BTreeSet<String>> {
        let question = Withhold {
            session: Arc::clone(session),
            tools,
        };
        self.ask_one(asked, question).await
    }

    /// Asks a guest how a message is delivered.
    pub async fn before_send(&self, asked: Asked, mail: &Arc<Mail>) -> Answer<Delivery> {
        self.ask_one(asked, BeforeSend(Arc::clone(mail))).await
    }

    /// Asks a guest who is asked about a call.
    pub async fn route(&self, asked: Asked, question: &Arc<Approval>) -> Answer<Whom> {
        self.ask_one(asked, Route(Arc::clone(question))).await
    }

    /// Asks a guest what becomes of a tool's answer.
    pub async fn review(&self, asked: Asked, answer: &Arc<ToolAnswer>) -> Answer<Disposition> {
        self.ask_one(asked, Review(Arc::clone(answer))).await
    }

    /// Asks each guard about a call, one after the other, each on an instance of its own.
    /// Returns as many answers as there are guards, in their order.
    pub async fn check(&self, guards: Vec<Asked>, call: &Arc<ToolCall>) -> Vec<Answer<Verdict>> {
        self.ask(guards, Check(Arc::clone(call))).await
    }

    /// Lets a guest run the tool that a call names.
    ///
    /// Dropping the future stops the guest at its next turn, within 10 ms.
    pub async fn run(&self, asked: Asked, call: &Arc<ToolCall>) -> Answer<Output> {
        self.ask_one(asked, Run(Arc::clone(call))).await
    }

    async fn ask_one<Q: Question + Sync + 'static>(
        &self,
        asked: impl Into<Asked>,
        question: Q,
    ) -> Answer<Q::Answer> {
        self.ask(vec![asked.into()], question).await.remove(0)
    }

    /// Takes one place and asks the guests in it, in order. Always answers once per guest.
    async fn ask<Q: Question + Sync + 'static>(
        &self,
        asked: Vec<Asked>,
        question: Q,
    ) -> Vec<Answer<Q::Answer>> {
        let count = asked.len();
        let place = match self.place().await {
            Ok(place) => place,
            Err(failure) => return refused(count, &failure),
        };
        let Some(threads) = &self.threads else {
            return refused(
                count,
                &GuestFailure::Host("the host is stopping".to_owned()),
            );
        };
        let engine = self.engine.clone();
        let around = Arc::clone(&self.around);
        let ticking = self.ticker.ticking();
        let seed = self.seed(&question.about());
        let asking = threads.spawn(async move {
            let mut answers = Vec::with_capacity(count);
            for asked in &asked {
                let around = Arc::clone(&around);
                let seed = granted_seed(&asked.guest.grants, seed);
                answers.push(ask_fresh(&engine, asked, around, seed, &question).await);
            }
            drop((place, ticking));
            answers
        });
        match AbortOnDropHandle::new(asking).await {
            Ok(answers) => answers,
            Err(error) => {
                tracing::error!(%error, "asking a guest panicked in the host");
                refused(
                    count,
                    &GuestFailure::Host("the host panicked while asking".to_owned()),
                )
            }
        }
    }

    /// Waits for a place among the calls that run at once, for a bounded time in a bounded queue.
    async fn place(&self) -> Result<tokio::sync::OwnedSemaphorePermit, GuestFailure> {
        if let Ok(place) = Arc::clone(&self.places).try_acquire_owned() {
            return Ok(place);
        }
        let Ceilings {
            calls,
            queue,
            queue_time,
            ..
        } = self.ceilings;
        let overload = || GuestFailure::Overload {
            running: calls,
            waiting: queue,
            wait_ms: u64::try_from(queue_time.as_millis()).unwrap_or(u64::MAX),
        };
        let _turn = Waiting::enter(&self.waiting, queue).ok_or_else(overload)?;
        wait_for(&self.places, queue_time)
            .await
            .ok_or_else(overload)
    }

    /// Derives the seed of a guest's randomness: the same for the same call, unguessable
    /// without the host's key.
    fn seed(&self, about: &About) -> [u8; 32] {
        let id = match (&about.call, &about.session) {
            (Some(call), _) => call.id.as_str(),
            (None, Some(session)) => session.id.as_str(),
            (None, None) => "",
        };
        *blake3::keyed_hash(&self.host_key, id.as_bytes()).as_bytes()
    }
}

/// Returns the seed that a guest gets: the system's randomness where its row grants that.
fn granted_seed(grants: &Grants, seed: [u8; 32]) -> [u8; 32] {
    let mut random = [0; 32];
    match grants.random && getrandom::fill(&mut random).is_ok() {
        true => random,
        false => seed,
    }
}

async fn wait_for(
    places: &Arc<Semaphore>,
    time: Duration,
) -> Option<tokio::sync::OwnedSemaphorePermit> {
    tokio::time::timeout(time, Arc::clone(places).acquire_owned())
        .await
        .ok()?
        .ok()
}

/// One of the calls that wait for a place.
struct Waiting<'a>(&'a AtomicU32);

impl<'a> Waiting<'a> {
    fn enter(waiting: &'a AtomicU32, most: u32) -> Option<Self> {
        let entered = Self(waiting);
        (waiting.fetch_add(1, Ordering::SeqCst) < most).then_some(entered)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

fn refused<T>(count: usize, failure: &GuestFailure) -> Vec<Answer<T>> {
    let answer = || Answer {
        result: Err(failure.clone()),
        micros: 0,
        memory: 0,
        log: String::new(),
        writes: Vec::new(),
    };
    std::iter::repeat_with(answer).take(count).collect()
}

/// Returns the linker with everything that a guest may import.
pub(crate) fn linker(engine: &Engine) -> wasmtime::Result<Linker<GuestState>> {
    let mut linker = Linker::new(engine);
    wasi::add_to_linker(&mut linker)?;
    macro_rules! offer {
        ($($interface:ident)*) => {
            $($interface::add_to_linker::<GuestState, HasSelf<GuestState>>(
                &mut linker,
                |state| state,
            )?;)*
        };
    }
    offer!(types log config state files clock http roster sessions);
    Ok(linker)
}

/// Returns whether a component imports an interface, whatever its version.
fn imports(engine: &Engine, component: &Component, interface: &str) -> bool {
    let ty = component.component_type();
    ty.imports(engine)
        .any(|(name, _item)| name.split('@').next() == Some(interface))
}
