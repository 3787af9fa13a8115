//! `[plugin.limits]`

use std::time::Duration;

use crate::config::{
    key::{
        Key, Section,
        Shown::{ByDefault, Example},
    },
    plugin::Limits,
    value::{Count, Scalar, Share, Size},
};

type K<V> = Key<Limits, V>;

/// One page of WebAssembly, and all that 32-bit addresses reach.
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
/// Each is a connection of this process.
const HTTP_REQUESTS: (Count, Count) = (Count(1), Count(1024));
/// All series are written at each scrape.
const METRIC_SERIES: (Count, Count) = (Count(0), Count(100_000));

pub(super) static LIMITS: Section<Limits> = Section {
    doc: "What the plugin may use. A call that exceeds `memory`, `deadline` or `host-calls` fails, and its instance is \
          replaced. Beyond `cpu` and `instances` calls wait. One call from the guest may pass at most 4 MiB to the host; \
          more is a trap.",
    keys: &[
        &K::<Size> {
            name: "memory",
            doc: "Linear memory of one instance.",
            shown: ByDefault(|limits| Scalar::shown(&Size(limits.calls.memory_bytes))),
            bounds: Some(MEMORY),
            set: |limits, it| limits.calls.memory_bytes = it.value.0,
        },
        &K::<Duration> {
            name: "deadline",
            doc: "Duration of one call. Host calls count; waiting for a turn or for `cpu` does not.",
            shown: ByDefault(|limits| Scalar::shown(&limits.calls.deadline)),
            bounds: Some(DEADLINE),
            set: |limits, it| limits.calls.deadline = it.value,
        },
        &K::<Share> {
            name: "cpu",
            doc: "Processor time per second of all instances together: \"200ms/s\" is a fifth of one processor. Default: no \
                  limit; plugins that compete for processors get equal shares.",
            shown: Example("\"200ms/s\""),
            bounds: Some(CPU),
            set: |limits, it| limits.calls.cpu = Some(it.value.0),
        },
        &K::<Count> {
            name: "host-calls",
            doc: "Calls to the host during one call. 0 means no limit.",
            shown: ByDefault(|limits| limits.calls.host_calls.map_or(0, u32::from).to_string()),
            bounds: None,
            set: |limits, it| limits.calls.host_calls = it.value.non_zero(),
        },
        &K::<Count> {
            name: "instances",
            doc: "Instances at the same time. Default: the number of workers.",
            shown: Example("4"),
            bounds: Some(INSTANCES),
            set: |limits, it| limits.instances = it.value.non_zero_size(),
        },
        &K::<Size> {
            name: "log",
            doc: "Log text per call. The rest is cut and counted. 0 keeps no text.",
            shown: ByDefault(|limits| Scalar::shown(&Size(limits.calls.log_bytes))),
            bounds: Some(LOG),
            set: |limits, it| limits.calls.log_bytes = it.value.0,
        },
        &K::<Count> {
            name: "log-lines",
            doc: "Log lines per second of all instances together. Further lines are dropped and counted. 0 means no limit.",
            shown: ByDefault(|limits| limits.calls.log_lines.map_or(0, u32::from).to_string()),
            bounds: None,
            set: |limits, it| limits.calls.log_lines = it.value.non_zero(),
        },
        &K::<Size> {
            name: "response",
            doc: "Size of the answer to one host call.",
            shown: ByDefault(|limits| Scalar::shown(&Size(limits.calls.response_bytes))),
            bounds: Some(BODY),
            set: |limits, it| limits.calls.response_bytes = it.value.0,
        },
        &K::<Count> {
            name: "requests",
            doc: "Requests to the API server per second, of all calls together. Further requests wait, or are refused.",
            shown: ByDefault(|limits| limits.calls.requests.to_string()),
            bounds: Some(REQUESTS),
            set: |limits, it| limits.calls.requests = it.value.non_zero().unwrap_or(limits.calls.requests),
        },
        &K::<Count> {
            name: "http-requests",
            doc: "HTTP requests in flight, of all calls together. One more fails.",
            shown: ByDefault(|limits| limits.calls.http_requests.to_string()),
            bounds: Some(HTTP_REQUESTS),
            set: |limits, it| limits.calls.http_requests = it.value.size(),
        },
        &K::<Size> {
            name: "http-body",
            doc: "Size of the body of an HTTP request, and of a response.",
            shown: ByDefault(|limits| Scalar::shown(&Size(limits.calls.http_body_bytes))),
            bounds: Some(BODY),
            set: |limits, it| limits.calls.http_body_bytes = it.value.0,
        },
        &K::<Count> {
            name: "metric-series",
            doc: "Series of the plugin's own metrics. Each is kept until the host ends. One more is refused and counted.",
            shown: ByDefault(|limits| limits.calls.metric_series.to_string()),
            bounds: Some(METRIC_SERIES),
            set: |limits, it| limits.calls.metric_series = it.value.size(),
        },
    ],
};
