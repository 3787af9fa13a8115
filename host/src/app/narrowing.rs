//! The smallest part of a collection that satisfies every subscription to it.
//!
//! If all that a plugin sees of a watch is what its subscriptions select, the API server need not send what no
//! subscription selects. A watch is narrowed in two ways:
//!
//! - The **selector**: the requirements on labels and fields that all subscriptions have in common are added to the
//!   watch's own selector. `when` adds nothing, because the server cannot evaluate it. Of fields, only `metadata.name` and
//!   `metadata.namespace` are added, because the server supports them for every resource.
//! - The **namespaces**: if every subscription names `namespaces`, only the union of them is watched. Each namespace costs
//!   a connection, so more than [`MOST_NAMESPACES`] narrow nothing.
//!
//! **No plugin can notice.** A subscription receives an addition when an object comes to match, and a deletion when it no
//! longer matches (P-21). With a selector the API server sends ADDED and DELETED at the same moments, and a list leaves out
//! what does not match, so a relist finds it gone. Every requirement that is added is a requirement of each subscription, so
//! its filter would exclude the object anyway. The filters stay in force for their other conditions.
//!
//! **The watch of `v1/namespaces`** is not narrowed if a subscription selects by the labels of namespaces, or if ClusterPlugins,
//! which may do so, are accepted. The labels of all namespaces are needed then.
//!
//! **A plugin that may read the watch** through the lister needs all of it: its reads are independent of its
//! subscriptions. Then the watch is not narrowed. A watch that Plugin objects may use (`[tenancy]`) is not narrowed either:
//! otherwise each object that comes or goes could make all plugins of the watch change to another informer.

use std::{collections::BTreeSet, fmt};

use informer_types::{FieldSelector, Gvr, LabelSelector};

use crate::config::{Config, Plugin, Subscription, Watch};

/// The most namespaces that a watch is narrowed to; one watch of the whole collection is cheaper than more of them.
const MOST_NAMESPACES: usize = 16;

/// The conditions that narrow a watch, besides its own selector and namespaces. At least one part is not empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Narrowing {
    /// The only namespaces to watch; empty if all of the watch's own are needed.
    pub(crate) namespaces: BTreeSet<String>,
    /// Requirements on labels to add.
    pub(crate) labels: LabelSelector,
    /// Requirements on fields to add.
    pub(crate) fields: FieldSelector,
}

// === impl Narrowing ===

impl Narrowing {
    /// The narrowing of this watch of the configuration. Returns `None` if all of the watch is needed.
    pub(crate) fn of(watch: &Watch, config: &Config) -> Option<Self> {
        let open =
            config.tenancy.as_ref().is_some_and(|tenancy| tenancy.read.namespaces(&watch.gvr).is_some());
        let decides = watch.gvr == Gvr::namespaces()
            && (config.plugins.iter().any(Plugin::follows_namespaces)
                || config.tenancy.as_ref().is_some_and(|tenancy| tenancy.cluster_plugins));
        if open || decides || config.plugins.iter().any(|plugin| plugin.may_read(&watch.gvr)) {
            return None;
        }
        let subscriptions = config.plugins.iter().flat_map(|plugin| &plugin.subscriptions);
        let mut subscriptions =
            subscriptions.filter(|subscription| subscription.watch == watch.gvr).map(Self::from);
        let first = subscriptions.next()?;
        let mut all = subscriptions.fold(first, |all, next| all.satisfying_both(&next));
        let own: BTreeSet<&String> = watch.namespaces.iter().collect();
        if all.namespaces.len() > MOST_NAMESPACES || all.namespaces.iter().collect::<BTreeSet<_>>() == own {
            all.namespaces.clear();
        }
        Some(all).filter(|all| !all.is_empty())
    }

    fn satisfying_both(&self, other: &Self) -> Self {
        let all = self.namespaces.is_empty() || other.namespaces.is_empty();
        Self {
            namespaces: if all { BTreeSet::new() } else { &self.namespaces | &other.namespaces },
            labels: self.labels.common(&other.labels),
            fields: self.fields.common(&other.fields),
        }
    }

    fn is_empty(&self) -> bool {
        self.namespaces.is_empty() && self.labels.is_empty() && self.fields.is_empty()
    }
}

impl From<&Subscription> for Narrowing {
    /// The conditions of one subscription that a server can apply.
    fn from(subscription: &Subscription) -> Self {
        Self {
            namespaces: subscription.filter.namespaces.clone(),
            labels: subscription.filter.labels.clone(),
            // Keeps the fields that every resource supports.
            fields: subscription.filter.fields.common(&subscription.filter.fields),
        }
    }
}

impl fmt::Display for Narrowing {
    /// `namespaces default, shop`, `labels app in (web)`, `fields metadata.name=web`, or several of them, joined by `and`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if !self.namespaces.is_empty() {
            let names: Vec<&str> = self.namespaces.iter().map(String::as_str).collect();
            parts.push(format!("namespaces {}", names.join(", ")));
        }
        if !self.labels.is_empty() {
            parts.push(format!("labels {}", self.labels));
        }
        if !self.fields.is_empty() {
            parts.push(format!("fields {}", self.fields));
        }
        f.write_str(&parts.join(" and "))
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, fmt::Write, path::Path};

    use informer_cache::WatchConfig;
    use informer_types::Gvr;

    use crate::config::{self, Components, Environment, Place};

    /// The watch of pods with these lines of its own, if these are the subscriptions, one plugin each; `+` marks a plugin
    /// that may read the watch.
    fn watch(own: &str, subscriptions: &[&str]) -> WatchConfig {
        let mut text = format!("[[watch]]\ngvr = \"v1/pods\"\n{own}\n[[watch]]\ngvr = \"v1/nodes\"\n");
        for (index, on) in subscriptions.iter().enumerate() {
            let (on, read) = match on.strip_prefix('+') {
                Some(on) => (on, "[plugin.grant]\nread = [\"v1/pods\"]"),
                None => (*on, ""),
            };
            let _ = write!(
                text,
                "[[plugin]]\nname = \"p{index}\"\nsource = \"p\"\n[[plugin.on]]\nwatch = \"v1/nodes\"\n\
                 [[plugin.on]]\nwatch = \"v1/pods\"\n{on}\n{read}\n"
            );
        }
        watches(&text).remove(&"v1/pods".parse().unwrap()).unwrap()
    }

    fn watches(text: &str) -> BTreeMap<Gvr, WatchConfig> {
        let environment = Environment { home: None, cache_dir: None, state_dir: None };
        let place = Place { file: Path::new("f"), base: Path::new("/"), environment: &environment };
        let config = config::parse(text, &place, Components::Unseen).unwrap();
        crate::app::settings::watches(&config)
    }

    fn selector(own: &str, subscriptions: &[&str]) -> String {
        let watch = watch(own, subscriptions);
        format!("{}|{}", watch.labels, watch.fields)
    }

    #[test]
    fn requirements_of_all_subscriptions_are_sent_to_the_server() {
        let (web, db) = ("labels = \"app=web,tier=front\"", "labels = \"app=db,tier=front\"");

        assert_eq!(selector("", &[web]), "app in (web),tier in (front)|");
        assert_eq!(selector("", &[web, db]), "app in (db,web),tier in (front)|");
        assert_eq!(selector("", &[web, db, "labels = \"tier\""]), "tier|");
        assert_eq!(selector("", &[web, db, ""]), "|");
        assert_eq!(selector("", &[web, "when = \"object.spec.replicas > 2\""]), "|");
        assert_eq!(
            selector("", &["fields = \"metadata.name=a,spec.b=c\"", "fields = \"spec.b=c,metadata.name=a\""]),
            "|metadata.name=a"
        );
        assert_eq!(selector("", &["fields = \"metadata.name=a\"", "fields = \"metadata.name=b\""]), "|");
    }

    #[test]
    fn the_selector_of_the_watch_itself_stays_in_force() {
        let own = "labels = \"team=a\"\nfields = \"status.phase=Running\"";

        assert_eq!(selector(own, &[""]), "team in (a)|status.phase=Running");
        assert_eq!(
            selector(own, &["labels = \"app=web,team=a\"\nfields = \"metadata.namespace=shop\""]),
            "team in (a),app in (web)|status.phase=Running,metadata.namespace=shop"
        );
    }

    #[test]
    fn a_watch_that_a_plugin_may_read_is_not_narrowed() {
        let web = "labels = \"app=web\"\nnamespaces = [\"a\"]";

        assert_eq!(selector("", &[web, "+labels = \"app=web\"\nnamespaces = [\"a\"]"]), "|");
        assert!(watch("", &[web, "+namespaces = [\"a\"]"]).namespaces.is_empty());
        assert_eq!(selector("", &[]), "|", "without subscriptions nothing can be left out");
    }

    #[test]
    fn a_watch_that_plugin_objects_may_use_is_not_narrowed() {
        let web = "labels = \"app=web\"\nnamespaces = [\"a\"]";
        let tenancy = "\n[tenancy]\nnamespaces = [\"a\"]\nread = [\"v1/pods\"]";

        assert_eq!(watch("", &[&format!("{web}{tenancy}")]).labels.to_string(), "");
        assert!(watch("", &[&format!("{web}{tenancy}")]).namespaces.is_empty());
    }

    #[test]
    fn all_namespaces_are_watched_if_their_labels_decide() {
        let follows = watch("", &["namespaces-labels = \"team=a\"\nlabels = \"app=web\""]);
        assert_eq!(follows.labels.to_string(), "app in (web)", "the watch of the objects is narrowed");

        let on = "\n[[plugin.on]]\nwatch = \"v1/namespaces\"\nlabels = \"app=web\"";
        let namespaces = |labels: &str| {
            let text = format!(
                "[[watch]]\ngvr = \"v1/pods\"\n[[watch]]\ngvr = \"v1/namespaces\"\n[[plugin]]\nname = \"p\"\nsource = \"p\"\n\
                 [[plugin.on]]\nwatch = \"v1/pods\"\nnamespaces-labels = \"{labels}\"{on}\n"
            );
            watches(&text).remove(&"v1/namespaces".parse().unwrap()).unwrap().labels.to_string()
        };
        assert_eq!(namespaces("team=a"), "");
        assert_eq!(namespaces(""), "app in (web)");
    }

    #[test]
    fn only_namespaces_that_some_subscription_names_are_watched() {
        let (a, b) = ("namespaces = [\"a\"]", "namespaces = [\"b\", \"a\"]");
        let own = "namespaces = [\"c\", \"b\", \"a\"]";
        let many: Vec<String> = (0..17).map(|index| format!("\"n{index}\"")).collect();

        assert_eq!(watch("", &[a]).namespaces, ["a"]);
        assert_eq!(watch("", &[a, b]).namespaces, ["a", "b"]);
        assert!(watch("", &[a, b, ""]).namespaces.is_empty(), "one subscription needs all of them");
        assert_eq!(watch(own, &[a, b]).namespaces, ["a", "b"]);
        assert_eq!(watch(own, &[a, b, "namespaces = [\"c\"]"]).namespaces, ["c", "b", "a"]);
        assert!(watch("", &[&format!("namespaces = [{}]", many.join(", "))]).namespaces.is_empty());
    }
}
