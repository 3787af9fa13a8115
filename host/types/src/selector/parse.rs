//! The grammar of label selectors, as `k8s.io/apimachinery/pkg/labels` documents it.

use std::collections::BTreeSet;

use super::requirement::{Operator, Requirement};

/// Parses a whole selector. The error describes the problem.
pub(super) fn requirements(text: &str) -> Result<Vec<Requirement>, String> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    split_outside_parentheses(text)?.into_iter().map(|part| requirement(part.trim())).collect()
}

/// Splits in one pass over the text, because a guest may pass a text with any number of commas.
fn split_outside_parentheses(text: &str) -> Result<Vec<&str>, String> {
    let (mut parts, mut from, mut inside) = (Vec::new(), 0, false);
    for (at, found) in text.match_indices(['(', ')', ',']) {
        match (found, inside) {
            ("(", false) => inside = true,
            (")", true) => inside = false,
            (",", true) => {}
            (",", false) => {
                parts.push(text.get(from..at).unwrap_or_default());
                from = at + 1;
            }
            _ => return Err(format!("there is a `{found}` out of place")),
        }
    }
    if inside {
        return Err("a `(` is not closed".to_owned());
    }
    parts.push(text.get(from..).unwrap_or_default());
    Ok(parts)
}

fn requirement(text: &str) -> Result<Requirement, String> {
    if text.is_empty() {
        return Err("there is nothing between two commas".to_owned());
    }
    if let Some(key) = text.strip_prefix('!') {
        return make(key, Operator::DoesNotExist);
    }
    if let Some(open) = text.find('(') {
        return set_based(text, open);
    }
    for (sign, negated) in [("!=", true), ("==", false), ("=", false)] {
        if let Some((key, value)) = text.split_once(sign) {
            let values = BTreeSet::from([valid_value(value)?]);
            return make(key, if negated { Operator::NotIn(values) } else { Operator::In(values) });
        }
    }
    make(text, Operator::Exists)
}

fn set_based(text: &str, open: usize) -> Result<Requirement, String> {
    let (head, list) = text.split_at(open);
    let list = list
        .strip_prefix('(')
        .and_then(|list| list.strip_suffix(')'))
        .ok_or_else(|| format!("`{text}` must end with `)`"))?;
    let (key, word) = head
        .trim()
        .rsplit_once(char::is_whitespace)
        .ok_or_else(|| format!("`{text}` has no `in` or `notin` before `(`"))?;
    let values = list.split(',').map(valid_value).collect::<Result<BTreeSet<_>, _>>()?;
    match word {
        "in" => make(key, Operator::In(values)),
        "notin" => make(key, Operator::NotIn(values)),
        other => Err(format!("`{other}` is neither `in` nor `notin`")),
    }
}

fn make(key: &str, operator: Operator) -> Result<Requirement, String> {
    let key = key.trim();
    let (prefix, name) = key.rsplit_once('/').map_or((None, key), |(prefix, name)| (Some(prefix), name));
    let prefix_fits = prefix.is_none_or(|prefix| {
        !prefix.is_empty()
            && prefix.len() <= 253
            && prefix
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte))
    });
    if name.is_empty() || !prefix_fits || !is_qualified(name) {
        return Err(format!("`{key}` is not a label key"));
    }
    Ok(Requirement { key: key.to_owned(), operator })
}

fn valid_value(value: &str) -> Result<String, String> {
    let value = value.trim();
    if value.is_empty() || is_qualified(value) {
        Ok(value.to_owned())
    } else {
        Err(format!("`{value}` is not a label value"))
    }
}

/// Returns true for at most 63 characters: letters and digits at both ends, also `-`, `_` and `.` between them.
fn is_qualified(text: &str) -> bool {
    let edge = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    text.len() <= 63
        && edge(text.bytes().next())
        && edge(text.bytes().last())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}
