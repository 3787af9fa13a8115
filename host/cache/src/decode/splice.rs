//! Cuts members out of a JSON text without parsing it again.

use std::ops::Range;

/// One member of an object, or one element of an array, to remove.
struct Cut {
    /// The range includes the key and the comma that follows.
    range: Range<usize>,
    /// True if no comma follows: the comma before it has to be removed.
    last: bool,
}

/// Appends `text` to `kept`, with `prefix` inserted after its first brace and without the values at `values`: each is
/// removed with its key and one comma. `text` is a valid JSON object, and a parser found the ranges in it.
pub(super) fn splice(text: &str, prefix: &str, values: Vec<Range<usize>>, kept: &mut String) {
    let mut cuts: Vec<Cut> = values.into_iter().filter_map(|value| Cut::around(text, value)).collect();
    // If cuts are nested, the outermost comes first.
    cuts.sort_by_key(|cut| (cut.range.start, std::cmp::Reverse(cut.range.end)));
    let mut from = 0;
    if !prefix.is_empty() {
        kept.push('{');
        kept.push_str(prefix);
        from = 1;
    }
    for cut in cuts {
        if cut.range.end <= from {
            continue;
        }
        kept.push_str(text.get(from..cut.range.start).unwrap_or_default());
        if cut.last && kept.trim_end().ends_with(',') {
            kept.truncate(kept.trim_end().len() - 1);
        }
        from = cut.range.end;
    }
    kept.push_str(text.get(from..).unwrap_or_default());
}

// === impl Cut ===

impl Cut {
    fn around(text: &str, value: Range<usize>) -> Option<Self> {
        let bytes = text.as_bytes();
        let before = |at: usize| bytes.get(..at)?.iter().rposition(|byte| !byte.is_ascii_whitespace());
        let mut start = value.start;
        let previous = before(start)?;
        if bytes.get(previous) == Some(&b':') {
            start = opening_quote(bytes, before(previous)?)?;
        }
        let behind = bytes.get(value.end..)?.iter().position(|byte| !byte.is_ascii_whitespace())? + value.end;
        let last = bytes.get(behind) != Some(&b',');
        Some(Self { range: start..if last { value.end } else { behind + 1 }, last })
    }
}

/// The opening quote of the string whose closing quote is at `closing`: the last quote before it that is not escaped.
fn opening_quote(bytes: &[u8], closing: usize) -> Option<usize> {
    let mut end = closing;
    loop {
        let quote = bytes.get(..end)?.iter().rposition(|byte| *byte == b'"')?;
        let escapes = bytes.get(..quote)?.iter().rev().take_while(|byte| **byte == b'\\').count();
        if escapes % 2 == 0 {
            return Some(quote);
        }
        end = quote;
    }
}

#[cfg(test)]
pub(super) fn spliced(text: &str, prefix: &str, values: Vec<Range<usize>>) -> String {
    let mut kept = String::new();
    splice(text, prefix, values, &mut kept);
    kept
}

#[cfg(test)]
mod tests {
    use informer_types::{Pointer, locate};
    use serde_json::Value;

    use super::*;

    fn without(text: &str, prefix: &str, pointers: &[&str]) -> Value {
        let pointers: Vec<Pointer> = pointers.iter().map(|pointer| pointer.parse().unwrap()).collect();
        let found = locate(text, &pointers).unwrap().into_iter().flatten().collect();
        serde_json::from_str(&spliced(text, prefix, found)).unwrap()
    }

    #[test]
    fn members_and_elements_are_removed_at_any_position() {
        let text = r#"{ "a" : 1 , "b":{"x":[1,2,3],"q\"k":0} , "c":null }"#;

        for (cut, left) in [
            (&["/a"][..], r#"{"b":{"x":[1,2,3],"q\"k":0},"c":null}"#),
            (&["/c"], r#"{"a":1,"b":{"x":[1,2,3],"q\"k":0}}"#),
            (&["/b", "/c"], r#"{"a":1}"#),
            (&["/a", "/b", "/c"], "{}"),
            (&["/b/x/2", "/b/x/1"], r#"{"a":1,"b":{"x":[1],"q\"k":0},"c":null}"#),
            (&["/b/x/0", "/b/x/1", "/b/x/2"], r#"{"a":1,"b":{"x":[],"q\"k":0},"c":null}"#),
            (&["/b/q\"k"], r#"{"a":1,"b":{"x":[1,2,3]},"c":null}"#),
            (&["/b", "/b/x", "/b/x/2"], r#"{"a":1,"c":null}"#),
            (&["/none"], text),
        ] {
            assert_eq!(without(text, "", cut), serde_json::from_str::<Value>(left).unwrap(), "{cut:?}");
        }
    }

    #[test]
    fn a_prefix_is_inserted_after_the_first_brace() {
        assert_eq!(without(r#"{"a":1}"#, r#""k":2,"#, &[]), serde_json::json!({"k":2,"a":1}));
        assert_eq!(without(r#"{"a":1}"#, r#""k":2,"#, &["/a"]), serde_json::json!({"k":2}));
    }
}
