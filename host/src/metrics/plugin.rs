//! One plugin: its filters, queues and calls, and its own metrics.

use informer_dispatch::{FilterStats, QueueStats, workqueue::WorkqueueStats};
use informer_runtime::{
    PluginStats,
    capabilities::{MetricFamily, MetricKind, MetricValue},
};
use informer_types::Gvr;

use super::{
    exposition::Exposition,
    family::{Family, expose},
    filter, queue, runtime, workqueue,
};

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

const FAMILIES: &[Family<Measured>] =
    &[Family::gauge("informer_runtime_loaded", "1 while a version is in service", |plugin| {
        plugin.loaded.into()
    })];

pub(crate) fn plugin(measured: &Measured, into: &mut Exposition) {
    let labels = [("plugin", measured.name.as_str())];
    for (gvr, stats) in &measured.filters {
        let [plugin] = labels;
        expose(filter::FAMILIES, stats, &[plugin, ("watch", &gvr.to_string())], into);
    }
    expose(queue::FAMILIES, &measured.queue, &labels, into);
    expose(workqueue::FAMILIES, &measured.workqueue, &labels, into);
    expose(runtime::FAMILIES, &measured.calls, &labels, into);
    expose(FAMILIES, measured, &labels, into);
}

/// The metrics that plugins measure themselves, below a prefix that no metric of the host has. If two plugins use one name for
/// different kinds, the samples differ by their endings.
pub(crate) fn plugins_own(all: &[Measured], into: &mut Exposition) {
    for Measured { name, own, .. } in all {
        for family in own {
            plugin_own(name, family, into);
        }
    }
}

fn plugin_own(plugin: &str, family: &MetricFamily, into: &mut Exposition) {
    let (name, help) = (format!("informer_plugin_{}", family.name), "Measured by plugins themselves");
    for series in &family.series {
        let mut labels = vec![("plugin".to_owned(), plugin.to_owned())];
        labels.extend(series.labels.iter().cloned());
        match &series.value {
            MetricValue::Number(value) if family.kind == MetricKind::Counter => {
                into.counter(&name, help, labels, *value);
            }
            MetricValue::Number(value) => into.gauge(&name, help, labels, *value),
            MetricValue::Histogram(histogram) => into.histogram(&name, help, labels, histogram),
        }
    }
}
