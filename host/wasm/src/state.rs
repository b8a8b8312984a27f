//! What belongs to one instance: its world, its meter, the call it is asked about.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use damper_call::{Session, StateMap, ToolCall};
use wasmtime::{CallHook, Engine, ResourceLimiter, Store, UpdateDeadline};
use wasmtime_wasi::{ResourceTable, WasiCtx, WasiCtxView, WasiView};

use crate::{
    around::Around,
    engine::MAX_TABLE_ELEMENTS,
    grants::Grants,
    imports::{clock::now_ms, state::StateView},
    limits::{LimitHit, LimitKey, Limits},
    log::GuestLog,
    ticker::TICK,
    wasi,
};

/// How long a guest runs before others on its thread get a turn. Yielding at each tick costs
/// measurably, at each 10 ms it does not.
const TURN: Duration = Duration::from_millis(10);

/// Handles of host resources that a guest may hold at once.
const MAX_HANDLES: usize = 1_000;

/// The data of a store.
pub(crate) struct GuestState {
    pub(crate) wasi: WasiCtx,
    pub(crate) table: ResourceTable,
    pub(crate) call: Option<Arc<ToolCall>>,
    pub(crate) session: Option<Arc<Session>>,
    pub(crate) around: Arc<Around>,
    pub(crate) grants: Grants,
    /// The settings of the row: the text of one JSON object.
    pub(crate) settings: Arc<str>,
    /// `None` where there is no session to keep it for.
    pub(crate) state: Option<StateView>,
    /// When the call arrived, else when the hook was asked, in milliseconds since the epoch.
    pub(crate) started_ms: u64,
    pub(crate) log: GuestLog,
    pub(crate) meter: Meter,
}

/// What a new instance is given.
pub(crate) struct Endowment {
    pub(crate) about: About,
    pub(crate) around: Arc<Around>,
    pub(crate) grants: Grants,
    pub(crate) limits: Limits,
    pub(crate) settings: Arc<str>,
    /// What the plugin kept for the session, if there is one.
    pub(crate) state: Option<StateMap>,
    /// Seeds the guest's randomness.
    pub(crate) seed: [u8; 32],
}

/// What a question is about.
#[derive(Debug, Clone, Default)]
pub(crate) struct About {
    pub(crate) call: Option<Arc<ToolCall>>,
    pub(crate) session: Option<Arc<Session>>,
}

impl About {
    pub(crate) fn call(call: &Arc<ToolCall>) -> Self {
        Self {
            call: Some(Arc::clone(call)),
            session: Some(Arc::clone(&call.session)),
        }
    }

    pub(crate) fn session(session: &Arc<Session>) -> Self {
        Self {
            call: None,
            session: Some(Arc::clone(session)),
        }
    }
}

impl WasiView for GuestState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView {
            ctx: &mut self.wasi,
            table: &mut self.table,
        }
    }
}

/// Returns a store with every limit armed. The time limits start now.
pub(crate) fn store(engine: &Engine, endowment: Endowment) -> Store<GuestState> {
    let answer = usize::try_from(endowment.limits.answer).unwrap_or(usize::MAX);
    let mut store = unlimited_store(engine, endowment);
    store.limiter(|state| &mut state.meter);
    store.call_hook(|mut context, hook| context.data_mut().meter.switch(hook));
    store.epoch_deadline_callback(|mut context| context.data_mut().meter.tick());
    store.set_epoch_deadline(1);
    store.set_hostcall_fuel(answer);
    store
}

/// Returns a store in which no limit is armed.
pub(crate) fn unlimited_store(engine: &Engine, endowment: Endowment) -> Store<GuestState> {
    let Endowment {
        about: About { call, session },
        around,
        grants,
        limits,
        settings,
        state,
        seed,
    } = endowment;
    let log = GuestLog::new(limits.log);
    let started_ms = call
        .as_ref()
        .map_or_else(now_ms, |call| call.received_at_ms);
    let clock = wasi::Clock {
        started: Duration::from_millis(started_ms),
        runs: grants.clock,
    };
    let mut table = ResourceTable::new();
    table.set_max_capacity(MAX_HANDLES);
    let state = GuestState {
        wasi: wasi::empty_world(&log, clock, seed),
        table,
        call,
        session,
        around,
        grants,
        settings,
        state: state.map(|state| StateView::new(state, limits.state)),
        started_ms,
        log,
        meter: Meter::start(limits),
    };
    Store::new(engine, state)
}

/// Counts what one instance uses and says when it is too much.
#[derive(Debug)]
pub(crate) struct Meter {
    limits: Limits,
    started: Instant,
    memory: u64,
    table_elements: usize,
    host_calls: u64,
    guest_time: Duration,
    /// When guest code was last entered; `None` while the host runs. Host and guest alternate
    /// but also nest (a host call may call back into the guest's allocator), so sides are
    /// switched, never counted in pairs.
    in_guest_since: Option<Instant>,
    turn_began: Instant,
}

impl Meter {
    fn start(limits: Limits) -> Self {
        let now = Instant::now();
        Self {
            limits,
            started: now,
            memory: 0,
            table_elements: 0,
            host_calls: 0,
            guest_time: Duration::ZERO,
            in_guest_since: None,
            turn_began: now,
        }
    }

    pub(crate) const fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Returns how long the instance may still take.
    pub(crate) fn wall_time_left(&self) -> Duration {
        self.limits.wall_time.saturating_sub(self.started.elapsed())
    }

    /// Returns the bytes of linear memory in use, which is also the high-water mark: linear
    /// memory never shrinks.
    pub(crate) const fn memory(&self) -> u64 {
        self.memory
    }

    fn switch(&mut self, hook: CallHook) -> wasmtime::Result<()> {
        let now = Instant::now();
        if let Some(since) = self.in_guest_since.take() {
            self.guest_time += now - since;
        }
        if hook.exiting_host() {
            self.in_guest_since = Some(now);
        }
        if matches!(hook, CallHook::CallingHost) {
            self.host_calls += 1;
            if self.host_calls > self.limits.host_calls {
                return Err(LimitHit::count(LimitKey::HostCalls, self.limits.host_calls).into());
            }
        }
        Ok(())
    }

    fn tick(&mut self) -> wasmtime::Result<UpdateDeadline> {
        let now = Instant::now();
        let running = self
            .in_guest_since
            .map_or(Duration::ZERO, |since| now - since);
        if self.guest_time + running > self.limits.guest_time {
            return Err(LimitHit::time(LimitKey::GuestTime, self.limits.guest_time).into());
        }
        if now - self.started > self.limits.wall_time {
            return Err(LimitHit::time(LimitKey::WallTime, self.limits.wall_time).into());
        }
        if now - self.turn_began < TURN.saturating_sub(TICK) {
            return Ok(UpdateDeadline::Continue(1));
        }
        self.turn_began = now;
        Ok(UpdateDeadline::YieldCustom(
            1,
            Box::pin(tokio::task::yield_now()),
        ))
    }
}

impl ResourceLimiter for Meter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        let memory = self.memory + (desired.saturating_sub(current)) as u64;
        if memory > self.limits.memory {
            return Err(LimitHit::bytes(LimitKey::Memory, self.limits.memory).into());
        }
        self.memory = memory;
        Ok(true)
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        let elements = self.table_elements + desired.saturating_sub(current);
        if elements > MAX_TABLE_ELEMENTS {
            return Err(LimitHit::count(LimitKey::TableElements, MAX_TABLE_ELEMENTS as u64).into());
        }
        self.table_elements = elements;
        Ok(true)
    }
}
