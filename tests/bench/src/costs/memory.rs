//! The memory of an empty host, of a plugin, and of objects.

use anyhow::{Context, Result};

use super::stage::{Stage, TWO_FIELDS, WATCH, acknowledged};
use crate::{
    collection::Kind,
    host::{ApiServer, Configuration, Host, Place, Plugin},
    usage::Usage,
};

/// The name of the plugin.
const PLUGIN: &str = "reader";

/// The line of `[host]` that turns the steps of `informer explain` off. Their memory grows to a fixed size with the first events.
const NO_STEPS: &str = "trace = 0";

/// The memory of idle hosts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct MemoryCosts {
    /// A host without plugins.
    pub(super) empty: Usage,
    /// A host with one plugin and no objects.
    pub(super) plugin: Usage,
    /// The memory of an object if the host keeps two fields.
    pub(super) projected: ObjectBytes,
    /// The memory of an object if the host keeps all fields.
    pub(super) whole: ObjectBytes,
}

/// The memory of a host minus the memory of the same host without objects, divided by the number of objects, in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ObjectBytes {
    /// The resident memory of the idle host.
    pub(super) settled: f64,
    /// The peak of the resident memory.
    pub(super) peak: f64,
}

/// Starts the hosts one after the other.
///
/// # Errors
/// A process cannot be started, or an object is not handled.
pub(super) async fn measure(stage: &Stage) -> Result<MemoryCosts> {
    let server = ApiServer::start(&stage.informer).await?;
    let two_fields = Kind::Pods.two_fields();
    Ok(MemoryCosts {
        empty: without_plugins(stage, &server).await.context("no plugin")?,
        plugin: without_objects(stage, &server, "", "").await.context("one plugin")?,
        projected: objects(stage, &server, &format!("reads = {two_fields:?}")).await.context("two fields")?,
        whole: objects(stage, &server, "reads = \"all\"").await.context("whole objects")?,
    })
}

async fn without_plugins(stage: &Stage, server: &ApiServer) -> Result<Usage> {
    let place = Place::new(&stage.informer)?;
    let host = place.start(&server.cluster(), &Configuration::new(WATCH)).await?;
    settled(stage, host).await
}

async fn without_objects(stage: &Stage, server: &ApiServer, lines: &'static str, on: &str) -> Result<Usage> {
    let place = Place::new(&stage.informer)?;
    let host = place.start(&server.cluster(), &configuration(stage, &place, lines, on)?).await?;
    settled(stage, host).await
}

/// The memory of each object in a host whose subscription has this `reads` line.
async fn objects(stage: &Stage, empty: &ApiServer, reads: &str) -> Result<ObjectBytes> {
    let without = without_objects(stage, empty, NO_STEPS, reads).await.context("without objects")?;
    let (served, place) = (stage.serve().await?, Place::new(&stage.informer)?);
    let host = place.start(&served.cluster(), &configuration(stage, &place, NO_STEPS, reads)?).await?;
    let handled = stage.until(&host, stage.objects as u64, |metrics| acknowledged(metrics, PLUGIN));
    handled.await.context("the first list")?;
    Ok(ObjectBytes::of(&without, &settled(stage, host).await?, stage.objects))
}

/// One plugin, with these lines of `[host]` and of the subscription.
fn configuration(stage: &Stage, place: &Place, lines: &'static str, on: &str) -> Result<Configuration> {
    let component = place.write(TWO_FIELDS, &stage.component(TWO_FIELDS)?)?;
    let mut configuration = Configuration::new(WATCH).host(lines);
    configuration.add(Plugin { name: PLUGIN, component: &component, on, tables: "" });
    Ok(configuration)
}

/// Lets the host idle, and ends it.
async fn settled(stage: &Stage, host: Host) -> Result<Usage> {
    let usage = host.idle(stage.idle).await?;
    host.kill().await?;
    Ok(usage)
}

// === impl ObjectBytes ===

impl ObjectBytes {
    fn of(without: &Usage, with: &Usage, objects: usize) -> Self {
        let each = |without: u64, with: u64| (with as f64 - without as f64) / objects as f64;
        Self {
            settled: each(without.resident_bytes, with.resident_bytes),
            peak: each(without.peak_bytes, with.peak_bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_the_host_without_objects_is_subtracted() {
        let usage = |resident_bytes, peak_bytes| Usage {
            cpu_seconds: 1.0,
            resident_bytes,
            anonymous_bytes: 0,
            peak_bytes,
            threads: 1,
        };

        let bytes = ObjectBytes::of(&usage(1_000, 2_000), &usage(6_000, 1_000), 10);

        assert_eq!(bytes, ObjectBytes { settled: 500.0, peak: -100.0 });
    }
}
