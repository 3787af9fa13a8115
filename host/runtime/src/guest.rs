//! What the host keeps for one instance: its sandbox and the call in hand.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use wasmtime::{ResourceLimiter, component::ResourceTable};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use crate::{
    Grants, Limits, LogStream,
    capabilities::{ListerSource, lister::OpenLists, objects::Objects},
    output::Output,
};

/// Tables may hold so many functions: a large Python component has some ten thousand.
const TABLE_ELEMENTS: usize = 1_000_000;

/// The data of a store.
pub(crate) struct Guest {
    wasi: WasiCtx,
    table: ResourceTable,
    pub(crate) memory: MemoryLimit,
    pub(crate) plugin: Arc<str>,
    pub(crate) grants: Arc<Grants>,
    pub(crate) limits: Limits,
    pub(crate) lister: Arc<dyn ListerSource>,
    pub(crate) output: Output,
    pub(crate) log_bytes_dropped: u64,
    pub(crate) call: Call,
}

/// The call in hand.
pub(crate) struct Call {
    /// When it has to be over.
    pub(crate) deadline: Instant,
    pub(crate) objects: Objects,
    pub(crate) lists: OpenLists,
    pub(crate) attempt: u32,
    pub(crate) queued: Duration,
}

/// Refuses growth beyond the limit, all memories of the instance together, and remembers that it did.
pub(crate) struct MemoryLimit {
    bytes: usize,
    used: usize,
    refusals: u64,
}

// === impl Guest ===

impl Guest {
    pub(crate) fn new(
        plugin: Arc<str>,
        grants: Arc<Grants>,
        limits: Limits,
        lister: Arc<dyn ListerSource>,
        output: Output,
    ) -> Self {
        // No environment, no arguments, no directories, no network.
        let wasi = WasiCtx::builder()
            .stdout(output.stream(LogStream::Stdout))
            .stderr(output.stream(LogStream::Stderr))
            .build();
        Self {
            wasi,
            table: ResourceTable::new(),
            memory: MemoryLimit { bytes: limits.memory_bytes, used: 0, refusals: 0 },
            plugin,
            grants,
            limits,
            lister,
            output,
            log_bytes_dropped: 0,
            call: Call::idle(),
        }
    }
}

impl WasiView for Guest {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

// === impl Call ===

impl Call {
    /// Between calls.
    fn idle() -> Self {
        Self {
            deadline: Instant::now(),
            objects: Objects::default(),
            lists: OpenLists::default(),
            attempt: 0,
            queued: Duration::ZERO,
        }
    }

    /// A call begins; tokens of earlier calls stay stale.
    pub(crate) fn begin(&mut self, deadline: Instant, attempt: u32, queued: Duration) {
        *self = Self { deadline, attempt, queued, objects: self.objects.renew(), lists: self.lists.renew() };
    }

    /// The call is over; its objects and lists are let go.
    pub(crate) fn end(&mut self) {
        self.begin(self.deadline, 0, Duration::ZERO);
    }
}

// === impl MemoryLimit ===

impl MemoryLimit {
    /// Refusals since they were last taken.
    pub(crate) fn refusals(&self) -> u64 {
        self.refusals
    }

    /// As [`MemoryLimit::refusals`], and counts from zero again.
    pub(crate) fn take_refusals(&mut self) -> u64 {
        std::mem::take(&mut self.refusals)
    }
}

impl ResourceLimiter for MemoryLimit {
    fn memory_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let used = self.used.saturating_add(desired.saturating_sub(current));
        let granted = used <= self.bytes;
        if granted {
            self.used = used;
        } else {
            self.refusals += 1;
        }
        Ok(granted)
    }

    fn table_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let granted = desired <= TABLE_ELEMENTS;
        self.refusals += u64::from(!granted);
        Ok(granted)
    }
}
