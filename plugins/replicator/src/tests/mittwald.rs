//! The annotations of kubernetes-replicator.

use serde_json::{Value, json};

use super::{
    super::cache::NAMESPACES,
    world::{BINDINGS, MAPS, World, map, namespace},
};

const TO: &str = "replicator.v1.mittwald.de/replicate-to";
const MATCHING: &str = "replicator.v1.mittwald.de/replicate-to-matching";
const FROM: &str = "replicator.v1.mittwald.de/replicate-from";
const ALLOWED: &str = "replicator.v1.mittwald.de/replication-allowed";
const ALLOWED_NAMESPACES: &str = "replicator.v1.mittwald.de/replication-allowed-namespaces";
const KEYS: &str = "replicator.v1.mittwald.de/replicated-keys";
const AT: &str = "replicator.v1.mittwald.de/replicated-at";
const AUTO_ENABLED: &str = "reflector.v1.k8s.emberstack.com/reflection-auto-enabled";

fn data(world: &World, key: &str) -> Option<Value> {
    world.get(MAPS, key).map(|object| object["data"].clone())
}

fn allowed() -> Value {
    json!({ALLOWED: "true", ALLOWED_NAMESPACES: "blog"})
}

#[test]
fn names_and_patterns_select_the_namespaces_of_copies() {
    let mut world = World::new(json!({}), ["shop", "blog", "team-a", "team-b", "my-team-a"]);

    world.put(MAPS, map("shop/web", json!({TO: "blog,team-.*,missing"}), json!({"a": "1"})));

    assert_eq!(world.requests(), ["create blog/web", "create team-a/web", "create team-b/web"]);
    assert_eq!(data(&world, "team-b/web"), Some(json!({"a": "1"})));
}

#[test]
fn a_new_namespace_receives_its_copies() {
    let mut world = World::new(json!({}), ["shop"]);
    world.put(MAPS, map("shop/web", json!({TO: "blog"}), json!({})));
    world.put(MAPS, map("shop/other", json!({TO: "team"}), json!({})));
    assert_eq!(world.requests(), [""; 0]);

    world.put(NAMESPACES, namespace("blog", json!({})));

    assert_eq!(world.requests(), ["create blog/web"]);
}

#[test]
fn a_namespace_receives_and_loses_copies_with_its_labels() {
    let mut world = World::new(json!({}), ["shop", "blog"]);
    world.put(MAPS, map("shop/web", json!({MATCHING: "team=a"}), json!({})));
    assert_eq!(world.requests(), [""; 0]);

    world.put(NAMESPACES, namespace("blog", json!({"team": "a"})));
    assert!(world.get(MAPS, "blog/web").is_some());
    world.put(NAMESPACES, namespace("blog", json!({"team": "b"})));
    assert_eq!(world.requests(), ["create blog/web", "delete blog/web"]);
}

#[test]
fn a_namespace_that_is_being_deleted_receives_nothing() {
    let mut world = World::new(json!({}), ["shop"]);
    let mut leaving = namespace("blog", json!({}));
    leaving["metadata"]["deletionTimestamp"] = json!("2026-05-01T12:00:00Z");
    world.put(NAMESPACES, leaving);

    world.put(MAPS, map("shop/web", json!({TO: ".*"}), json!({})));

    assert_eq!(world.requests(), [""; 0]);
}

#[test]
fn copies_follow_the_content_and_the_annotations_of_their_source() {
    let mut world = World::new(json!({}), ["shop", "blog", "team"]);
    world.put(MAPS, map("shop/web", json!({TO: "blog"}), json!({"a": "1", "b": "1"})));

    world.put(MAPS, map("shop/web", json!({TO: "blog"}), json!({"a": "2"})));
    assert_eq!(data(&world, "blog/web"), Some(json!({"a": "2"})));
    world.put(MAPS, map("shop/web", json!({TO: "team"}), json!({"a": "2"})));
    assert_eq!((data(&world, "blog/web"), data(&world, "team/web")), (None, Some(json!({"a": "2"}))));
    world.put(MAPS, map("shop/web", json!({}), json!({"a": "2"})));
    assert_eq!(data(&world, "team/web"), None);
}

#[test]
fn a_source_that_changes_without_its_content_changing_leads_to_no_request() {
    let mut world = World::new(json!({}), ["shop", "blog"]);
    world.put(MAPS, map("shop/web", json!({TO: "blog"}), json!({"a": "1"})));

    world.put(MAPS, map("shop/web", json!({TO: "blog", "other": "x"}), json!({"a": "1"})));

    assert_eq!(world.requests(), ["create blog/web"]);
}

#[test]
fn a_deleted_source_takes_its_copies_but_not_what_others_added() {
    let mut world = World::new(json!({}), ["shop", "blog", "team"]);
    world.put(MAPS, map("shop/web", json!({TO: "blog,team"}), json!({"a": "1"})));
    let mut more = world.get(MAPS, "team/web").unwrap();
    more["data"]["own"] = json!("x");
    more["metadata"]["resourceVersion"] = json!("1000");
    world.put(MAPS, more);

    world.delete(MAPS, "shop/web");

    assert_eq!((data(&world, "blog/web"), data(&world, "team/web")), (None, Some(json!({"own": "x"}))));
    assert_eq!(world.get(MAPS, "team/web").unwrap()["metadata"]["annotations"], json!({}));
}

#[test]
fn a_pull_needs_the_permission_of_the_source() {
    let mut world = World::new(json!({}), ["shop", "blog", "team"]);
    world.put(MAPS, map("blog/mine", json!({FROM: "shop/web"}), json!({"own": "x", "a": "0"})));
    world.put(MAPS, map("team/mine", json!({FROM: "shop/web"}), json!({"own": "x"})));
    world.put(MAPS, map("shop/web", json!({}), json!({"a": "1"})));
    assert_eq!(data(&world, "blog/mine"), Some(json!({"own": "x", "a": "0"})));
    assert!(world.logged("v1/configmaps blog/mine stays as it is: its source shop/web does not exist"));

    world.put(MAPS, map("shop/web", allowed(), json!({"a": "1"})));

    assert_eq!(data(&world, "blog/mine"), Some(json!({"own": "x", "a": "1"})));
    assert_eq!(data(&world, "team/mine"), Some(json!({"own": "x"})));
    assert!(
        world.logged("v1/configmaps team/mine stays as it is: its source shop/web does not permit this copy")
    );
}

#[test]
fn a_pulled_object_loses_its_keys_with_the_source_and_with_the_permission() {
    for withdrawn in [false, true] {
        let mut world = World::new(json!({}), ["shop", "blog"]);
        world.put(MAPS, map("shop/web", allowed(), json!({"a": "1"})));
        world.put(MAPS, map("blog/mine", json!({FROM: "shop/web"}), json!({"own": "x"})));
        assert_eq!(data(&world, "blog/mine"), Some(json!({"own": "x", "a": "1"})));

        if withdrawn {
            world.put(MAPS, map("shop/web", json!({}), json!({"a": "1"})));
        } else {
            world.delete(MAPS, "shop/web");
        }

        let left = world.get(MAPS, "blog/mine").unwrap();
        assert_eq!(
            (&left["data"], &left["metadata"]["annotations"]),
            (&json!({"own": "x"}), &json!({FROM: "shop/web"}))
        );
    }
}

#[test]
fn all_pulls_are_allowed_if_the_operator_says_so() {
    let mut world = World::new(json!({"allow-all": true}), ["shop", "blog"]);
    world.put(MAPS, map("blog/mine", json!({FROM: "shop/web"}), json!({})));

    world.put(MAPS, map("shop/web", json!({}), json!({"a": "1"})));
    world.put(MAPS, map("shop/web", json!({}), json!({"a": "2"})));

    assert_eq!(data(&world, "blog/mine"), Some(json!({"a": "2"})));
}

#[test]
fn a_pulled_object_may_be_a_source_itself() {
    let mut world = World::new(json!({}), ["shop", "blog", "team"]);
    let both = json!({FROM: "shop/web", TO: "team"});
    world.put(MAPS, map("blog/mine", both, json!({})));

    world.put(MAPS, map("shop/web", allowed(), json!({"a": "1"})));

    assert_eq!(data(&world, "team/mine"), Some(json!({"a": "1"})));
}

#[test]
fn objects_that_name_each_other_are_refused() {
    let mut world = World::new(json!({"allow-all": true}), ["shop", "blog", "team"]);
    world.put(MAPS, map("shop/web", json!({FROM: "team/web"}), json!({"a": "1"})));
    world.put(MAPS, map("blog/web", json!({FROM: "shop/web"}), json!({"a": "2"})));
    world.put(MAPS, map("team/web", json!({FROM: "blog/web"}), json!({"a": "3"})));
    let before = world.requests().len();

    world.put(MAPS, map("blog/web", json!({FROM: "shop/web"}), json!({"a": "4"})));

    let new: Vec<String> = world.requests().split_off(before);
    assert!(new.iter().all(|request| request.starts_with("event ")), "{new:?}");
    let chain = "v1/configmaps blog/web stays as it is: objects that name each other as their source: blog/web, shop/web, team/web, blog/web";
    assert!(world.logged(chain), "{:?}", world.host.log());
}

/// If the plugin accepted the cycle, each object would get the content of the next object without end.
#[test]
fn a_cycle_of_many_objects_is_refused() {
    let mut world = World::new(json!({"allow-all": true}), ["shop"]);
    for number in 0..20 {
        let source = format!("shop/web-{}", (number + 1) % 20);
        let data = json!({"a": number.to_string()});
        world.put(MAPS, map(&format!("shop/web-{number}"), json!({FROM: source}), data));
    }
    let why = "v1/configmaps shop/web-19 stays as it is: more than 16 objects in a row name each other as their source: shop/web-19, shop/web-0, ";
    assert!(world.logged(why), "{:?}", world.host.log());
}

/// The copy has no annotation of a source.
#[test]
fn an_object_that_names_a_copy_loses_its_content_with_the_copy() {
    let mut world = World::new(json!({"allow-all": true}), ["shop", "blog", "team"]);
    world.put(MAPS, map("shop/web", json!({TO: "blog"}), json!({"a": "1"})));
    world.put(MAPS, map("team/mine", json!({FROM: "blog/web"}), json!({})));
    assert_eq!(data(&world, "team/mine"), Some(json!({"a": "1"})));

    world.delete(MAPS, "shop/web");

    assert_eq!((data(&world, "blog/web"), data(&world, "team/mine")), (None, Some(json!({}))));
}

/// A person has restored the source from one of its copies.
#[test]
fn an_object_that_names_itself_as_its_source_keeps_its_content() {
    let reflector = "reflector.v1.k8s.emberstack.com";
    for marks in [
        json!({"replicator.v1.mittwald.de/replicated-from": "shop/web", KEYS: "a"}),
        json!({FROM: "shop/web", AT: "2025-01-01T00:00:00Z", KEYS: "a"}),
        json!({format!("{reflector}/reflects"): "shop/web", format!("{reflector}/auto-reflects"): "True"}),
    ] {
        let mut world = World::new(json!({}), ["shop"]);
        world.put(MAPS, map("shop/web", marks.clone(), json!({"a": "1"})));
        assert_eq!(world.requests(), ["event shop/web"], "{marks}");
        assert_eq!(data(&world, "shop/web"), Some(json!({"a": "1"})), "{marks}");
        assert!(world.logged("v1/configmaps shop/web stays as it is: it names itself as its source"));
    }
}

#[test]
fn a_list_with_too_many_expressions_is_an_event_and_its_names_count() {
    let mut world = World::new(json!({}), ["shop", "blog", "team-a", "other"]);
    let list = format!("{}other,blog,team-.*", "x.,".repeat(100));
    world.put(MAPS, map("shop/web", json!({TO: list}), json!({"a": "1"})));

    let mut requests = world.requests();
    requests.sort();
    assert_eq!(requests, ["create blog/web", "create other/web", "event shop/web"]);
    assert!(world.logged(
        "v1/configmaps shop/web: replicator.v1.mittwald.de/replicate-to: it has more than 100 regular expressions"
    ));
}

#[test]
fn an_object_of_another_origin_is_kept_until_it_makes_room() {
    let mut world = World::new(json!({}), ["shop", "blog"]);
    world.put(MAPS, map("blog/web", json!({}), json!({"a": "foreign"})));

    world.put(MAPS, map("shop/web", json!({TO: "blog"}), json!({"a": "1"})));
    assert_eq!(data(&world, "blog/web"), Some(json!({"a": "foreign"})));
    assert_eq!(world.requests(), ["event shop/web"]);
    assert!(world.logged(
        "v1/configmaps blog/web stays as it is: shop/web should be copied there, but an object of another origin has this \
         name: delete this object"
    ));

    world.delete(MAPS, "blog/web");
    assert_eq!(data(&world, "blog/web"), Some(json!({"a": "1"})));
}

#[test]
fn an_object_of_another_origin_that_names_the_source_of_the_copy_is_merged() {
    let mut world = World::new(json!({}), ["shop", "blog", "team"]);
    world.put(MAPS, map("blog/web", json!({}), json!({"own": "x"})));
    world.put(MAPS, map("shop/web", json!({TO: "blog"}), json!({"a": "1"})));
    assert_eq!(data(&world, "blog/web"), Some(json!({"own": "x"})));

    for name in ["blog/web", "blog/other", "team/web"] {
        world.put(MAPS, map(name, json!({FROM: "shop/web"}), json!({"own": "x"})));
    }
    assert_eq!(data(&world, "blog/web"), Some(json!({"own": "x", "a": "1"})));
    for name in ["blog/other", "team/web"] {
        assert_eq!(data(&world, name), Some(json!({"own": "x"})), "the source requests no copy in {name}");
    }
    world.put(MAPS, map("shop/web", json!({TO: "bl(og"}), json!({"a": "1"})));
    assert_eq!(data(&world, "blog/web"), Some(json!({"own": "x", "a": "1"})), "a mistake removes nothing");
    // A mistake in an annotation of Reflector leaves nothing open about `replicate-from`.
    world.put(MAPS, map("shop/web", json!({AUTO_ENABLED: "maybe"}), json!({"a": "1"})));
    assert_eq!(data(&world, "blog/web"), Some(json!({"own": "x"})));
}

#[test]
fn the_first_source_of_a_place_keeps_it_and_the_next_one_follows() {
    let mut world = World::new(json!({}), ["shop", "other", "blog"]);
    world.put(MAPS, map("shop/web", json!({TO: "blog"}), json!({"a": "shop"})));
    world.put(MAPS, map("other/web", json!({TO: "blog"}), json!({"a": "other"})));
    assert_eq!(data(&world, "blog/web"), Some(json!({"a": "shop"})));

    world.put(MAPS, map("shop/web", json!({}), json!({"a": "shop"})));

    assert_eq!(data(&world, "blog/web"), Some(json!({"a": "other"})));
}

/// A person deletes the first source and its copy with one command.
#[test]
fn the_next_source_follows_although_the_first_one_went_together_with_its_copy() {
    let mut world = World::new(json!({}), ["shop", "other", "blog"]);
    world.put(MAPS, map("shop/web", json!({TO: "blog"}), json!({"a": "shop"})));
    world.put(MAPS, map("other/web", json!({TO: "blog"}), json!({"a": "other"})));

    world.host.remove(MAPS, &"blog/web".parse().unwrap());
    world.delete(MAPS, "shop/web");

    assert_eq!(data(&world, "blog/web"), Some(json!({"a": "other"})));
}

#[test]
fn a_copy_that_the_original_pushed_is_adopted_and_never_removed_without_a_source() {
    let mut world = World::new(json!({}), ["shop", "blog"]);
    let marks = json!({AT: "2025-01-01T00:00:00Z", KEYS: "a,gone"});
    world.put(MAPS, map("blog/web", marks.clone(), json!({"a": "0", "gone": "x"})));
    world.put(MAPS, map("blog/orphan", marks, json!({"a": "0"})));
    assert_eq!(world.requests(), [""; 0]);

    world.put(MAPS, map("shop/web", json!({TO: "blog"}), json!({"a": "1"})));

    assert_eq!(data(&world, "blog/web"), Some(json!({"a": "1"})));
    assert_eq!(world.requests(), ["patch blog/web"]);
}

#[test]
fn an_immutable_copy_is_an_event_and_no_request_until_it_makes_room() {
    let mut world = World::new(json!({}), ["shop", "blog"]);
    world.put(MAPS, map("shop/web", json!({TO: "blog"}), json!({"a": "1"})));
    let mut locked = world.get(MAPS, "blog/web").unwrap();
    locked["immutable"] = json!(true);
    locked["metadata"]["resourceVersion"] = json!("1000");
    world.put(MAPS, locked);

    world.put(MAPS, map("shop/web", json!({TO: "blog"}), json!({"a": "2"})));

    assert_eq!(world.requests(), ["create blog/web", "event blog/web"]);
    assert!(world.logged("v1/configmaps blog/web stays as it is: it is immutable and has other content"));
    world.delete(MAPS, "blog/web");
    assert_eq!(data(&world, "blog/web"), Some(json!({"a": "2"})));
}

#[test]
fn a_copy_under_another_name_is_left_alone() {
    let mut world = World::new(json!({}), ["shop", "blog"]);
    world.put(MAPS, map("shop/web", json!({TO: "blog"}), json!({"a": "1"})));
    let mut renamed = world.get(MAPS, "blog/web").unwrap();
    renamed["metadata"]["name"] = json!("mine");
    world.put(MAPS, renamed);

    world.delete(MAPS, "shop/web");

    assert_eq!((data(&world, "blog/web"), data(&world, "blog/mine")), (None, Some(json!({"a": "1"}))));
}

#[test]
fn an_annotation_without_a_meaning_is_logged_and_removes_no_copy() {
    let mut world = World::new(json!({}), ["shop", "blog"]);
    world.put(MAPS, map("shop/web", json!({TO: "blog"}), json!({"a": "1"})));

    world.put(MAPS, map("shop/web", json!({TO: "bl(og"}), json!({"a": "1"})));
    world.put(MAPS, map("blog/mine", json!({FROM: "web"}), json!({})));

    assert_eq!(world.requests(), ["create blog/web"]);
    assert!(
        world.logged("v1/configmaps shop/web: replicator.v1.mittwald.de/replicate-to: `bl(og` is neither")
    );
    assert!(
        world.logged(
            "v1/configmaps blog/mine: replicator.v1.mittwald.de/replicate-from: `web` is not the name"
        )
    );
}

#[test]
fn a_copy_whose_fixed_field_changed_is_made_anew() {
    let mut world = World::new(json!({}), ["shop", "blog"]);
    let binding = |role: &str| {
        let mut binding = map("shop/web", json!({TO: "blog"}), json!({"role": role}));
        binding["roleRef"] = json!({"name": role});
        binding
    };
    world.put(BINDINGS, binding("old"));

    world.put(BINDINGS, binding("new"));

    assert_eq!(world.requests(), ["create blog/web", "delete blog/web", "create blog/web"]);
    assert_eq!(world.get(BINDINGS, "blog/web").unwrap()["roleRef"]["name"], "new");
}
