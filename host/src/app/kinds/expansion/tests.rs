use std::path::Path;

use super::{super::served::tests::served, *};
use crate::config::{Components, Environment, Place, parse};

const SERVED: [&str; 5] = [
    "/v1 pods configmaps events secrets namespaces# nodes#",
    "apps/v1 deployments",
    "autoscaling/v2 horizontalpodautoscalers",
    "autoscaling/v1 horizontalpodautoscalers",
    "events.k8s.io/v1 events",
];

const ALL: &str = "[[watch]]\ngvr = \"*/*/*\"\nmetadata-only = true\n";

fn expand(text: &str) -> Config {
    let environment = Environment { home: None, cache_dir: None, state_dir: None };
    let place = Place { file: Path::new("f"), base: Path::new("/"), environment: &environment };
    let config = parse(text, &place, Components::Unseen).unwrap_or_else(|error| panic!("{error}"));
    expanded(&config, &served(&SERVED))
}

/// The watches of the expanded configuration, and the subscriptions of its first plugin.
fn watched(text: &str) -> (Vec<String>, Vec<String>) {
    let config = expand(text);
    let watches = config.watches.iter().map(|watch| watch.gvr.to_string()).collect();
    (watches, config.plugins[0].subscriptions.iter().map(|on| on.watch.to_string()).collect())
}

fn plugin(on: &str) -> String {
    format!("[[plugin]]\nname = \"p\"\nsource = \"p\"\n[[plugin.on]]\nwatch = {on}\n")
}

/// A watch of all kinds is one watch of each (D-22).
#[test]
fn a_pattern_is_a_watch_and_a_subscription_of_each_resource() {
    let (watches, on) =
        watched(&format!("{ALL}exclude = [\"v1/secrets\", \"apps/*/*\"]\n{}", plugin("\"*/*/*\"")));

    let expected = [
        "v1/configmaps",
        "v1/events",
        "v1/namespaces",
        "v1/nodes",
        "v1/pods",
        "autoscaling/v2/horizontalpodautoscalers",
    ];
    assert_eq!(watches, expected);
    assert_eq!(on, expected);
    let config = expand(&format!(
        "{ALL}labels = \"a\"\n{}",
        plugin("\"*/*/*\"\nannotations = \"b\"\ninitial = \"changed\"")
    ));
    assert!(
        config
            .watches
            .iter()
            .all(|watch| watch.metadata_only && watch.exclude.is_empty() && watch.labels.to_string() == "a")
    );
    assert!(config.plugins[0].subscriptions.iter().all(|on| !on.filter.annotations.pointers().is_empty()));
    assert!(
        config.plugins[0]
            .subscriptions
            .iter()
            .all(|on| on.filter.initial == informer_dispatch::Initial::Changed)
    );
}

#[test]
fn a_group_is_watched_alone_and_an_exclusion_counts_in_any_version() {
    let group = |gvr: &str, exclude: &str| {
        let lines = format!(
            "[[watch]]\ngvr = \"{gvr}\"\nmetadata-only = true\n{exclude}\n{}",
            plugin(&format!("\"{gvr}\""))
        );
        watched(&lines).0
    };

    assert_eq!(group("apps/*/*", ""), ["apps/v1/deployments"]);
    assert_eq!(group("autoscaling/*/*", "exclude = [\"autoscaling/v1/horizontalpodautoscalers\"]"), [""; 0]);
    assert_eq!(group("core/*/*", "exclude = [\"pods\", \"v1/events\"]").len(), 4);
    let all = group("*/*/*", "exclude = [\"events.k8s.io/v1/events\"]");
    assert!(!all.contains(&"v1/events".to_owned()), "they are the same objects");
    assert_eq!(group("shop.example.com/*/*", ""), [""; 0], "its CRDs may come later");
}

#[test]
fn a_watch_of_the_resource_itself_keeps_its_settings_and_its_version() {
    let own = "[[watch]]\ngvr = \"v1/pods\"\nnamespaces = [\"shop\"]\n[[watch]]\ngvr = \"autoscaling/v1/horizontalpodautoscalers\"\n\
               [[watch]]\ngvr = \"events.k8s.io/v1/events\"\n[[watch]]\ngvr = \"example.com/v1/widgets\"\n";
    let text = format!(
        "{ALL}labels = \"a\"\n{own}{}[plugin.grant]\nread = [\"*/*/*\"]\nwrite = [\"delete */*/* @shop\"]\n",
        plugin("\"*/*/*\"")
    );
    let config = expand(&text);

    let names: Vec<String> = config.watches.iter().map(|watch| watch.gvr.to_string()).collect();
    assert_eq!(
        names[..5],
        [
            "v1/pods",
            "autoscaling/v1/horizontalpodautoscalers",
            "events.k8s.io/v1/events",
            "example.com/v1/widgets",
            "v1/configmaps"
        ]
    );
    assert!(
        !names.contains(&"v1/events".to_owned()) && !names.iter().any(|name| name.contains("/v2/")),
        "{names:?}"
    );
    assert!(
        !config.watches[0].metadata_only
            && config.watches[0].namespaces == ["shop"]
            && config.watches[0].labels.is_empty()
    );
    let p = &config.plugins[0];
    assert_eq!(p.subscriptions.len(), config.watches.len(), "it receives objects of each of them");
    let pods = p.subscriptions.iter().find(|on| on.watch == config.watches[0].gvr).unwrap();
    assert_eq!(pods.filter.labels.to_string(), "a", "and no others than the pattern selects");
    let grants = &p.grants;
    assert_eq!(
        grants.read.as_ref().unwrap().namespaces(&config.watches[0].gvr).unwrap().to_string(),
        " @shop"
    );
    assert!(grants.write.as_ref().unwrap().iter().all(|line| line.to_string().ends_with(" @shop")));
}

#[test]
fn a_subscription_to_the_resource_itself_has_precedence() {
    let own = "[[watch]]\ngvr = \"v1/pods\"\n[[watch]]\ngvr = \"apps/*/*\"\nmetadata-only = false\n";
    let more = "[[plugin.on]]\nwatch = \"v1/pods\"\nlabels = \"a\"\n[[plugin.on]]\nwatch = \"apps/*/*\"\nlabels = \"b\"\n";
    let config = expand(&format!("{ALL}{own}{}{more}", plugin("\"*/*/*\"\nlabels = \"c\"")));

    let labels = |gvr: &str| {
        let of = config.plugins[0].subscriptions.iter().filter(|on| on.watch.to_string() == gvr);
        of.map(|on| on.filter.labels.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(
        (labels("v1/pods"), labels("apps/v1/deployments"), labels("v1/nodes")),
        (vec!["a".into()], vec!["b".into()], vec!["c".into()])
    );
    let deployments = config.watches.iter().find(|watch| watch.gvr.resource == "deployments").unwrap();
    assert!(!deployments.metadata_only, "the narrower pattern has precedence");
}

#[test]
fn a_selection_by_namespace_leaves_out_cluster_scoped_objects() {
    let nodes = |text: &str| watched(text).1.iter().any(|on| on == "v1/nodes" || on == "v1/namespaces");

    assert!(nodes(&format!("{ALL}{}", plugin("\"*/*/*\""))));
    assert!(!nodes(&format!("{ALL}{}", plugin("\"*/*/*\"\nnamespaces = [\"shop\"]"))));
    assert!(!nodes(&format!("{ALL}{}", plugin("\"*/*/*\"\nnamespaces-labels = \"team\""))));
    assert!(!nodes(&format!("{ALL}namespaces = [\"shop\"]\n{}", plugin("\"*/*/*\""))));
}

/// Nothing is granted that the watch of the pattern does not stand for (D-22).
#[test]
fn a_pattern_grants_what_its_watch_stands_for_and_nothing_else() {
    let text = format!(
        "{ALL}exclude = [\"v1/secrets\"]\n{}[plugin.grant]\nread = [\"*/*/*\"]\nwrite = [\"delete */*/*\", \"patch v1/nodes\"]\n",
        plugin("\"*/*/*\"")
    );
    let grants = expand(&text).plugins.remove(0).grants;
    let (read, write) = (grants.read.unwrap(), grants.write.unwrap());

    let may = |verb, gvr: &str| write.allow(verb, &gvr.parse().unwrap(), None, "shop");
    use informer_types::WriteVerb::{Delete, Patch};
    assert!(may(Delete, "v1/pods") && may(Delete, "apps/v1/deployments") && may(Patch, "v1/nodes"));
    for (verb, gvr) in [
        (Delete, "v1/secrets"),
        (Delete, "example.com/v1/widgets"),
        (Patch, "v1/pods"),
        (Delete, "events.k8s.io/v1/events"),
    ] {
        assert!(!may(verb, gvr), "{verb} {gvr}");
    }
    assert!(!write.allow(Delete, &"v1/pods".parse().unwrap(), Some("status"), "shop"));
    assert!(read.namespaces(&"v1/pods".parse().unwrap()).is_some());
    assert!(read.namespaces(&"v1/secrets".parse().unwrap()).is_none());
}

#[test]
fn a_pattern_that_no_plugin_uses_watches_nothing() {
    let own = "[[watch]]\ngvr = \"v1/pods\"\n";

    assert_eq!(watched(&format!("{ALL}{own}{}", plugin("\"v1/pods\""))).0, ["v1/pods"]);
}
