//! `[plugin.config]`.

use std::fmt;

use jmespath::Variable;
use serde::Deserialize;

use crate::{query::Query, ttl::Ttl};

/// The element of `include-namespaces` that stands for all namespaces, as in kube-janitor.
const ALL: &str = "all";

/// The table `[plugin.config]`. Unknown keys are errors.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct Settings {
    /// If true, the janitor changes nothing: it logs and counts the objects that it would delete.
    pub(crate) dry_run: bool,
    /// How long before a deletion an Event announces it.
    pub(crate) delete_notification: Option<Ttl>,
    /// The annotation whose time counts in place of the creation, if an object has it and the time is later.
    pub(crate) deployment_time_annotation: Option<String>,
    /// The namespaces whose objects are deleted, the Namespaces themselves included. Empty, or with the element `all`, it means
    /// all.
    pub(crate) include_namespaces: Vec<String>,
    /// The namespaces whose objects are never deleted.
    pub(crate) exclude_namespaces: Vec<String>,
    /// If true, objects without a namespace are deleted too, such as PersistentVolumes. Namespaces do not need this key.
    pub(crate) include_cluster_resources: bool,
    /// Times to live of objects without `janitor/ttl`. The first rule that matches applies.
    pub(crate) rules: Vec<Rule>,
}

/// A time to live for the objects that an expression matches.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rule {
    pub(crate) id: RuleId,
    /// Plural names such as `deployments`, or `*`.
    resources: Vec<String>,
    #[serde(rename = "jmespath")]
    query: Query,
    pub(crate) ttl: Ttl,
}

/// The name of a rule: lower-case letters, digits and `-`, after a letter.
#[derive(Debug, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct RuleId(String);

// === impl Settings ===

impl Default for Settings {
    fn default() -> Self {
        Self {
            dry_run: false,
            delete_notification: None,
            deployment_time_annotation: None,
            include_namespaces: Vec::new(),
            exclude_namespaces: vec!["kube-system".to_owned()],
            include_cluster_resources: false,
            rules: Vec::new(),
        }
    }
}

impl Settings {
    /// Returns true if objects of this namespace may be deleted. The empty namespace stands for objects without one. For them,
    /// only `include-cluster-resources` decides.
    pub(crate) fn covers(&self, namespace: &str) -> bool {
        if namespace.is_empty() {
            return self.include_cluster_resources;
        }
        let listed = |list: &[String]| list.iter().any(|own| own == namespace);
        let is_all = |list: &[String]| list.is_empty() || list.iter().any(|own| own == ALL);
        !listed(&self.exclude_namespaces)
            && (is_all(&self.include_namespaces) || listed(&self.include_namespaces))
    }

    /// Returns true if a rule may apply to objects of this resource.
    pub(crate) fn has_rule_for(&self, resource: &str) -> bool {
        self.rules.iter().any(|rule| rule.is_for(resource))
    }

    /// The first rule that matches this object. An expression that fails matches nothing; its error is in the second value.
    pub(crate) fn rule_for(&self, resource: &str, json: &str) -> (Option<&Rule>, Vec<String>) {
        let mut errors = Vec::new();
        let object = match Variable::from_json(json) {
            Ok(object) => object,
            Err(error) => return (None, vec![error]),
        };
        for rule in self.rules.iter().filter(|rule| rule.is_for(resource)) {
            match rule.query.matches(&object) {
                Ok(true) => return (Some(rule), errors),
                Ok(false) => {}
                Err(error) => errors.push(format!("rule {}: {error}", rule.id)),
            }
        }
        (None, errors)
    }
}

// === impl Rule ===

impl Rule {
    fn is_for(&self, resource: &str) -> bool {
        self.resources.iter().any(|own| own == "*" || own == resource)
    }
}

// === impl RuleId ===

impl TryFrom<String> for RuleId {
    type Error = String;

    fn try_from(id: String) -> Result<Self, String> {
        let rest = id.strip_prefix(|first: char| first.is_ascii_lowercase());
        let fits = |character: char| {
            character.is_ascii_lowercase() || character.is_ascii_digit() || character == '-'
        };
        if rest.is_some_and(|rest| rest.chars().all(fits)) {
            return Ok(Self(id));
        }
        Err(format!(
            "`{id}` is not the id of a rule: write lower-case letters, digits and `-`, after a letter"
        ))
    }
}

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
