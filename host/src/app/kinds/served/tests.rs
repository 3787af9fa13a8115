use super::*;

/// The kinds of an API server: a line is `group/version[!] resource...`, and `!` means that its server does not answer. A resource
/// with `#` has no namespace, and one with `-` cannot be watched.
pub(in crate::app::kinds) fn served(lines: &[&str]) -> Served {
    let mut groups: Vec<APIGroupDiscovery> = Vec::new();
    for line in lines {
        let mut words = line.split_whitespace();
        let (group, version) = words.next().unwrap().rsplit_once('/').unwrap();
        let (number, stale) = version.strip_suffix('!').map_or((version, false), |number| (number, true));
        let resource = |word: &str| {
            let verbs: &[&str] = if word.ends_with('-') { &["create"] } else { &["get", "list", "watch"] };
            let scope = if word.ends_with('#') { "Cluster" } else { "Namespaced" };
            let name = word.trim_end_matches(['#', '-']);
            serde_json::json!({"resource": name, "scope": scope, "verbs": verbs, "subresources": [{"subresource": "status", "verbs": ["get"]}]})
        };
        let resources: Vec<_> = words.map(resource).collect();
        let freshness = if stale { "Stale" } else { "Current" };
        let one = serde_json::json!({"version": number, "freshness": freshness, "resources": resources});
        let name = |of: &APIGroupDiscovery| {
            of.metadata.as_ref().and_then(|own| own.name.clone()).unwrap_or_default()
        };
        match groups.iter_mut().find(|of| name(of) == group) {
            Some(of) => of.versions.push(serde_json::from_value(one).unwrap()),
            None => groups.push(
                serde_json::from_value(serde_json::json!({"metadata": {"name": group}, "versions": [one]}))
                    .unwrap(),
            ),
        }
    }
    let (core, others) = groups.into_iter().partition(|group| {
        group.metadata.as_ref().and_then(|own| own.name.as_deref()).unwrap_or_default().is_empty()
    });
    let list = |items: Vec<APIGroupDiscovery>| {
        let mut list: APIGroupDiscoveryList =
            serde_json::from_value(serde_json::json!({"metadata": {}, "items": []})).unwrap();
        list.items = items;
        list
    };
    Served::of([list(core), list(others)])
}

/// The preferred name of each kind.
fn names(served: &Served) -> Vec<String> {
    served.kinds().iter().map(|kind| kind.names[0].to_string()).collect()
}

/// The version that the server lists first is the preferred one, and a resource that it does not have is served in another (D-22).
#[test]
fn each_resource_that_can_be_watched_is_served_once_in_its_preferred_version() {
    let served = served(&[
        "/v1 pods nodes# bindings-",
        "autoscaling/v2 horizontalpodautoscalers",
        "autoscaling/v1 horizontalpodautoscalers scales",
        "authorization.k8s.io/v1 subjectaccessreviews-",
    ]);

    assert_eq!(
        names(&served),
        ["v1/nodes", "v1/pods", "autoscaling/v2/horizontalpodautoscalers", "autoscaling/v1/scales"]
    );
    assert_eq!(
        served.kinds().iter().map(|kind| kind.namespaced).collect::<Vec<_>>(),
        [false, true, true, true]
    );
}

/// The API server has one object under two names (D-22).
#[test]
fn objects_that_two_groups_serve_are_one_kind() {
    let both = served(&[
        "/v1 events",
        "extensions/v1beta1 ingresses widgets",
        "events.k8s.io/v1 events",
        "networking.k8s.io/v1 ingresses",
    ]);
    assert_eq!(names(&both), ["v1/events", "extensions/v1beta1/widgets", "networking.k8s.io/v1/ingresses"]);

    let old = served(&["/v1 pods", "extensions/v1beta1 ingresses"]);
    assert_eq!(names(&old), ["v1/pods", "extensions/v1beta1/ingresses"]);
}

#[test]
fn an_invalid_name_is_left_out() {
    assert_eq!(
        names(&served(&["/v1 pods pods/log Pods .. watch", "a/../b/v1 widgets", "x/latest y"])),
        ["v1/pods"]
    );
}

/// A kind of an API that does not answer stays as it was (D-22).
#[test]
fn an_api_that_does_not_answer_keeps_its_kinds_and_their_version() {
    let before = served(&["/v1 pods", "metrics.k8s.io/v1 pods nodes#", "metrics.k8s.io/v1beta1 pods"]);
    let found = served(&["/v1 pods", "metrics.k8s.io/v1!", "metrics.k8s.io/v1beta1 pods"]);

    let now = found.after(&before, |_| false);

    assert_eq!(names(&now), names(&before));
    assert_eq!(now.failing().iter().collect::<Vec<_>>(), ["metrics.k8s.io/v1"]);
    let again = served(&["/v1 pods", "metrics.k8s.io/v1 pods"]).after(&now, |_| false);
    assert_eq!(names(&again), ["v1/pods", "metrics.k8s.io/v1/pods"]);
    assert!(again.failing().is_empty());
}

/// The informer delivers the deletions before its watch ends (D-22).
#[test]
fn a_resource_that_is_gone_stays_while_its_informer_follows_it() {
    let before = served(&["/v1 pods", "shop.example.com/v1 orders"]);
    let found = || served(&["/v1 pods"]);

    let lagging = found().after(&before, |gvr| gvr.resource == "orders");
    assert_eq!(names(&lagging), ["v1/pods", "shop.example.com/v1/orders"]);
    assert_eq!(names(&found().after(&lagging, |_| false)), ["v1/pods"]);
}

#[test]
fn another_preferred_version_replaces_the_one_before() {
    let before = served(&["shop.example.com/v1beta1 orders"]);

    let now = served(&["shop.example.com/v1 orders"]).after(&before, |_| true);

    assert_eq!(names(&now), ["shop.example.com/v1/orders"]);
}
