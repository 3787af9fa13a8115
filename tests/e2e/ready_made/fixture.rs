//! The objects of a run before its faults.

use serde_json::{Value, json};

use super::cluster::Cluster;

/// The namespace of the workloads.
pub(super) const APPS: &str = "apps";

/// The namespace of the sources that are copied.
pub(super) const SHOP: &str = "shop";

/// A namespace whose ConfigMap `shared` is an object of another origin.
pub(super) const GUARDED: &str = "guarded";

/// The namespaces that receive copies. The last one is deleted and created again.
pub(super) const TEAMS: [&str; 3] = ["team-0", "team-1", "team-2"];

/// A source of a workload: the plural of its resource, and its name.
pub(super) type Source = (&'static str, &'static str);

/// A workload in [`APPS`].
pub(super) struct Workload {
    pub(super) plural: &'static str,
    pub(super) name: &'static str,
    /// Its annotation that chooses sources.
    chooses: (&'static str, &'static str),
    pub(super) sources: &'static [Source],
    /// Its pods refer to its sources.
    refers: bool,
}

const AUTO: (&str, &str) = ("reloader.stakater.com/auto", "true");

/// The workload whose older states another writer restores.
pub(super) const RESTORED: &str = "web-1";

/// The Deployment that a roll pauses.
const PAUSED: &str = "web-2";

pub(super) const WORKLOADS: [Workload; 8] = [
    auto("deployments", "web-0", &[("configmaps", "map-0"), ("secrets", "key-0")]),
    auto("deployments", RESTORED, &[("configmaps", "map-1"), ("secrets", "key-1")]),
    auto("deployments", PAUSED, &[("configmaps", "map-2"), ("secrets", "key-0")]),
    // A copy of the replicator.
    auto("deployments", "of-a-copy", &[("configmaps", "shared")]),
    auto("statefulsets", "db", &[("configmaps", "map-0"), ("secrets", "key-1")]),
    Workload {
        plural: "daemonsets",
        name: "agent",
        chooses: ("configmap.reloader.stakater.com/reload", "map-.*"),
        sources: &[("configmaps", "map-0"), ("configmaps", "map-1"), ("configmaps", "map-2")],
        refers: false,
    },
    auto("cronjobs", "nightly", &[("configmaps", "map-1"), ("secrets", "key-0")]),
    auto("jobs", "import", &[("configmaps", "map-2"), ("secrets", "key-1")]),
];

/// The sources of the workloads that people change.
pub(super) const SOURCES: [Source; 5] = [
    ("configmaps", "map-0"),
    ("configmaps", "map-1"),
    ("configmaps", "map-2"),
    ("secrets", "key-0"),
    ("secrets", "key-1"),
];

/// The sources of copies, with the annotations that people switch between. The first ones hold at the start.
pub(super) const COPIED: [(Source, [Copies; 2]); 4] = [
    (("configmaps", "shared"), [Copies::To("apps,team-.*,guarded"), Copies::To("apps,team-[01]")]),
    (("secrets", "cert"), [Copies::Matching, Copies::Matching]),
    (("secrets", "mirrored"), [Copies::Auto("team-.*"), Copies::Auto("team-[12]")]),
    (("configmaps", "pulled"), [Copies::Allowed("true"), Copies::Allowed("false")]),
];

/// How a source is copied.
#[derive(Clone, Copy)]
pub(super) enum Copies {
    /// `replicate-to`.
    To(&'static str),
    /// `replicate-to-matching`, for namespaces with `tier=web`.
    Matching,
    /// Mirrors in these namespaces.
    Auto(&'static str),
    /// Objects in the namespaces of the teams may name it.
    Allowed(&'static str),
}

const fn auto(plural: &'static str, name: &'static str, sources: &'static [Source]) -> Workload {
    Workload { plural, name, chooses: AUTO, sources, refers: true }
}

// === impl Copies ===

impl Copies {
    pub(super) fn annotations(self) -> Value {
        match self {
            Self::To(list) => json!({"replicator.v1.mittwald.de/replicate-to": list}),
            Self::Matching => json!({"replicator.v1.mittwald.de/replicate-to-matching": "tier=web"}),
            Self::Auto(list) => json!({
                "reflector.v1.k8s.emberstack.com/reflection-allowed": "true",
                "reflector.v1.k8s.emberstack.com/reflection-auto-enabled": "true",
                "reflector.v1.k8s.emberstack.com/reflection-auto-namespaces": list,
            }),
            Self::Allowed(flag) => json!({
                "replicator.v1.mittwald.de/replication-allowed": flag,
                "replicator.v1.mittwald.de/replication-allowed-namespaces": "team-.*",
            }),
        }
    }
}

// === impl Workload ===

impl Workload {
    pub(super) fn object(&self) -> Value {
        let never = matches!(self.plural, "cronjobs" | "jobs");
        let mut container = json!({"name": "main", "image": "web:1"});
        if self.refers {
            let of = |plural: &'static str| self.sources.iter().filter(move |source| source.0 == plural);
            let maps: Vec<_> =
                of("configmaps").map(|(_, name)| json!({"configMapRef": {"name": name}})).collect();
            let keys: Vec<_> = of("secrets")
                .map(|(_, name)| json!({"name": "KEY", "valueFrom": {"secretKeyRef": {"name": name, "key": "key"}}}))
                .collect();
            container["envFrom"] = maps.into();
            container["env"] = keys.into();
        }
        let labels = json!({"app": self.name});
        let pods =
            json!({"restartPolicy": if never { "Never" } else { "Always" }, "containers": [container]});
        let template = json!({"metadata": {"labels": labels}, "spec": pods});
        let spec = match self.plural {
            "cronjobs" => json!({"schedule": "0 0 * * *", "jobTemplate": {"spec": {"template": template}}}),
            "jobs" => json!({"template": template}),
            _ => json!({"selector": {"matchLabels": labels}, "template": template}),
        };
        let mut annotations = json!({self.chooses.0: self.chooses.1});
        if self.name == PAUSED {
            annotations["deployment.reloader.stakater.com/pause-period"] = "300ms".into();
        }
        json!({"metadata": {"name": self.name, "annotations": annotations}, "spec": spec})
    }
}

/// An object with one key.
pub(super) fn source((plural, name): (&str, &str), value: &str, annotations: &Value) -> Value {
    let data = if plural == "secrets" { "stringData" } else { "data" };
    json!({"metadata": {"name": name, "annotations": annotations}, data: {"key": value}})
}

/// The patch that sets the key.
pub(super) fn value((plural, _): Source, value: &str) -> Value {
    let data = if plural == "secrets" { "stringData" } else { "data" };
    json!({data: {"key": value}})
}

/// A namespace of a team.
pub(super) fn team(name: &str, tier: &str) -> Value {
    json!({"metadata": {"name": name, "labels": {"tier": tier}}})
}

/// An object that names its source, and has a key of its own.
pub(super) fn pulling() -> Value {
    let annotations = json!({"replicator.v1.mittwald.de/replicate-from": "shop/pulled"});
    json!({"metadata": {"name": "mine", "annotations": annotations}, "data": {"own": "x"}})
}

/// Creates everything.
pub(super) async fn create(cluster: &Cluster) {
    for name in [APPS, SHOP, GUARDED] {
        cluster.create("namespaces", "", json!({"metadata": {"name": name}})).await;
    }
    for name in TEAMS {
        cluster.create("namespaces", "", team(name, "web")).await;
        cluster.create("configmaps", name, pulling()).await;
    }
    for one in SOURCES {
        cluster.create(one.0, APPS, source(one, "1", &json!({}))).await;
    }
    for (one, [copies, _]) in COPIED {
        cluster.create(one.0, SHOP, source(one, "1", &copies.annotations())).await;
    }
    let foreign = source(("configmaps", "shared"), "foreign", &json!({}));
    cluster.create("configmaps", GUARDED, foreign).await;
    for workload in WORKLOADS {
        cluster.create(workload.plural, APPS, workload.object()).await;
    }
}
