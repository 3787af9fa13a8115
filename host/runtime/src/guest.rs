//! What the host keeps for one instance: its sandbox and the call in hand.

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
    time::Duration,
};

use wasmtime::{ResourceLimiter, component::ResourceTable};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_http::{WasiHttpCtxView, WasiHttpView};

use crate::{
    LogStream, PluginConfig, Sources,
    capabilities::{answer::LastQuestion, http::Egress, lister::OpenLists, objects::Objects},
    output::Output,
    schedule::CallClock,
    stats::Counters,
};

/// Tables may hold so many functions: a large Python component has some ten thousand.
const TABLE_ELEMENTS: usize = 1_000_000;

/// Handles of WASI a guest may hold at a time, some of them with kilobytes behind them; the runtimes of the languages
/// hold a few dozen.
const HANDLES: usize = 1_000;

/// Random bytes that one call gives: wasmtime makes up to 64 MiB, in one piece of work that nothing interrupts. JavaScript asks for
/// 64 KiB at most.
const RANDOM_BYTES: u64 = 1 << 20;

/// The data of a store.
pub(crate) struct Guest {
    wasi: WasiCtx,
    table: ResourceTable,
    http: Egress,
    pub(crate) memory: MemoryLimit,
    pub(crate) config: Arc<PluginConfig>,
    pub(crate) sources: Sources,
    pub(crate) output: Output,
    pub(crate) counters: Arc<Counters>,
    /// What it asked for last of an object.
    pub(crate) question: LastQuestion,
    /// The configuration's table as `wasi:config` shows it; made where it is asked for.
    pub(crate) config_table: OnceLock<BTreeMap<String, String>>,
    /// How many it has open.
    pub(crate) buckets: u32,
    pub(crate) call: Call,
    /// Ends a guest that made too many calls where it is, instead of at the next tick.
    engine: wasmtime::Engine,
}

/// The call in hand.
pub(crate) struct Call {
    /// How long it may take, and what it has left of that.
    pub(crate) allowed: Duration,
    pub(crate) clock: Arc<CallClock>,
    /// Made to the host so far.
    host_calls: u32,
    pub(crate) objects: Objects,
    pub(crate) lists: OpenLists,
    pub(crate) attempt: u32,
    pub(crate) queued: Duration,
}

/// Refuses growth beyond the limit, all memories of the instance together, and remembers that it did.
pub(crate) struct MemoryLimit {
    bytes: usize,
    used: usize,
    refused: bool,
    counters: Arc<Counters>,
}

// === impl Guest ===

impl Guest {
    pub(crate) fn new(
        engine: &wasmtime::Engine,
        config: Arc<PluginConfig>,
        sources: Sources,
        counters: Arc<Counters>,
        clock: CallClock,
    ) -> Self {
        let output = Output::new(
            Arc::clone(&config.name),
            Arc::clone(&sources.log),
            &config.limits,
            Arc::clone(&counters.lines),
        );
        // No environment, no arguments, no directories; TCP, UDP and name lookup are off unless switched on.
        let wasi = WasiCtx::builder()
            .stdout(output.stream(LogStream::Stdout))
            .stderr(output.stream(LogStream::Stderr))
            .max_random_size(RANDOM_BYTES)
            .build();
        let mut table = ResourceTable::new();
        table.set_max_capacity(HANDLES);
        let memory = MemoryLimit {
            bytes: config.limits.memory_bytes,
            used: 0,
            refused: false,
            counters: Arc::clone(&counters),
        };
        let http = Egress::new(
            sources.http.clone(),
            Arc::clone(&config),
            output.clone(),
            Arc::clone(&counters.http),
        );
        Self {
            wasi,
            table,
            http,
            memory,
            config,
            sources,
            output,
            counters,
            question: LastQuestion::default(),
            config_table: OnceLock::new(),
            buckets: 0,
            call: Call::idle(clock),
            engine: engine.clone(),
        }
    }

    /// What it holds by handle.
    pub(crate) fn table(&mut self) -> &mut ResourceTable {
        &mut self.table
    }

    /// A call begins.
    pub(crate) fn begin(&mut self, allowed: Duration, attempt: u32, queued: Duration) {
        self.output.begin();
        self.call.renew();
        self.call.allowed = allowed;
        self.call.clock.start(allowed);
        self.call.attempt = attempt;
        self.call.queued = queued;
    }

    /// Every call of the guest to the host comes through here, and is counted. Not every interface has an error to
    /// return, so the one beyond the limit is made as well, and the guest ends as soon as it runs on: the epoch, advanced
    /// here, interrupts it at the next function or loop it enters.
    pub(crate) fn called(&mut self) -> &mut Self {
        self.call.host_calls = self.call.host_calls.saturating_add(1);
        let first_too_many = self.config.limits.host_calls.map(|most| most.get().saturating_add(1));
        if first_too_many == Some(self.call.host_calls) {
            self.engine.increment_epoch();
        }
        self
    }

    pub(crate) fn made_too_many_calls(&self) -> bool {
        self.config.limits.host_calls.is_some_and(|most| self.call.host_calls > most.get())
    }

    /// The call is over: what it held is let go, and what it printed is in the log.
    pub(crate) fn end(&mut self) {
        self.counters.dropped_log(self.output.end());
        self.counters.called_host(self.call.host_calls);
        self.call.renew();
    }
}

impl WasiView for Guest {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        self.called();
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl WasiHttpView for Guest {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        self.called();
        let Egress { context, hooks } = &mut self.http;
        hooks.deadline = self.call.clock.deadline();
        WasiHttpCtxView { ctx: context, table: &mut self.table, hooks }
    }
}

// === impl Call ===

impl Call {
    /// Between calls.
    fn idle(clock: CallClock) -> Self {
        Self {
            allowed: Duration::ZERO,
            clock: Arc::new(clock),
            host_calls: 0,
            objects: Objects::default(),
            lists: OpenLists::default(),
            attempt: 0,
            queued: Duration::ZERO,
        }
    }

    fn renew(&mut self) {
        self.objects.renew();
        self.lists.renew();
        self.host_calls = 0;
        self.attempt = 0;
        self.queued = Duration::ZERO;
    }
}

// === impl MemoryLimit ===

impl MemoryLimit {
    /// True once the guest wanted more than it may have.
    pub(crate) fn refused(&self) -> bool {
        self.refused
    }

    fn answer(&mut self, granted: bool) -> bool {
        if !granted {
            self.refused = true;
            self.counters.refused_memory();
        }
        granted
    }
}

impl ResourceLimiter for MemoryLimit {
    fn memory_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let used = self.used.saturating_add(desired.saturating_sub(current));
        let granted = used <= self.bytes;
        if granted {
            self.used = used;
        }
        Ok(self.answer(granted))
    }

    fn table_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        Ok(self.answer(desired <= TABLE_ELEMENTS))
    }
}
