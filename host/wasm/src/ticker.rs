//! The clock that interrupts guests: an OS thread, so that no runtime can starve it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use wasmtime::{Engine, EngineWeak};

/// The time between two looks at a running guest: the most by which a limit is overrun.
///
/// The shortest default limit is 100 ms; a tick of 2 ms costs about 1 % of a core while
/// guests run, and nothing while none does.
pub(crate) const TICK: Duration = Duration::from_millis(2);

/// Advances the engine's epoch while guests run.
#[derive(Debug)]
pub(crate) struct Ticker {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    running: AtomicUsize,
    stop: AtomicBool,
}

/// Keeps the ticker going as long as it lives.
#[derive(Debug)]
pub(crate) struct Ticking {
    shared: Arc<Shared>,
}

impl Ticker {
    /// Starts the thread, asleep until a guest runs.
    pub(crate) fn start(engine: &Engine) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let weak = engine.weak();
        let thread = thread::Builder::new()
            .name("damper-ticker".to_owned())
            .spawn({
                let shared = Arc::clone(&shared);
                move || tick(&shared, &weak)
            })?;
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    /// Wakes the thread for a guest that is about to run.
    pub(crate) fn ticking(&self) -> Ticking {
        let before = self.shared.running.fetch_add(1, Ordering::SeqCst);
        if before == 0
            && let Some(thread) = &self.thread
        {
            thread.thread().unpark();
        }
        Ticking {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            if thread.join().is_err() {
                tracing::error!("the ticker thread panicked");
            }
        }
    }
}

impl Drop for Ticking {
    fn drop(&mut self) {
        self.shared.running.fetch_sub(1, Ordering::SeqCst);
    }
}

fn tick(shared: &Shared, engine: &EngineWeak) {
    while !shared.stop.load(Ordering::SeqCst) {
        if shared.running.load(Ordering::SeqCst) == 0 {
            thread::park();
            continue;
        }
        thread::sleep(TICK);
        let Some(engine) = engine.upgrade() else {
            return;
        };
        engine.increment_epoch();
    }
}
