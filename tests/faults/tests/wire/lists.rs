//! Lists in pages, and answers that are no lists: R-10 to R-17.

use informer_cache::{ErrorClass, FactoryConfig};
use informer_faults::{Call, Cut, Fault, HttpVersion, On, Status};

use crate::world::{World, config, server, server_with};

fn paged() -> FactoryConfig {
    FactoryConfig { page_size: Some(2), ..config() }
}

/// A third and a fourth page.
fn five(server: &informer_faults::FaultServer) {
    for key in ["shop/c", "shop/d", "shop/e"] {
        server.collection().put(key);
    }
}

#[tokio::test]
async fn pages_follow_the_token_and_carry_no_version_r12() {
    for http in HttpVersion::ALL {
        let server = server();
        five(&server);
        let world = World::start_with(server, http, paged());

        world.settles().await;

        assert_eq!(world.asked(), ["list 0", "list page 2", "list page 3", "watch 15"]);
        let lists = world.requests(Call::List, 3).await;
        assert!(lists.iter().all(|list| list.get("limit") == "2"));
        assert!(
            lists[1..]
                .iter()
                .all(|list| !list.query.contains_key("resourceVersion") && !list.get("continue").is_empty())
        );
    }
}

#[tokio::test]
async fn a_token_that_expires_leads_to_one_whole_list_at_the_version_asked_for_r13() {
    for page in [2, 3] {
        let server = server_with(On::page(page), Fault::status(410));
        five(&server);
        let world = World::start_with(server, HttpVersion::Http2, paged());

        world.settles().await;

        let mut expected = vec!["list 0", "list page 2"];
        expected.extend((page == 3).then_some("list page 3"));
        expected.extend(["list 0", "watch 15"]);
        assert_eq!(world.asked(), expected);
        let whole = world.requests(Call::List, page + 1).await.remove(page);
        assert_eq!((whole.get("limit"), whole.get("continue")), ("", ""));
        assert_eq!(world.informer.status().counters.failures, 0);
    }
}

#[tokio::test]
async fn changes_between_the_pages_come_by_the_watch_r12() {
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

#[tokio::test]
async fn a_page_that_fails_fails_the_list_and_none_of_it_is_seen_r12_r13() {
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
        assert!(world.history.told().iter().all(|told| !told.contains("relist")));
        world.settles().await;

        assert_eq!(world.asked()[..2], ["list 0", "list page 2"]);
        assert_eq!(world.asked().last().unwrap(), "watch 15");
        assert!(!world.asked().contains(&"list 15".to_owned()));
    }
}

#[tokio::test]
async fn without_a_page_size_a_relist_at_a_version_is_not_paged_r10() {
    let server = server_with(On::watch(), Fault::error_event(&Status::of(410)));
    server.plan(On::list().nth(2), Fault::status(410));
    let world = World::start(server, HttpVersion::Http1);

    world.settles().await;

    let lists = world.requests(Call::List, 3).await;
    let limits: Vec<(&str, &str)> =
        lists.iter().map(|list| (list.resource_version(), list.get("limit"))).collect();
    // The last one differs from client-go, which lists the newest without pages after a list that was not paged.
    assert_eq!(limits, [("0", "500"), ("12", ""), ("", "500")]);
}

#[tokio::test]
async fn a_first_list_in_pages_keeps_all_later_ones_paged_r11() {
    let server = server();
    for number in 0..501 {
        server.collection().put(&format!("shop/p{number}"));
    }
    let world = World::start(server, HttpVersion::Http2);
    world.watches().await;
    world.server.fail(&Status::of(410));

    world.settles().await;

    assert_eq!(world.asked(), ["list 0", "list page 2", "watch 513", "list 513", "list page 2", "watch 513"]);
    assert!(world.requests(Call::List, 4).await.iter().all(|list| list.get("limit") == "500"));
}

#[tokio::test]
async fn answers_that_are_no_list_of_objects_are_told_and_retried_r16_r17() {
    for (fault, expected) in [
        (Fault::table(), "a Table"),
        (Fault::body("text/html", "<!DOCTYPE html><html>Sign in</html>"), "HTML"),
        (Fault::body("application/json", ""), "broke off"),
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
            assert_eq!(world.asked(), ["list 0", "list 0", "watch 12"], "{expected}");
        }
    }
}

#[tokio::test]
async fn json_under_another_content_type_is_json() {
    for content_type in ["text/plain", "application/octet-stream"] {
        let list = r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"12"},"items":[]}"#;
        let world =
            World::start(server_with(On::list(), Fault::body(content_type, list)), HttpVersion::Http1);

        world.watches().await;

        assert_eq!(world.asked(), ["list 0", "watch 12"]);
    }
}

#[tokio::test]
async fn an_html_page_instead_of_a_watch_relists_r22() {
    let server = server_with(On::watch(), Fault::body("text/html", "<html>\nplease sign in\n</html>\n"));
    let world = World::start(server, HttpVersion::Http1);

    world.fails(ErrorClass::Malformed).await;
    world.settles().await;

    assert_eq!(world.asked(), ["list 0", "watch 12", "list 12", "watch 12"]);
}
