//! The metrics, and how each value is read from the statistics of a stage. A new metric is a line here and a row in METRICS.md,
//! which has its meaning.

use std::{collections::BTreeMap, sync::LazyLock, time::Duration};

use informer_cache::{CacheMemory, InformerStatus, ReflectorStatus};
use informer_dispatch::{FilterStats, QueueStats, workqueue::WorkqueueStats};
use informer_registry::PullStats;
use informer_runtime::{
    GuestMemory, PluginStats, VersionInfo,
    capabilities::{HttpOutcome, MetricKind, MetricValue},
};
use informer_system::Process;
use informer_types::{FailureKind, Histogram};

use super::exposition::{Exposition, Labels};
use crate::{
    admin::types::{Configuration, Election, Receipts},
    state::StateStats,
};
use Read::{Counter, Counters, Gauge, Histograms, Seconds, TotalSeconds};

const METRICS: &str = include_str!("../../METRICS.md");

/// The meaning of each metric, by name: the first and the last column of the table in METRICS.md.
static MEANINGS: LazyLock<BTreeMap<&str, &str>> = LazyLock::new(|| {
    let rows = METRICS.lines().filter_map(|line| line.strip_prefix("| `")?.strip_suffix(" |"));
    rows.filter_map(|row| Some((row.split_once('`')?.0, row.rsplit_once("| ")?.1))).collect()
});

/// Families of metrics about a `T`, by their names without `informer_` or another prefix, and without the `_total` of a counter.
type Families<T> = [(&'static str, Read<T>)];

/// How the value of a family is read.
pub(crate) enum Read<T: 'static> {
    Counter(fn(&T) -> u64),
    /// A counter for each value of one more label.
    Counters(&'static str, fn(&T) -> Vec<(&'static str, u64)>),
    /// A counter of seconds.
    TotalSeconds(fn(&T) -> Duration),
    Gauge(fn(&T) -> usize),
    /// A gauge of seconds. Left out if it returns `None`.
    Seconds(fn(&T) -> Option<Duration>),
    Histograms(fn(&T) -> &Histogram),
}

/// One informer: reflectors, delta queue, cache and processor.
pub(crate) const INFORMER: &Families<InformerStatus> = &[
    ("reflector_lists", Counter(|status| status.counters.lists)),
    ("reflector_relists", Counter(|status| status.counters.relists)),
    ("reflector_streaming_lists", Counter(|status| status.counters.streaming_lists)),
    ("reflector_streaming_fallbacks", Counter(|status| status.counters.streaming_fallbacks)),
    ("reflector_watches", Counter(|status| status.counters.watches)),
    ("reflector_events", Counter(|status| status.counters.events)),
    ("reflector_bookmarks", Counter(|status| status.counters.bookmarks)),
    ("reflector_failures", Counter(|status| status.counters.failures)),
    ("reflector_silent_watches", Counter(|status| status.counters.silent_watches)),
    ("reflector_skipped_objects", Counter(|status| status.counters.skipped)),
    ("reflector_undecoded_objects", Counter(|status| status.counters.quarantined)),
    ("processor_suppressed_unchanged", Counter(|status| status.counters.suppressed_unchanged)),
    ("processor_sink_panics", Counter(|status| status.counters.sink_panics)),
    ("cache_index_failures", Counter(|status| status.counters.index_failures)),
    ("delta_queue_depth", Gauge(|status| status.queued_deltas)),
    ("cache_restarts", Counter(|status| status.counters.restarts)),
    ("cache_objects", Gauge(|status| status.objects)),
    ("cache_bytes", Gauge(|status| status.bytes)),
    ("cache_synced", Gauge(|status| status.synced.into())),
    ("processor_listeners", Gauge(|status| status.listeners.len())),
];

/// One reflector.
pub(crate) const REFLECTOR: &Families<ReflectorStatus> = &[
    ("reflector_lag_seconds", Seconds(|status| Some(status.lag))),
    ("reflector_data_age_seconds", Seconds(|status| status.data_age)),
    ("reflector_last_event_age_seconds", Seconds(|status| status.last_event_age)),
];

/// One reflector, labelled with its phase.
pub(crate) const PHASE: &Families<ReflectorStatus> = &[("reflector_phase", Gauge(|_| 1))];

/// The filter of one subscription.
pub(crate) const FILTER: &Families<FilterStats> = &[
    ("filter_passed", Counter(|filter| filter.passed)),
    ("filter_entered", Counter(|filter| filter.entered)),
    ("filter_left", Counter(|filter| filter.left)),
    ("filter_gone", Counter(|filter| filter.gone)),
    ("filter_unreadable", Counter(|filter| filter.unreadable)),
    ("filter_suppressed", Counters("condition", |filter| filter.suppressed.by_condition().into())),
    ("filter_when_evaluations", Counter(|filter| filter.when.evaluations)),
    ("filter_when_errors", Counter(|filter| filter.when.errors)),
    ("filter_when_seconds", TotalSeconds(|filter| filter.when.time)),
];

/// The acknowledgements of one plugin on disk.
pub(crate) const RECEIPTS: &Families<Receipts> = &[
    ("receipts_objects", Gauge(|kept| bytes(kept.objects))),
    ("receipts_bytes", Gauge(|kept| bytes(kept.bytes))),
    ("receipts_unwritten", Gauge(|kept| kept.unwritten)),
    ("receipts_failing", Gauge(|kept| kept.failing.is_some().into())),
];

/// The queue of one plugin.
pub(crate) const QUEUE: &Families<QueueStats> = &[
    ("queue_offered", Counter(|queue| queue.offered)),
    ("queue_acknowledged", Counter(|queue| queue.acknowledged)),
    ("queue_merged", Counters("kind", |queue| queue.merged.by_kind().into())),
    ("queue_cancelled", Counter(|queue| queue.cancelled)),
    ("queue_dead", Counter(|queue| queue.dead)),
    ("queue_dropped", Counter(|queue| queue.dropped)),
    ("queue_discarded", Counter(|queue| queue.discarded)),
    ("queue_delivered", Counter(|queue| queue.delivered)),
    ("queue_retried", Counter(|queue| queue.retried)),
    ("queue_given_back", Counter(|queue| queue.given_back)),
    ("queue_rate_limited", Counter(|queue| queue.rate_limited)),
    ("queue_over_budget", Counter(|queue| queue.over_budget)),
    ("queue_overflows", Counter(|queue| queue.overflows)),
    ("queue_quarantines", Counter(|queue| queue.quarantines)),
    ("queue_dead_letters_evicted", Counter(|queue| queue.dead_letters_evicted)),
    ("queue_pending", Gauge(|queue| queue.pending)),
    ("queue_delayed", Gauge(|queue| queue.delayed)),
    ("queue_in_flight", Gauge(|queue| queue.in_flight)),
    ("queue_objects", Gauge(|queue| queue.objects)),
    ("queue_dead_letters", Gauge(|queue| queue.dead_letters)),
    ("queue_behind", Gauge(|queue| queue.behind.into())),
    ("queue_quarantined", Gauge(|queue| queue.quarantine.is_some().into())),
    ("queue_oldest_seconds", Seconds(|queue| Some(queue.oldest.unwrap_or_default()))),
];

/// The signals of one plugin: calls for complete caches, for timers and for changed configuration files.
pub(crate) const SIGNALS: &Families<WorkqueueStats> = &[
    ("signals_raised", Counter(|signals| signals.adds)),
    ("signals_delivered", Counter(|signals| signals.succeeded)),
    ("signals_failed", Counter(|signals| signals.failed)),
    ("signals_dropped", Counter(|signals| signals.dropped)),
    ("signals_depth", Gauge(|signals| signals.depth)),
    ("signals_delayed", Gauge(|signals| signals.delayed)),
    ("signals_dead_letters", Gauge(|signals| signals.dropped_keys)),
    ("signals_quarantined", Gauge(|signals| signals.quarantine.is_some().into())),
    ("signals_queue_duration_seconds", Histograms(|signals| &signals.latency)),
    ("signals_work_duration_seconds", Histograms(|signals| &signals.work_duration)),
];

/// The workqueue of one plugin: client-go's workqueue metrics (W-14), and the results of its keys.
pub(crate) const WORKQUEUE: &Families<WorkqueueStats> = &[
    ("workqueue_adds", Counter(|keys| keys.adds)),
    ("workqueue_retries", Counter(|keys| keys.retries)),
    ("workqueue_refused", Counter(|keys| keys.refused)),
    ("workqueue_succeeded", Counter(|keys| keys.succeeded)),
    ("workqueue_requeued", Counter(|keys| keys.requeued)),
    ("workqueue_failed", Counter(|keys| keys.failed)),
    ("workqueue_given_back", Counter(|keys| keys.given_back)),
    ("workqueue_discarded", Counter(|keys| keys.discarded)),
    ("workqueue_dropped", Counter(|keys| keys.dropped)),
    ("workqueue_dropped_keys_evicted", Counter(|keys| keys.dropped_keys_evicted)),
    ("workqueue_quarantines", Counter(|keys| keys.quarantines)),
    ("workqueue_depth", Gauge(|keys| keys.depth)),
    ("workqueue_delayed", Gauge(|keys| keys.delayed)),
    ("workqueue_dropped_keys", Gauge(|keys| keys.dropped_keys)),
    ("workqueue_quarantined", Gauge(|keys| keys.quarantine.is_some().into())),
    ("workqueue_in_flight", Gauge(|keys| keys.in_flight)),
    ("workqueue_unfinished_work_seconds", Seconds(|keys| Some(keys.unfinished_work))),
    ("workqueue_longest_running_seconds", Seconds(|keys| Some(keys.longest_running))),
    ("workqueue_queue_duration_seconds", Histograms(|keys| &keys.latency)),
    ("workqueue_work_duration_seconds", Histograms(|keys| &keys.work_duration)),
];

/// The calls of one plugin, and its capabilities.
pub(crate) const RUNTIME: &Families<PluginStats> = &[
    ("runtime_calls", Counter(|plugin| plugin.calls)),
    ("runtime_calls_acknowledged", Counter(|plugin| plugin.acknowledged)),
    ("runtime_call_failures", Counters("kind", |plugin| by_word(&plugin.failures, FailureKind::as_str))),
    ("runtime_instances_created", Counter(|plugin| plugin.instances.created)),
    ("runtime_instances_retired", Counter(|plugin| plugin.instances.retired)),
    ("runtime_instances_waited", Counter(|plugin| plugin.instances.waited)),
    ("runtime_host_calls", Counter(|plugin| plugin.host_calls)),
    ("runtime_throttled", Counter(|plugin| plugin.throttled)),
    ("runtime_turns_waited", Counter(|plugin| plugin.turns_waited)),
    ("runtime_rollbacks", Counter(|plugin| plugin.went_back)),
    ("runtime_memory_bytes", Gauge(|plugin| bytes(plugin.memory_bytes))),
    ("runtime_linear_memory_bytes", Gauge(|plugin| bytes(plugin.linear_memory_bytes))),
    ("runtime_received_bytes", Counter(|plugin| plugin.received_bytes)),
    ("runtime_sent_bytes", Counter(|plugin| plugin.sent_bytes)),
    ("runtime_memory_refusals", Counter(|plugin| plugin.memory_refusals)),
    ("runtime_log_dropped_bytes", Counter(|plugin| plugin.log_bytes_dropped)),
    ("runtime_log_left_out_lines", Counter(|plugin| plugin.log_lines_left_out)),
    ("runtime_metrics_refused", Counter(|plugin| plugin.metrics.refused)),
    ("runtime_running_seconds", TotalSeconds(|plugin| plugin.running)),
    ("runtime_throttled_seconds", TotalSeconds(|plugin| plugin.throttled_time)),
    ("runtime_instances_idle", Gauge(|plugin| plugin.instances.idle)),
    ("runtime_metric_series", Gauge(|plugin| plugin.metrics.series)),
    ("runtime_call_duration_seconds", Histograms(|plugin| &plugin.durations)),
    ("runtime_queue_duration_seconds", Histograms(|plugin| &plugin.queued)),
    ("runtime_watch_to_done_seconds", Histograms(|plugin| &plugin.watch_to_done)),
    ("http_requests", Counters("outcome", |plugin| by_word(&plugin.http.requests, HttpOutcome::as_str))),
    ("http_requests_in_flight", Gauge(|plugin| plugin.http.in_flight)),
    ("http_sent_bytes", Counter(|plugin| plugin.http.sent_bytes)),
    ("http_received_bytes", Counter(|plugin| plugin.http.received_bytes)),
    ("client_requests", Counter(|plugin| plugin.client.requests)),
    ("client_failed", Counter(|plugin| plugin.client.failed)),
    ("client_refused", Counter(|plugin| plugin.client.refused)),
    ("client_limited", Counter(|plugin| plugin.client.limited)),
    ("client_events_suppressed", Counter(|plugin| plugin.client.events_suppressed)),
    ("keyvalue_reads", Counter(|plugin| plugin.keyvalue.reads)),
    ("keyvalue_writes", Counter(|plugin| plugin.keyvalue.writes)),
    ("keyvalue_refused", Counter(|plugin| plugin.keyvalue.refused)),
    ("keyvalue_failed", Counter(|plugin| plugin.keyvalue.failed)),
];

/// The guests of all plugins.
pub(crate) const GUEST_MEMORY: &Families<GuestMemory> = &[
    ("guest_memory_bytes", Gauge(|memory| bytes(memory.used_bytes))),
    ("guest_memory_ceiling_bytes", Gauge(|memory| bytes(memory.ceiling_bytes.unwrap_or_default()))),
    ("guest_memory_refusals", Counter(|memory| memory.refusals)),
];

/// The objects of all caches and queues.
pub(crate) const CACHE_MEMORY: &Families<CacheMemory> = &[
    ("objects_memory_bytes", Gauge(|memory| memory.used_bytes)),
    ("objects_memory_ceiling_bytes", Gauge(|memory| memory.ceiling_bytes.unwrap_or_default())),
];

/// The spans of traces.
pub(crate) const TELEMETRY: &Families<informer_telemetry::Stats> = &[(
    "telemetry_spans",
    Counters("outcome", |spans| {
        vec![("exported", spans.exported), ("dropped", spans.dropped), ("failed", spans.failed)]
    }),
)];

/// The pulls of one plugin from its registry.
pub(crate) const PULLS: &Families<PullStats> = &[
    (
        "registry_pulls",
        Counters("outcome", |pulls| {
            vec![("pulled", pulls.pulled), ("unchanged", pulls.unchanged), ("failed", pulls.failed)]
        }),
    ),
    ("registry_received_bytes", Counter(|pulls| pulls.received_bytes)),
];

/// The version of one plugin that is in service.
pub(crate) const VERSION: &Families<VersionInfo> = &[
    ("runtime_component_bytes", Gauge(|version| bytes(version.component_bytes))),
    ("runtime_code_bytes", Gauge(|version| bytes(version.code_bytes))),
    ("runtime_compile_seconds", Seconds(|version| Some(version.prepared_in))),
];

/// One plugin.
pub(crate) const LOADED: &Families<bool> = &[("runtime_loaded", Gauge(|loaded| (*loaded).into()))];

/// The configuration file.
pub(crate) const CONFIGURATION: &Families<Configuration> = &[
    ("configuration_refused", Gauge(|file| file.refused.is_some().into())),
    ("configuration_restart_needed", Gauge(|file| (!file.needs_restart.is_empty()).into())),
];

/// The readiness of the host.
pub(crate) const READY: &Families<bool> = &[("ready", Gauge(|ready| (*ready).into()))];

/// The state that outlives the process.
pub(crate) const STATE: &Families<StateStats> = &[
    ("state_failing", Gauge(|state| state.is_failing.into())),
    ("state_failures", Counter(|state| state.failures)),
];

/// The election that the host takes part in.
pub(crate) const ELECTION: &Families<Election> =
    &[("election_leads", Gauge(|election| election.leads.into()))];

/// The build of this program, in its labels.
const BUILD: &Families<()> = &[("build_info", Gauge(|()| 1))];

/// The process, by the names that Prometheus' own client libraries use for every process.
const PROCESS: &Families<Process> = &[
    ("cpu_seconds", TotalSeconds(|process| process.cpu)),
    ("resident_memory_bytes", Gauge(|process| bytes(process.resident_bytes))),
    ("virtual_memory_bytes", Gauge(|process| bytes(process.virtual_bytes))),
    ("open_fds", Gauge(|process| bytes(process.open_descriptors))),
    ("max_fds", Gauge(|process| bytes(process.max_descriptors))),
    ("threads", Gauge(|process| bytes(process.threads))),
    ("start_time_seconds", Seconds(|process| Some(process.started))),
];

/// Adds the samples of this program and of its process.
pub(crate) fn process(into: &mut Exposition) {
    let labels = [
        ("version", env!("CARGO_PKG_VERSION")),
        ("os", std::env::consts::OS),
        ("arch", std::env::consts::ARCH),
    ];
    expose(BUILD, &(), &labels, into);
    if let Some(process) = Process::current() {
        expose_below("process", PROCESS, &process, &[], into);
    }
}

/// Adds the samples of one informer.
pub(crate) fn informer(status: &InformerStatus, into: &mut Exposition) {
    let watch = status.key.to_string();
    expose(INFORMER, status, &[("watch", &watch)], into);
    for reflector in &status.reflectors {
        let namespace = reflector.namespace.as_deref().unwrap_or_default();
        let labels = [("watch", watch.as_str()), ("namespace", namespace)];
        expose(REFLECTOR, reflector, &labels, into);
        let [watch, namespace] = labels;
        expose(PHASE, reflector, &[watch, namespace, ("phase", reflector.phase.as_str())], into);
    }
}

/// Adds the samples of these families about one subject.
pub(crate) fn expose<T>(families: &Families<T>, of: &T, labels: &[(&str, &str)], into: &mut Exposition) {
    expose_below("informer", families, of, labels, into);
}

/// The same, with names that start with this prefix.
fn expose_below<T>(
    prefix: &str,
    families: &Families<T>,
    of: &T,
    labels: &[(&str, &str)],
    into: &mut Exposition,
) {
    let labels: Labels =
        labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    for (name, read) in families {
        let name = format!("{prefix}_{name}");
        let help = MEANINGS.get(name.as_str()).copied().unwrap_or_default();
        let mut number =
            |kind, labels, number| into.add(&name, help, labels, kind, MetricValue::Number(number));
        match read {
            Counter(read) => number(MetricKind::Counter, labels.clone(), count(read(of))),
            Counters(label, read) => {
                for (value, counted) in read(of) {
                    let mut labels = labels.clone();
                    labels.push(((*label).to_owned(), value.to_owned()));
                    number(MetricKind::Counter, labels, count(counted));
                }
            }
            TotalSeconds(read) => number(MetricKind::Counter, labels.clone(), read(of).as_secs_f64()),
            Gauge(read) => number(MetricKind::Gauge, labels.clone(), count(read(of) as u64)),
            Seconds(read) => {
                if let Some(time) = read(of) {
                    number(MetricKind::Gauge, labels.clone(), time.as_secs_f64());
                }
            }
            Histograms(read) => {
                let value = MetricValue::Histogram(read(of).clone());
                into.add(&name, help, labels.clone(), MetricKind::Histogram, value);
            }
        }
    }
}

fn by_word<K: Copy>(counts: &BTreeMap<K, u64>, word: fn(K) -> &'static str) -> Vec<(&'static str, u64)> {
    counts.iter().map(|(key, count)| (word(*key), *count)).collect()
}

fn bytes(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

#[expect(clippy::cast_precision_loss, reason = "exact up to 2^53")]
fn count(number: u64) -> f64 {
    number as f64
}
