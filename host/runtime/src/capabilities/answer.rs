//! Answers about an object, within the plugin's limit on answers: values by JSON pointer, and the metadata.

use std::sync::Arc;

use informer_types::{InvalidPointer, Object, Pointer, locate};

use crate::bindings::informer::plugin::types::{Error, ObjectMeta, Owner};

/// The maximum number of pointers in one query: each is compared at every key of the object.
const POINTERS: usize = 256;

/// The most bytes of all pointers in one query. A parsed pointer takes twenty times the memory of its text.
const POINTERS_BYTES: usize = 64 << 10;

/// The longest query that is remembered, in bytes of its pointers: it takes memory of the host.
const REMEMBERED_BYTES: usize = 4 << 10;

/// The pointers of the last query, parsed. A handler usually reads the same fields at each call.
#[derive(Default)]
pub(crate) struct LastQuery {
    texts: Vec<String>,
    pointers: Arc<[Pointer]>,
}

impl LastQuery {
    /// Parses the pointers of one query.
    pub(super) fn pointers(&mut self, texts: Vec<String>) -> Result<Arc<[Pointer]>, Error> {
        if texts != self.texts {
            if texts.len() > POINTERS {
                return Err(Error::invalid(&format!(
                    "{} pointers in one call; at most {POINTERS}",
                    texts.len()
                )));
            }
            let bytes = texts.iter().map(String::len).sum::<usize>();
            if bytes > POINTERS_BYTES {
                return Err(Error::invalid(&format!(
                    "{bytes} bytes of pointers in one call; at most {POINTERS_BYTES}"
                )));
            }
            let parsed: Result<_, InvalidPointer> = texts.iter().map(|text| text.parse()).collect();
            let pointers: Arc<[Pointer]> = parsed.map_err(|problem| Error::invalid(&problem))?;
            if bytes > REMEMBERED_BYTES {
                return Ok(pointers);
            }
            (self.texts, self.pointers) = (texts, pointers);
        }
        Ok(Arc::clone(&self.pointers))
    }
}

/// Counts the bytes of an answer and refuses more than the limit.
pub(super) struct Budget {
    used: usize,
    limit: usize,
}

impl Budget {
    pub(super) fn new(limit: usize) -> Self {
        Self { used: 0, limit }
    }

    /// The bytes so far.
    pub(super) fn used(&self) -> usize {
        self.used
    }

    pub(super) fn spend(&mut self, bytes: usize) -> Result<(), Error> {
        self.used = self.used.saturating_add(bytes);
        if self.used > self.limit { Err(Error::too_large(self.used, self.limit)) } else { Ok(()) }
    }
}

/// The JSON texts at the pointers, in the order of the pointers.
pub(super) fn values(
    json: &str,
    pointers: &[Pointer],
    budget: &mut Budget,
) -> Result<Vec<Option<String>>, Error> {
    let mut values = Vec::with_capacity(pointers.len());
    for range in locate(json, pointers)? {
        let value = range.and_then(|range| json.get(range));
        budget.spend(value.map_or(0, str::len))?;
        values.push(value.map(str::to_owned));
    }
    Ok(values)
}

/// Copies the fields that handlers read most often.
pub(crate) fn meta(object: &Object) -> ObjectMeta {
    ObjectMeta {
        namespace: object.namespace().to_owned(),
        name: object.name().to_owned(),
        uid: object.uid().to_owned(),
        resource_version: object.resource_version().to_owned(),
        creation_timestamp: object.creation_timestamp().to_owned(),
        deleting: object.deletion_timestamp().is_some(),
        labels: object.labels().map(|(key, value)| (key.to_owned(), value.to_owned())).collect(),
        controller: object.controller().map(|owner| Owner {
            api_version: owner.api_version.into_owned(),
            kind: owner.kind.into_owned(),
            name: owner.name.into_owned(),
            uid: owner.uid.into_owned(),
        }),
    }
}

/// The bytes of all strings, for the limit on answers.
pub(crate) fn meta_bytes(meta: &ObjectMeta) -> usize {
    let labels: usize = meta.labels.iter().map(|(key, value)| key.len() + value.len()).sum();
    meta.namespace.len() + meta.name.len() + meta.uid.len() + meta.resource_version.len() + labels
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bindings::informer::plugin::types::ErrorCode;

    #[test]
    fn each_query_uses_its_own_pointers() {
        let mut last = LastQuery::default();
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let shown = |pointers: &[Pointer]| pointers.iter().map(ToString::to_string).collect::<Vec<_>>();

        for question in [&[][..], &["/a"], &["/a"], &["/b", "/a"], &["/a"]] {
            assert_eq!(shown(&last.pointers(texts(question)).unwrap()), question);
        }
        assert!(last.pointers(texts(&["a"])).is_err());
        assert!(last.pointers(vec![String::new(); POINTERS + 1]).is_err());
        assert_eq!(shown(&last.pointers(texts(&["/a"])).unwrap()), ["/a"]);
        let error = last.pointers(texts(&["/".repeat(POINTERS_BYTES).as_str(), "/"])).unwrap_err();
        assert_eq!(
            (error.code, error.message.contains("65537 bytes of pointers")),
            (ErrorCode::Invalid, true)
        );
        let long = format!("/{}", "x".repeat(REMEMBERED_BYTES));
        assert_eq!(shown(&last.pointers(texts(&[&long])).unwrap()), [long]);
        assert_eq!(last.texts, ["/a"]);
    }
}
