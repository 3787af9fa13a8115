//! Facts about the object that an Event is about, from the cache of the host.

use std::time::Duration;

use informer_sdk::{Error, ErrorCode, ObjectKey, lister};
use serde_json::Value;

use crate::record::{Involved, Record};

/// The longest wait of a lookup. An Event may arrive before the first state of its object, because they come from two watches.
const PATIENCE: Duration = Duration::from_millis(300);

/// Adds the labels, the annotations and the owners of the object, and `deleted` if it is gone or is being deleted. Adds nothing if the
/// host does not watch the resource of the object, or if the plugin may not read the resource. A client may write any texts into its
/// Events, so the function also adds nothing if the kind and the version name no resource.
pub(crate) fn enrich(record: &mut Record, is_live: bool) -> Result<(), Error> {
    record.set_involved("deleted", Value::Bool(false));
    let involved = record.involved();
    if involved.name.is_empty() || involved.kind.is_empty() {
        return Ok(());
    }
    let gvr = resource(&involved);
    let found = match find(&gvr, &involved) {
        Ok(None) if is_live && arrives(&gvr, &involved) => find(&gvr, &involved),
        found => found,
    };
    let found = match found {
        Err(error) if is_out_of_reach(&error, &gvr) => return Ok(()),
        found => found?,
    };
    let Some(fields) = found else {
        record.set_involved("deleted", Value::Bool(true));
        return Ok(());
    };
    for (field, value) in fields {
        record.set_involved(field, value);
    }
    Ok(())
}

/// Returns true if the plugin cannot read the resource, so that another attempt of the lookup gets the same answer. The host answers
/// `invalid` if the text names no resource, and also if `reads` of the plugin lacks a field of a resource. The second case is a mistake
/// that the operator must see.
fn is_out_of_reach(error: &Error, gvr: &str) -> bool {
    match error.code() {
        Some(ErrorCode::UnknownResource | ErrorCode::NotGranted) => true,
        Some(ErrorCode::Invalid) => lister::has_synced(gvr).is_err(),
        _ => false,
    }
}

/// Waits until the cache is as new as the version that the Event names. Returns true if the cache is as new, and false if the Event names
/// no version, or if the wait fails or takes too long.
fn arrives(gvr: &str, involved: &Involved) -> bool {
    let version = &involved.resource_version;
    let is_number = !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit());
    // A failed wait is no reason to keep the Event back.
    is_number && lister::wait_until(gvr, Some(&involved.namespace), version, PATIENCE).unwrap_or(false)
}

/// The fields of the object, if it is the one that the Event is about and not another one of its name.
fn find(gvr: &str, involved: &Involved) -> Result<Option<Vec<(&'static str, Value)>>, Error> {
    const FIELDS: [&str; 3] = ["labels", "annotations", "ownerReferences"];
    let key = ObjectKey::new(involved.namespace.as_str(), involved.name.as_str());
    let pointers = [
        "/metadata/uid",
        "/metadata/deletionTimestamp",
        "/metadata/labels",
        "/metadata/annotations",
        "/metadata/ownerReferences",
    ];
    let Some([uid, deleted, rest @ ..]) = lister::get_fields(gvr, &key, pointers)? else { return Ok(None) };
    let uid: String = uid.parse()?.unwrap_or_default();
    // The kubelet writes the name of a Node as its UID.
    let is_same = involved.uid.is_empty() || involved.kind == "Node" || involved.uid == uid;
    if !is_same {
        return Ok(None);
    }
    let mut fields = Vec::new();
    for (name, field) in FIELDS.into_iter().zip(rest) {
        if let Some(value) = field.parse::<Value>()? {
            fields.push((name, value));
        }
    }
    // As in the original, an object that waits for its finalizers or for its grace period counts as deleted.
    if deleted.parse::<Value>()?.is_some() {
        fields.push(("deleted", Value::Bool(true)));
    }
    Ok(Some(fields))
}

/// The resource of a kind: `apps/v1/deployments` of `Deployment` in `apps/v1`.
fn resource(involved: &Involved) -> String {
    let version = if involved.api_version.is_empty() { "v1" } else { involved.api_version.as_str() };
    format!("{version}/{}", plural(&involved.kind.to_ascii_lowercase()))
}

/// The plural as Kubernetes names its resources.
fn plural(kind: &str) -> String {
    let before_y = kind.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'o', 'u']));
    match before_y {
        Some(stem) => format!("{stem}ies"),
        None if kind == "endpoints" => kind.to_owned(),
        None if ["s", "x", "ch", "sh"].iter().any(|end| kind.ends_with(end)) => format!("{kind}es"),
        None => format!("{kind}s"),
    }
}

#[cfg(test)]
mod tests;
