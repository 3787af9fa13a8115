use proptest::prelude::*;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::*;

fn accepts(text: &str) -> bool {
    let mut scanner = Scanner::new(text);
    scanner.value().and_then(|_| scanner.end()).is_ok()
}

fn serde_accepts(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// Texts that are JSON or almost JSON.
fn texts() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        " ",
        "\n",
        "\"\"",
        "\"a\"",
        "\"k\":",
        "\"a\\n\"",
        "\"\\u00e4\"",
        "\"\\u12\"",
        "\"\\x\"",
        "\"größe\"",
        "\"a long string, longer than eight bytes\"",
        "\"",
        "\\",
        "0",
        "-1",
        "01",
        "1.5e+3",
        "1.",
        "-",
        "1e",
        ".5",
        "true",
        "false",
        "null",
        "nul",
        "\u{1}",
        "\u{7f}",
        "€",
        "{}",
        "[]",
        "{\"a\":[1,{\"b\":\"c\"}]}",
    ]);
    prop::collection::vec(pieces, 0..12).prop_map(|pieces| pieces.concat())
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".*".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(".{0,12}", inner, 0..6).prop_map(|map| map.into_iter().collect()),
        ]
    })
}

proptest! {
    #[test]
    fn it_accepts_exactly_what_serde_json_accepts(text in texts()) {
        prop_assert_eq!(accepts(&text), serde_accepts(&text), "{}", text);
    }

    #[test]
    fn any_value_is_accepted_in_any_layout_and_a_truncated_one_as_by_serde_json(value in values()) {
        for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
            prop_assert!(accepts(&text), "{}", text);
            for end in (0..text.len()).filter(|end| text.is_char_boundary(*end)) {
                let cut = &text[..end];
                prop_assert_eq!(accepts(cut), serde_accepts(cut), "{}", cut);
            }
        }
    }

    #[test]
    fn skipping_ends_where_checking_ends(value in values(), pad in 0..70_usize) {
        for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
            let text = format!("{}{text},{}", " ".repeat(pad), "}".repeat(pad));
            let checked = Scanner::new(&text).value();
            prop_assert_eq!(Scanner::new(&text).skip(), checked, "{}", text);
        }
    }

    #[test]
    fn skipping_any_text_ends_with_a_range_or_an_error(text in ".{0,200}", nearly in texts()) {
        for text in [text, nearly] {
            if let Ok(range) = Scanner::new(&text).skip() {
                prop_assert!(text.get(range).is_some());
            }
        }
    }

    #[test]
    fn a_text_with_one_changed_byte_is_judged_as_by_serde_json(value in values(), at: prop::sample::Index, byte in 0..0x80_u8) {
        let mut bytes = value.to_string().into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(text) = String::from_utf8(bytes) {
            prop_assert_eq!(accepts(&text), serde_accepts(&text), "{}", text);
        }
    }
}

#[test]
fn a_text_of_any_depth_needs_no_stack() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(accepts(&deep));
    assert!(!accepts(&deep[..deep.len() - 1]));
}

#[test]
fn skipping_refuses_a_value_that_does_not_end() {
    let text = format!("{{\"a\":[\"{}\\\"]}}\",{{}}]}}", "x".repeat(150));
    assert_eq!(Scanner::new(&text).skip(), Ok(0..text.len()));
    for end in 0..text.len() {
        assert_eq!(Scanner::new(&text[..end]).skip(), Err(NotJson), "{end}");
    }
}

#[test]
fn the_length_of_a_container_is_found_in_bytes_that_go_on_and_nothing_else_has_one() {
    let text = r#"{"a":["}\\"]}, [1"#;
    assert_eq!(container_length(text.as_bytes()), Some(13));
    assert_eq!(container_length(b"[\xff]\xc3"), Some(3));
    for none in ["", " {}", "1", "\"{}\"", "{\"a\":[1]", "}"] {
        assert_eq!(container_length(none.as_bytes()), None, "{none}");
    }
}

#[test]
fn the_range_of_a_value_is_found() {
    let text = r#" {"a" : [1, "x\"]"] } "#;
    let mut scanner = Scanner::new(text);

    assert_eq!(&text[scanner.value().unwrap()], r#"{"a" : [1, "x\"]"] }"#);
    assert_eq!(scanner.end(), Ok(()));
}

#[test]
fn members_and_elements_come_in_their_order() {
    let text = r#"{"a":[1,[2]],"b\u0062":"x"}"#;
    let mut seen = Vec::new();
    let walked = Scanner::new(text).object(|scanner, key| {
        seen.push((key.text.to_owned(), key.plain));
        if key.text == "a" {
            return scanner
                .array(|scanner| scanner.value().map(|range| seen.push((text[range].to_owned(), true))));
        }
        scanner.value().map(|_| ())
    });

    assert_eq!(walked, Ok(()));
    let expected = [("a", true), ("1", true), ("[2]", true), ("b\\u0062", false)];
    assert_eq!(seen, expected.map(|(text, plain)| (text.to_owned(), plain)));
}

#[test]
fn every_special_byte_is_found_at_every_position() {
    for special in ["\"", "\\n", "\u{1f}"] {
        for before in 0..20 {
            let text = format!("\"{}{special}é€\u{80}~ \"", "é".repeat(before));
            assert_eq!(accepts(&text), serde_accepts(&text), "{text}");
        }
    }
}
