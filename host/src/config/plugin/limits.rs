//! `[plugin.limits]`

use std::{num::NonZeroUsize, sync::LazyLock, time::Duration};

use crate::config::{
    key::{Key, Section},
    value::{Count, Share, Size},
};

/// What a plugin may use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// The limits that the runtime enforces.
    pub calls: informer_runtime::Limits,
    /// Instances at the same time; `None` means one per worker.
    pub instances: Option<NonZeroUsize>,
}

type K<V> = Key<Limits, V>;

/// The least is one page of WebAssembly, and the most is all that 32-bit addresses reach.
const MEMORY: (Size, Size) = (Size(64 << 10), Size(4 << 30));
/// A guest is interrupted every millisecond and a busy machine is late, so less than 10 ms cannot be kept. One call
/// occupies a worker, and a shutdown waits for it.
const DEADLINE: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(60 * 60));
/// With less than 10 ms a plugin would wait longer for its share than it takes to use the share up. No machine has a
/// thousand processors' time to give.
const CPU: (Share, Share) = (Share(Duration::from_millis(10)), Share(Duration::from_secs(1_000)));
/// At the default memory limit 256 instances may hold 16 GiB.
const INSTANCES: (Count, Count) = (Count(1), Count(256));
/// The log text of a call stays in memory until it is written.
const LOG: (Size, Size) = (Size(0), Size(64 << 20));
/// One small object fits into the least; the guest copies all of it into its own memory.
const BODY: (Size, Size) = (Size(1 << 10), Size(1 << 30));
/// An API server allows all clients of one program some hundreds.
const REQUESTS: (Count, Count) = (Count(1), Count(10_000));
/// Writes of all plugins share one disk, which commits some hundred times a second.
const KEYVALUE_WRITES: (Count, Count) = (Count(1), Count(100_000));
/// Each is a connection of this process.
const HTTP_REQUESTS: (Count, Count) = (Count(1), Count(1024));
/// All series are written at each scrape.
const METRIC_SERIES: (Count, Count) = (Count(0), Count(100_000));

pub(in crate::config) static LIMITS: LazyLock<Section<Limits>> = LazyLock::new(|| Section {
    doc: "What the plugin may use. A call that exceeds `memory`, `deadline` or `host-calls` fails, and \
          its instance is replaced. Beyond `cpu` and `instances` calls wait. One call from the guest may \
          pass at most 4 MiB to the host; more is a trap.",
    keys: vec![
        K::<Size>::new("memory", |limits| &mut limits.calls.memory_bytes).within(MEMORY).doc(
            "Memory of one instance: its linear memory, its tables, and what the host holds for it, such as \
                 globals and handles.",
        ),
        K::<Duration>::new("deadline", |limits| &mut limits.calls.deadline)
            .within(DEADLINE)
            .doc("Duration of one call. Host calls count; waiting for a turn or for `cpu` does not."),
        K::<Share>::new("cpu", |limits| &mut limits.calls.cpu).within(CPU).example("\"200ms/s\"").doc(
            "Processor time per second of all instances together: \"200ms/s\" is a fifth of one \
             processor. Default: no limit; plugins that compete for processors get equal shares.",
        ),
        K::<Count>::new("host-calls", |limits| &mut limits.calls.host_calls)
            .doc("Calls to the host during one call. 0 means no limit."),
        K::<Count>::new("instances", |limits| &mut limits.instances)
            .within(INSTANCES)
            .example("4")
            .doc("Instances at the same time. Default: the number of workers."),
        K::<Size>::new("log", |limits| &mut limits.calls.log_bytes)
            .within(LOG)
            .doc("Log text per call. The rest is cut and counted. 0 keeps no text."),
        K::<Count>::new("log-lines", |limits| &mut limits.calls.log_lines).doc(
            "Log lines per second of all instances together. Further lines are dropped and counted. 0 \
             means no limit.",
        ),
        K::<Size>::new("response", |limits| &mut limits.calls.response_bytes)
            .within(BODY)
            .doc("Size of the answer to one host call."),
        K::<Count>::new("requests", |limits| &mut limits.calls.requests).within(REQUESTS).doc(
            "Requests to the API server per second, of all calls together. Further requests wait, or are \
             refused.",
        ),
        K::<Count>::new("keyvalue-writes", |limits| &mut limits.calls.keyvalue_writes)
            .within(KEYVALUE_WRITES)
            .doc(
                "Writes through `wasi:keyvalue` per second, of all calls together. A write of more than 16 \
                 KiB counts once for each 16 KiB, and each entry counts as 1 KiB more than its bytes. \
                 Further writes wait, or are refused.",
            ),
        K::<Count>::new("http-requests", |limits| &mut limits.calls.http_requests)
            .within(HTTP_REQUESTS)
            .doc("HTTP requests in flight, of all calls together. One more fails."),
        K::<Size>::new("http-body", |limits| &mut limits.calls.http_body_bytes)
            .within(BODY)
            .doc("Size of the body of an HTTP request, and of a response."),
        K::<Count>::new("metric-series", |limits| &mut limits.calls.metric_series).within(METRIC_SERIES).doc(
            "Series of the plugin's own metrics. Each is kept until the host ends. One more is refused \
             and counted.",
        ),
    ],
});
