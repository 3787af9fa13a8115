//! The calls of one plugin, and its capabilities.

use informer_runtime::PluginStats;

use super::family::Family;

pub(super) const FAMILIES: &[Family<PluginStats>] = &[
    Family::counter("informer_runtime_calls", "Calls that ended", |plugin| plugin.calls),
    Family::counter("informer_runtime_calls_acknowledged", "Calls that returned ok", |plugin| {
        plugin.acknowledged
    }),
    Family::counters("informer_runtime_call_failures", "kind", "Calls that failed, by kind", |plugin| {
        plugin.failures.iter().map(|(kind, count)| (kind.to_string(), *count)).collect()
    }),
    Family::counter("informer_runtime_instances_created", "Instances created", |plugin| {
        plugin.instances_created
    }),
    Family::counter(
        "informer_runtime_instances_retired",
        "Instances discarded because of what a call did",
        |plugin| plugin.instances_retired,
    ),
    Family::counter("informer_runtime_instances_waited", "Calls that waited for an instance", |plugin| {
        plugin.instances_waited
    }),
    Family::counter("informer_runtime_host_calls", "Calls of guests to the host", |plugin| plugin.host_calls),
    Family::counter(
        "informer_runtime_throttled",
        "Times that a guest waited for the plugin's share of CPU",
        |plugin| plugin.throttled,
    ),
    Family::counter("informer_runtime_turns_waited", "Times that a guest waited for its turn", |plugin| {
        plugin.turns_waited
    }),
    Family::counter(
        "informer_runtime_went_back",
        "Versions that failed and were replaced by the version before",
        |plugin| plugin.went_back,
    ),
    Family::counter("informer_runtime_memory_refusals", "Times that a guest was refused memory", |plugin| {
        plugin.memory_refusals
    }),
    Family::counter(
        "informer_runtime_log_dropped_bytes",
        "Bytes of log above the limit of a call",
        |plugin| plugin.log_bytes_dropped,
    ),
    Family::counter(
        "informer_runtime_log_left_out_lines",
        "Lines of log above the limit of a second",
        |plugin| plugin.log_lines_left_out,
    ),
    Family::counter(
        "informer_runtime_metrics_refused",
        "Values of the plugin's own metrics that were refused",
        |plugin| plugin.metrics.refused,
    ),
    Family::total_seconds("informer_runtime_running_seconds", "Time that guests ran", |plugin| {
        plugin.running
    }),
    Family::total_seconds(
        "informer_runtime_throttled_seconds",
        "Time that guests waited for the plugin's share of CPU",
        |plugin| plugin.throttled_time,
    ),
    Family::gauge("informer_runtime_instances_idle", "Warm instances without a call", |plugin| {
        plugin.instances_idle
    }),
    Family::gauge("informer_runtime_metric_series", "Series of the plugin's own metrics", |plugin| {
        plugin.metrics.series
    }),
    Family::histogram(
        "informer_runtime_call_duration_seconds",
        "Time of an attempt, including the wait for an instance",
        |plugin| &plugin.durations,
    ),
    Family::histogram(
        "informer_runtime_queue_duration_seconds",
        "Time from the offer of a notification to the start of an attempt",
        |plugin| &plugin.queued,
    ),
    Family::counters("informer_http_requests", "outcome", "HTTP requests that ended, by outcome", |plugin| {
        plugin.http.requests.iter().map(|(outcome, count)| (outcome.as_str().to_owned(), *count)).collect()
    }),
    Family::gauge("informer_http_requests_in_flight", "HTTP requests under way", |plugin| {
        plugin.http.in_flight
    }),
    Family::counter("informer_http_sent_bytes", "Bytes of HTTP request bodies", |plugin| {
        plugin.http.sent_bytes
    }),
    Family::counter("informer_http_received_bytes", "Bytes of HTTP response bodies", |plugin| {
        plugin.http.received_bytes
    }),
    Family::counter("informer_client_requests", "Requests sent to the API server", |plugin| {
        plugin.client.requests
    }),
    Family::counter("informer_client_failed", "Requests to the API server that failed", |plugin| {
        plugin.client.failed
    }),
    Family::counter("informer_client_refused", "Requests to the API server that no grant allows", |plugin| {
        plugin.client.refused
    }),
    Family::counter(
        "informer_client_limited",
        "Requests to the API server above the plugin's limit",
        |plugin| plugin.client.limited,
    ),
    Family::counter(
        "informer_client_events_suppressed",
        "Events left out because there were too many about one object",
        |plugin| plugin.client.events_suppressed,
    ),
    Family::counter("informer_keyvalue_reads", "Key-value calls that read", |plugin| plugin.keyvalue.reads),
    Family::counter("informer_keyvalue_writes", "Key-value calls that wrote", |plugin| {
        plugin.keyvalue.writes
    }),
    Family::counter("informer_keyvalue_refused", "Key-value calls above a quota or limit", |plugin| {
        plugin.keyvalue.refused
    }),
    Family::counter(
        "informer_keyvalue_failed",
        "Key-value calls that failed because of the host's state",
        |plugin| plugin.keyvalue.failed,
    ),
];
