//! Cuts everything out of an object's text except the parts that the watch keeps.

use informer_types::{InvalidJson, NotJson, Part, PartTree, Scanner, identity, stand_in};
use serde::de::IgnoredAny;

use super::splice::Edit;

/// The parts to keep.
pub(super) struct Keep(PartTree);

// === impl Keep ===

impl Keep {
    /// Keeps these parts and the fields that identify the object. A pointer into an array keeps the whole array, so that
    /// the indexes of its elements do not change.
    pub(super) fn new(parts: &[Part]) -> Self {
        Self(PartTree::new(identity().chain(parts.iter().cloned())))
    }

    /// What to change in `text`, a JSON object: values that are not kept are removed, and digests stand for others.
    pub(super) fn edits(&self, text: &str) -> Result<Vec<Edit>, InvalidJson> {
        let mut edits = Vec::new();
        let walked = edit(&self.0, text, &mut Scanner::new(text), &mut edits);
        // The parser reports the error and its position.
        walked.or_else(|NotJson| serde_json::from_str::<IgnoredAny>(text).map(|_| ()))?;
        Ok(edits)
    }
}

/// Reads one value and collects what to change in it. A value that is no object is kept if only some of its members are wanted.
fn edit(
    kept: &PartTree,
    text: &str,
    scanner: &mut Scanner<'_>,
    edits: &mut Vec<Edit>,
) -> Result<(), NotJson> {
    match kept {
        PartTree::Members(members) if scanner.peek() == Some(b'{') => {
            scanner.object(|scanner, key| match members.get(&*key.unescaped()) {
                Some(kept) => edit(kept, text, scanner, edits),
                None => scanner.skip().map(|value| edits.push(Edit::remove(value))),
            })
        }
        PartTree::Members(_) | PartTree::Part(None) => scanner.skip().map(|_| ()),
        PartTree::Part(Some(form)) => scanner.skip().map(|value| {
            let stand_in = stand_in(*form, text.get(value.clone()).unwrap_or_default());
            edits.push(Edit::replace(value, stand_in));
        }),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::decode::splice::spliced;

    fn kept(text: &str, pointers: &[&str]) -> Value {
        let parts: Vec<Part> = pointers.iter().map(|pointer| pointer.parse().unwrap()).collect();
        let edits = Keep::new(&parts).edits(text).unwrap();
        serde_json::from_str(&spliced(text, "", edits)).unwrap()
    }

    #[test]
    fn the_named_fields_and_the_identifying_fields_are_kept() {
        let text = r#"{ "kind":"Pod", "apiVersion":"v1", "spec" : {"a":1 ,"b":{"c":[1,{"d":2}],"e":3}} ,
            "metadata":{"name":"x","annotations":{"k":"v","l\"m":"w"},"labels":{"app":"web"}}, "status":{} }"#;
        let identity =
            json!({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "x", "labels": {"app": "web"}}});
        let with = |more: Value| {
            let mut all = identity.clone();
            all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            all
        };

        assert_eq!(kept(text, &[]), identity);
        assert_eq!(kept(text, &["/none/there"]), identity);
        assert_eq!(kept(text, &["/spec/a"]), with(json!({"spec": {"a": 1}})));
        // A pointer into an array keeps the whole array, so that indexes keep their meaning.
        assert_eq!(kept(text, &["/spec/b/c/1/d"]), with(json!({"spec": {"b": {"c": [1, {"d": 2}]}}})));
        assert_eq!(
            kept(text, &["/spec", "/spec/a"]),
            with(json!({"spec": {"a": 1, "b": {"c": [1, {"d": 2}], "e": 3}}}))
        );
        assert_eq!(kept(text, &["/spec/a/deeper"]), with(json!({"spec": {"a": 1}})));
        assert_eq!(
            kept(text, &["/metadata/annotations/l\"m"])["metadata"]["annotations"],
            json!({"l\"m": "w"})
        );
        assert_eq!(kept(text, &[""]), serde_json::from_str::<Value>(text).unwrap());
    }

    #[test]
    fn a_digest_stands_for_a_value() {
        let text = r#"{"kind":"Secret","data":{"a":"MQ=="},"type":"Opaque"}"#;
        let one = kept(text, &["sha256:/data", "/type"]);
        assert_eq!(
            one,
            json!({"kind": "Secret", "type": "Opaque", "data": {"sha256:": one["data"]["sha256:"]}})
        );
        assert_ne!(one, kept(&text.replace("MQ", "Mg"), &["sha256:/data", "/type"]));
        assert_eq!(kept(text, &["sha256:/data", "/data/a"])["data"], json!({"a": "MQ=="}));
        assert_eq!(kept(text, &["sha256:/none"]), json!({"kind": "Secret"}));
    }

    #[test]
    fn an_escaped_key_is_recognised() {
        assert_eq!(kept(r#"{"sp\u0065c":1,"x":2}"#, &["/spec"]), json!({"spec": 1}));
        assert_eq!(kept(r#"{"a/b":1,"c":2}"#, &["/a~1b"]), json!({"a/b": 1}));
    }

    fn tree() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<i16>().prop_map(|quarters| Value::from(f64::from(quarters) / 4.0)),
            ".{0,4}".prop_map(Value::from)
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[abk\"\\\\]{1,2}", inner, 0..4)
                    .prop_map(|map| map.into_iter().collect()),
            ]
        })
    }

    /// Keys of the tree have no colon.
    fn is_stand_in(value: &Value) -> bool {
        value.as_object().is_some_and(|members| members.keys().any(|key| key.ends_with(':')))
    }

    /// The reference implementation on a tree.
    fn prune(value: &Value, kept: &PartTree) -> Value {
        match (value, kept) {
            (_, PartTree::Part(Some(_))) => Value::from("digest"),
            (Value::Object(own), PartTree::Members(members)) => own
                .iter()
                .filter_map(|(key, value)| Some((key.clone(), prune(value, members.get(key)?))))
                .collect(),
            (value, _) => value.clone(),
        }
    }

    proptest! {
        #[test]
        fn cutting_the_text_gives_the_same_object_as_pruning_the_tree(
            members in prop::collection::btree_map("[abk\"\\\\]{1,2}", tree(), 0..4),
            pointers in prop::collection::vec("(sha256:|sha1-(base64-)?pairs:)?(/[abk0]{1,2}){1,3}", 0..4),
            pretty in any::<bool>(),
        ) {
            let value: Value = members.into_iter().collect();
            let text = if pretty { serde_json::to_string_pretty(&value).unwrap() } else { value.to_string() };
            let parts: Vec<Part> = pointers.iter().map(|pointer| pointer.parse().unwrap()).collect();
            let keep = Keep::new(&parts);

            let cut = spliced(&text, "", keep.edits(&text).unwrap());

            let mut kept: Value = serde_json::from_str(&cut).unwrap();
            let whole: Value = value.clone();
            for part in parts.iter().filter(|part| part.digest().is_some()) {
                // The digest of the whole text stands in its place.
                prop_assert_eq!(
                    Part::texts(std::slice::from_ref(part), &cut).unwrap(),
                    Part::texts(std::slice::from_ref(part), &text).unwrap()
                );
                let place = part.pointer().to_string();
                let digest_only = kept.pointer(&place).is_some_and(is_stand_in);
                if digest_only && whole.pointer(&place).is_some() {
                    *kept.pointer_mut(&place).unwrap() = Value::from("digest");
                }
            }
            prop_assert_eq!(kept, prune(&value, &keep.0));
        }
    }
}
