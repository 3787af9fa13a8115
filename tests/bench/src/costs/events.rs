//! Measures the CPU time that a further plugin on the same watch takes for each event.

use std::path::Path;

use anyhow::{Context, Result};

use super::stage::{Stage, TWO_FIELDS, WATCH, acknowledged};
use crate::{
    client,
    host::{Configuration, Place, Plugin},
    metrics::Metrics,
    statistics::median,
};

/// The number of further plugins. The measurement divides their cost by this number.
pub(super) const FURTHER: usize = 10;

/// The name of the plugin that every host has.
const FIRST: &str = "first";

/// A condition that no pod satisfies.
const NEVER: &str = "when = 'object.status.phase == \"None\"'";

/// CPU time for each event, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct EventCosts {
    /// A host with one plugin, which handles the event.
    pub(super) one: f64,
    /// A further plugin whose condition rejects the event.
    pub(super) rejecting: f64,
    /// A further plugin that handles the event.
    pub(super) accepting: f64,
    /// The time of an evaluation of the condition, by the metrics of the host.
    pub(super) evaluation: f64,
}

/// The plugins beside the first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Further {
    /// The first plugin is alone.
    Alone,
    Rejecting,
    Accepting,
}

/// One run of a host.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// CPU time for each event, in microseconds.
    microseconds: f64,
    /// The time of an evaluation of the condition, in microseconds. `None` if there were no evaluations.
    evaluation: Option<f64>,
}

/// The runs of all rounds.
#[derive(Debug, Default)]
struct Runs {
    alone: Vec<Run>,
    rejecting: Vec<Run>,
    accepting: Vec<Run>,
}

/// Runs each host in each round.
///
/// # Errors
/// A process cannot be started, or a plugin does not handle all events.
pub(super) async fn measure(stage: &Stage) -> Result<EventCosts> {
    let mut runs = Runs::default();
    for _ in 0..stage.rounds {
        runs.alone.push(run(stage, Further::Alone).await?);
        runs.rejecting.push(run(stage, Further::Rejecting).await?);
        runs.accepting.push(run(stage, Further::Accepting).await?);
    }
    runs.costs().context("nothing ran")
}

async fn run(stage: &Stage, further: Further) -> Result<Run> {
    let (served, place) = (stage.serve().await?, Place::new(&stage.informer)?);
    let component = place.write(TWO_FIELDS, &stage.component(TWO_FIELDS)?)?;
    let host = place.start(&served.cluster(), &further.configuration(&component)).await?;
    let objects = stage.objects as u64;
    stage.until(&host, objects, |metrics| further.handled(metrics)).await.context("the first list")?;
    let (before, metrics_before) = (host.at_rest().await?, host.metrics().await?);
    let mut sent = 0;
    while sent < stage.events {
        let batch = stage.batch.min(stage.events - sent);
        client::emit(&served.client, batch).await?;
        sent += batch;
        let handled = stage.until(&host, objects + sent, |metrics| further.handled(metrics));
        handled.await.with_context(|| format!("event {sent}"))?;
    }
    let (after, metrics_after) = (host.at_rest().await?, host.metrics().await?);
    host.kill().await?;
    Ok(Run {
        microseconds: (after.cpu_seconds - before.cpu_seconds) * 1e6 / stage.events as f64,
        evaluation: evaluation(&metrics_before, &metrics_after),
    })
}

/// The mean time of the evaluations between two scrapes, in microseconds. Returns `None` if there were no evaluations.
fn evaluation(before: &Metrics, after: &Metrics) -> Option<f64> {
    let grown = |name| after.sum(name) - before.sum(name);
    let evaluations = grown("informer_filter_when_evaluations_total");
    (evaluations > 0.0).then(|| grown("informer_filter_when_seconds_total") * 1e6 / evaluations)
}

// === impl Runs ===

impl Runs {
    /// The medians. Returns `None` if there are no runs.
    fn costs(&self) -> Option<EventCosts> {
        let cpu = |runs: &[Run]| median(runs.iter().map(|run| run.microseconds));
        let one = cpu(&self.alone)?;
        let each = |runs: &[Run]| Some((cpu(runs)? - one) / FURTHER as f64);
        Some(EventCosts {
            one,
            rejecting: each(&self.rejecting)?,
            accepting: each(&self.accepting)?,
            evaluation: median(self.rejecting.iter().filter_map(|run| run.evaluation))?,
        })
    }
}

// === impl Further ===

impl Further {
    /// The plugins beside the first one.
    fn names(self) -> impl Iterator<Item = String> {
        let number = if self == Self::Alone { 0 } else { FURTHER };
        (0..number).map(|number| format!("further-{number}"))
    }

    fn configuration(self, component: &Path) -> Configuration {
        let mut configuration = Configuration::new(WATCH);
        configuration.add(Plugin { name: FIRST, component, on: "", tables: "" });
        let on = if self == Self::Rejecting { NEVER } else { "" };
        for name in self.names() {
            configuration.add(Plugin { name: &name, component, on, tables: "" });
        }
        configuration
    }

    /// The number of notifications that every plugin has handled or its condition has rejected.
    fn handled(self, metrics: &Metrics) -> f64 {
        let of = |name: String| match self {
            Self::Rejecting => {
                let labels = [("plugin", name.as_str()), ("condition", "when")];
                metrics.get("informer_filter_suppressed_total", &labels).unwrap_or_default()
            }
            Self::Alone | Self::Accepting => acknowledged(metrics, &name),
        };
        self.names().map(of).fold(acknowledged(metrics, FIRST), f64::min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_of(microseconds: f64, evaluation: Option<f64>) -> Run {
        Run { microseconds, evaluation }
    }

    #[test]
    fn the_cost_of_a_further_plugin_is_a_tenth_of_the_difference_of_the_medians() {
        let runs = Runs {
            alone: vec![run_of(50.0, None), run_of(70.0, None), run_of(60.0, None)],
            rejecting: vec![run_of(80.0, Some(2.0)), run_of(85.0, Some(1.0)), run_of(75.0, Some(3.0))],
            accepting: vec![run_of(260.0, None)],
        };

        let costs = runs.costs().unwrap();

        assert_eq!(costs, EventCosts { one: 60.0, rejecting: 2.0, accepting: 20.0, evaluation: 2.0 });
        assert_eq!(Runs::default().costs(), None);
    }

    #[test]
    fn the_slowest_plugin_decides_how_much_is_handled() {
        let line = |number: usize, value: usize| {
            format!("informer_queue_acknowledged_total{{plugin=\"further-{number}\"}} {value}\n")
        };
        let lines: String = (0..FURTHER).map(|number| line(number, 20 + number)).collect();
        let first = "informer_queue_acknowledged_total{plugin=\"first\"} 25\n";
        let metrics = Metrics::parse(&(lines + first)).unwrap();

        assert_eq!(Further::Accepting.handled(&metrics), 20.0);
        assert_eq!(Further::Alone.handled(&metrics), 25.0);
        // No plugin has rejected a notification.
        assert_eq!(Further::Rejecting.handled(&metrics), 0.0);
    }

    #[test]
    fn the_time_of_an_evaluation_is_the_mean_of_all_plugins() {
        let at = |seconds: f64, evaluations: u32| {
            let of = |plugin| {
                format!(
                    "informer_filter_when_seconds_total{{plugin=\"{plugin}\"}} {seconds}\n\
                     informer_filter_when_evaluations_total{{plugin=\"{plugin}\"}} {evaluations}\n"
                )
            };
            Metrics::parse(&(of("a") + &of("b"))).unwrap()
        };

        assert_eq!(evaluation(&at(1.0, 100), &at(1.5, 500_100)), Some(1.0));
        assert_eq!(evaluation(&at(0.0, 0), &at(0.0, 0)), None);
    }
}
