//! The narrowest selector that a watch can ask the API server for.
//!
//! Where all that a plugin ever sees of a watch is what its subscriptions let through, what no subscription wants need
//! not be sent. The requirements that all of them have in common are added to the watch's own selector.
//!
//! **Why nobody can tell.** A subscription sees an object by P-21: an addition when it comes to match, a deletion when it
//! does no longer. With a selector the API server says the same of the same moments, ADDED and DELETED, and a list
//! leaves out what does not match, so that a relist finds it gone. What all subscriptions demand is demanded by each, so
//! an object that is left out is one that no filter would let in; the filters stay in force for the rest of what they
//! say.
//!
//! **Who needs all of it.** A plugin that may read the watch through the lister: its reads are not its subscriptions.
//! Then nothing is added. `when` adds nothing either: the server does not know it. Of fields, only `metadata.name` and
//! `metadata.namespace` are known to the server for every resource.

use std::fmt;

use informer_types::{FieldSelector, LabelSelector};

use crate::config::{Config, Plugin, Subscription, Watch};

/// What is asked of the server beyond the watch's own selector; not both are empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Narrowing {
    pub(crate) labels: LabelSelector,
    pub(crate) fields: FieldSelector,
}

// === impl Narrowing ===

impl Narrowing {
    /// What can be added to this watch of the configuration; none: nothing.
    pub(crate) fn of(watch: &Watch, config: &Config) -> Option<Self> {
        let reads = |plugin: &Plugin| {
            plugin.grants.read.as_ref().is_some_and(|read| read.namespaces(&watch.gvr).is_some())
        };
        if config.plugins.iter().any(reads) {
            return None;
        }
        let mut subscriptions = config
            .plugins
            .iter()
            .flat_map(|plugin| &plugin.subscriptions)
            .filter(|subscription| subscription.watch == watch.gvr)
            .map(Self::from);
        let first = subscriptions.next()?;
        Some(subscriptions.fold(first, |common, next| common.common(&next)))
            .filter(|common| !common.is_empty())
    }

    fn common(&self, other: &Self) -> Self {
        Self { labels: self.labels.common(&other.labels), fields: self.fields.common(&other.fields) }
    }

    fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }
}

impl From<&Subscription> for Narrowing {
    /// What one subscription demands and a server understands.
    fn from(subscription: &Subscription) -> Self {
        let fields = subscription.fields.common(&subscription.fields);
        Self { labels: subscription.labels.clone(), fields }
    }
}

impl fmt::Display for Narrowing {
    /// `labels app in (web)`, `fields metadata.name=web`, or both.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.labels.is_empty(), self.fields.is_empty()) {
            (false, false) => write!(f, "labels {} and fields {}", self.labels, self.fields),
            (false, true) => write!(f, "labels {}", self.labels),
            (true, _) => write!(f, "fields {}", self.fields),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::config::{self, Components, Environment, Place};

    /// What is asked of the server where these are the subscriptions, one plugin each; `+` marks one that may read.
    fn asked(own: &str, subscriptions: &[&str]) -> String {
        let mut text = format!("[[watch]]\ngvr = \"v1/pods\"\n{own}\n[[watch]]\ngvr = \"v1/nodes\"\n");
        for (index, on) in subscriptions.iter().enumerate() {
            let (on, read) = match on.strip_prefix('+') {
                Some(on) => (on, "[plugin.grant]\nread = [\"v1/pods\"]"),
                None => (*on, ""),
            };
            text += &format!(
                "[[plugin]]\nname = \"p{index}\"\nsource = \"p\"\n[[plugin.on]]\nwatch = \"v1/nodes\"\n\
                 [[plugin.on]]\nwatch = \"v1/pods\"\n{on}\n{read}\n"
            );
        }
        let environment = Environment { home: None, cache_dir: None, state_dir: None };
        let place = Place { file: Path::new("f"), base: Path::new("/"), environment: &environment };
        let config = config::parse(&text, &place, Components::Unseen).unwrap();
        let watch = crate::app::settings::watches(&config).remove(&"v1/pods".parse().unwrap()).unwrap();
        format!("{}|{}", watch.labels, watch.fields)
    }

    #[test]
    fn what_all_subscriptions_demand_is_asked_of_the_server() {
        let (web, db) = ("labels = \"app=web,tier=front\"", "labels = \"app=db,tier=front\"");

        assert_eq!(asked("", &[web]), "app in (web),tier in (front)|");
        assert_eq!(asked("", &[web, db]), "app in (db,web),tier in (front)|");
        assert_eq!(asked("", &[web, db, "labels = \"tier\""]), "tier|");
        assert_eq!(asked("", &[web, db, ""]), "|");
        assert_eq!(asked("", &[web, "when = \"object.spec.replicas > 2\""]), "|");
        assert_eq!(
            asked("", &["fields = \"metadata.name=a,spec.b=c\"", "fields = \"spec.b=c,metadata.name=a\""]),
            "|metadata.name=a"
        );
        assert_eq!(asked("", &["fields = \"metadata.name=a\"", "fields = \"metadata.name=b\""]), "|");
    }

    #[test]
    fn the_selector_of_the_watch_itself_stays_in_force() {
        let own = "labels = \"team=a\"\nfields = \"status.phase=Running\"";

        assert_eq!(asked(own, &[""]), "team in (a)|status.phase=Running");
        assert_eq!(
            asked(own, &["labels = \"app=web,team=a\"\nfields = \"metadata.namespace=shop\""]),
            "team in (a),app in (web)|status.phase=Running,metadata.namespace=shop"
        );
    }

    #[test]
    fn nothing_is_left_out_where_a_plugin_may_read_the_watch() {
        let web = "labels = \"app=web\"";

        assert_eq!(asked("", &[web, "+labels = \"app=web\""]), "|");
        assert_eq!(asked("", &[]), "|", "nobody subscribes: nothing is known of what is wanted");
    }
}
