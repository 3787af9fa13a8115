//! The report, in Markdown.

use std::fmt::Write;

use super::{
    events::{EventCosts, FURTHER},
    memory::{MemoryCosts, ObjectBytes},
    reads::ReadCosts,
    reloads::{Reload, ReloadCosts},
};
use crate::usage::Usage;

const KIB: f64 = 1_024.0;
const MIB: f64 = 1_048_576.0;

/// All figures.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Figures {
    /// The number of served pods.
    pub(super) objects: usize,
    /// The number of events of a run.
    pub(super) events: u64,
    pub(super) memory: MemoryCosts,
    pub(super) event: EventCosts,
    pub(super) reads: ReadCosts,
    pub(super) reloads: ReloadCosts,
}

/// The table: one row for each figure.
pub(super) fn render(figures: &Figures) -> String {
    let Figures { objects, events, memory, event, reads, reloads } = figures;
    let mut text = format!("{objects} pods, {events} events.\n\n| figure | value |\n|---|---:|\n");
    let rows = event_rows(event)
        .into_iter()
        .chain(read_rows(reads))
        .chain(reload_rows(reloads))
        .chain(memory_rows(memory));
    for (name, value) in rows {
        // Writing to a string does not fail.
        let _ = writeln!(text, "| {name} | {value} |");
    }
    text
}

fn event_rows(event: &EventCosts) -> Vec<(String, String)> {
    let EventCosts { one, rejecting, accepting, evaluation } = *event;
    let through =
        if rejecting > 0.0 { format!("{:.0}", 1e6 / rejecting) } else { "not measurable".to_owned() };
    vec![
        ("an event with one plugin, CPU us".to_owned(), format!("{one:.1}")),
        (
            format!("a further plugin (of {FURTHER}) that handles the event, CPU us"),
            format!("{accepting:.1}"),
        ),
        (
            format!("a further plugin (of {FURTHER}) whose `when` rejects the event, CPU us"),
            format!("{rejecting:.2}"),
        ),
        ("events each second and thread that a `when` rejects".to_owned(), through),
        ("an evaluation of this `when`, by the host's metric, us".to_owned(), format!("{evaluation:.2}")),
    ]
}

fn read_rows(reads: &ReadCosts) -> Vec<(String, String)> {
    let ReadCosts { listed, list_seconds, get_seconds } = *reads;
    let each = list_seconds * 1e6 / listed.max(1.0);
    vec![
        (
            format!("`list-fields` of two fields of {listed:.0} pods by a label, ms"),
            format!("{:.1}", list_seconds * 1e3),
        ),
        ("the same for each pod, us".to_owned(), format!("{each:.2}")),
        ("`get-fields` of two fields of a pod, us".to_owned(), format!("{:.2}", get_seconds * 1e6)),
    ]
}

fn reload_rows(reloads: &ReloadCosts) -> Vec<(String, String)> {
    let ReloadCosts { component_bytes, compiled, cached } = reloads;
    let kib = *component_bytes as f64 / KIB;
    let rows = |code: &str, work: &str, Reload { in_service, prepared, slowest }: &Reload| {
        [
            (
                format!("reload of a component of {kib:.0} KiB, {code}, ms"),
                format!("{:.0}", in_service * 1e3),
            ),
            (format!("time to {work} the code, a part of the reload, ms"), format!("{:.0}", prepared * 1e3)),
            ("the slowest event meanwhile, ms at most".to_owned(), format!("{:.1}", slowest * 1e3)),
        ]
    };
    let compiled = rows("code not in the cache", "compile", compiled);
    compiled.into_iter().chain(rows("code in the cache", "load", cached)).collect()
}

fn memory_rows(memory: &MemoryCosts) -> Vec<(String, String)> {
    let MemoryCosts { empty, plugin, projected, whole } = memory;
    let host = |name: &str, usage: &Usage| {
        (
            format!("{name}, settled / without files, MiB"),
            format!("{:.1} / {:.1}", usage.resident_bytes as f64 / MIB, usage.anonymous_bytes as f64 / MIB),
        )
    };
    let object = |name: &str, ObjectBytes { settled, peak }: &ObjectBytes| {
        (format!("a pod, {name}, settled / peak, bytes"), format!("{settled:.0} / {peak:.0}"))
    };
    vec![
        host("a host without plugins", empty),
        host("a host with one plugin and no objects", plugin),
        object("two fields in `reads`", projected),
        object("`reads = \"all\"`", whole),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures() -> Figures {
        let usage = |mib: u64| Usage {
            cpu_seconds: 1.0,
            resident_bytes: mib << 20,
            anonymous_bytes: (mib / 2) << 20,
            peak_bytes: mib << 20,
            threads: 9,
        };
        Figures {
            objects: 10_000,
            events: 100_000,
            memory: MemoryCosts {
                empty: usage(20),
                plugin: usage(30),
                projected: ObjectBytes { settled: 321.4, peak: 654.6 },
                whole: ObjectBytes { settled: 1_500.0, peak: 2_500.0 },
            },
            event: EventCosts { one: 60.0, rejecting: 2.0, accepting: 20.25, evaluation: 1.5 },
            reads: ReadCosts { listed: 10_000.0, list_seconds: 0.25, get_seconds: 0.000_012_5 },
            reloads: ReloadCosts {
                component_bytes: 200 << 10,
                compiled: Reload { in_service: 1.5, prepared: 1.25, slowest: 0.025 },
                cached: Reload { in_service: 0.125, prepared: 0.004, slowest: 0.0025 },
            },
        }
    }

    #[test]
    fn the_table_has_a_row_for_each_figure() {
        let table = render(&figures());

        assert!(
            table.starts_with("10000 pods, 100000 events.\n\n| figure | value |\n|---|---:|\n"),
            "{table}"
        );
        for row in [
            "| an event with one plugin, CPU us | 60.0 |",
            "| a further plugin (of 10) whose `when` rejects the event, CPU us | 2.00 |",
            "| events each second and thread that a `when` rejects | 500000 |",
            "| `list-fields` of two fields of 10000 pods by a label, ms | 250.0 |",
            "| the same for each pod, us | 25.00 |",
            "| `get-fields` of two fields of a pod, us | 12.50 |",
            "| reload of a component of 200 KiB, code not in the cache, ms | 1500 |",
            "| time to load the code, a part of the reload, ms | 4 |",
            "| the slowest event meanwhile, ms at most | 2.5 |",
            "| a host with one plugin and no objects, settled / without files, MiB | 30.0 / 15.0 |",
            "| a pod, two fields in `reads`, settled / peak, bytes | 321 / 655 |",
        ] {
            assert!(table.contains(row), "{row} is missing in\n{table}");
        }
        assert!(table.lines().skip(2).all(|line| line.matches('|').count() == 3), "{table}");
    }

    #[test]
    fn a_condition_whose_cost_vanishes_in_the_noise_has_no_rate() {
        let mut figures = figures();
        figures.event.rejecting = -0.1;

        let table = render(&figures);

        assert!(
            table.contains("| events each second and thread that a `when` rejects | not measurable |"),
            "{table}"
        );
    }
}
