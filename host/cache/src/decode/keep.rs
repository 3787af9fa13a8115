//! Cuts everything out of an object's text except the fields that the watch keeps.

use std::{collections::BTreeMap, ops::Range};

use informer_types::{InvalidJson, NotJson, Pointer, Scanner};
use serde::de::IgnoredAny;

/// The fields that identify an object. They are always kept.
const IDENTITY: [&str; 11] = [
    "/apiVersion",
    "/kind",
    "/metadata/name",
    "/metadata/namespace",
    "/metadata/uid",
    "/metadata/resourceVersion",
    "/metadata/generation",
    "/metadata/creationTimestamp",
    "/metadata/deletionTimestamp",
    "/metadata/labels",
    "/metadata/ownerReferences",
];

/// The paths to keep, as a tree.
pub(super) struct Keep(Node);

#[derive(Default)]
struct Node {
    /// If true, this value is kept with everything below it.
    whole: bool,
    members: BTreeMap<String, Node>,
}

// === impl Keep ===

impl Keep {
    /// Keeps the values at the pointers and the fields that identify the object. A pointer into an array keeps the
    /// whole array, so that the indexes of its elements do not change.
    pub(super) fn new(pointers: &[Pointer]) -> Self {
        let identity = IDENTITY.iter().filter_map(|pointer| pointer.parse().ok());
        let mut root = Node::default();
        for pointer in identity.chain(pointers.iter().cloned()) {
            let node = pointer
                .tokens()
                .iter()
                .fold(&mut root, |node, token| node.members.entry(token.clone()).or_default());
            node.whole = true;
        }
        Self(root)
    }

    /// The ranges of the values in `text`, a JSON object, that are not kept.
    pub(super) fn cuts(&self, text: &str) -> Result<Vec<Range<usize>>, InvalidJson> {
        let mut cuts = Vec::new();
        let walked = self.0.cut(&mut Scanner::new(text), &mut cuts);
        // The parser reports the error and its position.
        walked.or_else(|NotJson| serde_json::from_str::<IgnoredAny>(text).map(|_| ()))?;
        Ok(cuts)
    }
}

// === impl Node ===

impl Node {
    /// Reads one value and collects the values below it that are not kept.
    fn cut(&self, scanner: &mut Scanner<'_>, cuts: &mut Vec<Range<usize>>) -> Result<(), NotJson> {
        if self.whole || scanner.peek() != Some(b'{') {
            return scanner.skip().map(|_| ());
        }
        scanner.object(|scanner, key| match self.members.get(&*key.unescaped()) {
            Some(node) => node.cut(scanner, cuts),
            None => scanner.skip().map(|value| cuts.push(value)),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::decode::splice::spliced;

    fn kept(text: &str, pointers: &[&str]) -> Value {
        let pointers: Vec<Pointer> = pointers.iter().map(|pointer| pointer.parse().unwrap()).collect();
        let cuts = Keep::new(&pointers).cuts(text).unwrap();
        serde_json::from_str(&spliced(text, "", cuts)).unwrap()
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

    /// The reference implementation on a tree.
    fn prune(value: &Value, node: &Node) -> Value {
        match value {
            Value::Object(members) if !node.whole => members
                .iter()
                .filter_map(|(key, value)| Some((key.clone(), prune(value, node.members.get(key)?))))
                .collect(),
            other => other.clone(),
        }
    }

    proptest! {
        #[test]
        fn cutting_the_text_gives_the_same_object_as_pruning_the_tree(
            members in prop::collection::btree_map("[abk\"\\\\]{1,2}", tree(), 0..4),
            pointers in prop::collection::vec("(/[abk0]{1,2}){1,3}", 0..4),
            pretty in any::<bool>(),
        ) {
            let value: Value = members.into_iter().collect();
            let text = if pretty { serde_json::to_string_pretty(&value).unwrap() } else { value.to_string() };
            let pointers: Vec<Pointer> = pointers.iter().map(|pointer| pointer.parse().unwrap()).collect();
            let keep = Keep::new(&pointers);

            let cut = spliced(&text, "", keep.cuts(&text).unwrap());

            prop_assert_eq!(serde_json::from_str::<Value>(&cut).unwrap(), prune(&value, &keep.0));
        }
    }
}
