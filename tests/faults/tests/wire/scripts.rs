//! Random sequences of changes and faults: the informer always recovers.

use std::panic::AssertUnwindSafe;

use fastrand::Rng;
use futures::FutureExt;
use informer_cache::{FactoryConfig, WatchListMode};
use informer_faults::{Cut, Fault, FaultServer, HttpVersion, On, Reason, Status, StreamingLists};

use crate::world::{World, at_once, config, server};

const SCRIPTS: u64 = 24;
const STEPS: usize = 30;

const KEYS: [&str; 5] = ["shop/a", "shop/b", "shop/c", "ship/a", "ship/d"];
const CUTS: [Cut; 5] = [Cut::End, Cut::Close, Cut::Reset, Cut::Stream(Reason::INTERNAL_ERROR), Cut::GoAway];
const CODES: [u16; 9] = [401, 403, 404, 410, 422, 429, 500, 503, 504];

fn any<T: Copy>(rng: &mut Rng, of: &[T]) -> T {
    of[rng.usize(..of.len())]
}

/// A random fault that delays or breaks off an answer but never sends false events.
fn fault(rng: &mut Rng) -> Fault {
    let cut = any(rng, &CUTS);
    match rng.u8(..7) {
        0 => Fault::no_answer(cut),
        1 => Fault::status(any(rng, &CODES)),
        2 => Fault::good().cut_after_bytes(rng.usize(..600), cut),
        3 => Fault::good().cut_after_frames(rng.usize(..4), cut),
        4 => Fault::good().chunks(rng.usize(1..80)),
        5 => Fault::error_event(&Status::of(any(rng, &CODES))),
        _ => Fault::table(),
    }
}

fn plan(rng: &mut Rng, server: &FaultServer) {
    for on in [On::list(), On::watch(), On::streaming_list(), On::page(2), On::discovery()] {
        for nth in 1..=4 {
            if rng.bool() {
                server.plan(on.clone().nth(nth), fault(rng));
            }
        }
    }
    let modes = [StreamingLists::Served, StreamingLists::Served, StreamingLists::Refused];
    server.set_streaming_lists(any(rng, &modes));
}

async fn step(rng: &mut Rng, world: &World) {
    let (collection, key) = (world.server.collection(), any(rng, &KEYS));
    match rng.u8(..16) {
        0..5 => drop(collection.put(key)),
        5..8 => drop(collection.delete(key)),
        8 => drop(collection.put_hidden(key)),
        9 => drop(collection.delete_hidden(key)),
        10 => drop(collection.pass_time()),
        11 => collection.compact(),
        12 => drop(world.server.send_bookmark()),
        13 => drop(world.server.cut(any(rng, &CUTS))),
        14 => drop(world.server.fail(&Status::of(any(rng, &CODES)))),
        _ => world.watches().await,
    }
    tokio::task::yield_now().await;
}

/// Makes the informer list again, because only a list shows hidden changes.
async fn list_again(world: &World) {
    let lists = || world.requested().iter().filter(|requested| !requested.starts_with("watch")).count();
    world.watches().await;
    let before = lists();
    // A fault may cut off the event that leads to the list.
    while lists() == before {
        world.server.fail(&Status::of(410));
        world.watches().await;
    }
}

async fn play(seed: u64, http: HttpVersion) {
    let mut rng = Rng::with_seed(seed);
    let server = server();
    plan(&mut rng, &server);
    let watch_list = any(&mut rng, &[WatchListMode::Auto, WatchListMode::On, WatchListMode::Off]);
    let page_size = any(&mut rng, &[None, Some(2)]);
    let world = World::start_with(server, http, FactoryConfig { watch_list, page_size, ..config() });
    for _ in 0..STEPS {
        step(&mut rng, &world).await;
    }
    list_again(&world).await;

    world.settles().await;
}

#[tokio::test]
async fn after_any_script_of_changes_and_faults_cache_and_listeners_match_the_server() {
    let scripts = (0..SCRIPTS).flat_map(|seed| HttpVersion::ALL.map(|http| (seed, http)));
    at_once(scripts, async |(seed, http)| {
        // Many scripts run at once, and the panic alone does not name the script that failed.
        let ended = AssertUnwindSafe(play(seed, http)).catch_unwind().await;
        assert!(ended.is_ok(), "script {seed} over {http:?} failed; see the panic above");
    })
    .await;
}
