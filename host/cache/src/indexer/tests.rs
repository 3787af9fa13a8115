use std::collections::BTreeSet;

use informer_types::{Body, BodyCodec, CodecError, Header};

use super::*;

fn object(namespace: &str, name: &str, version: &str, json: &str) -> Arc<Object> {
    let header = Header {
        namespace: namespace.into(),
        name: name.into(),
        uid: "u".into(),
        resource_version: version.into(),
        ..Header::default()
    };
    Arc::new(Object::new(&header, Body::Raw(json.into())).unwrap())
}

fn on(node: &str, name: &str, version: &str) -> Arc<Object> {
    object("shop", name, version, &format!(r#"{{"node":{node}}}"#))
}

fn by_node() -> Indexer {
    let indexer = Indexer::default();
    add_index(&indexer, "by-node", "/node").unwrap();
    indexer
}

fn add_index(indexer: &Indexer, name: &str, pointer: &str) -> Result<(), IndexExists> {
    indexer.add_indexes([(&name.to_owned(), &pointer.parse().unwrap())])
}

fn names(objects: &[Arc<Object>]) -> Vec<String> {
    let mut names: Vec<String> = objects.iter().map(|object| object.key().to_string()).collect();
    names.sort();
    names
}

fn found(indexer: &Indexer, value: &str) -> Vec<String> {
    names(&indexer.by_index("by-node", value).unwrap())
}

/// Scenarios 98 and 99: an object may have several index values (I-5), and a value without objects is removed (I-6).
#[test]
fn an_update_moves_an_object_between_index_values() {
    let indexer = by_node();

    indexer.put(on(r#"["a","b"]"#, "x", "1"));
    assert_eq!((found(&indexer, "a").len(), found(&indexer, "b").len()), (1, 1));
    indexer.put(on(r#"["b","c"]"#, "x", "2"));
    assert_eq!(
        (found(&indexer, "a"), found(&indexer, "b").len(), found(&indexer, "c").len()),
        (vec![], 1, 1)
    );
    assert_eq!(indexer.by_index("by-node", "b").unwrap()[0].resource_version(), "2");

    indexer.remove(&ObjectKey::new("shop", "x"));
    let store = indexer.store.read();
    assert!(store.index("by-node").unwrap().is_empty());
    assert_eq!((store.len, store.bytes()), (0, 0));
}

/// Indexes can be added at any time, under unique names (I-8).
#[test]
fn an_index_added_later_is_filled_and_a_taken_name_is_refused() {
    let indexer = Indexer::default();
    indexer.put(on(r#""a""#, "x", "1"));

    add_index(&indexer, "by-node", "/node").unwrap();
    assert_eq!(found(&indexer, "a"), ["shop/x"]);
    add_index(&indexer, "by-node", "/node").unwrap();
    let error = add_index(&indexer, "by-node", "/other").unwrap_err();

    assert_eq!(error.to_string(), "there is already an index `by-node`, with other paths");
    assert_eq!(indexer.by_index("none", "a").unwrap_err(), ["by-node"]);

    let [taken, free] = ["by-node", "by-other"].map(str::to_owned);
    let other = "/node".parse().unwrap();
    let error = indexer.add_indexes([(&taken, &"/other".parse().unwrap()), (&free, &other)]).unwrap_err();
    assert_eq!(error, IndexExists(taken));
    assert_eq!(names(&indexer.by_index("by-other", "a").unwrap()), ["shop/x"]);
}

/// One index with the names of ConfigMaps in two places of a Pod.
#[test]
fn an_index_of_several_paths_through_arrays_follows_every_change() {
    let indexer = Indexer::default();
    let paths = ["/volumes/*/configMap/name", "/containers/*/envFrom/*/configMapRef/name"];
    let paths: IndexPaths = paths.into_iter().map(|path| path.parse().unwrap()).collect();
    indexer.add_indexes([(&"by-node".to_owned(), &paths)]).unwrap();
    add_index(&indexer, "by-plain", "/plain").unwrap();
    let pod = |version: &str, json: &str| indexer.put(object("shop", "x", version, json));

    pod(
        "1",
        r#"{"volumes":[{"configMap":{"name":"a"}},{"emptyDir":{}}],"plain":"p",
        "containers":[{},{"envFrom":[{"configMapRef":{"name":"b"}},{"configMapRef":{"name":"a"}}]}]}"#,
    );
    assert_eq!(
        (found(&indexer, "a"), found(&indexer, "b")),
        (vec!["shop/x".to_owned()], vec!["shop/x".to_owned()])
    );
    assert_eq!(names(&indexer.by_index("by-plain", "p").unwrap()), ["shop/x"]);

    pod("2", r#"{"containers":[{"envFrom":[{"configMapRef":{"name":"b"}}]}]}"#);
    assert_eq!((found(&indexer, "a"), found(&indexer, "b")), (vec![], vec!["shop/x".to_owned()]));
    indexer.remove(&ObjectKey::new("shop", "x"));
    assert_eq!(found(&indexer, "b"), [""; 0]);
}

struct Broken;

impl BodyCodec for Broken {
    fn unpack(&self, _: &[u8], _: &mut dyn FnMut(&str)) -> Result<(), CodecError> {
        Err(CodecError("broken".to_owned()))
    }
}

/// Scenarios 67 and 102: a failing index (I-9) does not keep the object out of the cache (D-9).
#[test]
fn an_object_that_an_index_cannot_read_is_stored_and_counted() {
    let indexer = by_node();
    let header = Header { name: "x".into(), ..Header::default() };
    let body = Body::Packed { bytes: Box::default(), codec: Arc::new(Box::new(Broken)) };

    indexer.put(Arc::new(Object::new(&header, body).unwrap()));
    assert!(indexer.get("", "x").is_some());
    assert_eq!(indexer.index_failures(), 1);

    indexer.remove(&ObjectKey::new("", "x"));
    assert_eq!(indexer.len(), 0);
}

/// Scenario 98: a list replaces the stored objects (I-10).
/// Readers see the content before or after it, never a mixture (I-1), and get the stored objects themselves
/// (I-4).
#[test]
fn a_replacement_returns_its_changes_and_keeps_unchanged_objects() {
    let indexer = by_node();
    let same = on(r#""a""#, "same", "1");
    indexer.put(Arc::clone(&same));
    indexer.put(on(r#""a""#, "changes", "2"));
    indexer.put(on(r#""a""#, "goes", "3"));
    indexer.put(on(r#""a""#, "quarantined", "4"));

    let list = vec![
        on(r#""b""#, "new", "9"),
        on(r#""b""#, "changes", "5"),
        on(r#""a""#, "same", "1"),
        on(r#""b""#, "changes", "6"),
    ];
    let replaced = indexer.replace(None, list, &[ObjectKey::new("shop", "quarantined")]);

    assert_eq!(names(&replaced.deleted), ["shop/goes"]);
    let present: Vec<String> = replaced
        .present
        .iter()
        .map(|present| match present {
            Present::New(new) => format!("new {}", new.name()),
            Present::Changed { old, new } => {
                format!("{}@{}->{}", new.name(), old.resource_version(), new.resource_version())
            }
            Present::Unchanged(kept) => format!("{} {}", kept.name(), Arc::ptr_eq(kept, &same)),
        })
        .collect();
    // If a key is listed twice, the last one wins.
    assert_eq!(present, ["new new", "same true", "changes@2->6"]);
    assert_eq!(names(&indexer.list(None)), ["shop/changes", "shop/new", "shop/quarantined", "shop/same"]);
    assert_eq!(found(&indexer, "b"), ["shop/changes", "shop/new"]);
    assert_eq!(found(&indexer, "a"), ["shop/quarantined", "shop/same"]);
}

#[test]
fn a_replacement_of_one_namespace_does_not_affect_the_others() {
    let indexer = Indexer::default();
    indexer.put(object("shop", "x", "1", "{}"));
    indexer.put(object("bank", "x", "2", "{}"));

    let replaced = indexer.replace(Some("shop"), vec![object("shop", "y", "3", "{}")], &[]);

    assert_eq!(names(&replaced.deleted), ["shop/x"]);
    assert_eq!(names(&indexer.list(None)), ["bank/x", "shop/y"]);
    assert_eq!(names(&indexer.list(Some("bank"))), ["bank/x"]);
    assert!(indexer.list(Some("none")).is_empty());
}

/// Each read is answered from one consistent state (I-1).
#[test]
fn a_read_during_a_replacement_has_either_the_old_or_the_new_list() {
    let indexer = Indexer::default();
    let list = |version: u32| {
        let objects = (0..100).map(|number| object("shop", &number.to_string(), &version.to_string(), "{}"));
        objects.collect::<Vec<_>>()
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            loop {
                let objects = indexer.list(None);
                let versions: BTreeSet<&str> =
                    objects.iter().map(|object| object.resource_version()).collect();
                assert!(versions.len() <= 1, "{versions:?}");
                if versions.contains("200") {
                    return;
                }
            }
        });
        (1..=200).for_each(|version| drop(indexer.replace(None, list(version), &[])));
    });
}

/// A server without versions sends every object again in each watch (R-29).
#[test]
fn without_versions_an_object_is_unchanged_if_its_content_is_the_same() {
    let indexer = Indexer::default();
    indexer.put(object("", "x", "", "{}"));

    assert!(matches!(indexer.put(object("", "x", "", "{}")), Present::Unchanged(_)));
    assert!(matches!(indexer.put(object("", "x", "", r#"{"a":1}"#)), Present::Changed { .. }));
}

/// The server may send another form of a stored object, for example with new defaults of its CRD (D-5).
#[test]
fn the_same_version_with_other_content_is_a_change_and_another_order_of_keys_is_not() {
    let indexer = by_node();
    indexer.put(object("shop", "x", "1", r#"{"node":"a","x":1}"#));

    let reordered = object("shop", "x", "1", r#"{ "x":1, "node":"a" }"#);
    assert!(matches!(indexer.put(reordered), Present::Unchanged(_)));
    let defaulted = object("shop", "x", "1", r#"{"node":"b","x":1}"#);
    let replaced = indexer.replace(None, vec![Arc::clone(&defaulted)], &[]);

    assert!(matches!(replaced.present.as_slice(), [Present::Changed { .. }]), "{replaced:?}");
    assert!(Arc::ptr_eq(&indexer.get("shop", "x").unwrap(), &defaulted));
    assert_eq!((found(&indexer, "a").len(), found(&indexer, "b").len()), (0, 1));
}

#[test]
fn a_table_that_shrank_releases_its_memory() {
    let indexer = Indexer::default();
    for number in 0..10_000 {
        indexer.put(object("shop", &number.to_string(), "1", "{}"));
    }
    for number in 0..9_990 {
        indexer.remove(&ObjectKey::new("shop", number.to_string()));
    }

    assert!(indexer.store.read().capacity() < 200);
}

fn values(indexer: &Indexer, query: ValueQuery<'_>) -> Vec<(String, usize)> {
    indexer.index_values(&query).unwrap()
}

#[test]
fn the_values_of_an_index_come_in_order_page_by_page_with_the_objects_that_count() {
    let indexer = by_node();
    for (node, name) in [(r#""b""#, "p1"), (r#"["a","b"]"#, "p2"), (r#""""#, "p3"), ("{}", "p4")] {
        indexer.put(on(node, name, "1"));
    }
    indexer.put(object("other", "p5", "1", r#"{"node":"c"}"#));
    let all = ValueQuery { index: "by-node", namespaces: &Namespaces::All, after: None, limit: 9 };

    let counted = |values: &[(&str, usize)]| -> Vec<(String, usize)> {
        values.iter().map(|(value, objects)| ((*value).to_owned(), *objects)).collect()
    };
    assert_eq!(values(&indexer, all), counted(&[("", 1), ("a", 1), ("b", 2), ("c", 1)]));
    assert_eq!(values(&indexer, ValueQuery { limit: 2, ..all }), counted(&[("", 1), ("a", 1)]));
    let second = ValueQuery { after: Some("a"), limit: 2, ..all };
    assert_eq!(values(&indexer, second), counted(&[("b", 2), ("c", 1)]));
    assert_eq!(values(&indexer, ValueQuery { after: Some("c"), ..all }), []);
    let shop = Namespaces::Only(["shop".into()].into());
    assert_eq!(
        values(&indexer, ValueQuery { namespaces: &shop, ..all }),
        counted(&[("", 1), ("a", 1), ("b", 2)])
    );
    // The value `c` follows, but it has no object in the namespace.
    assert_eq!(values(&indexer, ValueQuery { namespaces: &shop, after: Some("b"), limit: 1, ..all }), []);

    let namespaces = ValueQuery { index: "namespace", ..all };
    assert_eq!(values(&indexer, namespaces), counted(&[("other", 1), ("shop", 4)]));
    assert_eq!(values(&indexer, ValueQuery { after: Some("other"), ..namespaces }), counted(&[("shop", 4)]));
    assert_eq!(indexer.index_values(&ValueQuery { index: "no", ..all }), Err(vec!["by-node".to_owned()]));
}

/// A value without objects is gone (I-6).
#[test]
fn a_value_is_listed_as_long_as_an_object_has_it() {
    let indexer = by_node();
    indexer.put(on(r#""a""#, "p1", "1"));
    indexer.put(on(r#""b""#, "p1", "2"));

    let all = ValueQuery { index: "by-node", namespaces: &Namespaces::All, after: None, limit: 9 };
    assert_eq!(values(&indexer, all), [("b".to_owned(), 1)]);
    indexer.remove(&ObjectKey::new("shop", "p1"));
    assert_eq!(values(&indexer, all), []);
}
