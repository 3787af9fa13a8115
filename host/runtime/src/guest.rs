//! The host's data of one instance: its sandbox, the states of the capabilities, and the call in flight.

use std::{sync::Arc, time::Duration};

use informer_types::{CallTrace, EventTrace};
use wasmtime::component::ResourceTable;
use wasmtime_wasi::{HostWallClock, WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_http::{WasiHttpCtxView, WasiHttpView};

use crate::{
    LogStream, PluginConfig, Sources, Subject, WallClock,
    capabilities::{
        answer::LastQuery, config::ConfigTable, http::Egress, lister::OpenLists, objects::Objects,
    },
    component::Symbols,
    counters::Counters,
    memory::{Handles, MemoryLimit},
    output::Output,
    schedule::CallClock,
};

/// The most random bytes of one call. wasmtime would generate up to 64 MiB in one step that cannot be interrupted.
/// JavaScript requests at most 64 KiB.
const RANDOM_BYTES: u64 = 1 << 20;

/// The data of a store.
pub(crate) struct Guest {
    wasi: WasiCtx,
    /// The resources that the guest holds by handle.
    pub(crate) table: ResourceTable,
    /// The room in `table`.
    handles: Handles,
    http: Egress,
    pub(crate) memory: MemoryLimit,
    pub(crate) config: Arc<PluginConfig>,
    pub(crate) sources: Sources,
    pub(crate) output: Output,
    pub(crate) counters: Arc<Counters>,
    /// The last query for fields of an object.
    pub(crate) query: LastQuery,
    pub(crate) config_table: ConfigTable,
    /// The number of buckets of `wasi:keyvalue` that the guest has open.
    pub(crate) buckets: u32,
    pub(crate) call: CallState,
    /// Functions and lines of the sources, for failures.
    pub(crate) symbols: Option<Arc<Symbols>>,
    /// Advances the epoch, so that a guest with too many calls to the host is interrupted now and not at the next tick.
    engine: wasmtime::Engine,
}

/// The state of the call in flight.
pub(crate) struct CallState {
    /// The time limit of the call.
    pub(crate) allowed: Duration,
    pub(crate) clock: Arc<CallClock>,
    pub(crate) attempt: Attempt,
    /// True in a call of `handler`.
    pub(crate) handles: bool,
    /// The time after which the handler asked for another call for its object.
    pub(crate) again: Option<Duration>,
    /// The trace of the call, if it is for a sampled event.
    pub(crate) trace: Option<CallTrace>,
    /// Calls made to the host so far.
    host_calls: u32,
    /// Bytes of data that the guest received from the host so far.
    received_bytes: u64,
    /// Bytes of data that the guest passed to the host so far.
    sent_bytes: u64,
    pub(crate) objects: Objects,
    pub(crate) lists: OpenLists,
}

/// One attempt to make the call for a notification, a key or a signal. The default is for all other calls, such as `start`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attempt {
    /// 1 for the first attempt.
    pub(crate) number: u32,
    /// The time from the moment when the notification, the key or the signal entered its queue to the attempt.
    pub(crate) queued: Duration,
    /// The trace of the event that the attempt is for.
    pub(crate) event: EventTrace,
}

/// The clock of [`Sources::wall_clock`], as wasmtime reads it.
struct GivenClock(Arc<dyn WallClock>);

impl HostWallClock for GivenClock {
    fn resolution(&self) -> Duration {
        Duration::from_millis(1)
    }

    fn now(&self) -> Duration {
        self.0.now()
    }
}

// === impl Guest ===

impl Guest {
    pub(crate) fn new(
        engine: &wasmtime::Engine,
        config: Arc<PluginConfig>,
        sources: Sources,
        counters: Arc<Counters>,
        memory: MemoryLimit,
        clock: CallClock,
    ) -> Self {
        let output = Output::new(
            Arc::clone(&config.name),
            Arc::clone(&sources.log),
            &config.limits,
            Arc::clone(&counters.output),
        );
        // No environment, no arguments, no directories. TCP, UDP and name lookup are off by default.
        let mut wasi = WasiCtx::builder();
        wasi.stdout(output.stream(LogStream::Stdout))
            .stderr(output.stream(LogStream::Stderr))
            .max_random_size(RANDOM_BYTES);
        if let Some(clock) = &sources.wall_clock {
            wasi.wall_clock(GivenClock(Arc::clone(clock)));
        }
        let wasi = wasi.build();
        let (handles, table) = Handles::new(config.grants.http.is_some());
        let http = Egress::new(
            sources.http.clone(),
            Arc::clone(&config),
            output.clone(),
            Arc::clone(&counters.http),
            clock.revocation(),
        );
        Self {
            wasi,
            table,
            handles,
            http,
            memory,
            config,
            sources,
            output,
            counters,
            query: LastQuery::default(),
            config_table: ConfigTable::default(),
            buckets: 0,
            call: CallState::new(clock),
            symbols: None,
            engine: engine.clone(),
        }
    }

    /// Begins a call with this time limit. `subject` is the notification's object, or the key.
    pub(crate) fn begin(&mut self, allowed: Duration, attempt: Attempt, subject: Option<Subject>) {
        self.call.renew();
        self.call.handles = matches!(subject, Some(Subject::Object { .. }));
        self.output.begin(subject);
        self.call.allowed = allowed;
        self.call.clock.start(allowed);
        self.call.trace = attempt.event.begin_call(&self.config.name);
        self.call.attempt = attempt;
    }

    /// Counts a call of the guest to the host. Every imported function reaches the guest by this method.
    ///
    /// Not every interface can return an error. So the first call beyond the limit is executed too, and the guest is
    /// interrupted at the next function or loop that it enters: this method advances the epoch.
    pub(crate) fn called(&mut self) -> &mut Self {
        self.handles.before_call(&mut self.table, &mut self.memory);
        self.call.host_calls = self.call.host_calls.saturating_add(1);
        let first_too_many = self.config.limits.host_calls.map(|most| most.get().saturating_add(1));
        if first_too_many == Some(self.call.host_calls) {
            self.engine.increment_epoch();
        }
        self
    }

    /// Counts data that the host passes to the guest: objects, fields, values, configuration, and answers of the API server.
    pub(crate) fn receives(&mut self, bytes: usize) {
        self.call.received_bytes = self.call.received_bytes.saturating_add(bytes as u64);
    }

    /// Counts data that the guest passed to the host: key-values, keys, and bodies of requests to the API server.
    pub(crate) fn sent(&mut self, bytes: usize) {
        self.call.sent_bytes = self.call.sent_bytes.saturating_add(bytes as u64);
    }

    pub(crate) fn made_too_many_calls(&self) -> bool {
        self.config.limits.host_calls.is_some_and(|most| self.call.host_calls > most.get())
    }

    /// Ends the call: releases what the call held and logs the rest of what the guest printed.
    pub(crate) fn end(&mut self) {
        self.output.end();
        let counters = &self.counters.instances;
        counters.host_calls.add(self.call.host_calls.into());
        counters.received_bytes.add(self.call.received_bytes);
        counters.sent_bytes.add(self.call.sent_bytes);
        self.call.renew();
        // The trace of an event ends when its last clone is dropped.
        self.http.hooks.trace = None;
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
        hooks.deadline = self.call.clock.deadline().into();
        hooks.trace.clone_from(&self.call.trace);
        WasiHttpCtxView { ctx: context, table: &mut self.table, hooks }
    }
}

// === impl CallState ===

impl CallState {
    /// No call is in flight yet.
    fn new(clock: CallClock) -> Self {
        Self {
            allowed: Duration::ZERO,
            clock: Arc::new(clock),
            attempt: Attempt::default(),
            handles: false,
            again: None,
            trace: None,
            host_calls: 0,
            received_bytes: 0,
            sent_bytes: 0,
            objects: Objects::default(),
            lists: OpenLists::default(),
        }
    }

    fn renew(&mut self) {
        self.objects.renew();
        self.lists.renew();
        (self.host_calls, self.received_bytes, self.sent_bytes) = (0, 0, 0);
        self.attempt = Attempt::default();
        (self.handles, self.again) = (false, None);
        self.trace = None;
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::{
        capabilities::{HttpClient, HttpConfig},
        memory::Ceiling,
    };

    /// A guest without an instance and without sources, for tests of capabilities.
    pub(crate) fn idle(configure: impl FnOnce(&mut PluginConfig)) -> Guest {
        let mut config = PluginConfig::new("idle");
        configure(&mut config);
        let sources = Sources::nothing(HttpClient::new(HttpConfig::default()).unwrap());
        let ceiling = Arc::new(Ceiling::new(None));
        let memory = MemoryLimit::new(config.limits.memory_bytes, Arc::new(ceiling.account()));
        let clock = CallClock::new(Arc::default());
        Guest::new(&wasmtime::Engine::default(), Arc::new(config), sources, Arc::default(), memory, clock)
    }
}
