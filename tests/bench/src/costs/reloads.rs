//! Measures the time until a new version of a component is in service, while events arrive.

use std::{
    fs,
    path::PathBuf,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};

use super::stage::{Served, Stage, WATCH, acknowledged};
use crate::{
    client,
    host::{Configuration, Host, Place, Plugin},
    metrics::Metrics,
    statistics::median,
    variant::variant,
};

/// The component, of about 200 KiB. It ignores updates.
const COMPONENT: &str = "interpreter.wasm";

/// Grants for the interfaces that the component imports. No pod makes it use them.
const GRANTS: &str = "[plugin.grant]\nread = [\"v1/pods\"]\nwrite = []\nkeyvalue = \"64KiB\"\n";

/// The name of the plugin.
const PLUGIN: &str = "reloaded";

/// The message of the host about a new version in service.
const RELOADED: &str = "plugin reloaded";

/// The number of reloads with code that is not in the cache, and the number of reloads with code that is in the cache.
const RELOADS: usize = 5;

/// The number of calls before the first reload, and after each reload. The trial of a new version has fewer calls.
const CALLS_BETWEEN: u64 = 2_000;

/// The number of events, one each millisecond for an hour. The server is killed earlier.
const EVENTS: u64 = 3_600_000;

/// The histogram of the time from the watch to the end of the call.
const DONE: &str = "informer_runtime_watch_to_done_seconds";

/// The reloads of one component.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ReloadCosts {
    /// The size of the component.
    pub(super) component_bytes: usize,
    /// Reloads whose code is compiled first.
    pub(super) compiled: Reload,
    /// Reloads whose code is in the code cache.
    pub(super) cached: Reload,
}

/// A reload, or the medians of several reloads with the slowest event of all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Reload {
    /// Seconds from the rename of the file until the host logs that the new version is in service.
    pub(super) in_service: f64,
    /// Seconds in which the code was compiled, or loaded from the cache. They are a part of `in_service`.
    pub(super) prepared: f64,
    /// A bound of the longest time from the watch to the end of the call, in seconds: the upper bound of its bucket in the histogram.
    pub(super) slowest: f64,
}

/// A host whose plugin handles 1,000 events each second.
struct Running<'a> {
    stage: &'a Stage,
    place: Place,
    host: Host,
    /// The file of the component.
    component: PathBuf,
    _served: Served,
}

/// Replaces the component by a new one, and the new one by the first one again, [`RELOADS`] times.
///
/// # Errors
/// A process cannot be started, or a version is not put into service.
pub(super) async fn measure(stage: &Stage) -> Result<ReloadCosts> {
    let bytes = stage.component(COMPONENT)?;
    let mut running = Running::start(stage, &bytes).await?;
    let (mut compiled, mut cached) = (Vec::new(), Vec::new());
    for number in 1..=RELOADS {
        let other = variant(&bytes, number);
        compiled.push(running.reload(&other).await.context("a new component")?);
        cached.push(running.reload(&bytes).await.context("the former component")?);
    }
    running.host.kill().await?;
    Ok(ReloadCosts {
        component_bytes: bytes.len(),
        compiled: Reload::median(&compiled).context("nothing was compiled")?,
        cached: Reload::median(&cached).context("nothing was cached")?,
    })
}

// === impl Running ===

impl<'a> Running<'a> {
    async fn start(stage: &'a Stage, bytes: &[u8]) -> Result<Self> {
        let (served, place) = (stage.serve().await?, Place::new(&stage.informer)?);
        let component = place.write(COMPONENT, bytes)?;
        fs::create_dir(place.path("next")).context("cannot make a directory for the next component")?;
        let mut configuration = Configuration::new(WATCH);
        configuration.add(Plugin { name: PLUGIN, component: &component, on: "", tables: GRANTS });
        let host = place.start(&served.cluster(), &configuration).await?;
        stage
            .until(&host, stage.objects as u64, |metrics| acknowledged(metrics, PLUGIN))
            .await
            .context("the first list")?;
        client::pace(&served.client, EVENTS).await?;
        let running = Self { stage, place, host, component, _served: served };
        running.more_calls().await?;
        Ok(running)
    }

    /// Puts other bytes into the place of the component, and waits until they are in service and have handled events.
    async fn reload(&mut self, bytes: &[u8]) -> Result<Reload> {
        let before = self.host.metrics().await?;
        // The host watches the directory of the component, but not its subdirectories.
        let next = self.place.write("next/component.wasm", bytes)?;
        let renamed = Instant::now();
        fs::rename(next, &self.component).context("cannot replace the component")?;
        let reloaded = self.host.logs(RELOADED, self.stage.limit).await?;
        self.more_calls().await?;
        let after = self.host.metrics().await?;
        Reload::of(reloaded.duration_since(renamed), &before, &after)
    }

    /// Waits for further calls.
    async fn more_calls(&self) -> Result<()> {
        let calls = |metrics: &Metrics| acknowledged(metrics, PLUGIN);
        let target = calls(&self.host.metrics().await?) as u64 + CALLS_BETWEEN;
        self.stage.until(&self.host, target, calls).await.context("the plugin is called")
    }
}

// === impl Reload ===

impl Reload {
    /// A reload between two scrapes.
    fn of(in_service: Duration, before: &Metrics, after: &Metrics) -> Result<Self> {
        let labels = [("plugin", PLUGIN)];
        let slowest = slowest(&before.buckets(DONE, &labels), &after.buckets(DONE, &labels));
        Ok(Self {
            in_service: in_service.as_secs_f64(),
            prepared: after.value("informer_runtime_compile_seconds", &labels)?,
            slowest: slowest.context("no event was handled meanwhile")?,
        })
    }

    /// The medians of the times, and the slowest event of all. Returns `None` if there are no reloads.
    fn median(of: &[Self]) -> Option<Self> {
        Some(Self {
            in_service: median(of.iter().map(|reload| reload.in_service))?,
            prepared: median(of.iter().map(|reload| reload.prepared))?,
            slowest: of.iter().map(|reload| reload.slowest).fold(0.0, f64::max),
        })
    }
}

/// The upper bound of the largest value that a histogram received between two scrapes. Returns `None` if it received none.
fn slowest(before: &[(f64, f64)], after: &[(f64, f64)]) -> Option<f64> {
    let earlier =
        |bound: f64| before.iter().find(|(other, _)| *other == bound).map_or(0.0, |(_, count)| *count);
    let grown: Vec<(f64, f64)> =
        after.iter().map(|(bound, count)| (*bound, count - earlier(*bound))).collect();
    let (_, all) = grown.last().filter(|(_, all)| *all > 0.0)?;
    grown.iter().find(|(_, count)| count >= all).map(|(bound, _)| *bound)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_value_is_in_the_last_bucket_that_grew() {
        let before = [(0.01, 90.0), (0.1, 100.0), (1.0, 101.0), (f64::INFINITY, 101.0)];
        let after = [(0.01, 150.0), (0.1, 165.0), (1.0, 166.0), (f64::INFINITY, 166.0)];

        assert_eq!(slowest(&before, &after), Some(0.1));
        assert_eq!(slowest(&[], &after), Some(1.0));
        assert_eq!(slowest(&after, &after), None);
        assert_eq!(slowest(&[], &[]), None);
    }

    #[test]
    fn a_reload_has_its_time_that_of_the_code_and_the_slowest_event() {
        let at = |counts: [u32; 3], compiled: f64| {
            let [short, long, all] = counts;
            let text = format!(
                "{DONE}_bucket{{le=\"0.01\",plugin=\"{PLUGIN}\"}} {short}\n\
                 {DONE}_bucket{{le=\"0.05\",plugin=\"{PLUGIN}\"}} {long}\n\
                 {DONE}_bucket{{le=\"+Inf\",plugin=\"{PLUGIN}\"}} {all}\n\
                 informer_runtime_compile_seconds{{plugin=\"{PLUGIN}\"}} {compiled}\n"
            );
            Metrics::parse(&text).unwrap()
        };

        let reload =
            Reload::of(Duration::from_millis(750), &at([10, 10, 10], 2.0), &at([20, 21, 21], 0.5)).unwrap();

        assert_eq!(reload, Reload { in_service: 0.75, prepared: 0.5, slowest: 0.05 });
    }

    #[test]
    fn several_reloads_have_medians_and_the_slowest_event_of_all() {
        let reload = |in_service, prepared, slowest| Reload { in_service, prepared, slowest };

        let median =
            Reload::median(&[reload(0.5, 0.25, 0.01), reload(1.0, 0.5, 0.1), reload(0.75, 0.125, 0.05)]);

        assert_eq!(median, Some(reload(0.75, 0.25, 0.1)));
        assert_eq!(Reload::median(&[]), None);
    }
}
