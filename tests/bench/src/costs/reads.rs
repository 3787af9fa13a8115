//! Measures the time of reads of the lister. The component itself measures.

use anyhow::{Context, Result};

use super::stage::{Stage, WATCH, acknowledged};
use crate::{
    client,
    collection::Kind,
    host::{Configuration, Place, Plugin},
    metrics::Metrics,
};

/// The component. In each update it reads from the lister, and sets gauges to the mean times of the reads.
const STOPWATCH: &str = "stopwatch.wasm";

/// The name of the plugin.
const PLUGIN: &str = "stopwatch";

/// A label that all generated pods have.
const LABELS: &str = "example.com/team";

/// The number of lists whose mean time is measured.
const LISTS: usize = 20;

/// The number of updates. The component measures in each of them, and the times of the last one count.
const UPDATES: u64 = 2;

/// The times of reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ReadCosts {
    /// The number of objects that the list returns.
    pub(super) listed: f64,
    /// Seconds for a list of two fields of all listed objects.
    pub(super) list_seconds: f64,
    /// Mean seconds for a read of two fields of one object. The component reads each listed object once.
    pub(super) get_seconds: f64,
}

/// Makes the component measure, and reads its metrics.
///
/// # Errors
/// A process cannot be started, or the component fails.
pub(super) async fn measure(stage: &Stage) -> Result<ReadCosts> {
    let (served, place) = (stage.serve().await?, Place::new(&stage.informer)?);
    let component = place.write(STOPWATCH, &stage.component(STOPWATCH)?)?;
    let [first, second] = Kind::Pods.two_fields();
    let tables = format!(
        "[plugin.limits]\nmemory = \"512MiB\"\ndeadline = \"10m\"\n[plugin.grant]\nread = [\"{WATCH}\"]\n[plugin.config]\n\
         gvr = \"{WATCH}\"\nlabels = \"{LABELS}\"\nfields = [\"{first}\", \"{second}\"]\nlists = {LISTS}\n"
    );
    let mut configuration = Configuration::new(WATCH);
    let on = "events = [\"update\"]\ninitial = \"skip\"\nreads = \"all\"";
    configuration.add(Plugin { name: PLUGIN, component: &component, on, tables: &tables });
    let host = place.start(&served.cluster(), &configuration).await?;
    // After the first list, the host compresses the objects.
    host.at_rest().await?;
    for update in 1..=UPDATES {
        client::emit(&served.client, 1).await?;
        let handled = |metrics: &Metrics| acknowledged(metrics, PLUGIN);
        stage.until(&host, update, handled).await.context("the component measures")?;
    }
    let costs = ReadCosts::of(&host.metrics().await?)?;
    host.kill().await?;
    Ok(costs)
}

// === impl ReadCosts ===

impl ReadCosts {
    fn of(metrics: &Metrics) -> Result<Self> {
        let gauge = |name| metrics.value(&format!("informer_plugin_{name}"), &[("plugin", PLUGIN)]);
        Ok(Self {
            listed: gauge("listed_objects")?,
            list_seconds: gauge("list_fields_seconds")?,
            get_seconds: gauge("get_fields_seconds")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_costs_are_the_gauges_of_the_component() {
        let text = "informer_plugin_listed_objects{plugin=\"stopwatch\"} 9000.0\n\
                    informer_plugin_list_fields_seconds{plugin=\"stopwatch\"} 0.25\n\
                    informer_plugin_get_fields_seconds{plugin=\"stopwatch\"} 0.00002\n";

        let costs = ReadCosts::of(&Metrics::parse(text).unwrap()).unwrap();

        let expected = ReadCosts { listed: 9_000.0, list_seconds: 0.25, get_seconds: 0.000_02 };
        assert_eq!(costs, expected);
        assert!(ReadCosts::of(&Metrics::default()).is_err());
    }
}
