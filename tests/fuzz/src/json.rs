//! The JSON scanner and JSON pointers, compared with serde_json.

use informer_types::{Pointer, Scanner, differs, locate};
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::parts::texts;

/// Pointers, one a line; a JSON text; another one.
pub(crate) fn run(input: &[u8]) {
    let Some([pointers, old, new]) = texts(input) else { return };
    let pointers: Vec<Pointer> = pointers.lines().filter_map(pointer).collect();
    for text in [old, new] {
        scanned(text);
        found(text, &pointers);
    }
    compared(old, new, &pointers);
}

/// A pointer is written as it was read.
fn pointer(text: &str) -> Option<Pointer> {
    let pointer: Pointer = text.parse().ok()?;
    assert_eq!(pointer.to_string(), text);
    assert_eq!(pointer.tokens().is_empty(), text.is_empty());
    Some(pointer)
}

/// The scanner accepts what serde_json accepts, and skips exactly what it checks.
fn scanned(text: &str) {
    let mut checking = Scanner::new(text);
    let checked = checking.value();
    let whole = checked.is_ok() && checking.end().is_ok();
    assert_eq!(whole, serde_json::from_str::<IgnoredAny>(text).is_ok(), "{text:?}");
    let skipped = Scanner::new(text).skip();
    if let Ok(range) = checked {
        assert_eq!(Ok(range), skipped, "{text:?}");
    }
    let mut strings = Scanner::new(text);
    if let Ok(string) = strings.string() {
        let quoted = format!("\"{}\"", string.text);
        match serde_json::from_str::<String>(&quoted) {
            Ok(expected) => assert_eq!(string.unescaped(), expected),
            // A lone surrogate: serde_json checks escapes only if it builds the string.
            Err(_) => assert!(!string.plain, "{quoted}"),
        }
    }
}

/// A pointer leads to the value to which it leads in the tree.
fn found(text: &str, pointers: &[Pointer]) {
    let located = locate(text, pointers);
    // Unlike the scanner, the tree has a bound for its depth and for the size of numbers.
    let Ok(tree) = serde_json::from_str::<Value>(text) else {
        if serde_json::from_str::<IgnoredAny>(text).is_ok() {
            assert!(located.is_ok(), "{text:?}");
        }
        return;
    };
    for (pointer, range) in pointers.iter().zip(located.unwrap()) {
        let value = range.map(|range| serde_json::from_str::<Value>(&text[range]).unwrap());
        assert_eq!(value.as_ref(), tree.pointer(&pointer.to_string()), "{pointer} in {text}");
    }
}

/// Two texts differ at a pointer if and only if the trees do.
fn compared(old: &str, new: &str, pointers: &[Pointer]) {
    let (Ok(left), Ok(right)) = (serde_json::from_str::<Value>(old), serde_json::from_str::<Value>(new))
    else {
        // An error, but no panic.
        let _ = differs(old, new, pointers);
        return;
    };
    let expected = pointers.iter().map(ToString::to_string).any(|at| left.pointer(&at) != right.pointer(&at));
    assert_eq!(differs(old, new, pointers).unwrap(), expected, "{old} {new}");
    assert!(!differs(old, old, pointers).unwrap());
}
