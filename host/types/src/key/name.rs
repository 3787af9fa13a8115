//! The name of an object, in one allocation with the other strings of its header.

use std::{
    borrow::Borrow,
    cmp::Ordering,
    fmt,
    hash::{Hash, Hasher},
    ops::Deref,
    sync::Arc,
};

/// The bits of the length in one character.
const BITS: u32 = 6;

/// Marks each character of the length except the last.
const MORE: u8 = 1 << BITS;

/// The characters of the length of any name.
const MAX_LENGTH_CHARACTERS: usize = usize::BITS.div_ceil(BITS) as usize;

/// The name of an object, cheap to clone. It reads like a string.
///
/// An object and its keys share one allocation, which also has the other strings of the header. A key therefore keeps the header
/// in memory, even after the object has changed. A collection that keeps keys for a long time takes the key of the newest state,
/// because the header of that state is in memory anyway.
#[derive(Clone)]
pub struct Name {
    /// The length of the name in bytes, the name, and the other strings of the object's header. The length has six bits in each
    /// character, the lowest first. Each character of the length except the last has [`MORE`].
    text: Arc<str>,
}

// === impl Name ===

impl Name {
    /// The text of a name, with room for this number of bytes behind the name. More can be appended, which
    /// [`parts`](Self::parts) then returns behind the name.
    pub(crate) fn begin(name: &str, room: usize) -> String {
        let mut text = String::with_capacity(MAX_LENGTH_CHARACTERS + name.len() + room);
        let mut len = name.len();
        while len >= usize::from(MORE) {
            text.push(character(len, MORE));
            len >>= BITS;
        }
        text.push(character(len, 0));
        text.push_str(name);
        text
    }

    /// Makes a name from the text that [`begin`](Self::begin) returned, in an allocation of its length.
    pub(crate) fn finish(text: &str) -> Self {
        Self { text: text.into() }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        let (start, len) = self.place();
        self.text.get(start..start + len).unwrap_or_default()
    }

    /// The size of the allocation in bytes, without the counters of its references.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.text.len()
    }

    /// The name and the text behind it.
    pub(crate) fn parts(&self) -> (&str, &str) {
        let (start, len) = self.place();
        let behind = self.text.get(start..).unwrap_or_default();
        behind.split_at_checked(len).unwrap_or_default()
    }

    /// The start and the length of the name in the text.
    fn place(&self) -> (usize, usize) {
        // Most names have a length of one character.
        match self.text.as_bytes() {
            [len, ..] if len & MORE == 0 => (1, usize::from(*len)),
            bytes => {
                let (mut len, mut shift, mut start) = (0, 0, 0);
                for byte in bytes {
                    start += 1;
                    len |= usize::from(byte & (MORE - 1)) << shift;
                    if byte & MORE == 0 {
                        break;
                    }
                    shift += BITS;
                }
                (start, len)
            }
        }
    }
}

/// A character with the lowest bits of a length.
fn character(len: usize, more: u8) -> char {
    char::from((len & usize::from(MORE - 1)) as u8 | more)
}

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl Borrow<str> for Name {
    fn borrow(&self) -> &str {
        self
    }
}

impl From<&str> for Name {
    fn from(name: &str) -> Self {
        Self::finish(&Self::begin(name, 0))
    }
}

impl From<String> for Name {
    fn from(name: String) -> Self {
        Self::from(name.as_str())
    }
}

impl From<Name> for Arc<str> {
    fn from(name: Name) -> Self {
        Self::from(name.as_str())
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Name {}

impl Hash for Name {
    /// The hash of the string, as [`Borrow`] demands.
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        (**self).hash(hasher);
    }
}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Name {
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(&**other)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_rest(name: &str, rest: &str) -> Name {
        Name::finish(&(Name::begin(name, rest.len()) + rest))
    }

    #[test]
    fn a_name_of_any_length_is_read_back_with_the_text_behind_it() {
        for len in [0, 1, 62, 63, 64, 65, 253, 4_095, 4_096, 300_000] {
            let name = "n".repeat(len);
            for rest in ["", "n", "größe"] {
                let both = with_rest(&name, rest);
                assert_eq!(both.parts(), (name.as_str(), rest));
            }
        }
        assert_eq!(Name::from("größe").as_str(), "größe");
    }

    #[test]
    fn only_the_names_of_two_names_are_compared() {
        let (one, same, other) = (with_rest("web", "1"), with_rest("web", "2"), Name::from("x"));

        assert_eq!(one, same);
        assert_eq!(one.cmp(&same), Ordering::Equal);
        assert!(one < other && one != other);
        assert!(std::collections::HashSet::from([one]).contains("web"));
        assert_eq!((same.to_string(), format!("{same:?}")), ("web".to_owned(), "\"web\"".to_owned()));
    }
}
