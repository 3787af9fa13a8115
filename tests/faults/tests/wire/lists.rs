//! Lists in pages, and answers that are not lists (R-10 to R-17).

use informer_cache::{ErrorClass, FactoryConfig};
use informer_faults::{Call, Cut, Fault, HttpVersion, On, Status};

use crate::world::{World, config, server, server_with};

fn paged() -> FactoryConfig {
    FactoryConfig { page_size: Some(2), ..config() }
}

/// Adds three pods, so that a list has three pages.
fn five(server: &informer_faults::FaultServer) {
    for key in ["shop/c", "shop/d", "shop/e"] {
        server.collection().put(key);
    }
}

/// Later pages send the continue token and no version (R-12).
#[tokio::test]
async fn later_pages_send_the_token_and_no_version() {
    for http in HttpVersion::ALL {
        let server = server();
        five(&server);
        let world = World::start_with(server, http, paged());

        world.settles().await;

        assert_eq!(world.requested(), ["list 0", "list page 2", "list page 3", "watch 15"]);
        let lists = world.requests(Call::List, 3).await;
        assert!(lists.iter().all(|list| list.get("limit") == "2"));
        assert!(
            lists[1..]
                .iter()
                .all(|list| !list.query.contains_key("resourceVersion") && !list.get("continue").is_empty())
        );
    }
}

/// If a continue token expires, the whole list is requested once more, unpaged (R-13).
#[tokio::test]
async fn an_expired_token_leads_to_one_unpaged_list_at_the_requested_version() {
    for page in [2, 3] {
        let server = server_with(On::page(page), Fault::status(410));
        five(&server);
        let world = World::start_with(server, HttpVersion::Http2, paged());

        world.settles().await;

        let mut expected = vec!["list 0", "list page 2"];
        expected.extend((page == 3).then_some("list page 3"));
        expected.extend(["list 0", "watch 15"]);
        assert_eq!(world.requested(), expected);
        let whole = world.requests(Call::List, page + 1).await.remove(page);
        assert_eq!((whole.get("limit"), whole.get("continue")), ("", ""));
        assert_eq!(world.informer.status().counters.failures, 0);
    }
}

/// A list has the version of its first page, so the watch brings later changes (R-12).
#[tokio::test]
async fn the_watch_delivers_changes_that_happen_between_pages() {
    let server = server();
    five(&server);
    server.plan(On::page(2), Fault::no_answer(Cut::Stall));
    let world = World::start_with(
        server,
        HttpVersion::Http1,
        FactoryConfig { request_timeout: crate::world::PATIENCE, ..paged() },
    );
    world.requests(Call::List, 2).await;
    assert_eq!((world.cached().len(), world.informer.has_synced()), (0, false));
    world.server.collection().delete("shop/a");
    world.server.collection().put("shop/e");

    world.settles().await;
}

/// No page is visible before the last one has arrived (R-12), and any failed page fails the list (R-13).
#[tokio::test]
async fn a_failed_page_fails_the_list_and_no_page_becomes_visible() {
    let gone = Status::of(410).with_reason("Gone");
    for fault in [
        Fault::status(500),
        Fault::refusal(&gone),
        Fault::no_answer(Cut::Reset),
        Fault::good().cut_after_bytes(200, Cut::Close),
        Fault::table(),
    ] {
        let server = server_with(On::page(2), fault);
        five(&server);
        let world = World::start_with(server, HttpVersion::Http1, paged());

        world.requests(Call::List, 3).await;
        assert!(world.history.received().iter().all(|received| !received.contains("relist")));
        world.settles().await;

        assert_eq!(world.requested()[..2], ["list 0", "list page 2"]);
        assert_eq!(world.requested().last().unwrap(), "watch 15");
        assert!(!world.requested().contains(&"list 15".to_owned()));
    }
}

/// A list at another version than "0" has no limit, so that the server's watch cache can answer (R-10).
#[tokio::test]
async fn without_a_page_size_a_relist_at_a_version_is_unpaged() {
    let server = server_with(On::watch(), Fault::error_event(&Status::of(410)));
    server.plan(On::list().nth(2), Fault::status(410));
    let world = World::start(server, HttpVersion::Http1);

    world.settles().await;

    let lists = world.requests(Call::List, 3).await;
    let limits: Vec<(&str, &str)> =
        lists.iter().map(|list| (list.resource_version(), list.get("limit"))).collect();
    // The last request differs from client-go, which requests the newest version unpaged after an unpaged list.
    assert_eq!(limits, [("0", "500"), ("12", ""), ("", "500")]);
}

/// A server that pages the first list has no watch cache, so later lists are paged too (R-11), and request the
/// most recent state (D-15).
#[tokio::test]
async fn after_a_paged_first_list_all_later_lists_are_paged() {
    let server = server();
    for number in 0..501 {
        server.collection().put(&format!("shop/p{number}"));
    }
    let world = World::start(server, HttpVersion::Http2);
    world.watches().await;
    world.server.fail(&Status::of(410));

    world.settles().await;

    assert_eq!(
        world.requested(),
        ["list 0", "list page 2", "watch 513", "list ", "list page 2", "watch 513"]
    );
    assert!(world.requests(Call::List, 4).await.iter().all(|list| list.get("limit") == "500"));
}

/// A failed list is retried whatever the error is (R-16). A `Table` is an error too (R-17).
#[tokio::test]
async fn answers_that_are_not_lists_are_reported_and_retried() {
    for (fault, expected) in [
        (Fault::table(), "a Table"),
        (Fault::body("text/html", "<!DOCTYPE html><html>Sign in</html>"), "HTML"),
        (Fault::body("application/json", ""), "in the middle of its answer"),
        (Fault::body("application/json", "null"), "no list"),
        (Fault::body("application/vnd.kubernetes.protobuf", "k8s\0\n\x0c\n\x02v1"), "not JSON"),
        (Fault::body("application/json", Status::of(500).to_json().to_string()), "500"),
    ] {
        for http in HttpVersion::ALL {
            let world = World::start(server_with(On::list(), fault.clone()), http);

            world.eventually("a failure", || world.informer.status().counters.failures == 1).await;
            let text = world.informer.status().reflectors[0].last_error.clone().unwrap().text;
            world.settles().await;

            assert!(text.contains(expected), "{expected}: {text}");
            assert_eq!(world.requested(), ["list 0", "list 0", "watch 12"], "{expected}");
        }
    }
}

#[tokio::test]
async fn a_list_with_another_content_type_is_read_as_json() {
    for content_type in ["text/plain", "application/octet-stream"] {
        let list = r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"12"},"items":[]}"#;
        let world =
            World::start(server_with(On::list(), Fault::body(content_type, list)), HttpVersion::Http1);

        world.watches().await;

        assert_eq!(world.requested(), ["list 0", "watch 12"]);
    }
}

/// Anything that is not an event ends the stream and leads to a list (R-22).
#[tokio::test]
async fn an_html_page_instead_of_a_watch_leads_to_a_list() {
    let server = server_with(On::watch(), Fault::body("text/html", "<html>\nplease sign in\n</html>\n"));
    let world = World::start(server, HttpVersion::Http1);

    world.fails(ErrorClass::Malformed).await;
    world.settles().await;

    assert_eq!(world.requested(), ["list 0", "watch 12", "list 12", "watch 12"]);
}
