//! The few fields of an object that are parsed. They are borrowed from the text if they have no escapes.

mod plain;

use std::{borrow::Cow, fmt, marker::PhantomData, ops::Range};

use informer_types::{Header, ObjectKey, Owner};
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::value::RawValue;

pub(super) use plain::parse;

use super::NamespaceNames;

/// The outline of a Kubernetes object.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ObjectText<'a> {
    #[serde(borrow, default)]
    kind: Text<'a>,
    #[serde(borrow, default)]
    api_version: Text<'a>,
    #[serde(borrow)]
    pub(super) metadata: Option<Metadata<'a>>,
}

#[derive(Default, Deserialize)]
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
    #[serde(borrow)]
    labels: Option<Pairs<'a>>,
    #[serde(borrow)]
    owner_references: Option<Vec<OwnerText<'a>>>,
    #[serde(borrow, default, deserialize_with = "raw_text")]
    managed_fields: Option<&'a str>,
}

#[derive(Default, Deserialize)]
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

/// Only the fields that name an object, for an object whose metadata is otherwise unreadable.
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

/// A string. `None` is the empty string: the field is missing or `null`.
#[derive(Default)]
struct Text<'a>(Option<Cow<'a, str>>);

/// The entries of an object of strings.
struct Pairs<'a>(Vec<(Text<'a>, Text<'a>)>);

// === impl ObjectText ===

impl<'a> ObjectText<'a> {
    pub(super) fn kind(&self) -> &str {
        self.kind.text()
    }

    pub(super) fn api_version(&self) -> &str {
        self.api_version.text()
    }

    /// The range of `metadata.managedFields` in the text that this outline was parsed from.
    pub(super) fn managed_fields(&self, text: &str) -> Option<Range<usize>> {
        let raw = self.metadata.as_ref()?.managed_fields?;
        let start = raw.as_ptr().addr().checked_sub(text.as_ptr().addr())?;
        Some(start..start + raw.len())
    }

    /// The resource version alone, for a bookmark.
    pub(super) fn resource_version(&self) -> &str {
        self.metadata.as_ref().map_or("", |metadata| metadata.resource_version.text())
    }
}

/// The text of a value. Returns `None` for `null`.
fn raw_text<'de: 'a, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'a str>, D::Error> {
    Ok(Option::<&RawValue>::deserialize(deserializer)?.map(RawValue::get))
}

// === impl Metadata ===

impl Metadata<'_> {
    /// The header of an object, of which only parts are kept if `partial` is true.
    pub(super) fn header(&self, namespaces: &NamespaceNames, partial: bool) -> Header<'_> {
        Header {
            namespace: namespaces.intern(self.namespace.text()),
            name: self.name.borrowed(),
            uid: self.uid.borrowed(),
            resource_version: self.resource_version.borrowed(),
            creation_timestamp: self.creation_timestamp.borrowed(),
            deletion_timestamp: self.deletion_timestamp.borrowed(),
            generation: self.generation,
            labels: self.labels.iter().flat_map(|labels| &labels.0).map(borrowed).collect(),
            owners: self.owner_references.iter().flatten().map(OwnerText::owner).collect(),
            partial,
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

fn borrowed<'a>((key, value): &'a (Text<'_>, Text<'_>)) -> (Cow<'a, str>, Cow<'a, str>) {
    (key.borrowed(), value.borrowed())
}

// === impl KeyText ===

impl KeyText<'_> {
    pub(super) fn key(&self) -> Option<ObjectKey> {
        let metadata = self.metadata.as_ref()?;
        let (namespace, name) = (metadata.namespace.text(), metadata.name.text());
        (!name.is_empty()).then(|| ObjectKey::new(namespace, name))
    }

    pub(super) fn resource_version(&self) -> &str {
        self.metadata.as_ref().map_or("", |metadata| metadata.resource_version.text())
    }
}

// === impl Text ===

impl Text<'_> {
    fn text(&self) -> &str {
        self.0.as_deref().unwrap_or_default()
    }

    fn borrowed(&self) -> Cow<'_, str> {
        Cow::Borrowed(self.text())
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
        Ok(Text(Some(Cow::Borrowed(text))))
    }

    fn visit_str<E>(self, text: &str) -> Result<Text<'a>, E> {
        Ok(Text(Some(Cow::Owned(text.to_owned()))))
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
}
