//! The UID of an object.

use std::{
    borrow::Cow,
    fmt::{self, Display},
};

use serde::{Serialize, Serializer};
use uuid::Uuid;

/// The UID of an object. Kubernetes uses UUIDs, and other API servers may use any text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Uid<'a> {
    /// A UUID whose text is the usual one, with hyphens and lower-case digits.
    Uuid(Uuid),
    /// Any other text; empty if the server sent none.
    Text(&'a str),
}

// === impl Uid ===

impl<'a> Uid<'a> {
    /// The UID with this text. Two UIDs are equal if their texts are.
    pub fn of(text: &'a str) -> Self {
        match Uuid::try_parse(text) {
            Ok(uuid) if uuid.hyphenated().encode_lower(&mut Uuid::encode_buffer()) == text => {
                Self::Uuid(uuid)
            }
            _ => Self::Text(text),
        }
    }

    /// Returns true if the server sent no UID.
    pub fn is_empty(self) -> bool {
        matches!(self, Self::Text(""))
    }

    /// The length of the text in bytes.
    pub fn len(self) -> usize {
        match self {
            Self::Uuid(_) => uuid::fmt::Hyphenated::LENGTH,
            Self::Text(text) => text.len(),
        }
    }
}

impl<'a> From<Uid<'a>> for Cow<'a, str> {
    fn from(uid: Uid<'a>) -> Self {
        match uid {
            Uid::Uuid(uuid) => Cow::Owned(uuid.hyphenated().to_string()),
            Uid::Text(text) => Cow::Borrowed(text),
        }
    }
}

impl PartialEq<&str> for Uid<'_> {
    fn eq(&self, text: &&str) -> bool {
        *self == Uid::of(text)
    }
}

impl Display for Uid<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uuid(uuid) => Display::fmt(&uuid.hyphenated(), f),
            Self::Text(text) => f.write_str(text),
        }
    }
}

impl Serialize for Uid<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UID: &str = "0a1b2c3d-4e5f-4a6b-8c7d-9e8f7a6b5c4d";

    #[test]
    fn any_text_is_given_back_and_only_the_usual_text_is_a_uuid() {
        let other = [
            "",
            "7",
            "0A1B2C3D-4e5f-4a6b-8c7d-9e8f7a6b5c4d",
            "0a1b2c3d4e5f4a6b8c7d9e8f7a6b5c4d",
            "{0a1b2c3d-4e5f-4a6b-8c7d-9e8f7a6b5c4d}",
            "urn:uuid:0a1b2c3d-4e5f-4a6b-8c7d-9e8f7a6b5c4d",
        ];
        assert!(matches!(Uid::of(UID), Uid::Uuid(_)));
        for text in other {
            assert_eq!(Uid::of(text), Uid::Text(text));
            assert_ne!(Uid::of(text), Uid::of(UID));
        }
        for text in other.into_iter().chain([UID]) {
            let uid = Uid::of(text);
            assert_eq!(
                (uid.to_string().as_str(), uid.len(), uid.is_empty()),
                (text, text.len(), text.is_empty())
            );
            assert_eq!(Cow::from(uid), text);
            assert_eq!(uid, text);
            assert_eq!(serde_json::to_value(uid).unwrap(), text);
        }
    }
}
