//! Removes and replaces values in a JSON text without parsing it again.

use std::ops::Range;

/// One change of a JSON text.
pub(super) struct Edit {
    value: Range<usize>,
    /// The JSON text in its place; `None` removes the value.
    with: Option<String>,
}

/// One range of the text that is left out.
struct Cut {
    /// For a removed member or element, the range includes the key and the comma that follows.
    range: Range<usize>,
    /// True if something is removed and no comma follows: the comma before it has to be removed.
    last: bool,
    with: String,
}

/// Appends `text` to `kept`, with `prefix` inserted after its first brace and these changes: a value is removed with its key
/// and one comma. `text` is a valid JSON object, and a parser found the values in it.
pub(super) fn splice(text: &str, prefix: &str, edits: Vec<Edit>, kept: &mut String) {
    let mut cuts: Vec<Cut> = edits.into_iter().filter_map(|edit| Cut::of(text, edit)).collect();
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
        kept.push_str(&cut.with);
        from = cut.range.end;
    }
    kept.push_str(text.get(from..).unwrap_or_default());
}

// === impl Edit ===

impl Edit {
    /// Removes the value at this range.
    pub(super) fn remove(value: Range<usize>) -> Self {
        Self { value, with: None }
    }

    /// Replaces the value at this range.
    pub(super) fn replace(value: Range<usize>, with: String) -> Self {
        Self { value, with: Some(with) }
    }
}

// === impl Cut ===

impl Cut {
    fn of(text: &str, edit: Edit) -> Option<Self> {
        match edit {
            Edit { value, with: Some(with) } => Some(Self { range: value, last: false, with }),
            Edit { value, with: None } => Self::around(text, value),
        }
    }

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
        let end = if last { value.end } else { behind + 1 };
        Some(Self { range: start..end, last, with: String::new() })
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
pub(super) fn spliced(text: &str, prefix: &str, edits: Vec<Edit>) -> String {
    let mut kept = String::new();
    splice(text, prefix, edits, &mut kept);
    kept
}

#[cfg(test)]
mod tests {
    use informer_types::{Pointer, locate};
    use serde_json::Value;

    use super::*;

    fn without(text: &str, prefix: &str, pointers: &[&str]) -> Value {
        let pointers: Vec<Pointer> = pointers.iter().map(|pointer| pointer.parse().unwrap()).collect();
        let found = locate(text, &pointers).unwrap().into_iter().flatten().map(Edit::remove).collect();
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
    fn values_are_replaced_beside_others_that_are_removed() {
        let text = r#"{"a":{"x":1},"b":[2],"c":3}"#;
        let at =
            |pointer: &str| locate(text, &[pointer.parse::<Pointer>().unwrap()]).unwrap().remove(0).unwrap();
        let edited = |edits| serde_json::from_str::<Value>(&spliced(text, "", edits)).unwrap();

        let edits = vec![Edit::replace(at("/b"), "0".to_owned()), Edit::remove(at("/c"))];
        assert_eq!(edited(edits), serde_json::json!({"a":{"x":1},"b":0}));
        let edits = vec![Edit::remove(at("/a/x")), Edit::replace(at("/a"), "\"d\"".to_owned())];
        assert_eq!(edited(edits), serde_json::json!({"a":"d","b":[2],"c":3}));
        let edits = vec![Edit::replace(at("/a/x"), "9".to_owned()), Edit::remove(at("/a"))];
        assert_eq!(edited(edits), serde_json::json!({"b":[2],"c":3}));
    }

    #[test]
    fn a_prefix_is_inserted_after_the_first_brace() {
        assert_eq!(without(r#"{"a":1}"#, r#""k":2,"#, &[]), serde_json::json!({"k":2,"a":1}));
        assert_eq!(without(r#"{"a":1}"#, r#""k":2,"#, &["/a"]), serde_json::json!({"k":2}));
    }
}
