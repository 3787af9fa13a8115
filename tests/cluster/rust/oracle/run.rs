//! One run with a seed: the same changes and the same faults for client-go and for us.

use std::{collections::BTreeMap, sync::Arc, time::Instant};

use tokio::task::JoinSet;

use super::{
    client_go::key,
    fault,
    injector::Injector,
    list_mode::ListMode,
    pace::Pace,
    plan::Plan,
    report::Report,
    resource::Resource,
    sides::{Fresh, Sides},
    truth::Truth,
    world::Round,
    writer::{Writer, list},
};

pub(super) async fn run(seed: u64, changes: usize, round: Arc<Round>) -> Report {
    let started = Instant::now();
    let name = format!("run-{seed}");
    let plan = Plan::draw(seed, changes);
    let changes = plan.len();
    let schedule = fault::schedule(seed, changes, round.world.watch_cache);
    round.world.create_namespace(&name).await;
    let pace = Arc::new(Pace::new());
    let server = round.world.cluster.lock().await.address();
    let injector = Injector::new(Arc::clone(&round), Arc::clone(&pace), changes, server);

    let writers = before(&round, &name, &plan).await;
    let mut sides = Sides::start(&name, ListMode::of(seed), &injector).await;
    let mut working = JoinSet::new();
    for (writer, changes) in writers.into_iter().zip(plan.during) {
        working.spawn(writer.work(changes, Arc::clone(&pace)));
    }
    let joining = async {
        pace.reached(changes / 2).await;
        sides.join().await;
    };
    let (truths, struck, ()) = tokio::join!(working.join_all(), injector.strike_all(schedule), joining);
    let sentinels = Writer::new(Arc::clone(&round.world.gate), &name).sentinels().await;
    let mut truth = Truth::default();
    truths.into_iter().chain([sentinels]).for_each(|part| truth.merge(part));

    let fresh = fresh(&round, &name).await;
    let outcome = sides.finish(&truth, &fresh).await;
    Report { seed, changes, struck, outcome, truth, seconds: started.elapsed().as_secs_f64() }
}

/// Makes the changes before the informers start, and returns the writers.
async fn before(round: &Round, name: &str, plan: &Plan) -> Vec<Writer> {
    let mut writers = Vec::new();
    for changes in &plan.before {
        let mut writer = Writer::new(Arc::clone(&round.world.gate), name);
        for change in changes {
            writer.apply(*change).await;
        }
        writers.push(writer);
    }
    writers
}

async fn fresh(round: &Round, name: &str) -> Fresh {
    let client = round.world.gate.read().await;
    let mut lists = BTreeMap::new();
    for resource in Resource::ALL {
        let objects = list(&client, resource, name).await;
        lists.insert(resource, objects.into_iter().map(|object| (key(&object), object)).collect());
    }
    lists
}
