//! `informer rbac`: the smallest roles that a configuration needs, ready for `kubectl apply`.
//!
//! Discovery needs no rule: the role `system:discovery` allows it to every authenticated user.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use clap::Args;
use informer_runtime::Grants;
use informer_types::{
    Gvr, Namespaces, ReadGrant, ReadGrants, SecretScope, ServiceAccount, WriteGrant, WriteGrants, WriteVerb,
    is_object_name,
};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    app::{Patterns, watched_namespaces},
    cli::Output,
    commands::output::{print, print_json, yaml},
    config::{
        self, CLUSTER_PLUGINS, Components, Config, FILE_NAME, Host, MetricsAuth, PLUGINS, Plugin, Tenancy,
        Watch,
    },
};

pub(super) const EXAMPLES: &str = "\
Examples:
  informer rbac | kubectl apply -f -
  informer rbac --config informer.toml --name deployments --service-account apps/informer
  informer rbac --output json                 one List instead of YAML documents";

/// `informer rbac`
#[derive(Clone, Debug, Args)]
pub struct RbacArgs {
    /// The configuration file of the host.
    #[arg(long, env = "INFORMER_CONFIG", default_value = FILE_NAME, value_name = "FILE")]
    pub config: PathBuf,
    /// Name of the roles and of their bindings.
    #[arg(long, default_value = "informer", value_parser = object_name, value_name = "NAME")]
    pub name: String,
    /// The ServiceAccount of the host, to which the roles are bound.
    #[arg(long, default_value = "default/informer", value_parser = service_account, value_name = "NAMESPACE/NAME")]
    pub service_account: (String, String),
}

const GROUP: &str = "rbac.authorization.k8s.io";

/// Every group or resource of a rule.
const ALL: &str = "*";

/// The names in the manifests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// Name of each role and binding.
    pub role: String,
    /// Namespace and name of the ServiceAccount of the host.
    pub account: (String, String),
}

/// The verbs of RBAC, in their usual order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
enum Verb {
    Get,
    List,
    Watch,
    Create,
    Update,
    Patch,
    Delete,
    Impersonate,
}

/// The objects of a rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct What {
    /// API group; empty for the core group.
    group: String,
    /// Resource with its subresource, as RBAC writes it: `deployments/scale`.
    resource: String,
    /// `None` means any name.
    name: Option<String>,
}

/// The smallest rules that a configuration needs: of the host, and of each ServiceAccount in whose name plugins send requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    host: Scopes,
    accounts: BTreeMap<ServiceAccount, Scopes>,
}

/// The rules of one identity.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Scopes {
    /// The verbs by objects and namespace; `None` means all namespaces and objects without one.
    by_scope: BTreeMap<Option<String>, BTreeMap<What, BTreeSet<Verb>>>,
}

/// Prints the roles of a configuration, and their bindings. Returns true.
///
/// # Errors
/// The file cannot be read, or is not a valid configuration.
pub(super) fn run(args: RbacArgs, output: Output) -> anyhow::Result<bool> {
    let config = config::load(&args.config, Components::Unseen)?;
    let names = Names { role: args.name, account: args.service_account };
    let manifests = manifests(&Rules::of(&config), &names);
    match output {
        Output::Text => print(&yaml(&manifests)?),
        Output::Json => {
            print_json(&json!({"apiVersion": "v1", "kind": "List", "items": manifests}));
        }
    }
    Ok(true)
}

/// Returns, for the host and then for each ServiceAccount of plugins, a ClusterRole for the rules of all namespaces and a Role for
/// each namespace with rules of its own, each with its binding. Equal rules give equal objects in the same order. If the host needs no
/// rule, its ClusterRole is empty: `kubectl apply` refuses an empty document, and the empty ClusterRole removes the rules of an earlier
/// configuration.
#[must_use]
pub fn manifests(rules: &Rules, names: &Names) -> Vec<Value> {
    let mut manifests = rules.host.manifests(names);
    if manifests.is_empty() {
        manifests.extend(pair(None, &BTreeMap::new(), names));
    }
    for (account, scopes) in &rules.accounts {
        let ServiceAccount { namespace, name } = account;
        let role = format!("{}:{namespace}:{name}", names.role);
        let names = Names { role, account: (namespace.clone(), name.clone()) };
        manifests.extend(scopes.manifests(&names));
    }
    manifests
}

fn pair(namespace: Option<&str>, rules: &BTreeMap<What, BTreeSet<Verb>>, names: &Names) -> [Value; 2] {
    let (role, binding) = match namespace {
        Some(_) => ("Role", "RoleBinding"),
        None => ("ClusterRole", "ClusterRoleBinding"),
    };
    let (account_namespace, account) = &names.account;
    [
        json!({
            "apiVersion": format!("{GROUP}/v1"), "kind": role,
            "metadata": metadata(namespace, &names.role),
            "rules": rules.iter().map(rule).collect::<Vec<_>>(),
        }),
        json!({
            "apiVersion": format!("{GROUP}/v1"), "kind": binding,
            "metadata": metadata(namespace, &names.role),
            "roleRef": {"apiGroup": GROUP, "kind": role, "name": names.role},
            "subjects": [{"kind": "ServiceAccount", "namespace": account_namespace, "name": account}],
        }),
    ]
}

fn metadata(namespace: Option<&str>, name: &str) -> Value {
    match namespace {
        Some(namespace) => json!({"namespace": namespace, "name": name}),
        None => json!({"name": name}),
    }
}

fn rule((What { group, resource, name }, verbs): (&What, &BTreeSet<Verb>)) -> Value {
    match name {
        Some(name) => {
            json!({"apiGroups": [group], "resources": [resource], "resourceNames": [name], "verbs": verbs})
        }
        None => json!({"apiGroups": [group], "resources": [resource], "verbs": verbs}),
    }
}

// === impl Verb ===

impl Verb {
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
    /// Returns the rules of a configuration. Equal rules are not repeated, and neither is a rule for all namespaces for one of them.
    ///
    /// - The host lists and watches what plugins use, in the namespaces that it requests (`informer check` prints them).
    /// - It sends the requests of plugins: get and list for live reads, and the verbs of the write grants. If a plugin sends its
    ///   requests as a ServiceAccount, these rules belong to the ServiceAccount, and the host may impersonate it.
    /// - It serves Plugin objects within `[tenancy]`, keeps HTTP requests away from the API server, reviews the tokens of readers of
    ///   the metrics, and holds its lease.
    #[must_use]
    pub fn of(config: &Config) -> Self {
        let Self { mut host, mut accounts } = Self::default();
        let patterns = Patterns::of(config);
        let single = patterns.expanded();
        host.watches(config, single);
        for (plugin, Plugin { grants: single, .. }) in config.plugins.iter().zip(&single.plugins) {
            match &plugin.account {
                None => host.client(&plugin.grants, single),
                // A plugin without `write` has no client.
                Some(_) if plugin.grants.write.is_none() => {}
                Some(account) => {
                    host.impersonate(account);
                    accounts.entry(account.clone()).or_default().client(&plugin.grants, single);
                }
            }
            host.http(&plugin.grants);
        }
        host.tenancy(config);
        host.reviews(&config.host);
        host.lease(&config.host);
        for scopes in accounts.values_mut().chain([&mut host]) {
            scopes.reduce();
        }
        Self { host, accounts }
    }
}

// === impl Scopes ===

impl Scopes {
    fn manifests(&self, names: &Names) -> Vec<Value> {
        self.by_scope.iter().flat_map(|(scope, rules)| pair(scope.as_deref(), rules, names)).collect()
    }

    /// Adds the rule to send requests as this ServiceAccount. The API server adds its groups, so no rule for groups is needed.
    fn impersonate(&mut self, account: &ServiceAccount) {
        let what = What::of(&Gvr::new("", "v1", "serviceaccounts"), None);
        let what = What { name: Some(account.name.clone()), ..what };
        self.add(&only(&account.namespace), &what, &[Verb::Impersonate]);
    }

    /// Adds the rules for the watches that plugins of the file use. The namespaces of a pattern are those that are written: a narrower
    /// pattern or a watch of the resource itself may take some of its resources. `single` is the configuration with single resources in
    /// the place of patterns.
    fn watches(&mut self, config: &Config, single: &Config) {
        let namespaces = watched_namespaces(single);
        for watch in single.watches.iter().filter(|watch| is_used(watch, &single.plugins)) {
            self.watch(&watch.gvr, namespaces.get(&watch.gvr).unwrap_or(&watch.namespaces));
        }
        let patterns = config.watches.iter().filter(|watch| watch.gvr.is_pattern());
        for watch in patterns.filter(|watch| is_used_as_pattern(watch, &config.plugins)) {
            self.watch(&watch.gvr, &watch.namespaces);
        }
    }

    /// Adds the rule to follow a resource in these namespaces; none means all.
    fn watch(&mut self, gvr: &Gvr, namespaces: &[String]) {
        let scope = match namespaces {
            [] => Namespaces::All,
            names => Namespaces::Only(names.iter().map(|name| name.as_str().into()).collect()),
        };
        self.add(&scope, &What::of(gvr, None), &[Verb::List, Verb::Watch]);
    }

    /// Adds the rules for the requests that a plugin may send to the API server. `single` are the grants with single resources in the
    /// place of patterns.
    fn client(&mut self, grants: &Grants, single: &Grants) {
        // Without `write` a plugin has no client: `read` then applies to the cache only.
        let Some(write) = &grants.write else { return };
        for (gvr, subresource, namespaces) in grants.read.iter().flat_map(|read| read.iter()) {
            let verbs: &[Verb] = if subresource.is_some() { &[Verb::Get] } else { &[Verb::Get, Verb::List] };
            self.granted(grants, gvr, subresource, namespaces, verbs);
        }
        for WriteGrant { verbs, gvr, subresource, namespaces } in write.iter() {
            let subresource = subresource.as_deref();
            let needed: Vec<Verb> =
                verbs.iter().flat_map(|verb| Verb::of(*verb, subresource)).copied().collect();
            self.granted(grants, gvr, subresource, namespaces, &needed);
        }
        // If an Event repeats, the host patches the existing Event. A pattern stands for this resource only if a [[watch]] names the
        // resource, because the API server prefers another name of Events.
        let events = events();
        let records = |line: &&WriteGrant| {
            line.gvr == events && line.subresource.is_none() && line.verbs.contains(&WriteVerb::Create)
        };
        for line in single.write.iter().flat_map(WriteGrants::iter).filter(records) {
            self.add(&line.namespaces, &What::of(&events, None), &[Verb::Patch]);
        }
    }

    /// Adds the rules to read the addresses of the API server, which no HTTP request of a plugin may reach.
    fn http(&mut self, grants: &Grants) {
        if grants.http.is_none() {
            return;
        }
        let service =
            What { name: Some("kubernetes".to_owned()), ..What::of(&Gvr::new("", "v1", "services"), None) };
        self.add(&only("default"), &service, &[Verb::Get]);
        let endpoints = Gvr::new("discovery.k8s.io", "v1", "endpointslices");
        self.add(&only("default"), &What::of(&endpoints, None), &[Verb::List]);
    }

    /// Adds the rules to follow Plugin objects, to write their status and Events about them, and to do what they may do.
    fn tenancy(&mut self, config: &Config) {
        let Some(tenancy) = &config.tenancy else { return };
        // A ClusterPlugin may select by the labels of namespaces.
        let follows = |gvr: &Gvr| tenancy.cluster_plugins && *gvr == Gvr::namespaces();
        let may = |gvr: &Gvr| tenancy.read.namespaces(gvr).is_some() || follows(gvr);
        for watch in config.watches.iter().filter(|watch| may(&watch.gvr)) {
            self.watch(&watch.gvr, &watch.namespaces);
        }
        let kinds = [(PLUGINS, !tenancy.namespaces.is_empty()), (CLUSTER_PLUGINS, tenancy.cluster_plugins)];
        for gvr in kinds.into_iter().filter(|(_, on)| *on).filter_map(|(gvr, _)| gvr.parse::<Gvr>().ok()) {
            self.add(&Namespaces::All, &What::of(&gvr, None), &[Verb::List, Verb::Watch]);
            self.add(&Namespaces::All, &What::of(&gvr, Some("status")), &[Verb::Patch]);
        }
        self.add(&Namespaces::All, &What::of(&events(), None), &[Verb::Create]);
        let reach = reach(tenancy);
        let read = tenancy.read.iter().filter_map(|(gvr, subresource, namespaces)| {
            let namespaces = namespaces.intersection(&reach)?;
            Some(ReadGrant { gvr: gvr.clone(), subresource: subresource.map(str::to_owned), namespaces })
        });
        let write = tenancy.write.iter().filter_map(|line| {
            Some(WriteGrant { namespaces: line.namespaces.intersection(&reach)?, ..line.clone() })
        });
        let grants = Grants {
            read: Some(read.collect()),
            write: Some(write.collect()),
            secrets: tenancy.secrets.clone(),
            ..Grants::default()
        };
        // `[tenancy]` accepts no pattern.
        self.client(&grants, &grants);
        self.http(&Grants {
            http: Some(tenancy.http.clone()).filter(|http| !http.is_empty()),
            ..Grants::default()
        });
    }

    /// Adds the rules to review the tokens of those who read the metrics, as in the role `system:auth-delegator`.
    fn reviews(&mut self, host: &Host) {
        if host.health.is_none() || host.metrics_auth != MetricsAuth::Kubernetes {
            return;
        }
        for (group, resource) in
            [("authentication.k8s.io", "tokenreviews"), ("authorization.k8s.io", "subjectaccessreviews")]
        {
            let what = What::of(&Gvr::new(group, "v1", resource), None);
            self.add(&Namespaces::All, &what, &[Verb::Create]);
        }
    }

    /// Adds the rules to hold the lease of the host. RBAC cannot restrict `create` to a name.
    fn lease(&mut self, host: &Host) {
        let Some(lease) = &host.lease else { return };
        let leases = What::of(&Gvr::new("coordination.k8s.io", "v1", "leases"), None);
        self.add(&only(&lease.namespace), &leases, &[Verb::Create]);
        let own = What { name: Some(lease.name.clone()), ..leases };
        self.add(&only(&lease.namespace), &own, &[Verb::Get, Verb::Update]);
    }

    /// Adds rules for a resource; for Secrets, only for those whose values `secrets` also grants. Digests come from the cache alone.
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
        for secret in grants.secrets.iter().filter(|secret| !secret.digests_only) {
            match &secret.scope {
                SecretScope::All => self.add(namespaces, &what, verbs),
                SecretScope::Namespace(namespace) if namespaces.contains(namespace) => {
                    self.add(&only(namespace), &what, verbs);
                }
                SecretScope::One(namespace, name) if namespaces.contains(namespace) => {
                    // RBAC cannot restrict `create` and `list` to a name.
                    let (created, named): (Vec<Verb>, Vec<Verb>) = verbs
                        .iter()
                        .filter(|verb| **verb != Verb::List)
                        .partition(|verb| **verb == Verb::Create);
                    self.add(&only(namespace), &what, &created);
                    let what = What { name: Some((**name).to_owned()), ..what.clone() };
                    self.add(&only(namespace), &what, &named);
                }
                SecretScope::Namespace(_) | SecretScope::One(..) => {}
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
                let of_group = What { resource: ALL.to_owned(), ..anonymous.clone() };
                let everything = What { group: ALL.to_owned(), ..of_group.clone() };
                let any_name = [anonymous, of_group, everything];
                let here = any_name.iter().cloned().map(|wider| (scope.clone(), wider));
                let everywhere = any_name.iter().chain([what]).cloned().map(|wider| (None, wider));
                for (wider_scope, wider_what) in here.chain(everywhere) {
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
        if gvr.is_pattern() {
            // RBAC has no exceptions: the rule also covers what a pattern excludes, subresources and Secrets.
            return Self { group: gvr.served_group().to_owned(), resource: ALL.to_owned(), name: None };
        }
        let resource = match subresource {
            Some(subresource) => format!("{}/{subresource}", gvr.resource),
            None => gvr.resource.clone(),
        };
        Self { group: gvr.group.clone(), resource, name: None }
    }
}

/// The namespaces that Plugin objects may reach: all if a pattern contains `*`, or if ClusterPlugins are accepted.
fn reach(tenancy: &Tenancy) -> Namespaces {
    let names = tenancy.namespaces.iter().map(|pattern| pattern.as_str());
    if tenancy.cluster_plugins || names.clone().any(|name| name.contains('*')) {
        return Namespaces::All;
    }
    Namespaces::Only(names.map(Into::into).collect())
}

/// The resource of the Events that plugins and the host record.
fn events() -> Gvr {
    Gvr::new("events.k8s.io", "v1", "events")
}

fn only(namespace: &str) -> Namespaces {
    Namespaces::Only([namespace.into()].into_iter().collect())
}

/// Returns true if some plugin uses the watch of a single resource. A watch without a plugin does not run.
fn is_used(watch: &Watch, plugins: &[Plugin]) -> bool {
    plugins.iter().any(|plugin| {
        let subscribes = plugin.subscriptions.iter().any(|on| on.watch == watch.gvr);
        let follows = watch.gvr == Gvr::namespaces() && plugin.follows_namespaces();
        subscribes || follows || plugin.may_read(&watch.gvr)
    })
}

/// Returns true if some plugin uses the watch of a pattern. A plugin uses the watch if it subscribes to the pattern, or if its grant `read`
/// names a pattern that includes every resource of the watch. It may then read all of these resources, so each of them needs a rule.
fn is_used_as_pattern(watch: &Watch, plugins: &[Plugin]) -> bool {
    plugins.iter().any(|plugin| {
        let mut read = plugin.grants.read.iter().flat_map(ReadGrants::gvrs);
        plugin.subscriptions.iter().any(|on| on.watch == watch.gvr)
            || read.any(|gvr| gvr.is_pattern() && gvr.covers(&watch.gvr))
    })
}

/// Reads a DNS subdomain: a name that both a role and a ServiceAccount may have.
fn object_name(text: &str) -> Result<String, String> {
    if is_object_name(text) {
        return Ok(text.to_owned());
    }
    Err("write lower-case letters, digits, `-` and `.`".to_owned())
}

fn service_account(text: &str) -> Result<(String, String), String> {
    let Some((namespace, name)) = text.split_once('/') else {
        return Err("write namespace/name, for example default/informer".to_owned());
    };
    Ok((object_name(namespace)?, object_name(name)?))
}

#[cfg(test)]
mod tests;
