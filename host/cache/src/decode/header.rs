//! The few fields of an object that are parsed, borrowed from its text where they have no escapes.

mod plain;

use std::{borrow::Cow, fmt, marker::PhantomData, ops::Range, sync::Arc};

use informer_types::{Header, ObjectKey, Owner};
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::value::RawValue;

use super::Namespaces;

/// The outline of any Kubernetes object.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ObjectText<'a> {
    #[serde(borrow, default)]
    kind: Text<'a>,
    #[serde(borrow, default)]
    api_version: Text<'a>,
    #[serde(borrow)]
    pub(super) metadata: Option<Metadata<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Metadata<'a> {
    #[serde(borrow, default)]
    name: Text<'a>,
    #[serde(borrow, default)]
    namespace: Text<'a>,
    #[serde(borrow, default)]
    uid: Text<'a>,
    #[serde(borrow, default)]
    resource_version: Text<'a>,
    #[serde(borrow, default)]
    creation_timestamp: Text<'a>,
    #[serde(borrow, default)]
    deletion_timestamp: Text<'a>,
    generation: Option<i64>,
    #[serde(borrow, default)]
    labels: Pairs<'a>,
    #[serde(borrow)]
    owner_references: Option<Vec<OwnerText<'a>>>,
    #[serde(borrow, default, deserialize_with = "raw_text")]
    managed_fields: Option<&'a str>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OwnerText<'a> {
    #[serde(borrow, default)]
    api_version: Text<'a>,
    #[serde(borrow, default)]
    kind: Text<'a>,
    #[serde(borrow, default)]
    name: Text<'a>,
    #[serde(borrow, default)]
    uid: Text<'a>,
    controller: Option<bool>,
}

/// Only what names an object, for one whose metadata is otherwise broken.
#[derive(Default, Deserialize)]
pub(super) struct KeyText<'a> {
    #[serde(borrow)]
    metadata: Option<KeyMetadata<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct KeyMetadata<'a> {
    #[serde(borrow, default)]
    name: Text<'a>,
    #[serde(borrow, default)]
    namespace: Text<'a>,
    #[serde(borrow, default)]
    resource_version: Text<'a>,
}

/// A string; `null` is empty.
#[derive(Default)]
struct Text<'a>(Cow<'a, str>);

/// The entries of an object of strings; `null` is empty.
#[derive(Default)]
struct Pairs<'a>(Vec<(Text<'a>, Text<'a>)>);

// === impl ObjectText ===

impl<'a> ObjectText<'a> {
    /// Reads the outline of an object and checks all of its text, but for managed fields that are to be dropped.
    ///
    /// # Errors
    /// The text is not JSON, or a field of the outline is of another type.
    pub(super) fn parse(text: &'a str, drop_managed_fields: bool) -> Result<Self, serde_json::Error> {
        plain::parse(text, drop_managed_fields).map_or_else(|_| serde_json::from_str(text), Ok)
    }

    pub(super) fn kind(&self) -> &str {
        &self.kind.0
    }

    pub(super) fn api_version(&self) -> &str {
        &self.api_version.0
    }

    /// Where `metadata.managedFields` lies in the text this was parsed from.
    pub(super) fn managed_fields(&self, text: &str) -> Option<Range<usize>> {
        let raw = self.metadata.as_ref()?.managed_fields?;
        let start = raw.as_ptr().addr().checked_sub(text.as_ptr().addr())?;
        Some(start..start + raw.len())
    }

    /// The resource version alone, for a bookmark.
    pub(super) fn resource_version(&self) -> &str {
        self.metadata.as_ref().map_or("", |metadata| &metadata.resource_version.0)
    }
}

/// The text of a value that is not `null`.
fn raw_text<'de: 'a, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'a str>, D::Error> {
    Ok(Option::<&RawValue>::deserialize(deserializer)?.map(RawValue::get))
}

// === impl Metadata ===

impl Metadata<'_> {
    pub(super) fn header(&self, namespaces: &Namespaces) -> Header<'_> {
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
    pub(super) fn key(&self) -> Option<ObjectKey> {
        let metadata = self.metadata.as_ref()?;
        (!metadata.name.0.is_empty()).then(|| {
            ObjectKey::new(Arc::<str>::from(&*metadata.namespace.0), Arc::<str>::from(&*metadata.name.0))
        })
    }

    pub(super) fn resource_version(&self) -> &str {
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
