//! The validation of definitions.

use super::is_definition;
use crate::{
    name,
    object::{Object, text_of},
    registry::{NameRule, Resource},
    status::Cause,
};

/// Adds a cause for each broken rule. Does nothing for objects of other resources.
pub(crate) fn validate(resource: &Resource, object: &Object, causes: &mut Vec<Cause>) {
    if !is_definition(resource) {
        return;
    }
    let (group, plural) = (object.text_at(&["spec", "group"]), object.text_at(&["spec", "names", "plural"]));
    for (path, value) in [
        ("spec.group", group),
        ("spec.names.plural", plural),
        ("spec.names.kind", object.text_at(&["spec", "names", "kind"])),
    ] {
        if value.is_empty() {
            causes.push(Cause::required(path, ""));
        }
    }
    if !group.contains('.') && !group.is_empty() {
        causes.push(Cause::invalid("spec.group", &group.into(), "should be a domain with at least one dot"));
    }
    if let Some(problem) = name::problem(NameRule::DnsLabel, plural).filter(|_| !plural.is_empty()) {
        causes.push(Cause::invalid("spec.names.plural", &plural.into(), problem));
    }
    if object.name() != format!("{plural}.{group}") {
        let why = "must be spec.names.plural+\".\"+spec.group";
        causes.push(Cause::invalid("metadata.name", &object.name().into(), why));
    }
    let scope = object.text_at(&["spec", "scope"]);
    if !matches!(scope, "Namespaced" | "Cluster") {
        causes.push(Cause::not_supported("spec.scope", &scope.into(), &["Cluster", "Namespaced"]));
    }
    versions(object, causes);
}

fn versions(object: &Object, causes: &mut Vec<Cause>) {
    let versions = object.list_at(&["spec", "versions"]);
    let stored = versions.iter().filter(|version| version["storage"] == true).count();
    if stored != 1 {
        let value = versions.len().into();
        let why = "must have exactly one version marked as storage version";
        causes.push(Cause::invalid("spec.versions", &value, why));
    }
    for (at, version) in versions.iter().enumerate() {
        let name = text_of(version, "name");
        if name::problem(NameRule::DnsLabel, name).is_some() {
            let why = "must be a DNS-1035 label such as v1";
            causes.push(Cause::invalid(format!("spec.versions[{at}].name"), &name.into(), why));
        }
        if version.get("served").is_none_or(|served| !served.is_boolean()) {
            causes.push(Cause::required(format!("spec.versions[{at}].served"), ""));
        }
        let schema = version.get("schema").and_then(|schema| schema.get("openAPIV3Schema"));
        if schema.is_none_or(|schema| !schema.is_object()) {
            let path = format!("spec.versions[{at}].schema.openAPIV3Schema");
            causes.push(Cause::required(path, "schemas are required"));
        }
    }
}
