//! The JSON of the SDK for C, which has a parser of its own, against serde_json, its writes, and the memory of a call. The tests run as
//! native programs, in which an access behind the end of a text is a fault. The sanitizer for addresses would need more memory than a
//! process of a test may have.

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use proptest::{
    collection::{btree_map, vec},
    prelude::{Just, Strategy, any, prop_oneof},
    strategy::ValueTree,
    test_runner::TestRunner,
};
use serde_json::{Value, json};

/// Documents of one run.
const DOCUMENTS: usize = 2000;

/// What the program finds for one pointer.
#[derive(Debug)]
struct Found {
    /// The JSON of the value. Empty if there is none.
    json: String,
    text: String,
    number: String,
    /// The text as a JSON string.
    quoted: String,
}

fn sdk() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugins/sdk/c")
}

/// Compiles these files of the SDK to a program in a folder.
fn compiled(folder: &Path, files: &[&str]) -> PathBuf {
    let (sdk, program) = (sdk(), folder.join("program"));
    let output = Command::new("cc")
        .args(["-std=c11", "-D_DEFAULT_SOURCE", "-Wall", "-Wextra", "-Werror", "-g", "-fsanitize=undefined"])
        .args(["-fno-sanitize-recover=all", "-I", "test", "-I", "."])
        .args(files)
        .arg("-o")
        .arg(&program)
        .current_dir(sdk)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program
}

/// What the program finds for each pointer and document.
fn find(program: &Path, pairs: &[(String, String)]) -> Vec<Found> {
    let mut running = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = running.stdin.take().unwrap();
    let text: String = pairs.iter().map(|(pointer, json)| format!("{pointer}\0{json}\0")).collect();
    let writing = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let output = running.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    writing.join().unwrap().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let texts: Vec<&str> = printed.strip_suffix('\0').unwrap().split('\0').collect();
    let found = texts.chunks_exact(4).map(|texts| {
        let [json, text, number, quoted] = [0, 1, 2, 3].map(|index| texts[index].to_owned());
        Found { json, text, number, quoted }
    });
    let found: Vec<Found> = found.collect();
    assert_eq!(found.len(), pairs.len());
    found
}

/// JSON as an API server sends it. A text of C ends at a zero byte, so no text has one.
fn documents() -> impl Strategy<Value = Value> {
    let text = || "[^\u{0}]{0,12}";
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e9..1e9).prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    let name = prop_oneof!["[a-z]{0,3}", "[~/\"\\\\01]{1,3}", text()];
    leaf.prop_recursive(6, 48, 6, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::from),
            btree_map(name.clone(), inner, 0..6).prop_map(|members| json!(members)),
        ]
    })
}

/// The pointers to all values of a document.
fn pointers(document: &Value, at: &str, into: &mut Vec<String>) {
    into.push(at.to_owned());
    match document {
        Value::Array(elements) => {
            elements
                .iter()
                .enumerate()
                .for_each(|(index, inner)| pointers(inner, &format!("{at}/{index}"), into));
        }
        Value::Object(members) => members.iter().for_each(|(name, inner)| {
            pointers(inner, &format!("{at}/{}", name.replace('~', "~0").replace('/', "~1")), into);
        }),
        _ => {}
    }
}

#[test]
#[ignore = "needs a C compiler with sanitizers: run by cargo xtask test --all"]
fn the_parser_finds_what_serde_json_finds() {
    let scratch = tempfile::tempdir().unwrap();
    let program = compiled(scratch.path(), &["json.c", "test/json.c"]);
    let mut runner = TestRunner::default();
    let (mut pairs, mut expected) = (Vec::new(), Vec::new());
    for round in 0..DOCUMENTS {
        let document = documents().new_tree(&mut runner).unwrap().current();
        let mut all = Vec::new();
        pointers(&document, "", &mut all);
        // Each document also lacks some values.
        all.extend(["/none", "/0", "/00", "/-", "none", "//", "/~2"].map(str::to_owned));
        let json = match round % 2 {
            0 => serde_json::to_string(&document).unwrap(),
            _ => serde_json::to_string_pretty(&document).unwrap(),
        };
        // Without its feature `float_roundtrip`, serde_json reads some fractions as other numbers.
        let document: Value = serde_json::from_str(&json).unwrap();
        for pointer in all {
            expected.push(document.pointer(&pointer).cloned());
            pairs.push((pointer, json.clone()));
        }
    }

    let found = find(&program, &pairs);

    for (((pointer, json), expected), found) in pairs.iter().zip(&expected).zip(found) {
        let value: Option<Value> =
            (!found.json.is_empty()).then(|| serde_json::from_str(&found.json).unwrap());
        assert_eq!(value.as_ref(), expected.as_ref(), "{pointer} of {json}");
        let text = expected.as_ref().and_then(Value::as_str).unwrap_or("no text");
        assert_eq!(found.text, text, "{pointer} of {json}");
        assert_eq!(serde_json::from_str::<String>(&found.quoted).unwrap(), text, "{pointer} of {json}");
        let number = expected.as_ref().and_then(Value::as_i64).unwrap_or(-7);
        assert_eq!(found.number, number.to_string(), "{pointer} of {json}");
    }
}

#[test]
#[ignore = "needs a C compiler with sanitizers: run by cargo xtask test --all"]
fn escapes_are_resolved_and_nothing_that_is_malformed_is_read_beyond_its_end() {
    let scratch = tempfile::tempdir().unwrap();
    let program = compiled(scratch.path(), &["json.c", "test/json.c"]);
    let escaped = [
        (r#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"),
        (r#""\u00e9\u20AC\ud83d\ude00""#, "é€😀"),
        // A half of a pair is no character.
        (r#""\ud83dx\ude00""#, "\u{fffd}x\u{fffd}"),
        // A zero byte would end the text.
        (r#""a\u0000b""#, "a\u{fffd}b"),
        (r#""\u12""#, "no text"),
        (r#""\x""#, "no text"),
        (r#""\"#, "no text"),
    ];
    let mut pairs: Vec<(String, String)> = escaped.map(|(json, _)| (String::new(), json.to_owned())).into();
    // The name of the first member begins like that of the second one.
    pairs.push(("/a".to_owned(), r#"{"a\u0000b":1,"a":2}"#.to_owned()));
    let whole = r#" { "a" : [ 1 , "x\u00e9\"" , { "b" : true } ] , "c~d" : null , "e" : "\ud83d\ude00" } "#;
    for end in (0..whole.len()).filter(|end| whole.is_char_boundary(*end)) {
        for pointer in ["", "/a/1", "/a/2/b", "/c~0d", "/e"] {
            pairs.push((pointer.to_owned(), whole[..end].to_owned()));
            pairs.push((pointer.to_owned(), whole[end..].to_owned()));
        }
    }
    for nested in ["[".repeat(300), "{\"a\":".repeat(300), "[".repeat(300) + &"]".repeat(300)] {
        pairs.push((String::new(), nested.clone()));
        pairs.push(("/0/0/0".to_owned(), nested));
    }

    let found = find(&program, &pairs);

    for ((json, text), found) in escaped.iter().zip(&found) {
        assert_eq!(found.text, *text, "{json}");
    }
    assert_eq!(found[escaped.len()].number, "2", "a name with a zero character is another name");
}

#[test]
#[ignore = "needs a C compiler with sanitizers: run by cargo xtask test --all"]
fn writes_are_remembered_and_repeated_as_the_header_says() {
    let scratch = tempfile::tempdir().unwrap();
    passes(&compiled(scratch.path(), &["json.c", "errors.c", "writes.c", "test/writes.c"]));
}

#[test]
#[ignore = "needs a C compiler with sanitizers: run by cargo xtask test --all"]
fn what_belongs_to_a_call_ends_with_the_call() {
    let scratch = tempfile::tempdir().unwrap();
    passes(&compiled(scratch.path(), &["errors.c", "test/memory.c"]));
}

/// Runs a program that prints what is wrong.
fn passes(program: &Path) {
    let output = Command::new(program).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
