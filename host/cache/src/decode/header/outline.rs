//! The parsed fields. They are borrowed from the text if they have no escapes.

use std::{borrow::Cow, fmt, marker::PhantomData, ops::Range, sync::Arc};

use informer_types::{Header, ObjectKey, Owner};
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::value::RawValue;

use crate::decode::Namespaces;

/// The outline of a Kubernetes object.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::decode) struct ObjectText<'a> {
    #[serde(borrow, default)]
    pub(super) kind: Text<'a>,
    #[serde(borrow, default)]
    pub(super) api_version: Text<'a>,
    #[serde(borrow)]
    pub(in crate::decode) metadata: Option<Metadata<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::decode) struct Metadata<'a> {
    #[serde(borrow, default)]
    pub(super) name: Text<'a>,
    #[serde(borrow, default)]
    pub(super) namespace: Text<'a>,
    #[serde(borrow, default)]
    pub(super) uid: Text<'a>,
    #[serde(borrow, default)]
    pub(super) resource_version: Text<'a>,
    #[serde(borrow, default)]
    pub(super) creation_timestamp: Text<'a>,
    #[serde(borrow, default)]
    pub(super) deletion_timestamp: Text<'a>,
    pub(super) generation: Option<i64>,
    #[serde(borrow, default)]
    pub(super) labels: Pairs<'a>,
    #[serde(borrow)]
    pub(super) owner_references: Option<Vec<OwnerText<'a>>>,
    #[serde(borrow, default, deserialize_with = "raw_text")]
    pub(super) managed_fields: Option<&'a str>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OwnerText<'a> {
    #[serde(borrow, default)]
    pub(super) api_version: Text<'a>,
    #[serde(borrow, default)]
    pub(super) kind: Text<'a>,
    #[serde(borrow, default)]
    pub(super) name: Text<'a>,
    #[serde(borrow, default)]
    pub(super) uid: Text<'a>,
    pub(super) controller: Option<bool>,
}

/// Only the fields that name an object, for an object whose metadata is otherwise unreadable.
#[derive(Default, Deserialize)]
pub(in crate::decode) struct KeyText<'a> {
    #[serde(borrow)]
    metadata: Option<KeyMetadata<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct KeyMetadata<'a> {
    #[serde(borrow, default)]
    pub(super) name: Text<'a>,
    #[serde(borrow, default)]
    pub(super) namespace: Text<'a>,
    #[serde(borrow, default)]
    pub(super) resource_version: Text<'a>,
}

/// A string; `null` is the empty string.
#[derive(Default)]
pub(super) struct Text<'a>(pub(super) Cow<'a, str>);

/// The entries of an object of strings; `null` has no entries.
#[derive(Default)]
pub(super) struct Pairs<'a>(pub(super) Vec<(Text<'a>, Text<'a>)>);

// === impl ObjectText ===

impl<'a> ObjectText<'a> {
    pub(in crate::decode) fn kind(&self) -> &str {
        &self.kind.0
    }

    pub(in crate::decode) fn api_version(&self) -> &str {
        &self.api_version.0
    }

    /// The range of `metadata.managedFields` in the text that this outline was parsed from.
    pub(in crate::decode) fn managed_fields(&self, text: &str) -> Option<Range<usize>> {
        let raw = self.metadata.as_ref()?.managed_fields?;
        let start = raw.as_ptr().addr().checked_sub(text.as_ptr().addr())?;
        Some(start..start + raw.len())
    }

    /// The resource version alone, for a bookmark.
    pub(in crate::decode) fn resource_version(&self) -> &str {
        self.metadata.as_ref().map_or("", |metadata| &metadata.resource_version.0)
    }
}

/// The text of a value. Returns `None` for `null`.
fn raw_text<'de: 'a, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'a str>, D::Error> {
    Ok(Option::<&RawValue>::deserialize(deserializer)?.map(RawValue::get))
}

// === impl Metadata ===

impl Metadata<'_> {
    pub(in crate::decode) fn header(&self, namespaces: &Namespaces) -> Header<'_> {
        Header {
            namespace: namespaces.intern(&self.namespace.0),
            name: self.name.borrowed(),
            uid: self.uid.borrowed(),
            resource_version: self.resource_version.borrowed(),
            creation_timestamp: self.creation_timestamp.borrowed(),
            deletion_timestamp: self.deletion_timestamp.borrowed(),
            generation: self.generation,
            labels: self.labels.0.iter().map(|(key, value)| (key.borrowed(), value.borrowed())).collect(),
            owners: self.owner_references.iter().flatten().map(OwnerText::owner).collect(),
        }
    }
}

impl OwnerText<'_> {
    fn owner(&self) -> Owner<'_> {
        Owner {
            api_version: self.api_version.borrowed(),
            kind: self.kind.borrowed(),
            name: self.name.borrowed(),
            uid: self.uid.borrowed(),
            controller: self.controller == Some(true),
        }
    }
}

// === impl KeyText ===

impl KeyText<'_> {
    pub(in crate::decode) fn key(&self) -> Option<ObjectKey> {
        let metadata = self.metadata.as_ref()?;
        (!metadata.name.0.is_empty()).then(|| {
            ObjectKey::new(Arc::<str>::from(&*metadata.namespace.0), Arc::<str>::from(&*metadata.name.0))
        })
    }

    pub(in crate::decode) fn resource_version(&self) -> &str {
        self.metadata.as_ref().map_or("", |metadata| &metadata.resource_version.0)
    }
}

// === impl Text ===

impl Text<'_> {
    fn borrowed(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.0)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor(PhantomData))
    }
}

struct TextVisitor<'a>(PhantomData<Text<'a>>);

impl<'de: 'a, 'a> Visitor<'de> for TextVisitor<'a> {
    type Value = Text<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string or null")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'a>, E> {
        Ok(Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Text<'a>, E> {
        Ok(Text(Cow::Owned(text.to_owned())))
    }

    fn visit_unit<E>(self) -> Result<Text<'a>, E> {
        Ok(Text::default())
    }
}

// === impl Pairs ===

impl<'de: 'a, 'a> Deserialize<'de> for Pairs<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PairsVisitor(PhantomData))
    }
}

struct PairsVisitor<'a>(PhantomData<Pairs<'a>>);

impl<'de: 'a, 'a> Visitor<'de> for PairsVisitor<'a> {
    type Value = Pairs<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of strings or null")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs<'a>, A::Error> {
        let mut pairs = Vec::new();
        while let Some(pair) = map.next_entry()? {
            pairs.push(pair);
        }
        Ok(Pairs(pairs))
    }

    fn visit_unit<E>(self) -> Result<Pairs<'a>, E> {
        Ok(Pairs::default())
    }
}
