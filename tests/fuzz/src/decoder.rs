//! The decoder of lists and watch events, compared with the tree that serde_json builds from the same text.

use std::{cell::Cell, collections::BTreeMap};

use informer_cache::{
    Compression, WatchConfig,
    offline::{OfflineEvent, OfflineList, OfflineReader},
};
use informer_types::{Gvr, Object, ObjectKey, Part, Pointer};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

const MANAGED_FIELDS: &str = "/metadata/managedFields";

/// What the watch of an input keeps.
struct Kept {
    drop: Vec<&'static str>,
    keep: Vec<&'static str>,
}

/// The first byte decides what the watch keeps and where the rest is cut. The rest is an answer to a list, and a frame of a watch.
pub(crate) fn run(input: &[u8]) {
    let Some((choice, text)) = input.split_first() else { return };
    let kept = Kept {
        drop: [(1, MANAGED_FIELDS), (2, "/spec"), (4, "/data/a")]
            .into_iter()
            .filter_map(|(bit, pointer)| (choice & bit != 0).then_some(pointer))
            .collect(),
        keep: if choice & 8 == 0 { Vec::new() } else { vec!["/spec/b", "/metadata/annotations"] },
    };
    let reader = OfflineReader::new("Pod", &kept.watch(), 1 << 20);
    let tree = serde_json::from_str(&String::from_utf8_lossy(text)).ok();
    list(&reader, text, usize::from(choice >> 4), tree.as_ref(), &kept);
    event(&reader, text, tree.as_ref(), &kept);
}

fn list(reader: &OfflineReader, text: &[u8], size: usize, tree: Option<&Value>, kept: &Kept) {
    let whole = reader.list([text]);
    let cut = reader.list(text.chunks(size + 1));
    assert_eq!(whole.as_ref().ok().map(summary), cut.as_ref().ok().map(summary));
    let Ok(whole) = whole else { return };
    whole.objects.iter().for_each(|object| is_json(object));
    let Some(tree) = tree else { return };
    let items = tree["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    if !is_unique(text) {
        return;
    }
    assert_eq!(whole.objects.len() + whole.undecodable.len(), items.len(), "{tree}");
    assert_eq!(whole.resource_version, text_at(tree, "/metadata/resourceVersion"));
    assert_eq!(whole.continue_token, text_at(tree, "/metadata/continue"));
    let mut left = items.iter();
    for object in &whole.objects {
        assert!(left.any(|item| agrees(object, item, kept)), "no item left for {} of {tree}", object.key());
    }
}

fn summary(list: &OfflineList) -> (String, Vec<String>, Vec<Option<ObjectKey>>) {
    let texts = list.objects.iter().map(|object| object.json().unwrap().to_string()).collect();
    (format!("{} {}", list.resource_version, list.continue_token), texts, list.undecodable.clone())
}

fn event(reader: &OfflineReader, text: &[u8], tree: Option<&Value>, kept: &Kept) {
    let Ok(event) = reader.event(text) else { return };
    if let OfflineEvent::Added(object) | OfflineEvent::Modified(object) | OfflineEvent::Deleted(object) =
        &event
    {
        is_json(object);
    }
    // Dropped managed fields are not checked.
    let whole = serde_json::from_str::<IgnoredAny>(&String::from_utf8_lossy(text));
    assert!(whole.is_ok() || kept.drop.contains(&MANAGED_FIELDS));
    let Some(tree) = tree.filter(|_| is_unique(text)) else { return };
    let kind = match &event {
        OfflineEvent::Added(object) | OfflineEvent::Modified(object) | OfflineEvent::Deleted(object) => {
            assert!(agrees(object, &tree["object"], kept), "{tree}");
            &["ADDED", "MODIFIED", "DELETED"][..]
        }
        OfflineEvent::Bookmark(version) | OfflineEvent::InitialEventsEnd(version) => {
            assert_eq!(*version, text_at(tree, "/object/metadata/resourceVersion"));
            &["BOOKMARK"]
        }
        OfflineEvent::Error => &["ERROR"],
        OfflineEvent::Undecodable(_) => &["ADDED", "MODIFIED", "DELETED", "BOOKMARK"],
    };
    assert!(kind.contains(&text_at(tree, "/type").as_str()), "{event:?} of {tree}");
}

/// Returns true if the object has the header and the kept body of the tree.
fn agrees(object: &Object, tree: &Value, kept: &Kept) -> bool {
    let at = |pointer: &str| text_at(tree, pointer);
    let labels: BTreeMap<&str, &str> = object.labels().collect();
    let expected: BTreeMap<&str, &str> = match &tree["metadata"]["labels"] {
        Value::Object(labels) => {
            labels.iter().map(|(key, value)| (key.as_str(), value.as_str().unwrap_or_default())).collect()
        }
        _ => BTreeMap::new(),
    };
    object.name() == at("/metadata/name")
        && object.namespace() == at("/metadata/namespace")
        && object.uid().to_string() == at("/metadata/uid")
        && object.resource_version() == at("/metadata/resourceVersion")
        && object.generation() == tree["metadata"]["generation"].as_i64()
        && object.owners().count() == tree["metadata"]["ownerReferences"].as_array().map_or(0, Vec::len)
        && labels == expected
        && serde_json::from_str::<Value>(&object.json().unwrap()).unwrap() == kept.of(tree)
}

fn is_json(object: &Object) {
    let text = object.json().unwrap();
    assert!(serde_json::from_str::<IgnoredAny>(&text).is_ok(), "{} is kept", &*text);
}

fn text_at(tree: &Value, pointer: &str) -> String {
    tree.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

// === impl Kept ===

impl Kept {
    fn watch(&self) -> WatchConfig {
        let pointers =
            |texts: &[&str]| -> Vec<Pointer> { texts.iter().map(|text| text.parse().unwrap()).collect() };
        WatchConfig {
            drop: pointers(&self.drop),
            keep: pointers(&self.keep).into_iter().map(Part::from).collect(),
            compression: Compression::Off,
            ..WatchConfig::new(Gvr::new("", "v1", "pods"))
        }
    }

    /// The tree as it should be kept.
    fn of(&self, tree: &Value) -> Value {
        let mut kept = tree.clone();
        for (field, value) in [("kind", "Pod"), ("apiVersion", "v1")] {
            // An empty type stays in the text, behind the added one.
            let absent = kept.get(field).is_none();
            if absent {
                kept[field] = value.into();
            }
        }
        if !self.keep.is_empty() {
            retain(&mut kept, |key| ["kind", "apiVersion", "metadata", "spec"].contains(&key));
            retain(&mut kept["spec"], |key| key == "b");
            let names = ["name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp"];
            let more = ["deletionTimestamp", "labels", "ownerReferences", "annotations"];
            retain(&mut kept["metadata"], |key| names.contains(&key) || more.contains(&key));
            if tree.get("spec").is_none() {
                kept.as_object_mut().unwrap().remove("spec");
            }
        }
        for (parent, field) in self.drop.iter().map(|pointer| pointer.rsplit_once('/').unwrap()) {
            if let Some(Value::Object(members)) = kept.pointer_mut(parent) {
                members.remove(field);
            }
        }
        kept
    }
}

fn retain(value: &mut Value, is_kept: impl Fn(&str) -> bool) {
    if let Value::Object(members) = value {
        members.retain(|key, _| is_kept(key));
    }
}

/// Returns true if no object of a JSON text has a key twice. A tree keeps only the last of the two.
fn is_unique(text: &[u8]) -> bool {
    let unique = Cell::new(true);
    let text = String::from_utf8_lossy(text);
    let read = Unique(&unique).deserialize(&mut serde_json::Deserializer::from_str(&text));
    read.is_ok() && unique.get()
}

#[derive(Clone, Copy)]
struct Unique<'c>(&'c Cell<bool>);

impl<'de> DeserializeSeed<'de> for Unique<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

macro_rules! scalars {
    ($($visit:ident: $type:ty),*) => {
        $(fn $visit<E>(self, _: $type) -> Result<(), E> {
            Ok(())
        })*
    };
}

impl<'de> Visitor<'de> for Unique<'_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JSON")
    }

    scalars!(visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str);

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        while elements.next_element_seed(self)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let mut keys = std::collections::BTreeSet::new();
        while let Some(key) = members.next_key::<String>()? {
            self.0.set(self.0.get() && keys.insert(key));
            members.next_value_seed(self)?;
        }
        Ok(())
    }
}
