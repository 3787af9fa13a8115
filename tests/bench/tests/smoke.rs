//! Runs the whole benchmark with few objects and few events, without measuring time.
#![expect(clippy::unwrap_used, reason = "the helpers of tests are tests too")]

use std::path::{Path, PathBuf};

use clap::Parser;
use informer_bench::{
    collection::Kind,
    driver::{self, Options, SubjectName},
};

#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    options: Options,
}

/// Small numbers, but more events than objects and more than one page of objects.
fn options(subjects: &str) -> Options {
    let arguments = [
        "bench",
        "--objects=60",
        "--events=200",
        "--rounds=2",
        "--batch=50",
        "--paced=30",
        "--page-size=25",
        "--settle-seconds=0",
        "--limit-seconds=60",
        "--subjects",
        subjects,
    ];
    let Arguments { mut options } = Arguments::try_parse_from(arguments).unwrap();
    options.programs = Path::new(env!("CARGO_BIN_EXE_informer-bench")).parent().map(Path::to_owned);
    options
}

/// The directory of the components.
fn guests() -> PathBuf {
    informer_guests::guest("two_fields").parent().unwrap().to_owned()
}

async fn every_event_is_counted(options: &Options, objects: usize, names: &[SubjectName]) {
    let comparison = driver::compare(options, objects).await.unwrap();

    assert_eq!((comparison.served.kind, comparison.served.objects), (options.kind, objects));
    assert_eq!(comparison.rounds.len(), 2);
    for round in &comparison.rounds {
        assert_eq!(round.len(), names.len());
        for name in names {
            let run = round.iter().find(|run| run.subject == *name).unwrap();
            assert_eq!((run.synced.objects, run.events.handled), (objects as u64, 200), "{name}");
        }
    }
}

#[tokio::test]
async fn kube_rs_handles_every_event() {
    let options = options("kube-dynamic,kube-typed");

    every_event_is_counted(&options, 60, &[SubjectName::KubeDynamic, SubjectName::KubeTyped]).await;
}

#[tokio::test]
async fn every_kind_is_served_and_handled() {
    for kind in [Kind::SmallPods, Kind::ConfigMaps, Kind::Workflows] {
        let subjects =
            if kind.is_built_in() { "informer,kube-typed,kube-dynamic" } else { "informer,kube-dynamic" };
        let mut options = options(subjects);
        options.kind = kind;
        options.guests = Some(guests());
        let names = options.subjects.clone();

        every_event_is_counted(&options, 60, &names).await;
    }
}

#[tokio::test]
async fn a_typed_peer_is_refused_for_custom_objects() {
    let mut options = options("kube-typed");
    options.kind = Kind::Workflows;

    let error = driver::compare(&options, 60).await.unwrap_err();

    assert!(error.to_string().contains("kube-typed has no type for workflows"), "{error:#}");
}

#[tokio::test]
#[ignore = "needs Go and minutes to build client-go"]
async fn client_go_handles_every_event() {
    let mut options = options("client-go-typed,client-go-typed-tuned,client-go-unstructured");
    // A shared informer asks for pages of this size.
    options.page_size = 500;
    let names =
        [SubjectName::ClientGoTyped, SubjectName::ClientGoTypedTuned, SubjectName::ClientGoUnstructured];

    every_event_is_counted(&options, 600, &names).await;

    options.kind = Kind::ConfigMaps;
    every_event_is_counted(&options, 600, &names).await;

    options.kind = Kind::Workflows;
    options.subjects = vec![SubjectName::ClientGoUnstructured];
    every_event_is_counted(&options, 600, &[SubjectName::ClientGoUnstructured]).await;
}

#[tokio::test]
async fn our_informer_handles_every_event_in_the_sandbox() {
    let mut options = options("informer,informer-batch");
    options.guests = Some(guests());

    every_event_is_counted(&options, 60, &[SubjectName::Informer, SubjectName::InformerBatch]).await;
}

#[tokio::test]
async fn a_missing_component_is_an_error_before_any_run() {
    let mut options = options("informer");
    options.guests = Some("/nonexistent".into());

    let error = driver::compare(&options, 60).await.unwrap_err();

    assert!(error.to_string().contains("does not compile"), "{error:#}");
}

#[tokio::test]
async fn our_informer_handles_every_event_in_the_host() {
    every_event_is_counted(&options("informer-native"), 60, &[SubjectName::InformerNative]).await;
}

#[tokio::test]
async fn keeping_managed_fields_does_not_change_the_count() {
    let mut options = options("informer-native,kube-typed");
    options.managed_fields = informer_bench::subject::ManagedFields::Keep;

    let comparison = driver::compare(&options, 60).await.unwrap();

    assert!(comparison.rounds.iter().flatten().all(|run| run.events.handled == 200));
}

#[tokio::test]
async fn a_subject_that_cannot_start_is_named_in_the_error() {
    let mut options = options("kube-typed");
    options.programs = Some("/nonexistent".into());

    let error = driver::compare(&options, 60).await.unwrap_err();

    assert!(format!("{error:#}").contains("kube-typed, 60 pods, round 1"), "{error:#}");
}
