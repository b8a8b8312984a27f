//! WASI 0.2 over an empty world: enough for standard libraries to start, and nothing more.
//!
//! Linked singly, because the whole set would bring sockets. The clock stands still, timers
//! are done at once and randomness follows from the call's id, so that a guest answers the
//! same call in the same way.

use std::time::Duration;

use rand::{SeedableRng as _, rngs::StdRng};
use wasmtime::component::{HasData, Linker, Resource};
use wasmtime_wasi::{
    HostMonotonicClock, HostWallClock, ResourceTable, WasiCtx, async_trait,
    cli::{WasiCli, WasiCliView as _},
    clocks::{WasiClocks, WasiClocksView as _},
    filesystem::{WasiFilesystem, WasiFilesystemView as _},
    p2::{
        DynPollable, Pollable,
        bindings::{cli, clocks, filesystem, io, random},
        subscribe,
    },
    random::WasiRandom,
};

use crate::{log::GuestLog, state::GuestState};

/// The most random bytes a guest gets at once; hash tables take 16.
const MAX_RANDOM: u64 = 64 * 1024;

/// Adds the interfaces that are always there.
pub(crate) fn add_to_linker(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    let l = linker;
    io::error::add_to_linker::<GuestState, Table>(l, |state| &mut state.table)?;
    io::poll::add_to_linker::<GuestState, Table>(l, |state| &mut state.table)?;
    io::streams::add_to_linker::<GuestState, Table>(l, |state| &mut state.table)?;
    clocks::wall_clock::add_to_linker::<GuestState, WasiClocks>(l, GuestState::clocks)?;
    clocks::monotonic_clock::add_to_linker::<GuestState, GrantedClock>(l, |state| {
        GrantedClockView(state)
    })?;
    random::random::add_to_linker::<GuestState, WasiRandom>(l, |state| state.wasi.random())?;
    random::insecure::add_to_linker::<GuestState, WasiRandom>(l, |state| state.wasi.random())?;
    random::insecure_seed::add_to_linker::<GuestState, WasiRandom>(l, |state| state.wasi.random())?;
    filesystem::types::add_to_linker::<GuestState, WasiFilesystem>(l, GuestState::filesystem)?;
    filesystem::preopens::add_to_linker::<GuestState, WasiFilesystem>(l, GuestState::filesystem)?;
    cli::exit::add_to_linker::<GuestState, WasiCli>(l, GuestState::cli)?;
    cli::environment::add_to_linker::<GuestState, WasiCli>(l, GuestState::cli)?;
    cli::stdin::add_to_linker::<GuestState, WasiCli>(l, GuestState::cli)?;
    cli::stdout::add_to_linker::<GuestState, WasiCli>(l, GuestState::cli)?;
    cli::stderr::add_to_linker::<GuestState, WasiCli>(l, GuestState::cli)?;
    cli::terminal_input::add_to_linker::<GuestState, WasiCli>(l, GuestState::cli)?;
    cli::terminal_output::add_to_linker::<GuestState, WasiCli>(l, GuestState::cli)?;
    cli::terminal_stdin::add_to_linker::<GuestState, WasiCli>(l, GuestState::cli)?;
    cli::terminal_stdout::add_to_linker::<GuestState, WasiCli>(l, GuestState::cli)?;
    cli::terminal_stderr::add_to_linker::<GuestState, WasiCli>(l, GuestState::cli)
}

/// Returns the world of one instance: no files, no environment, closed stdin.
pub(crate) fn empty_world(log: &GuestLog, clock: Clock, seed: [u8; 32]) -> WasiCtx {
    let insecure = blake3::derive_key("damper insecure random v1", &seed);
    let number = insecure
        .first_chunk()
        .map_or(0, |bytes| u128::from_le_bytes(*bytes));
    let mut world = WasiCtx::builder();
    if !clock.runs {
        world.wall_clock(Stopped(clock.started));
        world.monotonic_clock(Stopped(clock.started));
    }
    world
        .stdout(log.clone())
        .stderr(log.clone())
        .secure_random(StdRng::from_seed(seed))
        .insecure_random(StdRng::from_seed(insecure))
        .insecure_random_seed(number)
        .max_random_size(MAX_RANDOM)
        .build()
}

struct Table;

impl HasData for Table {
    type Data<'a> = &'a mut ResourceTable;
}

/// The clock of one instance.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    /// The time at which it stands still, since the Unix epoch.
    pub(crate) started: Duration,
    /// Whether it runs instead.
    pub(crate) runs: bool,
}

/// A clock that stands still.
struct Stopped(Duration);

impl HostWallClock for Stopped {
    fn resolution(&self) -> Duration {
        Duration::from_millis(1)
    }

    fn now(&self) -> Duration {
        self.0
    }
}

impl HostMonotonicClock for Stopped {
    fn resolution(&self) -> u64 {
        1_000_000
    }

    fn now(&self) -> u64 {
        0
    }
}

struct GrantedClock;

impl HasData for GrantedClock {
    type Data<'a> = GrantedClockView<'a>;
}

/// The monotonic clock. Without a grant it stays at zero and its timers are done at once:
/// waiting for a clock that stands still would be waiting for ever.
struct GrantedClockView<'a>(&'a mut GuestState);

impl GrantedClockView<'_> {
    fn done(&mut self) -> wasmtime::Result<Resource<DynPollable>> {
        let done = self.0.table.push(Done)?;
        subscribe(&mut self.0.table, done)
    }
}

impl clocks::monotonic_clock::Host for GrantedClockView<'_> {
    fn now(&mut self) -> wasmtime::Result<u64> {
        self.0.clocks().now()
    }

    fn resolution(&mut self) -> wasmtime::Result<u64> {
        self.0.clocks().resolution()
    }

    fn subscribe_instant(&mut self, when: u64) -> wasmtime::Result<Resource<DynPollable>> {
        match self.0.grants.clock {
            true => self.0.clocks().subscribe_instant(when),
            false => self.done(),
        }
    }

    fn subscribe_duration(&mut self, duration: u64) -> wasmtime::Result<Resource<DynPollable>> {
        match self.0.grants.clock {
            true => self.0.clocks().subscribe_duration(duration),
            false => self.done(),
        }
    }
}

struct Done;

#[async_trait]
impl Pollable for Done {
    async fn ready(&mut self) {
        // A guest may poll this in a loop; other guests on the thread get their turn.
        tokio::task::yield_now().await;
    }
}
