use std::{collections::BTreeMap, process::Command};

use informer_types::SecretGrant;
use proptest::{
    collection::vec,
    prelude::*,
    sample::{Index, select},
};
use serde_json::Value;

use super::*;
use crate::capabilities::secret::tree;

/// Set in the process of a test that has a process to itself.
const ALONE: &str = "INFORMER_ALONE";

const GRANTS: &[&[&str]] = &[&[], &["shop/a"], &["shop/*"], &["digest *"], &["*"]];

/// White space between the parts of a text.
const SPACES: &[&str] = &["", " ", "\n\t"];

const KINDS: &[&str] = &[
    r#""Secret""#,
    r#""Secret""#,
    r#""\u0053ecret""#,
    r#""SecretList""#,
    r#""SecretList""#,
    r#""List""#,
    r#""secret""#,
    r#""""#,
    "null",
    "7",
];
const VERSIONS: &[&str] =
    &[r#""v1""#, r#""v1""#, r#""v1""#, r#""x.io/v1""#, r#""x.io\/v1""#, r#""""#, "null", "7"];
const NAMES: &[&str] = &[r#""shop""#, r#""shop""#, r#""a""#, r#""\u0061""#, "7"];
const ODD: &[&str] = &["null", "true", "-7.5", r#""""#, r#""Secret""#, "[]", "{}", r#""\"}]""#];

const VERSION_KEYS: &[&str] = &["apiVersion", "apiVersion", r"\u0061piVersion"];
const BELOW_KEYS: &[&str] = &["items", "items", r"\u0069tems", "rows", "object"];
const DATA_KEYS: &[&str] = &["data", r"d\u0061ta", "stringData"];
const NAMES_OF_DATA: &[&str] = &["a", "b", "metadata", r"\u0063"];
const METADATA_KEYS: &[&str] = &["metadata", "metadata", r"\u006detadata"];
const NAME_KEYS: &[&str] = &["namespace", "namespace", "name", r"n\u0061me"];
const ANNOTATIONS: &[&str] = &[
    "cert-manager.io/issuer-name",
    r"cert-manager.io\/issuer-name",
    "kubectl.kubernetes.io/last-applied-configuration",
    "a",
    "",
];
const OTHER_KEYS: &[&str] = &["type", "immutable", "other", "spec", "labels", ""];

type Member = (&'static str, Json);

/// JSON as a server could write it: an object may have a key twice, and keys and texts may have escapes.
#[derive(Clone, Debug)]
enum Json {
    /// A text that no other value of the document has.
    Value(usize),
    Written(&'static str),
    Array(Vec<Json>),
    Object(Vec<Member>),
}

// === impl Json ===

impl Json {
    /// Gives each value its number.
    fn number(&mut self, next: &mut usize) {
        match self {
            Self::Value(number) => {
                *number = *next;
                *next += 1;
            }
            Self::Written(_) => {}
            Self::Array(entries) => entries.iter_mut().for_each(|entry| entry.number(next)),
            Self::Object(members) => members.iter_mut().for_each(|(_, value)| value.number(next)),
        }
    }

    fn text(&self, space: &str) -> String {
        let comma = format!("{space},{space}");
        match self {
            Self::Value(number) => value_text(*number),
            Self::Written(text) => (*text).to_owned(),
            Self::Array(entries) => {
                let entries: Vec<String> = entries.iter().map(|entry| entry.text(space)).collect();
                format!("[{space}{}{space}]", entries.join(&comma))
            }
            Self::Object(members) => {
                let member = |(key, value): &Member| format!("\"{key}\"{space}:{space}{}", value.text(space));
                let members: Vec<String> = members.iter().map(member).collect();
                format!("{{{space}{}{space}}}", members.join(&comma))
            }
        }
    }

    /// What a reader sees that takes one value of each key. `pick` chooses one of the values.
    fn with_each_key_once(&self, pick: &mut dyn FnMut(usize) -> usize) -> Self {
        match self {
            Self::Array(entries) => {
                let mut seen = Vec::new();
                for entry in entries {
                    seen.push(entry.with_each_key_once(pick));
                }
                Self::Array(seen)
            }
            Self::Object(members) => {
                let mut by_key: BTreeMap<String, Vec<usize>> = BTreeMap::new();
                for (place, (key, _)) in members.iter().enumerate() {
                    let key = serde_json::from_str(&format!("\"{key}\"")).unwrap();
                    by_key.entry(key).or_default().push(place);
                }
                let mut places: Vec<usize> =
                    by_key.into_values().map(|places| places[pick(places.len())]).collect();
                places.sort_unstable();
                let mut seen = Vec::new();
                for place in places {
                    let (key, value) = &members[place];
                    seen.push((*key, value.with_each_key_once(pick)));
                }
                Self::Object(seen)
            }
            Self::Value(_) | Self::Written(_) => self.clone(),
        }
    }

    /// The document in lists of lists.
    fn in_lists(self, lists: usize) -> Self {
        (0..lists).fold(self, |inner, _| {
            Self::Object(vec![("kind", Self::Written(r#""List""#)), ("items", Self::Array(vec![inner]))])
        })
    }
}

fn value_text(number: usize) -> String {
    format!("\"v{number}.\"")
}

fn written(texts: &'static [&'static str]) -> impl Strategy<Value = Json> {
    select(texts).prop_map(Json::Written)
}

/// Objects with these keys.
fn map(keys: &'static [&'static str], inner: &BoxedStrategy<Json>) -> impl Strategy<Value = Json> + use<> {
    let value = prop_oneof![2 => Just(Json::Value(0)), 1 => inner.clone()];
    vec((select(keys), value), 0..4).prop_map(Json::Object)
}

fn metadata(inner: &BoxedStrategy<Json>) -> impl Strategy<Value = Json> + use<> {
    let annotations = prop_oneof![3 => map(ANNOTATIONS, inner), 1 => inner.clone()];
    let member = prop_oneof![
        3 => (select(NAME_KEYS), written(NAMES)),
        2 => (Just("annotations"), annotations),
        1 => (select(OTHER_KEYS), inner.clone()),
    ];
    prop_oneof![
        5 => vec(member, 0..5).prop_map(Json::Object),
        1 => written(ODD),
    ]
}

/// Objects that are Secrets, lists, tables, events, or odd mixtures of them.
fn object(inner: &BoxedStrategy<Json>) -> impl Strategy<Value = Json> + use<> {
    let below = prop_oneof![2 => vec(inner.clone(), 0..4).prop_map(Json::Array), 1 => inner.clone()];
    let data = prop_oneof![3 => map(NAMES_OF_DATA, inner), 1 => inner.clone()];
    let member = prop_oneof![
        4 => (Just("kind"), written(KINDS)),
        1 => (Just(r"k\u0069nd"), written(KINDS)),
        2 => (select(VERSION_KEYS), written(VERSIONS)),
        3 => (select(METADATA_KEYS), metadata(inner)),
        4 => (select(BELOW_KEYS), below),
        3 => (select(DATA_KEYS), data),
        2 => (select(OTHER_KEYS), inner.clone()),
    ];
    vec(member, 0..8).prop_map(Json::Object)
}

fn documents() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![2 => Just(Json::Value(0)), 1 => written(ODD)];
    leaf.prop_recursive(6, 60, 4, |inner| {
        prop_oneof![
            1 => vec(inner.clone(), 0..4).prop_map(Json::Array),
            6 => object(&inner),
        ]
    })
}

fn granted(lines: &[&str]) -> SecretGrants {
    lines.iter().map(|line| line.parse::<SecretGrant>().unwrap()).collect()
}

fn text(answer: &Bytes) -> &str {
    std::str::from_utf8(answer).unwrap()
}

/// The documents of a text. Returns `None` if it is not JSON.
fn values(text: &Bytes) -> Option<Vec<Value>> {
    serde_json::Deserializer::from_slice(text).into_iter::<Value>().collect::<Result<_, _>>().ok()
}

/// The answer as it is masked by its text, and as it is masked by its tree.
fn both(grants: &[&str], answer: &str) -> (Bytes, Bytes) {
    let grants = granted(grants);
    let answer = Bytes::from(answer.to_owned());
    (masked_answer(&grants, answer.clone()), tree::masked_answer(&grants, answer))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_answer_shows_what_its_tree_with_masks_shows(
        parts in vec((documents(), 0..11_usize), 1..3),
        grants in select(GRANTS),
        space in select(SPACES),
        kept in prop::option::of(any::<Index>()),
    ) {
        let mut texts = Vec::new();
        for (document, lists) in parts {
            let mut document = document.in_lists(lists).with_each_key_once(&mut |values| values - 1);
            document.number(&mut 0);
            texts.push(document.text(space));
        }
        let mut answer = texts.join("\n");
        if let Some(kept) = kept {
            // The connection ends early. The text is ASCII.
            answer.truncate(kept.index(answer.len() + 1));
        }

        let (shown, expected) = both(grants, &answer);

        prop_assert_eq!(values(&shown), values(&expected), "{:?} shown of {}", shown, answer);
        prop_assert_eq!(text(&shown) == MASK, text(&expected) == MASK, "{:?} shown of {}", shown, answer);
    }

    /// Whichever of two values a reader takes, it sees no more than it would see of an answer with this value alone.
    #[test]
    fn a_key_that_appears_twice_shows_no_more_to_any_reader(
        document in documents(),
        lists in 0..11_usize,
        grants in select(GRANTS),
        picks in vec(0..6_usize, 1..12),
    ) {
        let (mut document, mut count) = (document.in_lists(lists), 0);
        document.number(&mut count);
        let mut picks = picks.iter().cycle();
        let read = document.with_each_key_once(&mut |values| picks.next().unwrap() % values).text("");

        let (shown, _) = both(grants, &document.text(""));
        let (_, expected) = both(grants, &read);

        prop_assert!(values(&shown).is_some(), "{:?}", shown);
        for value in (0..count).map(value_text).filter(|value| read.contains(value)) {
            let hidden = !text(&expected).contains(&value);
            prop_assert!(!hidden || !text(&shown).contains(&value), "{} of {} in {:?}", value, read, shown);
        }
    }
}

#[test]
fn a_key_that_appears_twice_hides_the_secret_in_doubt() {
    for answer in [
        r#"{"kind":"Pod","kind":"Secret","data":{"a":"hunter2"}}"#,
        r#"{"kind":"Secret","kind":"Pod","data":{"a":"hunter2"}}"#,
        r#"{"kind":"Secret","\u006bind":"Pod","data":{"a":"hunter2"}}"#,
        r#"{"apiVersion":"v1","apiVersion":"x.io/v1","kind":"Secret","data":{"a":"hunter2"}}"#,
        r#"{"kind":"SecretList","apiVersion":"v1","apiVersion":"x.io/v1","items":[{"data":{"a":"hunter2"}}]}"#,
        r#"{"kind":"Secret","metadata":{"namespace":"shop","name":"b","name":"a"},"data":{"a":"hunter2"}}"#,
        r#"{"kind":"Secret","metadata":{},"metadata":{"namespace":"shop","name":"a"},"data":{"a":"hunter2"}}"#,
        r#"{"kind":"Secret","metadata":null,"data":{"a":"hunter2"},"data":null}"#,
        r#"{"kind":"List","items":[{"kind":"Secret","data":{"a":"hunter2"}}],"items":[]}"#,
        r#"{"kind":"Secret","kind":"List","metadata":{"namespace":"shop","name":"a"},"items":[{"kind":"Secret","data":{"a":"hunter2"}}]}"#,
    ] {
        let (shown, _) = both(&["shop/a"], answer);
        assert!(!text(&shown).contains("hunter2"), "{shown:?}");
    }
}

#[test]
fn an_answer_that_cannot_be_read_is_masked_as_a_whole() {
    let secret = r#"{"kind":"Secret","data":{"a":"hunter2"}}"#;
    let deep = format!("{secret}{}{}", "[".repeat(200), "]".repeat(200));
    for end in
        ["{", "]", ",", "nul", "1true", "01", "1e999", r#""\ud800""#, r#"{"a" 1}"#, "\u{feff}", "\u{1}"]
    {
        let (shown, expected) = both(&["*"], &format!("{secret}{end}"));
        assert_eq!((text(&shown), text(&expected)), (MASK, MASK), "{end}");
    }
    let (shown, expected) = both(&["*"], &deep);
    assert_eq!((text(&shown), text(&expected)), (MASK, MASK));
    let not_utf8 = [secret.as_bytes(), b"\"\xff\"".as_slice()].concat();
    assert_eq!(masked_answer(&granted(&["*"]), not_utf8.into()), MASK.as_bytes());
    for more in ["", " ", "\n7\n", "null", "[]", "\"\""] {
        let (shown, expected) = both(&["*"], &format!("{secret}{more}"));
        assert!(shown == expected && text(&shown).contains("hunter2"), "{more}");
    }
}

#[test]
fn a_masked_answer_keeps_its_layout_and_its_numbers() {
    let answer = "{ \"n\": 12345678901234567890123, \"kind\": \"List\",\n\"items\": [ {\"kind\": \"Secret\",\n \"data\": { \"b\" : \"hunter2\", \"a\":7 } } ],\n\"a\": 1.0 }\n";

    let (shown, _) = both(&[], answer);

    let expected = answer.replace(r#""hunter2""#, r#""***""#).replace(r#""a":7"#, r#""a":"***""#);
    assert_eq!(text(&shown), expected);
}

/// A tree of these four megabytes takes hundreds.
#[test]
fn an_answer_of_small_values_is_masked_in_a_few_times_the_memory_of_its_text() {
    if !alone("an_answer_of_small_values_is_masked_in_a_few_times_the_memory_of_its_text") {
        return;
    }
    let objects = r#"{"":0},"#.repeat((4 << 20) / 7);
    let secret = r#"{"kind":"Secret","data":{"a":"hunter2"}}"#;
    for (answer, hides) in [
        (format!(r#"{{"kind":"ConfigMap","data":{{"a":"Secret"}},"other":[{objects}0]}}"#), false),
        (format!(r#"{{"kind":"List","items":[{objects}{secret}]}}"#), true),
        (
            format!(
                r#"{{"kind":"List","items":[{{"kind":"Secret","data":{{"a":"hunter2","b":[{objects}0]}}}}]}}"#
            ),
            true,
        ),
    ] {
        let before = most_memory_mib();

        let shown = masked_answer(&SecretGrants::default(), Bytes::from(answer.clone()));

        let took = most_memory_mib() - before;
        assert!(took < 32, "{took} MiB for {} bytes", answer.len());
        assert!(!text(&shown).contains("hunter2"));
        assert_eq!(text(&shown) != answer, hides);
    }
}

/// Returns true in a process of its own. Otherwise starts this process for the test of this name, and returns false once the test
/// has passed there.
fn alone(test: &str) -> bool {
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let (_, module) = module_path!().split_once("::").unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", &format!("{module}::{test}"), "--nocapture"]).env(ALONE, "1");
    let output = child.output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && out.contains("1 passed"), "{out}{err}");
    false
}

/// The most memory that this process has had.
fn most_memory_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() >> 10
}
