//! Lists of several pages, the rows of TestListPager_List (scenario 113), scenarios 19, 20 and 24.

use informer_cache::{ErrorClass, FactoryConfig};
use serde_json::Value;

use crate::{
    server::{Answer, Script},
    world::{World, config, event, pod, pods, status},
};

fn paged(size: u32) -> FactoryConfig {
    FactoryConfig { page_size: Some(size), ..config() }
}

fn some_pods(from: usize, count: usize) -> Vec<Value> {
    (from..from + count).map(|number| pod(&format!("p{number:02}"), "1")).collect()
}

/// Version, limit and token of every list so far.
fn asked(world: &World) -> Vec<String> {
    let mut asked = Vec::new();
    for list in world.script.lists() {
        asked.push([list.get("resourceVersion"), list.get("limit"), list.get("continue")].join(" "));
    }
    asked
}

/// Scripts this number of pages of four objects; the last page has `last` objects.
fn script_pages(script: &Script, pages: usize, last: usize) {
    for page in 1..=pages {
        let (token, count) = if page < pages { (format!("t{page}"), 4) } else { (String::new(), last) };
        script.list(Answer::page(&(10 + page).to_string(), &token, &some_pods(4 * (page - 1), count)));
    }
}

/// Scenarios 19 and 113: the pages of a list are joined.
#[tokio::test(start_paused = true)]
async fn any_number_of_pages_forms_one_list() {
    for (pages, last, requests) in [
        (1, 0, &["0 4 "][..]),
        (1, 4, &["0 4 "]),
        (2, 4, &["0 4 ", " 4 t1"]),
        (3, 2, &["0 4 ", " 4 t1", " 4 t2"]),
        // A token may lead to an empty page.
        (2, 0, &["0 4 ", " 4 t1"]),
    ] {
        let script = Script::new();
        script_pages(&script, pages, last);
        let world = World::start_with(script, paged(4), pods());

        world.watches(1).await;

        assert_eq!(asked(&world), requests);
        assert_eq!(world.objects().len(), 4 * (pages - 1) + last);
        assert_eq!(world.watch_versions(), ["11"], "the version of the first page");
    }
}

/// Scenarios 20 and 113: without a limit, the server's watch cache can answer a list at a concrete version.
#[tokio::test(start_paused = true)]
async fn no_limit_is_sent_at_a_concrete_version() {
    let script = Script::new();
    script.list(Answer::list("10", &[]));
    script.watch(Answer::watch(&[event("ERROR", status(410, "Expired", "too old"))]));
    script.list(Answer::list("20", &[]));
    let world = World::start(script);

    world.watches(2).await;

    assert_eq!(asked(&world), ["0 500 ", "10  "]);
}

/// Scenario 24: the list without pages is at the version of the relist, which is the most recent one if the
/// relist has pages (D-15).
#[tokio::test(start_paused = true)]
async fn a_token_that_expires_during_a_relist_leads_to_a_whole_list_at_that_version() {
    let script = Script::new();
    script.list(Answer::list("10", &some_pods(0, 1)));
    script.watch(Answer::watch(&[event("ERROR", status(410, "Expired", "too old"))]));
    script.list(Answer::page("11", "t1", &some_pods(0, 4)));
    script.list(Answer::error(410, "Expired", "the token is too old"));
    script.list(Answer::list("12", &some_pods(0, 8)));
    let world = World::start_with(script, paged(4), pods());

    world.watches(2).await;

    assert_eq!(asked(&world), ["0 4 ", " 4 ", " 4 t1", "  "]);
    assert_eq!((world.objects().len(), world.watch_versions()[1].as_str()), (8, "12"));
}

/// An aggregated API server may ignore the limit. If the list of R-13 ended with its first page, the informer would delete the
/// other objects.
#[tokio::test(start_paused = true)]
async fn pages_that_the_server_sends_without_a_limit_belong_to_the_list() {
    let script = Script::new();
    script.list(Answer::page("11", "t1", &some_pods(0, 4)));
    script.list(Answer::error(410, "Expired", "the token is too old"));
    script.list(Answer::page("12", "t2", &some_pods(0, 4)));
    script.list(Answer::page("12", "", &some_pods(4, 4)));
    let world = World::start_with(script, paged(4), pods());

    world.watches(1).await;

    assert_eq!(asked(&world), ["0 4 ", " 4 t1", "0  ", "  t2"]);
    assert_eq!((world.objects().len(), world.watch_versions()), (8, vec!["12".to_owned()]));
}

/// A token that expires again is an expired version, which leads to a list of the newest state.
#[tokio::test(start_paused = true)]
async fn a_list_whose_tokens_expire_twice_has_failed() {
    let script = Script::new();
    script.list(Answer::page("11", "t1", &some_pods(0, 4)));
    script.list(Answer::error(410, "Expired", "the token is too old"));
    script.list(Answer::page("12", "t2", &some_pods(0, 4)));
    script.list(Answer::error(410, "Expired", "the token is too old"));
    script.list(Answer::list("20", &some_pods(0, 2)));
    let world = World::start_with(script, paged(4), pods());

    world.watches(1).await;

    assert_eq!(asked(&world), ["0 4 ", " 4 t1", "0  ", "  t2", " 4 "]);
    assert_eq!(world.objects().len(), 2);
}

/// After an expired token the version may have expired too.
#[tokio::test(start_paused = true)]
async fn if_the_whole_list_has_expired_too_the_newest_state_is_listed_at_once() {
    let script = Script::new();
    script.list(Answer::page("11", "t1", &some_pods(0, 4)));
    script.list(Answer::error(410, "Expired", "the token is too old"));
    script.list(Answer::error(410, "Expired", "and so is the version"));
    script.list(Answer::list("20", &some_pods(0, 2)));
    let world = World::start_with(script, paged(4), pods());

    world.watches(1).await;

    assert_eq!(asked(&world), ["0 4 ", " 4 t1", "0  ", " 4 "]);
    assert_eq!(world.objects().len(), 2);
    assert_eq!(world.informer.status().counters.failures, 0);
}

/// Scenario 113: the list without pages is the last attempt.
#[tokio::test(start_paused = true)]
async fn if_the_whole_list_fails_the_list_has_failed() {
    let script = Script::new();
    script.list(Answer::page("11", "t1", &some_pods(0, 4)));
    script.list(Answer::error(410, "Expired", "the token is too old"));
    script.list(Answer::error(403, "Forbidden", "not any more"));
    script.list(Answer::list("20", &[]));
    let world = World::start_with(script, paged(4), pods());

    world.fails(ErrorClass::Forbidden).await;

    assert!(world.cached().is_empty() && world.received().is_empty());
    world.watches(1).await;
}

/// Other reasons, and other errors with code 410, do not lead to a list without pages.
#[tokio::test(start_paused = true)]
async fn only_the_reason_expired_means_an_expired_token() {
    for (code, reason) in [(410, "Gone"), (429, "TooManyRequests"), (500, "InternalError")] {
        let script = Script::new();
        script.list(Answer::page("11", "t1", &some_pods(0, 4)));
        script.list(Answer::error(code, reason, "no"));
        script.list(Answer::list("20", &[]));
        let world = World::start_with(script, paged(4), pods());

        world.watches(1).await;

        let third = if code == 410 { " 4 " } else { "0 4 " };
        assert_eq!(asked(&world), ["0 4 ", " 4 t1", third], "{reason}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_repeated_continue_token_is_an_error() {
    let script = Script::new();
    script.list(Answer::page("11", "t1", &some_pods(0, 4)));
    script.list(Answer::page("11", "t1", &some_pods(0, 4)));
    let world = World::start_with(script, paged(4), pods());

    let text = world.fails(ErrorClass::Malformed).await;

    assert!(text.contains("answered with the same continue token twice (LIST v1/pods)"), "{text}");
}
