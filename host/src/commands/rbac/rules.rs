//! The rules of the roles.

use std::collections::{BTreeMap, BTreeSet};

use informer_runtime::Grants;
use informer_types::{Gvr, Namespaces, SecretGrant, WriteGrant, WriteVerb};

use crate::config::{Config, Plugin, Watch};

/// The verbs of RBAC, in their usual order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Verb {
    Get,
    List,
    Watch,
    Create,
    Update,
    Patch,
    Delete,
}

/// The objects of a rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct What {
    group: String,
    /// Resource with its subresource, as RBAC writes it: `deployments/scale`.
    resource: String,
    /// `None` means any name.
    name: Option<String>,
}

/// One rule of a role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// API group; empty for the core group.
    pub group: String,
    /// Resource with its subresource: `deployments/scale`.
    pub resource: String,
    /// Name of the object; `None` means any name.
    pub name: Option<String>,
    /// The verbs; never empty.
    pub verbs: Vec<&'static str>,
}

/// The least rules that a configuration needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// The rules by namespace; `None` means all namespaces and objects without one.
    by_scope: BTreeMap<Option<String>, BTreeMap<What, BTreeSet<Verb>>>,
}

// === impl Verb ===

impl Verb {
    fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
        }
    }

    /// The verbs that the API server requires. Apply creates a missing object, and so needs both.
    fn of(verb: WriteVerb, subresource: Option<&str>) -> &'static [Self] {
        match verb {
            WriteVerb::Create => &[Self::Create],
            WriteVerb::Update => &[Self::Update],
            WriteVerb::Apply if subresource.is_none() => &[Self::Create, Self::Patch],
            WriteVerb::Patch | WriteVerb::Apply => &[Self::Patch],
            WriteVerb::Delete => &[Self::Delete],
        }
    }
}

// === impl Rules ===

impl Rules {
    /// Returns the rules of a configuration: list and watch for the watches that plugins use, get and list for live reads, and the
    /// verbs of the write grants. A rule for all namespaces is not repeated for one of them.
    #[must_use]
    pub fn of(config: &Config) -> Self {
        let mut rules = Self::default();
        for watch in config.watches.iter().filter(|watch| is_used(watch, &config.plugins)) {
            rules.watch(watch);
        }
        for plugin in &config.plugins {
            rules.client(&plugin.grants);
        }
        rules.reduce();
        rules
    }

    /// Returns the sorted rules of each namespace, those for all namespaces first.
    pub fn scopes(&self) -> impl Iterator<Item = (Option<&str>, Vec<Rule>)> {
        self.by_scope.iter().map(|(scope, rules)| {
            let rules = rules.iter().map(|(what, verbs)| Rule {
                group: what.group.clone(),
                resource: what.resource.clone(),
                name: what.name.clone(),
                verbs: verbs.iter().map(|verb| verb.as_str()).collect(),
            });
            (scope.as_deref(), rules.collect())
        })
    }

    fn watch(&mut self, watch: &Watch) {
        let scope = match watch.namespaces.as_slice() {
            [] => Namespaces::All,
            names => Namespaces::Only(names.iter().map(|name| name.as_str().into()).collect()),
        };
        self.add(&scope, &What::of(&watch.gvr, None), &[Verb::List, Verb::Watch]);
    }

    /// Adds the rules for the requests that a plugin may send to the API server.
    fn client(&mut self, grants: &Grants) {
        // Without `write` a plugin has no client: `read` then applies to the cache only.
        let Some(write) = &grants.write else { return };
        for (gvr, subresource, namespaces) in grants.read.iter().flat_map(|read| read.iter()) {
            let verbs: &[Verb] = if subresource.is_some() { &[Verb::Get] } else { &[Verb::Get, Verb::List] };
            self.granted(grants, gvr, subresource, namespaces, verbs);
        }
        for WriteGrant { verbs, gvr, subresource, namespaces } in write.iter() {
            let subresource = subresource.as_deref();
            let mut needed: Vec<Verb> =
                verbs.iter().flat_map(|verb| Verb::of(*verb, subresource)).copied().collect();
            // A repeated Event patches the one that exists.
            if gvr.group == "events.k8s.io" && needed.contains(&Verb::Create) {
                needed.push(Verb::Patch);
            }
            self.granted(grants, gvr, subresource, namespaces, &needed);
        }
    }

    /// Adds rules for a resource; for Secrets, only for those that `secrets` also grants.
    fn granted(
        &mut self,
        grants: &Grants,
        gvr: &Gvr,
        subresource: Option<&str>,
        namespaces: &Namespaces,
        verbs: &[Verb],
    ) {
        let what = What::of(gvr, subresource);
        if !gvr.is_secrets() {
            return self.add(namespaces, &what, verbs);
        }
        for secret in grants.secrets.iter() {
            match secret {
                SecretGrant::All => self.add(namespaces, &what, verbs),
                SecretGrant::Namespace(namespace) if namespaces.contains(namespace) => {
                    self.add(&only(namespace), &what, verbs);
                }
                SecretGrant::One(namespace, name) if namespaces.contains(namespace) => {
                    // RBAC cannot restrict `create` and `list` to a name.
                    let (created, named): (Vec<Verb>, Vec<Verb>) = verbs
                        .iter()
                        .filter(|verb| **verb != Verb::List)
                        .partition(|verb| **verb == Verb::Create);
                    self.add(&only(namespace), &what, &created);
                    let what = What { name: Some((**name).to_owned()), ..what.clone() };
                    self.add(&only(namespace), &what, &named);
                }
                SecretGrant::Namespace(_) | SecretGrant::One(..) => {}
            }
        }
    }

    fn add(&mut self, namespaces: &Namespaces, what: &What, verbs: &[Verb]) {
        let scopes: Vec<Option<String>> = match namespaces {
            Namespaces::All => vec![None],
            Namespaces::Only(names) => names.iter().map(|name| Some((**name).to_owned())).collect(),
        };
        for scope in scopes.into_iter().filter(|_| !verbs.is_empty()) {
            self.by_scope.entry(scope).or_default().entry(what.clone()).or_default().extend(verbs);
        }
    }

    /// Removes verbs that another rule allows already, for any name or for all namespaces.
    fn reduce(&mut self) {
        let all = self.by_scope.clone();
        for (scope, rules) in &mut self.by_scope {
            for (what, verbs) in rules.iter_mut() {
                let anonymous = What { name: None, ..what.clone() };
                let wider = [(scope.clone(), anonymous.clone()), (None, what.clone()), (None, anonymous)];
                for (wider_scope, wider_what) in wider {
                    if (&wider_scope, &wider_what) == (scope, what) {
                        continue;
                    }
                    if let Some(covered) = all.get(&wider_scope).and_then(|rules| rules.get(&wider_what)) {
                        verbs.retain(|verb| !covered.contains(verb));
                    }
                }
            }
            rules.retain(|_, verbs| !verbs.is_empty());
        }
        self.by_scope.retain(|_, rules| !rules.is_empty());
    }
}

// === impl What ===

impl What {
    fn of(gvr: &Gvr, subresource: Option<&str>) -> Self {
        let resource = match subresource {
            Some(subresource) => format!("{}/{subresource}", gvr.resource),
            None => gvr.resource.clone(),
        };
        Self { group: gvr.group.clone(), resource, name: None }
    }
}

fn only(namespace: &str) -> Namespaces {
    Namespaces::Only([namespace.into()].into_iter().collect())
}

/// Returns true if some plugin uses the watch. A watch without a plugin does not run.
fn is_used(watch: &Watch, plugins: &[Plugin]) -> bool {
    plugins.iter().any(|plugin| {
        let subscribes = plugin.subscriptions.iter().any(|on| on.watch == watch.gvr);
        subscribes || plugin.grants.read.iter().any(|read| read.namespaces(&watch.gvr).is_some())
    })
}
