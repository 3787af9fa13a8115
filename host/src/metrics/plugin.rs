//! What one plugin's queue, calls and capabilities measure; and what the plugins measure themselves.

use informer_dispatch::{FilterStats, QueueStats, workqueue::WorkqueueStats};
use informer_runtime::{
    PluginStats,
    capabilities::{MetricFamily, MetricKind, MetricValue},
};
use informer_types::Gvr;

use super::{Exposition, filter::filter, queue::queue, workqueue::workqueue};

/// One plugin at the moment of the scrape.
pub(crate) struct Measured {
    pub(crate) name: String,
    pub(crate) filters: Vec<(Gvr, FilterStats)>,
    pub(crate) queue: QueueStats,
    pub(crate) workqueue: WorkqueueStats,
    pub(crate) calls: PluginStats,
    pub(crate) loaded: bool,
    pub(crate) own: Vec<MetricFamily>,
}

pub(crate) fn plugin(measured: &Measured, into: &mut Exposition) {
    for (gvr, stats) in &measured.filters {
        filter(&measured.name, gvr, stats, into);
    }
    queue(&measured.name, &measured.queue, into);
    workqueue(&measured.name, &measured.workqueue, into);
    calls(measured, into);
    capabilities(&measured.name, &measured.calls, into);
}

fn calls(measured: &Measured, into: &mut Exposition) {
    let (plugin, stats) = (measured.name.as_str(), &measured.calls);
    let labels = [("plugin", plugin)];
    for (name, help, value) in [
        ("informer_runtime_calls", "Calls that ended", stats.calls),
        ("informer_runtime_calls_acknowledged", "Calls that returned ok", stats.acknowledged),
        ("informer_runtime_instances_created", "Instances made", stats.instances_created),
        (
            "informer_runtime_instances_retired",
            "Instances thrown away because of what a call did",
            stats.instances_retired,
        ),
        ("informer_runtime_instances_waited", "Calls that waited for an instance", stats.instances_waited),
        ("informer_runtime_host_calls", "Calls of guests to the host", stats.host_calls),
        (
            "informer_runtime_throttled",
            "Times that a guest waited for the plugin's share of CPU",
            stats.throttled,
        ),
        ("informer_runtime_turns_waited", "Times that a guest waited for its turn", stats.turns_waited),
        (
            "informer_runtime_went_back",
            "Versions that took over, failed, and made room for the one before",
            stats.went_back,
        ),
        ("informer_runtime_memory_refusals", "Times that a guest was refused memory", stats.memory_refusals),
        ("informer_runtime_log_dropped_bytes", "Log beyond the limit of a call", stats.log_bytes_dropped),
        (
            "informer_runtime_log_left_out_lines",
            "Lines of log beyond the limit of a second",
            stats.log_lines_left_out,
        ),
        (
            "informer_runtime_metrics_refused",
            "Values of the plugin's own metrics that were refused",
            stats.metrics.refused,
        ),
    ] {
        into.counter(name, help, &labels, value);
    }
    let owned = || vec![("plugin".to_owned(), plugin.to_owned())];
    for (name, help, time) in [
        ("informer_runtime_running_seconds", "Time that guests ran", stats.running),
        (
            "informer_runtime_throttled_seconds",
            "Time that guests waited for the plugin's share of CPU",
            stats.throttled_time,
        ),
    ] {
        into.sum(name, help, owned(), time.as_secs_f64());
    }
    for (kind, count) in &stats.failures {
        let labels = [("plugin", plugin), ("kind", &kind.to_string())];
        into.counter("informer_runtime_call_failures", "Calls that failed, by kind", &labels, *count);
    }
    into.gauge("informer_runtime_loaded", "1 while a version is in service", &labels, measured.loaded.into());
    into.gauge("informer_runtime_instances_idle", "Warm instances that wait", &labels, stats.instances_idle);
    into.gauge(
        "informer_runtime_metric_series",
        "Series of the plugin's own metrics",
        &labels,
        stats.metrics.series,
    );
    for (name, help, timing) in [
        (
            "informer_runtime_call_duration_seconds",
            "From the start of an attempt to its end, waiting for an instance included",
            &stats.durations,
        ),
        (
            "informer_runtime_queue_duration_seconds",
            "From the offer of a notification to the start of an attempt",
            &stats.queued,
        ),
    ] {
        into.histogram(name, help, owned(), timing);
    }
}

fn capabilities(plugin: &str, stats: &PluginStats, into: &mut Exposition) {
    let labels = [("plugin", plugin)];
    for (outcome, count) in &stats.http.requests {
        let labels = [("plugin", plugin), ("outcome", outcome.as_str())];
        into.counter("informer_http_requests", "HTTP requests that ended, by how", &labels, *count);
    }
    into.gauge("informer_http_requests_in_flight", "HTTP requests under way", &labels, stats.http.in_flight);
    for (name, help, value) in [
        ("informer_http_sent_bytes", "Bodies of HTTP requests", stats.http.sent_bytes),
        ("informer_http_received_bytes", "Bodies of answers to HTTP requests", stats.http.received_bytes),
        ("informer_client_requests", "Requests sent to the API server", stats.client.requests),
        ("informer_client_failed", "Requests to the API server that failed", stats.client.failed),
        ("informer_client_refused", "Requests to the API server that no grant allows", stats.client.refused),
        (
            "informer_client_limited",
            "Requests to the API server beyond the plugin's limit",
            stats.client.limited,
        ),
        (
            "informer_client_events_suppressed",
            "Events left out because there were too many about one object",
            stats.client.events_suppressed,
        ),
        ("informer_keyvalue_reads", "Key-values read", stats.keyvalue.reads),
        ("informer_keyvalue_writes", "Key-values written", stats.keyvalue.writes),
        ("informer_keyvalue_refused", "Key-value calls beyond a quota or limit", stats.keyvalue.refused),
        ("informer_keyvalue_failed", "Key-value calls that the host's state failed", stats.keyvalue.failed),
    ] {
        into.counter(name, help, &labels, value);
    }
}

/// A plugin's own metrics, below a prefix that none of the host's has. What they are called is for nobody else to change:
/// where two plugins use one name for different kinds, the samples differ by their endings.
pub(crate) fn plugins_own(all: &[Measured], into: &mut Exposition) {
    for Measured { name, own, .. } in all {
        for family in own {
            measured(name, family, into);
        }
    }
}

fn measured(plugin: &str, family: &MetricFamily, into: &mut Exposition) {
    let (name, help) = (format!("informer_plugin_{}", family.name), "Measured by plugins themselves");
    for series in &family.series {
        let mut labels = vec![("plugin".to_owned(), plugin.to_owned())];
        labels.extend(series.labels.iter().cloned());
        match &series.value {
            MetricValue::Number(value) if family.kind == MetricKind::Counter => {
                into.sum(&name, help, labels, *value);
            }
            MetricValue::Number(value) => into.number(&name, help, labels, *value),
            MetricValue::Histogram(histogram) => into.histogram(&name, help, labels, histogram),
        }
    }
}
