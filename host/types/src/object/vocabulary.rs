//! The strings that the headers of one collection have in common: keys of labels, kinds, versions, zones.

use std::{borrow::Cow, cmp::Reverse, collections::HashMap, hash::BuildHasher};

use hashbrown::{DefaultHashBuilder, HashTable};

/// The most strings: a header writes the number of one in ten bits.
pub(super) const STRINGS: usize = 1 << 10;

/// A reference takes two bytes, so a shorter string is written as it is.
const MIN_BYTES: usize = 2;

/// Longer strings are rarely common, and a vocabulary stays in memory for as long as an object uses it.
const MAX_BYTES: usize = 128;

/// A string that fewer texts have is not common.
const MIN_TEXTS: usize = 4;

/// The strings that many headers of one collection have. An [`Object`](crate::Object) writes the number of such a string
/// in two bytes. It has at most 1,024 strings of at most 128 bytes.
#[derive(Default)]
pub struct Vocabulary {
    strings: Vec<Box<str>>,
    numbers: HashTable<u16>,
    hasher: DefaultHashBuilder,
}

// === impl Vocabulary ===

impl Vocabulary {
    /// The strings among `texts` whose references save the most bytes.
    pub fn of<'a, S: Into<Cow<'a, str>>>(texts: impl IntoIterator<Item = S>) -> Self {
        let mut counts: HashMap<Cow<'_, str>, usize> = HashMap::new();
        for text in texts.into_iter().map(Into::into) {
            if (MIN_BYTES..=MAX_BYTES).contains(&text.len()) {
                *counts.entry(text).or_default() += 1;
            }
        }
        let mut common: Vec<(Cow<'_, str>, usize)> =
            counts.into_iter().filter(|(_, count)| *count >= MIN_TEXTS).collect();
        // The order of equal savings is fixed, so that the same texts give the same vocabulary.
        let saved = |(text, count): &(Cow<'_, str>, usize)| Reverse(count * (text.len() - 1));
        common.sort_unstable_by(|one, other| saved(one).cmp(&saved(other)).then_with(|| one.0.cmp(&other.0)));
        common.truncate(STRINGS);
        let mut vocabulary = Self::default();
        for (text, _) in common {
            vocabulary.add(&text);
        }
        vocabulary
    }

    /// The number of a string.
    pub(super) fn number(&self, text: &str) -> Option<u16> {
        if text.len() < MIN_BYTES {
            return None;
        }
        let is = |number: &u16| self.string(usize::from(*number)) == Some(text);
        self.numbers.find(self.hasher.hash_one(text), is).copied()
    }

    /// The string of a number.
    pub(super) fn string(&self, number: usize) -> Option<&str> {
        self.strings.get(number).map(|text| &**text)
    }

    fn add(&mut self, text: &str) {
        let Ok(number) = u16::try_from(self.strings.len()) else { return };
        self.strings.push(text.into());
        let Self { strings, numbers, hasher } = self;
        let hash = |number: &u16| hasher.hash_one(strings.get(usize::from(*number)).map_or("", |text| text));
        numbers.insert_unique(hash(&number), number, hash);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_strings_have_numbers_and_rare_ones_have_none() {
        let texts = ["app", "x", "", "tier"].into_iter().cycle().take(40);
        let vocabulary = Vocabulary::of(texts.chain(["rare", "rare", "rare"]));

        for text in ["app", "tier"] {
            let number = vocabulary.number(text).unwrap();
            assert_eq!(vocabulary.string(usize::from(number)), Some(text));
        }
        for text in ["rare", "x", "", "ap"] {
            assert_eq!(vocabulary.number(text), None, "{text}");
        }
        assert_eq!(vocabulary.string(2), None);
    }

    #[test]
    fn a_vocabulary_is_bounded_in_strings_and_in_their_length() {
        let texts: Vec<String> = (0..2 * STRINGS).map(|number| format!("text-{number:05}")).collect();
        let long = "x".repeat(MAX_BYTES + 1);
        let all = texts.iter().map(String::as_str).chain([long.as_str()]);
        let vocabulary = Vocabulary::of(std::iter::repeat_n(all, MIN_TEXTS).flatten());

        assert_eq!(vocabulary.strings.len(), STRINGS);
        assert_eq!(vocabulary.number(&long), None);
    }
}
