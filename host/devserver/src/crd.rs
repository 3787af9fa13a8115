//! CustomResourceDefinitions: the resources that they define, their defaults, their status and their validation.
//!
//! Schemas are neither published nor enforced: custom objects are stored as they are sent. The only conversion
//! between versions is the change of `apiVersion` (strategy `None`).

use std::sync::Arc;

use serde_json::{Value, json};

use crate::{
    api::Api,
    name,
    object::{Object, list_of, text_of, timestamp},
    registry::{CollectionId, NameRule, PrinterColumn, Resource, Scale},
    status::{ApiError, ApiResult, Cause},
    storage::{ObjectKey, Stored},
};

pub(crate) const GROUP: &str = "apiextensions.k8s.io";
pub(crate) const PLURAL: &str = "customresourcedefinitions";

/// The finalizer that holds a definition until its objects are gone.
pub(crate) const FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

/// The resource of definitions.
pub(crate) fn resource(api: &Api) -> ApiResult<Arc<Resource>> {
    api.builtin(GROUP, "v1", PLURAL)
}

pub(crate) fn is_definition(resource: &Resource) -> bool {
    resource.is(GROUP, PLURAL)
}

/// The key of the definition that defines this collection.
pub(crate) fn key(id: &CollectionId) -> ObjectKey {
    ObjectKey::new("", format!("{}.{}", id.plural, id.group))
}

/// The collection that a definition defines. Returns `None` for an object of another resource.
pub(crate) fn collection_id(resource: &Resource, stored: &Stored) -> Option<CollectionId> {
    let definition = is_definition(resource).then(|| stored.decode(resource))?;
    let text = |path: &[&str]| definition.at(path).and_then(Value::as_str).map(str::to_owned);
    Some(CollectionId { group: text(&["spec", "group"])?, plural: text(&["spec", "names", "plural"])? })
}

/// Refuses new objects of a definition that is being deleted.
///
/// # Errors
/// 405, as kube-apiserver.
pub(crate) fn check_open(api: &Api, resource: &Resource) -> ApiResult<()> {
    if !resource.custom {
        return Ok(());
    }
    match api.collection(&*self::resource(api)?).get(&key(&resource.id())) {
        Some(stored) if !stored.is_deleting() => Ok(()),
        _ => Err(ApiError::method_not_allowed()),
    }
}

/// One resource for each served version. An invalid definition defines no resource; validation refuses it earlier.
pub(crate) fn resources(definition: &Object) -> Vec<Resource> {
    let served = definition.list_at(&["spec", "versions"]).iter().filter(|version| version["served"] == true);
    served.filter_map(|version| resource_of(definition, version)).collect()
}

fn resource_of(definition: &Object, version: &Value) -> Option<Resource> {
    let spec = definition.fields.get("spec")?;
    let names = spec.get("names")?;
    let kind = text(names, "kind")?;
    let texts = |field: &str| -> Vec<String> {
        list_of(names, field).iter().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let subresources = &version["subresources"];
    let selectable = list_of(version, "selectableFields").iter().filter_map(|field| text(field, "jsonPath"));
    Some(Resource {
        group: text(spec, "group")?,
        version: text(version, "name")?,
        plural: text(names, "plural")?,
        singular: text(names, "singular").unwrap_or_else(|| kind.to_ascii_lowercase()),
        list_kind: text(names, "listKind").unwrap_or_else(|| format!("{kind}List")),
        kind,
        short_names: texts("shortNames"),
        categories: texts("categories"),
        namespaced: spec["scope"] == "Namespaced",
        custom: true,
        status: subresources["status"].is_object(),
        scale: scale(&subresources["scale"]),
        generation: true,
        selectable: selectable.map(|path| path.trim_start_matches('.').to_owned()).collect(),
        columns: list_of(version, "additionalPrinterColumns").iter().filter_map(column).collect(),
        ..Resource::default()
    })
}

fn text(value: &Value, field: &str) -> Option<String> {
    value.get(field).and_then(Value::as_str).map(str::to_owned)
}

fn column(column: &Value) -> Option<PrinterColumn> {
    Some(PrinterColumn {
        name: text(column, "name")?,
        kind: text(column, "type")?,
        description: text(column, "description").unwrap_or_default(),
        priority: column["priority"].as_i64().unwrap_or(0),
        path: text(column, "jsonPath")?,
    })
}

fn scale(scale: &Value) -> Option<Scale> {
    let path = |field: &str| text(scale, field).map(|path| Scale::path(&path));
    Some(Scale {
        spec_replicas: path("specReplicasPath")?,
        status_replicas: path("statusReplicasPath")?,
        selector: path("labelSelectorPath"),
    })
}

/// Fills in fields that the definition leaves out.
pub(crate) fn defaults(definition: &mut Object) {
    let kind = definition.at(&["spec", "names", "kind"]).and_then(Value::as_str).map(str::to_owned);
    if let Some(kind) = kind {
        let names = json!({"singular": kind.to_ascii_lowercase(), "listKind": format!("{kind}List")});
        definition.fill(json!({"spec": {"names": names}}));
    }
    if definition.at(&["spec", "conversion"]).is_none_or(Value::is_null) {
        definition.set_at(&["spec", "conversion"], json!({"strategy": "None"}));
    }
}

/// Writes the status of a definition that is served.
pub(crate) fn accept(definition: &mut Object) {
    let names = definition.at(&["spec", "names"]).cloned().unwrap_or_default();
    definition.set_at(&["status", "acceptedNames"], names);
    if definition.at(&["status", "conditions"]).is_none() {
        let now = timestamp();
        let condition = |kind: &str, reason: &str, message: &str| {
            json!({
                "type": kind, "status": "True", "reason": reason, "message": message,
                "lastTransitionTime": now,
            })
        };
        let conditions = json!([
            condition("NamesAccepted", "NoConflicts", "no conflicts found"),
            condition("Established", "InitialNamesAccepted", "the initial names have been accepted"),
        ]);
        definition.set_at(&["status", "conditions"], conditions);
    }
    let storage = definition.list_at(&["spec", "versions"]).iter().find(|version| version["storage"] == true);
    let Some(storage) = storage.and_then(|version| version.get("name")).cloned() else { return };
    let mut stored = definition.list_at(&["status", "storedVersions"]).to_vec();
    if !stored.contains(&storage) {
        stored.push(storage);
    }
    definition.set_at(&["status", "storedVersions"], stored.into());
}

/// Adds a cause for each rule that a definition breaks. Does nothing for objects of other resources.
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
        causes.push(Cause::invalid("spec.group", group, "should be a domain with at least one dot"));
    }
    if let Some(problem) = name::problem(NameRule::DnsLabel, plural).filter(|_| !plural.is_empty()) {
        causes.push(Cause::invalid("spec.names.plural", plural, problem));
    }
    if object.name() != format!("{plural}.{group}") {
        let why = "must be spec.names.plural+\".\"+spec.group";
        causes.push(Cause::invalid("metadata.name", object.name(), why));
    }
    let scope = object.text_at(&["spec", "scope"]);
    if !matches!(scope, "Namespaced" | "Cluster") {
        causes.push(Cause::not_supported("spec.scope", scope, &["Cluster", "Namespaced"]));
    }
    validate_versions(object.list_at(&["spec", "versions"]), causes);
}

fn validate_versions(versions: &[Value], causes: &mut Vec<Cause>) {
    if versions.iter().filter(|version| version["storage"] == true).count() != 1 {
        let why = "must have exactly one version marked as storage version";
        causes.push(Cause::invalid("spec.versions", versions.len(), why));
    }
    for (at, version) in versions.iter().enumerate() {
        let name = text_of(version, "name");
        if name::problem(NameRule::DnsLabel, name).is_some() {
            let why = "must be a DNS-1035 label such as v1";
            causes.push(Cause::invalid(format!("spec.versions[{at}].name"), name, why));
        }
        if !version["served"].is_boolean() {
            causes.push(Cause::required(format!("spec.versions[{at}].served"), ""));
        }
        if !version.pointer("/schema/openAPIV3Schema").is_some_and(Value::is_object) {
            let path = format!("spec.versions[{at}].schema.openAPIV3Schema");
            causes.push(Cause::required(path, "schemas are required"));
        }
    }
}
