//! The annotations of Reflector.

use serde_json::{Value, json};

use super::{
    super::cache::NAMESPACES,
    world::{MAPS, World, map, namespace},
};

const REFLECTS: &str = "reflector.v1.k8s.emberstack.com/reflects";
const AUTO_REFLECTS: &str = "reflector.v1.k8s.emberstack.com/auto-reflects";

/// The annotations with their prefix.
#[expect(clippy::needless_pass_by_value, reason = "each caller has it from json!")]
fn reflection(of: Value) -> Value {
    let prefix = "reflector.v1.k8s.emberstack.com/reflection-";
    of.as_object().unwrap().iter().map(|(name, value)| (format!("{prefix}{name}"), value.clone())).collect()
}

fn auto() -> Value {
    reflection(json!({"allowed": "true", "auto-enabled": "true"}))
}

#[test]
fn an_auto_mirror_is_made_in_each_namespace_that_fits_and_follows_its_source() {
    let mut world = World::new(json!({}), ["shop", "blog", "team-a"]);
    let source = |data: Value| {
        let annotations = json!({"allowed": "true", "auto-enabled": "true", "auto-namespaces": "team-.*"});
        map("shop/web", reflection(annotations), data)
    };
    world.put(MAPS, source(json!({"a": "1", "b": "1"})));
    world.put(MAPS, source(json!({"a": "2"})));

    assert_eq!(world.requests(), ["create team-a/web", "patch team-a/web"]);
    let mirror = world.get(MAPS, "team-a/web").unwrap();
    assert_eq!(mirror["data"], json!({"a": "2"}));
    let annotations = &mirror["metadata"]["annotations"];
    assert_eq!((&annotations[REFLECTS], &annotations[AUTO_REFLECTS]), (&json!("shop/web"), &json!("True")));
    assert_eq!(annotations["reflector.v1.k8s.emberstack.com/reflected-at"], "2026-05-01T13:00:00Z");
    assert!(annotations["reflector.v1.k8s.emberstack.com/reflected-version"].is_string());
}

#[test]
fn an_auto_mirror_goes_with_the_source_the_permission_and_the_match() {
    let without_permission = reflection(json!({"allowed": "false", "auto-enabled": "true"}));
    let elsewhere =
        reflection(json!({"allowed": "true", "auto-enabled": "true", "auto-namespaces": "other"}));
    let forbidden =
        reflection(json!({"allowed": "true", "auto-enabled": "true", "allowed-namespaces": "other"}));
    for changed in [None, Some(without_permission), Some(elsewhere), Some(forbidden), Some(json!({}))] {
        let mut world = World::new(json!({}), ["shop", "blog"]);
        world.put(MAPS, map("shop/web", auto(), json!({"a": "1"})));
        assert!(world.get(MAPS, "blog/web").is_some());

        match changed {
            None => world.delete(MAPS, "shop/web"),
            Some(annotations) => world.put(MAPS, map("shop/web", annotations, json!({"a": "1"}))),
        }

        assert_eq!(world.requests(), ["create blog/web", "delete blog/web"]);
    }
}

#[test]
fn an_auto_mirror_goes_with_the_labels_of_its_namespace() {
    let mut world = World::new(json!({}), ["shop"]);
    world.put(NAMESPACES, namespace("blog", json!({"team": "a"})));
    let annotations =
        json!({"allowed": "true", "auto-enabled": "true", "auto-namespaces-selector": "team in (a, b)"});
    world.put(MAPS, map("shop/web", reflection(annotations), json!({})));
    assert!(world.get(MAPS, "blog/web").is_some());

    world.put(NAMESPACES, namespace("blog", json!({})));

    assert_eq!(world.get(MAPS, "blog/web"), None);
}

#[test]
fn an_auto_mirror_never_replaces_an_object_of_another_origin() {
    let mut world = World::new(json!({}), ["shop", "blog"]);
    world.put(MAPS, map("blog/web", json!({}), json!({"own": "x"})));

    world.put(MAPS, map("shop/web", auto(), json!({"a": "1"})));

    assert_eq!(world.requests(), ["event shop/web"]);
}

#[test]
fn a_mirror_that_a_person_made_follows_its_source_and_outlives_it() {
    let mut world = World::new(json!({}), ["shop", "blog", "team"]);
    world.put(MAPS, map("blog/mine", json!({REFLECTS: "shop/web"}), json!({"own": "x"})));
    world.put(MAPS, map("team/mine", json!({REFLECTS: "shop/web"}), json!({"own": "x"})));
    let allowed = reflection(json!({"allowed": "true", "allowed-namespaces": "blog"}));
    world.put(MAPS, map("shop/web", allowed, json!({"a": "1"})));
    let data = |world: &World, key: &str| world.get(MAPS, key).unwrap()["data"].clone();
    assert_eq!(data(&world, "blog/mine"), json!({"a": "1"}));
    assert_eq!(data(&world, "team/mine"), json!({"own": "x"}), "the namespace is not permitted");

    world.delete(MAPS, "shop/web");

    assert_eq!(data(&world, "blog/mine"), json!({"a": "1"}));
    assert!(world.logged("v1/configmaps blog/mine stays as it is: its source shop/web does not exist"));
}
