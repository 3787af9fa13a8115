//! Confines the plugin of an object to its namespace and to the resources, places and sources that `[tenancy]` lists.

use informer_registry::Reference;
use informer_types::{
    Gvr, Namespaces, Pattern, ReadGrant, ReadGrants, SecretGrants, SecretScope, WriteGrant, WriteGrants,
    WriteVerb,
};

use super::{conditions, refused::Refused};
use crate::config::{Plugin, Source, Subscription, Tenancy, Watch, key::Draft, plugin::PluginKeys};

/// The reach of one object.
pub(super) struct Scope<'a> {
    /// Its namespace; empty for a ClusterPlugin.
    pub(super) namespace: &'a str,
    pub(super) tenancy: &'a Tenancy,
    pub(super) watches: &'a [Watch],
    pub(super) is_cluster_scoped: &'a dyn Fn(&Gvr) -> bool,
}

/// The refusal of an object that subscribes to a resource that no object may read. It comes before other problems, because the
/// resource need not be watched.
pub(super) fn beyond(draft: &Draft<PluginKeys>, tenancy: &Tenancy) -> Option<Refused> {
    let mut wanted = draft.value.subscribed();
    let gvr = wanted.find(|gvr| tenancy.read.namespaces(gvr).is_none())?;
    let may: Vec<String> = tenancy.read.gvrs().map(ToString::to_string).collect();
    let may = if may.is_empty() { "nothing".to_owned() } else { may.join(", ") };
    let message = format!(
        "spec.on: the operator's [tenancy] does not let plugins read `{gvr}`; it lists {may} under `read`"
    );
    Some(Refused::new(Refused::NOT_ALLOWED, message))
}

// === impl Scope ===

impl Scope<'_> {
    /// Narrows a plugin to its scope. Returns a fault for each thing that it requests beyond its scope; then it must not run.
    pub(super) fn confine(&self, plugin: &mut Plugin) -> Vec<String> {
        let mut faults = Vec::new();
        self.source(&plugin.source, &mut faults);
        for on in &mut plugin.subscriptions {
            self.subscription(on, &mut faults);
            let conditions = conditions::faults(on, &plugin.grants.secrets);
            faults.extend(conditions.into_iter().map(|fault| format!("spec.on of `{}`: {fault}", on.watch)));
        }
        let grants = &mut plugin.grants;
        grants.read = grants.read.take().map(|read| self.read(&read, &mut faults));
        grants.write = grants.write.take().map(|write| self.write(&write, &mut faults));
        grants.secrets = self.secrets(&grants.secrets, &mut faults);
        for line in grants.http.iter().flatten() {
            if !self.tenancy.http.iter().any(|allowed| allowed.covers(line)) {
                faults.push(format!("spec.grant.http: [tenancy] does not allow `{line}`"));
            }
        }
        faults
    }

    /// The namespaces that the object itself may reach.
    fn own(&self) -> Namespaces {
        if self.namespace.is_empty() { Namespaces::All } else { only(self.namespace) }
    }

    fn source(&self, source: &Source, faults: &mut Vec<String>) {
        let Some(reference) = source.reference() else {
            faults.push(
                "spec.source: it names a file of the host, which no object may use; write \"oci://HOST/NAME:TAG\"".to_owned(),
            );
            return;
        };
        let repository = Reference::full_repository(reference);
        if !self.tenancy.registries.iter().any(|pattern| pattern.fits(&repository)) {
            let allowed: Vec<&str> = self.tenancy.registries.iter().map(Pattern::as_str).collect();
            let allowed = if allowed.is_empty() { "no repository".to_owned() } else { allowed.join(", ") };
            faults.push(format!(
                "spec.source: [tenancy] does not allow components from `{repository}`; it allows {allowed} under `registries`"
            ));
        }
    }

    fn subscription(&self, on: &mut Subscription, faults: &mut Vec<String>) {
        let wanted = wanted(on.filter.namespaces.iter().map(String::as_str));
        let what = format!("spec.on of `{}`", on.watch);
        let allowed = self.tenancy.read.namespaces(&on.watch);
        if let Some(namespaces) = self.within(&on.watch, allowed, &wanted, &what, faults) {
            on.filter.namespaces = match self.watched(&on.watch, namespaces, &what, faults) {
                Namespaces::All => Default::default(),
                Namespaces::Only(names) => names.iter().map(|name| (**name).to_owned()).collect(),
            };
        }
        if on.follows_namespaces() {
            let is_watched = self.watches.iter().any(|watch| watch.gvr == Gvr::namespaces());
            if !self.namespace.is_empty() {
                faults.push(format!(
                    "{what}: a Plugin reaches its own namespace only; remove `namespaces-labels`"
                ));
            } else if !is_watched {
                faults.push(format!(
                    "{what}: `namespaces-labels` needs `v1/namespaces`, which the host does not watch; the operator has to add a [[watch]] for it"
                ));
            }
        }
        if self.tenancy.when {
            return;
        }
        if on.filter.when.is_some() {
            faults.push(format!("{what}: [tenancy] does not allow `when`; decide in the plugin instead"));
        }
        // Informers evaluate this condition too. When one informer replaces another, the condition decides which objects the plugin
        // receives again.
        if on.whole_if.is_some() {
            faults.push(format!(
                "{what}: [tenancy] does not allow `whole-if`, because it does not allow `when`; remove `whole-if`, or write reads = [\"all\"] in place of `reads` and `whole-if`"
            ));
        }
    }

    fn read(&self, read: &ReadGrants, faults: &mut Vec<String>) -> ReadGrants {
        let mut confined = Vec::new();
        for (gvr, subresource, wanted) in read.iter() {
            let shown = subresource.map_or_else(|| gvr.to_string(), |name| format!("{gvr}/{name}"));
            let what = format!("spec.grant.read of `{shown}`");
            let allowed = self.tenancy.read.of(gvr, subresource);
            let Some(namespaces) = self.within(gvr, allowed, wanted, &what, faults) else { continue };
            let namespaces = match subresource {
                Some(_) => namespaces,
                None => self.watched(gvr, namespaces, &what, faults),
            };
            confined.push(ReadGrant {
                gvr: gvr.clone(),
                subresource: subresource.map(str::to_owned),
                namespaces,
            });
        }
        confined.into_iter().collect()
    }

    /// One line for each verb, because each verb may be allowed in other namespaces.
    fn write(&self, write: &WriteGrants, faults: &mut Vec<String>) -> WriteGrants {
        let mut confined = Vec::new();
        for line in write.iter() {
            for verb in &line.verbs {
                let what = format!("spec.grant.write: {verb} of `{}`", resource(line));
                let allowed = self.writable(*verb, line);
                if let Some(namespaces) =
                    self.within(&line.gvr, allowed.as_ref(), &line.namespaces, &what, faults)
                {
                    confined.push(WriteGrant { verbs: [*verb].into(), namespaces, ..line.clone() });
                }
            }
        }
        confined.into_iter().collect()
    }

    /// The namespaces in which `[tenancy]` allows this verb.
    fn writable(&self, verb: WriteVerb, line: &WriteGrant) -> Option<Namespaces> {
        let same = self.tenancy.write.iter().filter(|allowed| {
            allowed.verbs.contains(&verb)
                && allowed.gvr == line.gvr
                && allowed.subresource == line.subresource
        });
        same.map(|allowed| allowed.namespaces.clone()).reduce(Namespaces::union)
    }

    fn secrets(&self, secrets: &SecretGrants, faults: &mut Vec<String>) -> SecretGrants {
        let allowed = &self.tenancy.secrets;
        let mut confined = Vec::new();
        for line in secrets.iter() {
            let namespace = match &line.scope {
                SecretScope::All => "",
                SecretScope::Namespace(namespace) | SecretScope::One(namespace, _) => &**namespace,
            };
            if !self.namespace.is_empty() && namespace != self.namespace {
                let own = self.namespace;
                faults.push(format!(
                    "spec.grant.secrets: `{line}` is not of the namespace of the Plugin; write `{own}/*` or `{own}/NAME`"
                ));
            } else if allowed.cover(line) {
                confined.push(line.clone());
            } else {
                faults.push(format!("spec.grant.secrets: [tenancy] does not allow `{line}`"));
            }
        }
        confined.into_iter().collect()
    }

    /// The namespaces that the object names, or all that it may reach if it names none. Adds a fault and returns `None` if the
    /// object names a namespace that it may not reach, or if it may reach none.
    fn within(
        &self,
        gvr: &Gvr,
        allowed: Option<&Namespaces>,
        wanted: &Namespaces,
        what: &str,
        faults: &mut Vec<String>,
    ) -> Option<Namespaces> {
        let own = self.own();
        let Some(allowed) = allowed else {
            faults.push(format!("{what}: [tenancy] does not allow it"));
            return None;
        };
        if own != Namespaces::All && (self.is_cluster_scoped)(gvr) {
            faults.push(format!("{what}: its objects have no namespace, and a Plugin reaches its own only"));
            return None;
        }
        let Some(reach) = allowed.intersection(&own) else {
            faults.push(format!("{what}: [tenancy] allows it in{allowed} only"));
            return None;
        };
        match wanted {
            Namespaces::All => Some(reach),
            Namespaces::Only(_) if reach.cover(wanted) => Some(wanted.clone()),
            Namespaces::Only(_) if own == Namespaces::All => {
                faults.push(format!("{what}: it names{wanted}, and [tenancy] allows it in{reach} only"));
                None
            }
            Namespaces::Only(_) => {
                faults.push(format!("{what}: it names{wanted}, and a Plugin reaches its own namespace only; leave the namespaces out"));
                None
            }
        }
    }

    /// Returns those of `namespaces` that the host watches. Adds a fault if the host watches no such namespace.
    fn watched(&self, gvr: &Gvr, namespaces: Namespaces, what: &str, faults: &mut Vec<String>) -> Namespaces {
        let watch = self.watches.iter().find(|watch| watch.gvr == *gvr);
        let Some(watch) = watch.filter(|watch| !watch.namespaces.is_empty()) else { return namespaces };
        let watched = wanted(watch.namespaces.iter().map(String::as_str));
        watched.intersection(&namespaces).unwrap_or_else(|| {
            faults.push(format!("{what}: the host watches it in{watched} only"));
            namespaces
        })
    }
}

fn resource(line: &WriteGrant) -> String {
    line.subresource.as_ref().map_or_else(|| line.gvr.to_string(), |name| format!("{}/{name}", line.gvr))
}

fn only(namespace: &str) -> Namespaces {
    Namespaces::Only([namespace.into()].into())
}

/// No names mean all namespaces.
fn wanted<'a>(names: impl Iterator<Item = &'a str>) -> Namespaces {
    let names: std::collections::BTreeSet<_> = names.map(Into::into).collect();
    if names.is_empty() { Namespaces::All } else { Namespaces::Only(names) }
}
