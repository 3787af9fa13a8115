use std::{sync::Arc, time::Instant};

use informer_types::{Cause, Source, Step};

use super::*;

fn trace(steps: usize) -> Trace {
    Trace::new(NonZeroUsize::new(steps).unwrap())
}

fn source(gvr: &str) -> Source {
    Source::new(gvr.parse().unwrap())
}

fn step(gvr: &str, key: &str, version: usize) -> Traced {
    let new = version.to_string().as_str().into();
    let step = Step::Stored { cause: Cause::Live, old: None, new };
    Traced { source: Some(source(gvr)), key: key.parse().unwrap(), plugin: None, step }
}

/// The versions in the steps of an object.
fn kept(trace: &Trace, gvr: &str, key: &str) -> Vec<usize> {
    let steps = trace.of(&gvr.parse().unwrap(), &key.parse().unwrap());
    let version = |step: Recorded| match step.traced.step {
        Step::Stored { new, .. } => new.as_str().parse().unwrap(),
        other => panic!("{other:?}"),
    };
    steps.into_iter().map(version).collect()
}

#[test]
fn the_steps_of_an_object_are_in_order_and_newer_steps_replace_the_oldest() {
    let trace = trace(1);

    (0..BUCKET + 3).for_each(|version| trace.record(step("v1/pods", "shop/web", version)));

    assert_eq!(kept(&trace, "v1/pods", "shop/web"), (3..BUCKET + 3).collect::<Vec<_>>());
}

#[test]
fn objects_of_one_bucket_have_their_own_steps() {
    // There is one bucket, so that all objects share it.
    let trace = trace(1);
    let objects = [
        ("v1/pods", "shop/web"),
        ("apps/v1/deployments", "shop/web"),
        ("v1/pods", "web"),
        ("v1/pods", "sho/pweb"),
    ];
    for (version, (gvr, key)) in objects.into_iter().enumerate() {
        trace.record(step(gvr, key, version));
    }

    for (version, (gvr, key)) in objects.into_iter().enumerate() {
        assert_eq!(kept(&trace, gvr, key), [version], "{gvr} {key}");
    }
    assert!(kept(&trace, "v1/pods", "shop/api").is_empty());
}

#[test]
fn the_number_of_steps_is_bounded() {
    let trace = trace(4 * BUCKET);

    for object in 0..20 * BUCKET {
        trace.record(step("v1/pods", &format!("shop/web-{object}"), object));
    }

    let held: Vec<usize> = trace.buckets.iter().map(|bucket| bucket.lock().len()).collect();
    assert_eq!(held, [BUCKET; 4]);
}

#[test]
fn an_object_that_changes_all_the_time_does_not_replace_steps_of_other_buckets() {
    let trace = trace(64 * BUCKET);
    (0..640).for_each(|object| trace.record(step("v1/pods", &format!("shop/web-{object}"), object)));

    (0..10 * BUCKET).for_each(|version| trace.record(step("v1/leases", "shop/leader", version)));

    let left = (0..640).filter(|object| !kept(&trace, "v1/pods", &format!("shop/web-{object}")).is_empty());
    assert!(left.count() > 500);
}

#[test]
fn a_step_is_small() {
    assert!(size_of::<Recorded>() <= 200, "{}", size_of::<Recorded>());
}

/// `cargo test -p informer --release cost_of_a_step -- --ignored --nocapture`
#[test]
#[ignore = "a figure, not a judgement"]
fn cost_of_a_step() {
    let trace = Arc::new(trace(16_384));
    let tracer = informer_types::Tracer::new(Arc::clone(&trace) as _).of_plugin("plugin");
    let source = source("v1/pods");
    let keys: Vec<ObjectKey> =
        (0..10_000).map(|object| format!("shop/web-{object}").parse().unwrap()).collect();
    for threads in [1, 2] {
        let started = Instant::now();
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    for key in std::iter::repeat_n(&keys, 100).flatten() {
                        let step = || (key.clone(), Step::Queued { verb: "update", cause: Cause::Live });
                        tracer.note(&source, step);
                    }
                });
            }
        });
        eprintln!("{threads} threads: {} ns a step", started.elapsed().as_nanos() / 1_000_000);
    }
}
