use clap::Parser;

use super::*;
use crate::collection::Kind;

#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    options: Options,
}

fn run(subject: SubjectName, cpu_seconds: f64, settled_bytes: u64) -> Run {
    Run {
        subject,
        synced: Synced {
            objects: 1_000,
            synced_ms: 40.0,
            cpu_seconds: 0.5,
            start_bytes: 1_048_576,
            settled_bytes: 1_048_576 + settled_bytes,
            peak_bytes: 0,
        },
        events: Events {
            handled: 50_000,
            elapsed_ms: 2_000.0,
            cpu_seconds,
            settled_bytes: 0,
            peak_bytes: 9 * 1_048_576,
        },
        latency: Latency { p50_ms: 0.25, p99_ms: 1.5 },
    }
}

fn options() -> Options {
    Arguments::try_parse_from(["bench", "--subjects", "informer,kube-typed"]).unwrap().options
}

fn comparison(objects: usize, rounds: Vec<Vec<Run>>) -> Comparison {
    let served = Greeting {
        url: String::new(),
        kind: Kind::Pods,
        objects,
        mean_bytes: 9_000,
        mean_managed_fields_bytes: 4_000,
    };
    Comparison { served, events: 50_000, rounds }
}

fn rendered(rounds: Vec<Vec<Run>>) -> String {
    render(&comparison(1_000, rounds), &options())
}

#[test]
fn a_row_has_the_medians_of_a_subject() {
    let text = rendered(vec![
        vec![run(SubjectName::Informer, 1.0, 4_000_000), run(SubjectName::KubeTyped, 8.0, 44_000_000)],
        vec![run(SubjectName::KubeTyped, 6.0, 44_000_000), run(SubjectName::Informer, 3.0, 4_000_000)],
        vec![run(SubjectName::Informer, 2.0, 4_000_000), run(SubjectName::KubeTyped, 7.0, 44_000_000)],
    ]);

    assert!(
        text.contains("| informer | 40 | 0.50 | 4.00 | 25000 | 1 | 5 | 0 | 9 | 4000 | 0.25 | 1.50 |"),
        "{text}"
    );
    assert!(text.contains("| kube-typed | 40 | 0.50 | 14.00 |"), "{text}");
}

#[test]
fn ratios_compare_runs_of_the_same_round() {
    let text = rendered(vec![
        vec![run(SubjectName::Informer, 1.0, 4_000_000), run(SubjectName::KubeTyped, 4.0, 44_000_000)],
        vec![run(SubjectName::Informer, 10.0, 4_000_000), run(SubjectName::KubeTyped, 40.0, 44_000_000)],
    ]);

    assert!(text.contains("CPU per event 0.250 [0.250 - 0.250] (goal 0.5 met)"), "{text}");
    assert!(text.contains("bytes per object 0.091 [0.091 - 0.091] (goal 0.1 met)"), "{text}");
}

#[test]
fn a_missed_goal_is_reported() {
    let text = rendered(vec![vec![
        run(SubjectName::Informer, 3.0, 9_000_000),
        run(SubjectName::KubeTyped, 4.0, 44_000_000),
    ]]);

    assert!(text.contains("(goal 0.5 MISSED)") && text.contains("(goal 0.1 MISSED)"), "{text}");
}

#[test]
fn growth_excludes_the_fixed_memory_of_a_process() {
    let size = |objects, ours, peer| {
        comparison(
            objects,
            vec![vec![run(SubjectName::Informer, 1.0, ours), run(SubjectName::KubeTyped, 1.0, peer)]],
        )
    };

    let text =
        render_growth(&size(1_000, 9_000_000, 70_000_000), &size(3_000, 13_000_000, 150_000_000), &options());

    assert_eq!(
        text,
        "Bytes for each additional object, from 1000 to 3000 pods: informer 2000, kube-typed 40000 (ours is 0.050 of it).\n"
    );
}

#[test]
fn goals_apply_only_to_kube_rs() {
    let arguments = ["bench", "--subjects", "informer,informer-native"];
    let options = Arguments::try_parse_from(arguments).unwrap().options;
    let runs =
        vec![run(SubjectName::Informer, 3.0, 4_000_000), run(SubjectName::InformerNative, 2.0, 4_000_000)];

    let text = render(&comparison(1_000, vec![runs]), &options);

    assert!(text.contains("CPU per event 1.500") && !text.contains("goal"), "{text}");
}
