//! Reads of the host's cache.

use informer_sdk::{
    Error, ErrorCode, ObjectKey,
    lister::{self, Selector},
};
use serde_json::Value;

use crate::{annotations::Annotations, kind::Kind};

pub(crate) const NAMESPACES: &str = "v1/namespaces";

/// The index by the names of objects.
pub(crate) const BY_NAME: &str = "name";

/// The index by the sources that objects name.
pub(crate) const BY_SOURCE: &str = "source";

/// The mask of the host in place of the value of a Secret. It is not base64, so no Secret has this value.
const MASK: &str = "***";

/// A namespace that may receive copies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Namespace {
    pub(crate) name: String,
    pub(crate) labels: Vec<(String, String)>,
}

/// An object and its known annotations.
pub(crate) type Annotated = (ObjectKey, Annotations);

// === impl Namespace ===

impl Namespace {
    /// Returns `None` if the namespace does not exist, or is being deleted.
    pub(crate) fn of(name: &str) -> Result<Option<Self>, Error> {
        let key = ObjectKey::new("", name);
        let pointers = ["/metadata/labels", "/metadata/deletionTimestamp"];
        let Some([labels, deleted]) = lister::get_fields(NAMESPACES, &key, pointers)? else {
            return Ok(None);
        };
        if deleted.parse::<Value>()?.is_some_and(|at| !at.is_null()) {
            return Ok(None);
        }
        let labels: Value = labels.parse()?.unwrap_or_default();
        let labels = labels.as_object().into_iter().flatten();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let labels = labels.map(|(key, value)| (key.clone(), text(value))).collect();
        Ok(Some(Self { name: name.to_owned(), labels }))
    }

    /// All namespaces that may receive copies.
    pub(crate) fn all() -> Result<Vec<Self>, Error> {
        let everything = Selector::all();
        let metas = lister::list_meta(NAMESPACES, &everything);
        let alive = metas.filter(|meta| meta.as_ref().map_or(true, |meta| !meta.deleting));
        alive.map(|meta| meta.map(|meta| Self { name: meta.name, labels: meta.labels })).collect()
    }
}

/// The known annotations of an object. Returns `None` if the object does not exist.
pub(crate) fn annotations(gvr: &str, key: &ObjectKey) -> Result<Option<Annotations>, Error> {
    let fields = lister::get_fields(gvr, key, Annotations::POINTERS)?;
    Ok(fields.map(|fields| Annotations::of_fields(&fields)))
}

/// All objects of a resource.
pub(crate) fn scan(gvr: &str, mut each: impl FnMut(Annotated) -> Result<(), Error>) -> Result<(), Error> {
    let everything = Selector::all();
    for fields in lister::list_fields(gvr, &everything, Annotations::POINTERS) {
        let fields = fields?;
        each((fields.key, Annotations::of_fields(&fields.values)))?;
    }
    Ok(())
}

/// The objects with a value in an index, as far as `fits` returns true for them.
///
/// If the watch has no such index, or the plugin may not use it because it may not see all Secrets, all objects are read.
pub(crate) fn find(
    gvr: &str,
    index: &str,
    value: &str,
    fits: impl Fn(&Annotated) -> bool,
) -> Result<Vec<Annotated>, Error> {
    let selector = Selector::all().index(index, value);
    let indexed = lister::list_fields(gvr, &selector, Annotations::POINTERS);
    let found: Result<Vec<Annotated>, Error> = indexed
        .map(|fields| fields.map(|fields| (fields.key, Annotations::of_fields(&fields.values))))
        .collect();
    match found {
        Ok(found) => Ok(found.into_iter().filter(fits).collect()),
        Err(error) if matches!(error.code(), Some(ErrorCode::Invalid | ErrorCode::NotGranted)) => {
            let mut found = Vec::new();
            scan(gvr, |object| {
                found.extend(Some(object).filter(&fits));
                Ok(())
            })?;
            Ok(found)
        }
        Err(error) => Err(error),
    }
}

/// Returns true if the plugin may read no object of the resource, and so ignores the resource.
pub(crate) fn is_unserved(error: &Error) -> bool {
    matches!(error.code(), Some(ErrorCode::UnknownResource | ErrorCode::NotGranted))
}

/// Returns true if the host masks the values of the object, because `secrets` of the grant does not name the object.
pub(crate) fn is_masked(kind: &Kind, object: &Value) -> bool {
    let values = object.get("data").and_then(Value::as_object);
    kind.name == "Secret" && values.is_some_and(|values| values.values().any(|value| value == MASK))
}
