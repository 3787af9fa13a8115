//! Answers about an object, within the plugin's limit on answers: values by JSON pointer, and the metadata.

use std::{borrow::Cow, sync::Arc};

use informer_types::{Gvr, InvalidPointer, Object, Part};

use crate::{
    PluginConfig,
    bindings::informer::plugin::types::{Error, ObjectMeta, Owner},
    capabilities::secret::Seen,
};

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
    parts: Arc<[Part]>,
}

/// A part of a query that the plugin does not declare to read of the resource.
pub(super) struct Undeclared {
    message: String,
    /// An object that is kept whole may be read.
    some_whole: bool,
}

impl LastQuery {
    /// Parses the pointers of one query.
    pub(super) fn parts(&mut self, texts: Vec<String>) -> Result<Arc<[Part]>, Error> {
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
            let parts: Arc<[Part]> = parsed.map_err(|problem| Error::invalid(&problem))?;
            if bytes > REMEMBERED_BYTES {
                return Ok(parts);
            }
            (self.texts, self.parts) = (texts, parts);
        }
        Ok(Arc::clone(&self.parts))
    }
}

// === impl Undeclared ===

impl Undeclared {
    /// Returns `None` if the plugin declares all parts of the query, or if it declares nothing, which means everything.
    pub(super) fn of(config: &PluginConfig, gvr: &Gvr, parts: &[Part]) -> Option<Self> {
        let reads = config.reads.get(gvr)?;
        let part = reads.undeclared(parts)?;
        let message = format!(
            "\"{part}\" of {gvr} is not kept for this plugin: add it to `reads` of its [[plugin.on]] with watch = \"{gvr}\""
        );
        Some(Self { message, some_whole: reads.some_whole() })
    }

    /// Refuses to read an object that need not have the part.
    pub(super) fn check(&self, object: &Object) -> Result<(), Error> {
        if self.some_whole && !object.is_partial() { Ok(()) } else { Err(Error::invalid(&self.message)) }
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

/// The JSON texts of the parts, in the order of the parts.
pub(super) fn values(seen: &Seen, parts: &[Part], budget: &mut Budget) -> Result<Vec<Option<String>>, Error> {
    let owned = |value: Option<Cow<'_, str>>| {
        let spent = budget.spend(value.as_deref().map_or(0, str::len));
        spent.map(|()| value.map(Cow::into_owned))
    };
    // The vector of the texts becomes that of the values, without another allocation.
    seen.parts(parts)?.into_iter().map(owned).collect()
}

/// Copies the fields that handlers read most often.
pub(crate) fn meta(object: &Object) -> ObjectMeta {
    ObjectMeta {
        namespace: object.namespace().to_owned(),
        name: object.name().to_owned(),
        uid: object.uid().to_string(),
        resource_version: object.resource_version().to_owned(),
        creation_timestamp: object.creation_timestamp().into_owned(),
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

/// The bytes of all texts of the metadata, for the limit on answers.
pub(crate) fn meta_bytes(meta: &ObjectMeta) -> usize {
    let own = [&meta.namespace, &meta.name, &meta.uid, &meta.resource_version, &meta.creation_timestamp];
    let labels = meta.labels.iter().flat_map(|(key, value)| [key, value]);
    let owner =
        meta.controller.iter().flat_map(|owner| [&owner.api_version, &owner.kind, &owner.name, &owner.uid]);
    own.into_iter().chain(labels).chain(owner).map(String::len).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bindings::informer::plugin::types::ErrorCode;

    #[test]
    fn each_query_uses_its_own_pointers() {
        let mut last = LastQuery::default();
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let shown = |parts: &[Part]| parts.iter().map(ToString::to_string).collect::<Vec<_>>();

        for question in [&[][..], &["/a"], &["/a"], &["/b", "sha256:/a"], &["/a"]] {
            assert_eq!(shown(&last.parts(texts(question)).unwrap()), question);
        }
        assert!(last.parts(texts(&["a"])).is_err());
        assert!(last.parts(vec![String::new(); POINTERS + 1]).is_err());
        assert_eq!(shown(&last.parts(texts(&["/a"])).unwrap()), ["/a"]);
        let error = last.parts(texts(&["/".repeat(POINTERS_BYTES).as_str(), "/"])).unwrap_err();
        assert_eq!(
            (error.code, error.message.contains("65537 bytes of pointers")),
            (ErrorCode::Invalid, true)
        );
        let long = format!("/{}", "x".repeat(REMEMBERED_BYTES));
        assert_eq!(shown(&last.parts(texts(&[&long])).unwrap()), [long]);
        assert_eq!(last.texts, ["/a"]);
    }

    #[test]
    fn all_texts_of_the_metadata_count() {
        // Each text has another power of two as its length.
        let text = |length: usize| "x".repeat(length);
        let owner = Owner { api_version: text(128), kind: text(256), name: text(512), uid: text(1_024) };
        let mut meta = ObjectMeta {
            namespace: text(1),
            name: text(2),
            uid: text(4),
            resource_version: text(8),
            creation_timestamp: text(16),
            deleting: true,
            labels: vec![(text(32), text(64))],
            controller: Some(owner),
        };
        assert_eq!(meta_bytes(&meta), 2_047);

        meta.controller = None;
        meta.labels.clear();
        assert_eq!(meta_bytes(&meta), 31);
    }
}
