//! JSON pointers into JSON text: finds the value at `/spec/replicas` without building a tree.

mod digest;
mod digest_form;
mod locate;
mod part;
mod scan;
mod tree;

use std::{borrow::Borrow, cmp::Reverse, collections::HashMap, fmt, str::FromStr};

pub use digest::{TooMuchToHash, stand_in};
use digest::{digests_differ, stands_for};
pub use digest_form::DigestForm;
pub use locate::locate;
pub use part::{Part, PartsError, Reads, identity};
pub use scan::{NotJson, RawString, Scanner, container_length};
pub use tree::PartTree;

/// A JSON pointer (RFC 6901): `/spec/replicas`, `/metadata/labels/app.kubernetes.io~1name`. The empty pointer is the
/// whole document, and the default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Pointer(Vec<String>);

/// The text is not a JSON pointer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPointer {
    /// The text does not start with `/`.
    #[error("`{0}` is not a JSON pointer: it must start with `/`, as in `/spec/replicas`")]
    NoSlash(String),
    /// A `~` is followed by neither `0` nor `1`.
    #[error("`{0}` is not a JSON pointer: write `~0` for `~` and `~1` for `/`")]
    Escape(String),
}

/// The text is not JSON.
#[derive(Debug, thiserror::Error)]
#[error("not JSON: {0}")]
pub struct InvalidJson(#[from] serde_json::Error);

// === impl Pointer ===

impl Pointer {
    /// Makes a pointer from unescaped tokens, outermost first.
    pub fn of<T: AsRef<str>>(tokens: impl IntoIterator<Item = T>) -> Self {
        Self(tokens.into_iter().map(|token| token.as_ref().to_owned()).collect())
    }

    /// The unescaped reference tokens, outermost first.
    pub fn tokens(&self) -> &[String] {
        &self.0
    }

    /// Returns true if `lower` is at this pointer or below it.
    pub fn covers(&self, lower: &Self) -> bool {
        lower.0.starts_with(&self.0)
    }
}

impl FromStr for Pointer {
    type Err = InvalidPointer;

    fn from_str(text: &str) -> Result<Self, InvalidPointer> {
        if text.is_empty() {
            return Ok(Self(Vec::new()));
        }
        let rest = text.strip_prefix('/').ok_or_else(|| InvalidPointer::NoSlash(text.to_owned()))?;
        let tokens: Option<Vec<String>> = rest.split('/').map(unescape).collect();
        tokens.map(Self).ok_or_else(|| InvalidPointer::Escape(text.to_owned()))
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|token| write!(f, "/{}", token.replace('~', "~0").replace('/', "~1")))
    }
}

/// Returns true if the value at any of the pointers differs between two texts. Values are compared as JSON: white space
/// and the order of keys make no difference, but an absent value and `null` differ.
///
/// # Errors
/// The errors of [`locate()`].
pub fn differs(old: &str, new: &str, pointers: &[Pointer]) -> Result<bool, InvalidJson> {
    any_differs(old, new, pointers, |_| None, |left, right| same(Some(left), Some(right)))
}

/// Compares like [`differs()`], but a digest in one text is equal to the value in the other text for which the digest stands. Use this
/// function for a whole object and a partial one. Compare two whole objects with [`differs()`], because an author can write a text that
/// looks like a digest.
///
/// # Errors
/// The errors of [`locate()`].
pub fn differs_from_digests(old: &str, new: &str, pointers: &[Pointer]) -> Result<bool, InvalidJson> {
    let is_same = |left: &str, right: &str| -> Result<bool, InvalidJson> {
        Ok(same(Some(left), Some(right))? || stands_for(left, right))
    };
    any_differs(old, new, pointers, |_| None, is_same)
}

/// Returns true if one of the parts differs between two texts. `is_same` compares the texts of values. Each range of a text is
/// compared at most once as a value and once as a digest of each form, however many pointers lead into it.
fn any_differs<P: Borrow<Pointer>>(
    old: &str,
    new: &str,
    parts: &[P],
    digest: impl Fn(&P) -> Option<DigestForm>,
    is_same: impl Fn(&str, &str) -> Result<bool, InvalidJson>,
) -> Result<bool, InvalidJson> {
    let (in_old, in_new) = (locate(old, parts)?, locate(new, parts)?);
    let mut present = Vec::with_capacity(parts.len());
    for ((left, right), part) in in_old.into_iter().zip(in_new).zip(parts) {
        match (left, right) {
            (Some(left), Some(right)) => present.push((digest(part), left, right)),
            (None, None) => {}
            _ => return Ok(true),
        }
    }
    // A value comes before the values in it. If it is the same in both texts, so are these.
    present.sort_unstable_by_key(|(digest, left, _)| (*digest, left.start, Reverse(left.end)));
    let mut compared = None;
    for (digest, left, right) in present {
        if compared.is_some_and(|(kind, end)| kind == digest && left.end <= end) {
            continue;
        }
        compared = Some((digest, left.end));
        let (left, right) = (old.get(left).unwrap_or_default(), new.get(right).unwrap_or_default());
        let differ = match digest {
            Some(form) => digests_differ(form, left, right),
            None => !is_same(left, right)?,
        };
        if differ {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns true if two JSON objects differ in a member whose name is not in `except`. Members are compared as JSON. A digest differs
/// from the value for which it stands.
///
/// # Errors
/// [`InvalidJson`] if a text is no JSON object.
pub fn members_differ(old: &str, new: &str, except: &[&str]) -> Result<bool, InvalidJson> {
    let (mut before, after) = (members(old, except)?, members(new, except)?);
    for (name, value) in after {
        if !same(before.remove(&name), Some(value))? {
            return Ok(true);
        }
    }
    Ok(!before.is_empty())
}

/// The texts of the members by name; if a name occurs twice, the last one wins.
fn members<'a>(json: &'a str, except: &[&str]) -> Result<HashMap<String, &'a str>, InvalidJson> {
    let mut members = HashMap::new();
    let read = Scanner::new(json).object(|scanner, key| {
        let (name, range) = (key.unescaped(), scanner.skip()?);
        if !except.contains(&&*name) {
            members.insert(name.into_owned(), json.get(range).unwrap_or_default());
        }
        Ok::<(), NotJson>(())
    });
    match read {
        Ok(()) => Ok(members),
        // The parser reports the error and its position.
        Err(NotJson) => Ok(serde_json::from_str::<HashMap<String, &serde_json::value::RawValue>>(json)?
            .into_iter()
            .map(|(name, value)| (name, value.get()))
            .collect()),
    }
}

/// Compares two values. A tree is built only if their texts differ.
fn same(left: Option<&str>, right: Option<&str>) -> Result<bool, InvalidJson> {
    match (left, right) {
        (Some(left), Some(right)) if left != right => {
            let left: serde_json::Value = serde_json::from_str(left)?;
            Ok(left == serde_json::from_str::<serde_json::Value>(right)?)
        }
        (left, right) => Ok(left.is_some() == right.is_some()),
    }
}

fn unescape(token: &str) -> Option<String> {
    let mut parts = token.split('~');
    let mut text = parts.next()?.to_owned();
    for part in parts {
        let mut chars = part.chars();
        text.push(match chars.next()? {
            '0' => '~',
            '1' => '/',
            _ => return None,
        });
        text.push_str(chars.as_str());
    }
    Some(text)
}

#[cfg(test)]
mod tests;
