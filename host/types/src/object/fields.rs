//! The strings of a header in one text.
//!
//! The first character of each string gives its encoding. Numbers follow, with seven bits in each character. All these characters
//! take one byte, so the whole text is valid UTF-8 and is sliced without unsafe code.
//!
//! | first character | what follows |
//! |---|---|
//! | 0 to 95 | a string of this length |
//! | 96 to 111 | the length of a string in eleven bits, seven of them in the next character, and the string |
//! | 112 | the length of a string in three characters, and the string |
//! | 113 | a part of the object's name: its offset and its length |
//! | 114 | nothing: the end of a group |
//! | 115 | the 128 bits of a UUID in 19 characters |
//! | 116 | the 14 digits of a time as a number in seven characters |
//! | 120 to 127 | the number of a string of the vocabulary in ten bits, seven of them in the next character |

use std::borrow::Cow;

use uuid::Uuid;

use super::vocabulary::Vocabulary;
use crate::{Name, Uid};

const MEDIUM: usize = 96;
const LONG: usize = 112;
const PART_OF_NAME: usize = 113;
const END: usize = 114;
const UUID: usize = 115;
const TIME: usize = 116;
const COMMON: usize = 120;

/// A number in one character.
const BITS: u32 = 7;
const MASK: usize = (1 << BITS) - 1;

/// The characters of a UUID and of a time.
const UUID_CHARACTERS: usize = 19;
const TIME_CHARACTERS: usize = 7;

/// A time in UTC as the API server writes it. Each `0` is the place of a digit.
const TIME_FORM: [u8; 20] = *b"0000-00-00T00:00:00Z";

/// A part of the name takes three bytes, so a shorter string is written as it is.
const MIN_PART: usize = 3;

/// Most headers have fewer bytes behind the name.
const MOST_BYTES: usize = 384;

/// A string of the header exceeds the limit of the compact header. The API server's own limits are a thousand times
/// lower.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a string in the object's metadata is longer than 2 MiB")]
pub struct ObjectTooLarge;

/// Writes the text that [`Fields`] reads.
pub(super) struct Writer<'a> {
    name: &'a str,
    vocabulary: Option<&'a Vocabulary>,
    text: String,
}

/// One string of a header. Most readers skip UUIDs and times, so these are decoded only for a reader of the string.
#[derive(Clone, Copy)]
pub(super) enum Field<'a> {
    Text(&'a str),
    /// The characters of a UUID.
    Uuid(&'a str),
    /// The characters of a time.
    Time(&'a str),
}

/// Iterates over the strings in the order in which they were written. It returns `None` at the end of a group, and
/// continues with the next group.
#[derive(Clone)]
pub(super) struct Fields<'a> {
    name: &'a str,
    vocabulary: Option<&'a Vocabulary>,
    text: &'a str,
}

// === impl Writer ===

impl<'a> Writer<'a> {
    /// Begins the header of the object with this name.
    pub(super) fn new(name: &'a str, vocabulary: Option<&'a Vocabulary>) -> Self {
        Self { name, vocabulary, text: Name::begin(name, MOST_BYTES) }
    }

    pub(super) fn push(&mut self, value: &str) -> Result<(), ObjectTooLarge> {
        if let Some(number) = self.vocabulary.and_then(|vocabulary| vocabulary.number(value)) {
            let number = usize::from(number);
            self.characters([COMMON + (number >> BITS), number & MASK]);
        } else if let Some(start) = part(self.name, value) {
            self.characters([PART_OF_NAME, start, value.len()]);
        } else {
            self.whole(value)?;
        }
        Ok(())
    }

    /// Writes a UID, in fewer bytes than another string of its length if it is a UUID.
    pub(super) fn push_uid(&mut self, value: &str) -> Result<(), ObjectTooLarge> {
        match Uid::of(value) {
            Uid::Uuid(uuid) if !self.is_common(value) => {
                self.number::<UUID_CHARACTERS>(UUID, uuid.as_u128());
                Ok(())
            }
            _ => self.push(value),
        }
    }

    /// Writes a time, in fewer bytes than another string of its length if it has the usual form.
    pub(super) fn push_time(&mut self, value: &str) -> Result<(), ObjectTooLarge> {
        match digits(value) {
            Some(digits) if !self.is_common(value) => {
                self.number::<TIME_CHARACTERS>(TIME, digits.into());
                Ok(())
            }
            _ => self.push(value),
        }
    }

    fn is_common(&self, value: &str) -> bool {
        self.vocabulary.is_some_and(|vocabulary| vocabulary.number(value).is_some())
    }

    /// Writes the length and the string.
    fn whole(&mut self, value: &str) -> Result<(), ObjectTooLarge> {
        match value.len() {
            len if len < MEDIUM => self.characters([len]),
            len if len >> BITS < LONG - MEDIUM => self.characters([MEDIUM + (len >> BITS), len & MASK]),
            len if len < 1 << (3 * BITS) => {
                self.characters([LONG, len >> (2 * BITS), len >> BITS & MASK, len & MASK]);
            }
            _ => return Err(ObjectTooLarge),
        }
        self.text.push_str(value);
        Ok(())
    }

    pub(super) fn end_group(&mut self) {
        self.characters([END]);
    }

    /// The name, with the strings behind it.
    pub(super) fn finish(self) -> Name {
        Name::finish(&self.text)
    }

    /// Writes a number in this number of characters, the lowest bits first.
    fn number<const CHARACTERS: usize>(&mut self, kind: usize, mut number: u128) {
        self.characters([kind]);
        for _ in 0..CHARACTERS {
            self.characters([number as usize]);
            number >>= BITS;
        }
    }

    /// Each number has at most seven bits, so it is an ASCII character.
    fn characters<const N: usize>(&mut self, numbers: [usize; N]) {
        self.text.extend(numbers.map(|number| char::from((number & MASK) as u8)));
    }
}

/// The offset of this value in the name, if it is at the start or behind a hyphen, as the parts of generated names are.
fn part(name: &str, value: &str) -> Option<usize> {
    if value.len() < MIN_PART || name.len() > MASK {
        return None;
    }
    let hyphens = name.bytes().enumerate().filter(|(_, byte)| *byte == b'-');
    let mut starts = std::iter::once(0).chain(hyphens.map(|(at, _)| at + 1));
    starts.find(|start| name.get(*start..).is_some_and(|rest| rest.starts_with(value)))
}

/// The digits of a time in the usual form. Returns `None` for any other text.
fn digits(text: &str) -> Option<u64> {
    if text.len() != TIME_FORM.len() {
        return None;
    }
    let mut digits = 0;
    for (byte, form) in text.bytes().zip(TIME_FORM) {
        match (byte, form) {
            (b'0'..=b'9', b'0') => digits = digits * 10 + u64::from(byte - b'0'),
            _ if byte == form => {}
            _ => return None,
        }
    }
    Some(digits)
}

/// The time with these digits.
fn time(mut digits: u64) -> String {
    let mut text = TIME_FORM;
    for digit in text.iter_mut().rev().filter(|byte| **byte == b'0') {
        *digit += (digits % 10) as u8;
        digits /= 10;
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// The number in these characters, which [`Writer::number`] wrote.
fn number(characters: &str) -> u128 {
    characters.bytes().rev().fold(0, |number, byte| number << BITS | u128::from(byte))
}

fn uuid(characters: &str) -> Uid<'static> {
    Uid::Uuid(Uuid::from_u128(number(characters)))
}

// === impl Field ===

impl<'a> Field<'a> {
    /// The string of a field that was written with [`Writer::push`]. Returns the empty string for a UUID and for a time.
    pub(super) fn as_str(self) -> &'a str {
        match self {
            Self::Text(text) => text,
            Self::Uuid(_) | Self::Time(_) => "",
        }
    }

    pub(super) fn text(self) -> Cow<'a, str> {
        match self {
            Self::Text(text) => Cow::Borrowed(text),
            Self::Uuid(characters) => uuid(characters).into(),
            Self::Time(characters) => Cow::Owned(time(number(characters) as u64)),
        }
    }

    /// The UID that was written with [`Writer::push_uid`].
    pub(super) fn uid(self) -> Uid<'a> {
        match self {
            Self::Text(text) => Uid::of(text),
            Self::Uuid(characters) => uuid(characters),
            Self::Time(_) => Uid::Text(""),
        }
    }
}

// === impl Fields ===

impl<'a> Fields<'a> {
    /// Reads a text that was written with this name and this vocabulary.
    pub(super) fn new(text: &'a str, name: &'a str, vocabulary: Option<&'a Vocabulary>) -> Self {
        Self { name, vocabulary, text }
    }

    fn character(&mut self) -> Option<usize> {
        let (first, rest) = self.text.split_at_checked(1)?;
        self.text = rest;
        first.bytes().next().map(usize::from)
    }

    /// The rest of a number whose first bits are `high`.
    fn number(&mut self, high: usize) -> Option<usize> {
        Some(high << BITS | self.character()?)
    }

    fn take(&mut self, len: usize) -> Option<&'a str> {
        let (value, rest) = self.text.split_at_checked(len)?;
        self.text = rest;
        Some(value)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Field<'a>;

    fn next(&mut self) -> Option<Field<'a>> {
        match self.character()? {
            len @ 0..MEDIUM => self.take(len).map(Field::Text),
            high @ MEDIUM..LONG => {
                let len = self.number(high - MEDIUM)?;
                self.take(len).map(Field::Text)
            }
            LONG => {
                let high = self.number(0)?;
                let middle = self.number(high)?;
                let len = self.number(middle)?;
                self.take(len).map(Field::Text)
            }
            PART_OF_NAME => {
                let start = self.character()?;
                let len = self.character()?;
                self.name.get(start..start + len).map(Field::Text)
            }
            UUID => self.take(UUID_CHARACTERS).map(Field::Uuid),
            TIME => self.take(TIME_CHARACTERS).map(Field::Time),
            high @ COMMON.. => {
                let number = self.number(high - COMMON)?;
                self.vocabulary?.string(number).map(Field::Text)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(name: &str, vocabulary: Option<&Vocabulary>, groups: &[Vec<String>]) -> Name {
        let mut writer = Writer::new(name, vocabulary);
        for group in groups {
            group.iter().for_each(|value| writer.push(value).unwrap());
            writer.end_group();
        }
        writer.finish()
    }

    proptest! {
        #[test]
        fn any_strings_are_read_as_they_were_written(
            name in "([a-z0-9ä]{1,5}-){0,30}[a-z]{1,5}",
            from in 0..40_usize,
            groups in prop::collection::vec(prop::collection::vec("[a-zä-]{0,6}|[a-z]{90,300}", 0..8), 1..4),
        ) {
            let known = ["app", "tier", "a-b", "web"].into_iter().cycle().take(40);
            let vocabulary = Vocabulary::of(known.chain(groups.iter().flatten().map(String::as_str)));
            let mut groups = groups;
            // Some of them are parts of the name.
            groups[0].extend(name.get(from..).map(str::to_owned));
            groups[0].extend(name.split('-').map(str::to_owned));
            for vocabulary in [None, Some(&vocabulary)] {
                let text = written(&name, vocabulary, &groups);
                let mut fields = Fields::new(text.parts().1, &name, vocabulary);
                for group in &groups {
                    prop_assert_eq!(&fields.by_ref().map(|field| field.as_str().to_owned()).collect::<Vec<_>>(), group);
                }
            }
        }

        #[test]
        fn any_text_ends_the_iteration_without_a_panic(text in "[\0-\u{7f}ä]{0,40}") {
            let mut fields = Fields::new(&text, "web-1", None);
            // Each step consumes at least one character, or there is none that it could read.
            for _ in 0..=text.len() {
                if let Some(field) = fields.next() {
                    drop(field.text());
                }
            }
            prop_assert!(fields.text.is_empty() || fields.next().is_none());
        }
    }

    #[test]
    fn uids_and_times_are_read_as_they_were_written_and_take_few_bytes() {
        const UUID: &str = "0a1b2c3d-4e5f-4a6b-8c7d-9e8f7a6b5c4d";
        const COMMON: [&str; 2] = ["2026-01-01T00:00:00Z", "00000000-4e5f-4a6b-8c7d-9e8f7a6b5c4d"];
        let vocabulary = Vocabulary::of(COMMON.into_iter().cycle().take(8));
        let written = |value: &str, is_uid: bool| {
            let mut writer = Writer::new("web", Some(&vocabulary));
            if is_uid { writer.push_uid(value) } else { writer.push_time(value) }.unwrap();
            writer.finish()
        };
        // The bytes as a UID and as a time.
        for (value, uid, time) in [
            (UUID, 20, 37),
            ("ffffffff-ffff-ffff-ffff-ffffffffffff", 20, 37),
            ("0A1B2C3D-4E5F-4A6B-8C7D-9E8F7A6B5C4D", 37, 37),
            (COMMON[1], 2, 2),
            ("2026-11-21T02:19:18Z", 21, 8),
            ("0000-00-00T00:00:00Z", 21, 8),
            ("9999-99-99T99:99:99Z", 21, 8),
            (COMMON[0], 2, 2),
            ("2026-11-21T02:19:18+", 21, 21),
            ("2026-11-21t02:19:18Z", 21, 21),
            ("2026-11-21T02:19:18.123Z", 25, 25),
            ("", 1, 1),
        ] {
            for (is_uid, len) in [(true, uid), (false, time)] {
                let written = written(value, is_uid);
                let text = written.parts().1;

                let field = Fields::new(text, "web", Some(&vocabulary)).next().unwrap();

                assert_eq!((&*field.text(), text.len()), (value, len));
                assert!(!is_uid || field.uid() == Uid::of(value), "{value}");
            }
        }
    }

    #[test]
    fn common_strings_and_parts_of_the_name_take_two_and_three_bytes() {
        let vocabulary = Vocabulary::of(std::iter::repeat_n("app.kubernetes.io/name", 4));
        let written = |values: &[String]| {
            written("web-7d5f8b9c6-x2x4z", Some(&vocabulary), std::slice::from_ref(&values.to_vec()))
                .memory_bytes()
        };
        let len = |value: &str| written(&[value.to_owned()]) - written(&[]);

        assert_eq!(len("app.kubernetes.io/name"), 2);
        assert_eq!(len("web-7d5f8b9c6"), 3);
        assert_eq!(len("7d5f8b9c6"), 3);
        assert_eq!(len("d5f8b9c6"), 9);
        assert_eq!(len(""), 1);
    }
}
