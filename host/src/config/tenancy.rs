//! `[tenancy]`: what the `Plugin` objects of the cluster may do on this host.

use std::{num::NonZeroUsize, path::Path, sync::Arc, sync::LazyLock};

use informer_runtime::capabilities::HttpGrant;
use informer_types::{
    Namespaces, Pattern, ReadGrant, ReadGrants, SecretGrant, SecretGrants, WriteGrant, WriteGrants,
};

use super::{
    key::{Draft, Key, Section, sub},
    plugin::{Common, LIMITS, Limits, Plugin},
    problem::{Fault, Problems},
    value::{Count, Size},
    watched::Watched,
};

/// What the `Plugin` and `ClusterPlugin` objects of the cluster may do. At least one kind is accepted.
#[derive(Clone, Debug, PartialEq)]
pub struct Tenancy {
    /// The namespaces that may have Plugins; none if empty.
    pub namespaces: Vec<Pattern>,
    /// If true, ClusterPlugins are accepted.
    pub cluster_plugins: bool,
    /// The most objects that are considered, of both kinds together.
    pub plugins: usize,
    /// The most Plugins of one namespace that are considered.
    pub plugins_per_namespace: usize,
    /// The resources that they may subscribe to and read. Each is watched.
    pub read: ReadGrants,
    /// The requests that they may send.
    pub write: WriteGrants,
    /// The Secrets whose values they may see.
    pub secrets: SecretGrants,
    /// The repositories that components may come from.
    pub registries: Vec<Pattern>,
    /// The places that their HTTP requests may reach.
    pub http: Vec<HttpGrant>,
    /// The most bytes of key-values of one object; `None` means that no object may have key-values.
    pub keyvalue: Option<u64>,
    /// If true, subscriptions may have the conditions `when` and `whole-if`.
    pub when: bool,
    /// The most workers of each queue.
    pub workers: NonZeroUsize,
    /// The upper bound of each limit of an object.
    pub limits: Limits,
    /// `[defaults]`, which also apply to objects.
    pub(super) defaults: Defaults,
}

/// `[defaults]` as they are written. Two are equal if they give equal plugins.
#[derive(Clone, Debug, Default)]
pub(super) struct Defaults(pub(super) Arc<Common>);

/// `[tenancy]` as it is written.
#[derive(Clone, Debug)]
pub(super) struct TenancyKeys {
    namespaces: Vec<Pattern>,
    cluster_plugins: bool,
    plugins: usize,
    plugins_per_namespace: usize,
    read: Vec<ReadGrant>,
    write: Vec<WriteGrant>,
    secrets: Vec<SecretGrant>,
    registries: Vec<Pattern>,
    http: Vec<HttpGrant>,
    keyvalue: Option<u64>,
    when: bool,
    workers: NonZeroUsize,
    limits: Draft<Limits>,
}

type K<V> = Key<TenancyKeys, V>;

/// Each takes some memory even if it is never called; a thousand plugins are measured.
const PLUGINS: (Count, Count) = (Count(1), Count(10_000));
const KEYVALUE: (Size, Size) = (Size(64), Size(1 << 30));
const WORKERS: (Count, Count) = (Count(1), Count(256));

pub(super) static TENANCY: LazyLock<Section<TenancyKeys>> = LazyLock::new(|| {
    Section {
    doc: "Plugins as objects of the cluster: the host also runs each `Plugin` (of a namespace) and \
          `ClusterPlugin`, within what is listed here. Their definitions are printed by `informer crd`. A \
          Plugin receives, reads and writes objects of its own namespace only. Without `namespaces` and \
          `cluster-plugins` the host does not look at such objects.",
    keys: vec![
        K::<Vec<Pattern>>::new("namespaces", |keys| &mut keys.namespaces)
            .distinct()
            .also("[\"shop\", \"team-*\"]")
            .doc("The namespaces that may have Plugins. `*` stands for any characters; \"*\" is all."),
        K::<bool>::new("cluster-plugins", |keys| &mut keys.cluster_plugins).doc(
            "Accept ClusterPlugins. They reach all namespaces and objects without one, within the other keys of \
             this table.",
        ),
        K::<Count>::new("plugins", |keys| &mut keys.plugins).within(PLUGINS).doc(
            "The maximum number of objects that run, of both kinds together. If there are more, the oldest \
             run, so a new object never replaces an older one.",
        ),
        K::<Count>::new("plugins-per-namespace", |keys| &mut keys.plugins_per_namespace)
            .within(PLUGINS)
            .doc("The maximum number of Plugins of one namespace that run, the oldest first."),
        K::<Vec<ReadGrant>>::new("read", |keys| &mut keys.read)
            .distinct()
            .also("[\"apps/v1/deployments @shop,blog\"]")
            .doc(
                "Resources that they may subscribe to, and list under `read` of their `grant`. Each must be \
                 watched; its watch is never narrowed to what plugins need, so that no object changes the watch \
                 of others. Namespaces may follow an `@`.",
            ),
        K::<Vec<WriteGrant>>::new("write", |keys| &mut keys.write)
            .distinct()
            .also("[\"create,patch v1/configmaps\", \"create events.k8s.io/v1/events\"]")
            .doc(
                "Requests that they may list under `write` of their `grant`: verbs and resources as there. They are \
                 sent with the credentials of the host.",
            ),
        K::<Vec<SecretGrant>>::new("secrets", |keys| &mut keys.secrets)
            .distinct()
            .also("[\"shop/*\"]")
            .doc(
                "Secrets that they may list under `secrets` of their `grant`, by their values or, with `digest ` before it, by digests only. A Plugin never sees values of \
                 another namespace, whatever is listed here: \"*\" means the Secrets of its own.",
            ),
        K::<Vec<Pattern>>::new("registries", |keys| &mut keys.registries)
            .distinct()
            .also("[\"ghcr.io/acme/*\"]")
            .doc(
                "The repositories that their components may come from, with their hosts and without tags. \
                 `*` stands for any characters: write the last `/`, or the repositories of other owners \
                 match too. [[verify]] applies as well.",
            ),
        K::<Vec<HttpGrant>>::new("http", |keys| &mut keys.http)
            .distinct()
            .also("[\"https://hooks.example.com/\"]")
            .doc("Destinations that they may list under `http` of their `grant`."),
        K::<Size>::new("keyvalue", |keys| &mut keys.keyvalue)
            .within(KEYVALUE)
            .example("\"1MiB\"")
            .doc("The maximum quota of one of them for `wasi:keyvalue`. The default is none."),
        K::<bool>::new("when", |keys| &mut keys.when).doc(
            "Accept `when` and `whole-if` in their subscriptions. Such an expression runs on a thread of the \
             informer, so one that is expensive delays the events of all plugins.",
        ),
        K::<Count>::new("workers", |keys| &mut keys.workers)
            .within(WORKERS)
            .doc("The most `workers` of their `queue` and of their `workqueue`."),
        sub("limits", &LIMITS, |keys: &mut TenancyKeys| &mut keys.limits),
    ],
}
});

// === impl Tenancy ===

impl Tenancy {
    /// Returns true if this namespace may have Plugins.
    pub fn admits(&self, namespace: &str) -> bool {
        self.namespaces.iter().any(|pattern| pattern.fits(namespace))
    }
}

// === impl Defaults ===

impl Defaults {
    /// A plugin with these values.
    pub(super) fn plugin(&self) -> Plugin {
        let mut plugin = Plugin::default();
        Common::clone(&self.0).settle(&mut plugin, &mut Problems::new(Path::new(""), Path::new(""), ""));
        plugin
    }
}

impl PartialEq for Defaults {
    fn eq(&self, other: &Self) -> bool {
        self.plugin() == other.plugin()
    }
}

// === impl TenancyKeys ===

impl Default for TenancyKeys {
    /// Accepts nothing.
    fn default() -> Self {
        Self {
            namespaces: Vec::new(),
            cluster_plugins: false,
            plugins: 100,
            plugins_per_namespace: 5,
            read: Vec::new(),
            write: Vec::new(),
            secrets: Vec::new(),
            registries: Vec::new(),
            http: Vec::new(),
            keyvalue: None,
            when: false,
            workers: NonZeroUsize::MIN,
            limits: Draft::default(),
        }
    }
}

/// Judges the section. Returns `None` if it accepts no object.
pub(super) fn tenancy(
    draft: Draft<TenancyKeys>,
    defaults: Common,
    watched: &Watched,
    problems: &mut Problems<'_>,
) -> Option<Tenancy> {
    let read = draft.value.read.iter().map(|grant| &grant.gvr).zip(draft.items("read"));
    let write = draft.value.write.iter().map(|grant| &grant.gvr).zip(draft.items("write"));
    for (gvr, place) in read.chain(write).filter(|(gvr, _)| gvr.is_pattern()) {
        let message = format!("objects of the cluster cannot use the pattern `{gvr}`");
        problems.refuse(place, Fault::new(message, "list each resource"));
    }
    let written =
        draft.value.read.iter().zip(draft.items("read")).filter(|(grant, _)| !grant.gvr.is_pattern());
    for (grant, place) in written.filter(|(grant, _)| grant.subresource.is_none()) {
        let watch = watched.find(&place.with(grant.gvr.clone()), problems);
        if let (Some(watch), Namespaces::Only(granted)) = (watch, &grant.namespaces) {
            for fault in granted.iter().filter_map(|namespace| watch.outside(namespace)) {
                problems.refuse(place, fault);
            }
        }
    }
    let keys = draft.value;
    let accepts = !keys.namespaces.is_empty() || keys.cluster_plugins;
    accepts.then(|| Tenancy {
        namespaces: keys.namespaces,
        cluster_plugins: keys.cluster_plugins,
        plugins: keys.plugins,
        plugins_per_namespace: keys.plugins_per_namespace,
        read: keys.read.into_iter().collect(),
        write: keys.write.into_iter().collect(),
        secrets: keys.secrets.into_iter().collect(),
        registries: keys.registries,
        http: keys.http,
        keyvalue: keys.keyvalue,
        when: keys.when,
        workers: keys.workers,
        limits: keys.limits.value,
        defaults: Defaults(Arc::new(defaults)),
    })
}
