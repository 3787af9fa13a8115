//! Lists that never end, and lists that are too large (D-14).

use informer_cache::{ErrorClass, FactoryConfig, WatchListMode};
use serde_json::{Value, json};

use crate::{
    server::{Answer, Live, Script},
    world::{World, config, event, pod, pods, status},
};

/// The limit of the tests about the size of a list.
const LIST_BYTES: usize = 20_000;

fn small() -> FactoryConfig {
    FactoryConfig { list_bytes: LIST_BYTES, ..config() }
}

/// An informer whose cache has two pods, and which now lists again.
fn relisting(script: &Script) {
    script.list(Answer::list("10", &[pod("a", "1"), pod("b", "2")]));
    script.watch(Answer::watch(&[event("ERROR", status(410, "Expired", "too old"))]));
}

/// Waits for the failure, checks that the cache is as it was, and that the informer recovers by itself.
async fn fails_and_recovers(world: &World, class: ErrorClass) -> String {
    let text = world.fails(class).await;
    world.script.forget_lists();
    assert_eq!(world.cached(), ["shop/a@1", "shop/b@2"]);
    world.script.list(Answer::list("30", &[pod("a", "1"), pod("c", "21")]));

    world.caches(&["shop/a@1", "shop/c@21"]).await;

    text
}

fn pod_number(number: usize) -> Value {
    pod(&format!("pod-{number:04}"), "7")
}

fn undecodable(number: usize) -> Value {
    let mut pod = pod_number(number);
    pod["metadata"]["labels"] = json!(["not", "a", "map"]);
    pod
}

/// Each page has a token, and no page after the first brings anything new (D-14).
#[tokio::test(start_paused = true)]
async fn pages_that_lead_nowhere_fail_the_list_and_the_cache_stays() {
    type Token = fn(usize) -> String;
    let new: Token = |page| format!("t{page}");
    let in_turns: Token = |page| format!("t{}", page % 2);
    for (token, items, pages, problem) in [
        (new, vec![], 10_001, "more than 10000 pages of one list that are empty"),
        (new, vec![pod("a", "1")], 102, "more than 100 pages of one list that repeat earlier pages"),
        (new, vec![undecodable(1)], 102, "more than 100 pages of one list that repeat earlier pages"),
        (in_turns, vec![pod("a", "1"), pod("b", "3")], 102, "that repeat earlier pages"),
    ] {
        let script = Script::new();
        relisting(&script);
        for page in 0..pages + 10 {
            script.list(Answer::page("20", &token(page), &items));
        }
        let world = World::start_with(script, config(), pods());

        let text = fails_and_recovers(&world, ErrorClass::Malformed).await;

        assert!(text.contains(problem) && text.contains("(LIST v1/pods)"), "{text}");
        // The list before, the pages, and the list after.
        assert_eq!(world.script.lists().len(), 1 + pages + 1);
    }
}

/// Many pages are no reason to fail, if each of them brings something (D-14).
#[tokio::test(start_paused = true)]
async fn any_number_of_pages_with_new_objects_forms_one_list() {
    let script = Script::new();
    for page in 0..150 {
        script.list(Answer::page("10", &format!("a{page}"), &[pod_number(page), pod("again", "1")]));
        // A page whose objects were deleted since the first page.
        if page % 2 == 0 {
            script.list(Answer::page("10", &format!("b{page}"), &[]));
        }
    }
    for page in 150..300 {
        script.list(Answer::page("10", &format!("c{page}"), &[undecodable(page)]));
    }
    script.list(Answer::page("10", "", &[]));
    let world = World::start(script);

    world.watches(1).await;

    assert_eq!(world.objects().len(), 151);
    assert_eq!(world.informer.status().reflectors[0].quarantined.len(), 150);
    assert_eq!(world.informer.status().counters.failures, 0);
}

/// The size is that of all pages together (D-14).
#[tokio::test(start_paused = true)]
async fn a_list_that_is_too_large_fails_with_the_limit_and_the_remedy_and_the_cache_stays() {
    // 200 small objects in one page or in 20, and two large ones.
    let pages = |count: usize, each: usize| {
        (0..count).map(move |page| {
            let items: Vec<Value> = (page * each..(page + 1) * each).map(pod_number).collect();
            let token = if page + 1 < count { format!("t{page}") } else { String::new() };
            Answer::page("20", &token, &items)
        })
    };
    let large = |name: &str| {
        let mut pod = pod(name, "5");
        pod["spec"] = json!({"text": "x".repeat(LIST_BYTES / 2)});
        pod
    };
    for answers in [
        pages(1, 200).collect::<Vec<_>>(),
        pages(20, 10).collect(),
        vec![Answer::page("20", "", &[large("a"), large("b")])],
    ] {
        let script = Script::new();
        relisting(&script);
        answers.into_iter().for_each(|answer| script.list(answer));
        let world = World::start_with(script, small(), pods());

        let text = world.fails(ErrorClass::ListTooLarge).await;
        assert!(text.contains("sent a list of more than 20000 bytes (LIST v1/pods)"), "{text}");
        let trouble = world.informer.status().troubles()[0].to_string();
        assert!(trouble.contains("what helps: raise [cluster] list-size"), "{trouble}");
        fails_and_recovers(&world, ErrorClass::ListTooLarge).await;
    }
}

/// An object costs more than its text, so small ones count for more than their bytes (D-14).
#[tokio::test(start_paused = true)]
async fn objects_count_more_than_their_text() {
    let tiny: Vec<Value> =
        (0..40).map(|number| json!({"metadata": {"name": number.to_string(), "namespace": "x"}})).collect();
    let bytes = Value::from(tiny.clone()).to_string().len();
    assert!(bytes < LIST_BYTES / 5, "{bytes}");
    let script = Script::new();
    relisting(&script);
    script.list(Answer::list("20", &tiny));
    let world = World::start_with(script, small(), pods());

    fails_and_recovers(&world, ErrorClass::ListTooLarge).await;
}

/// The answer goes on for ever; the rest of it is not read.
#[tokio::test(start_paused = true)]
async fn a_page_without_an_end_fails_at_the_limit() {
    let script = Script::new();
    relisting(&script);
    let (endless, answer): (Live, Answer) = Answer::live(200);
    endless.bytes(r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"20"},"items":["#);
    for number in 0..100 {
        endless.bytes(format!("{},", pod_number(number)));
    }
    script.list(answer);
    let world = World::start_with(script, small(), pods());

    fails_and_recovers(&world, ErrorClass::ListTooLarge).await;
}

/// The text around the items is kept until the end of the answer.
#[tokio::test(start_paused = true)]
async fn fields_beside_the_items_are_limited_too() {
    let script = Script::new();
    relisting(&script);
    let field = "x".repeat(600);
    let fields: String = (0..4).map(|number| format!(r#""field-{number}":"{field}","#)).collect();
    script.list(Answer::ok(format!(r#"{{{fields}"items":[]}}"#)));
    let config = FactoryConfig { max_object_bytes: 1_000, ..config() };
    let world = World::start_with(script, config, pods());

    let text = fails_and_recovers(&world, ErrorClass::Malformed).await;

    assert!(text.contains("more than 1000 bytes"), "{text}");
}

/// A streaming list has the same limit, and a plain list replaces it (R-45, D-14).
#[tokio::test(start_paused = true)]
async fn a_streaming_list_that_never_ends_fails_at_the_limit() {
    let script = Script::new();
    let stream = script.live_watch();
    for number in 0..100 {
        stream.event("ADDED", &pod_number(number));
    }
    script.list(Answer::list("10", &[pod("a", "3")]));
    let config = FactoryConfig { watch_list: WatchListMode::Auto, ..small() };
    let world = World::start_with(script, config, pods());

    world.caches(&["shop/a@3"]).await;

    let status = world.informer.status();
    assert_eq!((status.counters.streaming_lists, status.counters.streaming_fallbacks), (0, 1));
    assert_eq!(world.script.watches().len(), 1 + usize::from(status.counters.watches > 0));
    // The size is no reason to think that the server lacks streaming lists.
    assert_eq!(status.reflectors[0].plain_lists_because, None);
}
