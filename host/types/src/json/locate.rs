//! One pass over a JSON text that remembers where the wanted values lie.

use std::{borrow::Cow, fmt, ops::Range};

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::value::RawValue;

use super::{InvalidJson, Pointer, range_in};

/// Where the values at the pointers lie in the text, in the order asked; none where there is nothing. Of a
/// key that stands twice in one object the last counts, as everywhere in JSON practice.
///
/// # Errors
/// [`InvalidJson`] where the text is not JSON; the whole text is checked, whatever is asked.
pub fn locate(json: &str, pointers: &[Pointer]) -> Result<Vec<Option<Range<usize>>>, InvalidJson> {
    let mut search = Search { json, found: vec![None; pointers.len()] };
    let wanted = pointers.iter().enumerate().map(|(slot, pointer)| (slot, pointer.tokens())).collect();
    let mut text = serde_json::Deserializer::from_str(json);
    Step { search: &mut search, wanted }.deserialize(&mut text)?;
    text.end()?;
    Ok(search.found)
}

/// The slot of the answer, and the tokens still to go.
type Wanted<'p> = (usize, &'p [String]);

struct Search<'de> {
    json: &'de str,
    found: Vec<Option<Range<usize>>>,
}

impl Search<'_> {
    fn set(&mut self, slot: usize, range: Option<Range<usize>>) {
        if let Some(found) = self.found.get_mut(slot) {
            *found = range;
        }
    }
}

/// Descends into one value. `wanted` is never empty.
struct Step<'s, 'p, 'de> {
    search: &'s mut Search<'de>,
    wanted: Vec<Wanted<'p>>,
}

impl<'p, 'de> Step<'_, 'p, 'de> {
    /// Some pointers end at this value; others may go on inside it.
    fn take(self, raw: &'de RawValue) -> Result<(), serde_json::Error> {
        let range = range_in(self.search.json, raw);
        let (ending, going_on): (Vec<_>, Vec<_>) =
            self.wanted.into_iter().partition(|(_, tokens)| tokens.is_empty());
        for (slot, _) in ending {
            self.search.set(slot, Some(range.clone()));
        }
        if going_on.is_empty() {
            return Ok(());
        }
        let mut inner = serde_json::Deserializer::from_str(raw.get());
        Step { search: self.search, wanted: going_on }.deserialize(&mut inner)
    }

    /// What is wanted below the child of this name. A later duplicate of a key replaces whatever was found
    /// under the earlier one.
    fn below(&mut self, token: &str) -> Vec<Wanted<'p>> {
        let mut below = Vec::new();
        for (slot, tokens) in &self.wanted {
            if let Some((first, rest)) = tokens.split_first()
                && first == token
            {
                self.search.set(*slot, None);
                below.push((*slot, rest));
            }
        }
        below
    }
}

impl<'de> DeserializeSeed<'de> for Step<'_, '_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        if self.wanted.iter().any(|(_, tokens)| tokens.is_empty()) {
            let raw = <&RawValue>::deserialize(deserializer)?;
            return self.take(raw).map_err(D::Error::custom);
        }
        deserializer.deserialize_any(self)
    }
}

/// A key without a copy where it has no escapes.
struct Key;

impl<'de> DeserializeSeed<'de> for Key {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Cow<'de, str>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Key {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_borrowed_str<E>(self, key: &'de str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Borrowed(key))
    }

    fn visit_str<E>(self, key: &str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Owned(key.to_owned()))
    }
}

impl<'de> Visitor<'de> for Step<'_, '_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key_seed(Key)? {
            let below = self.below(&key);
            if below.is_empty() {
                map.next_value::<IgnoredAny>()?;
            } else {
                map.next_value_seed(Step { search: &mut *self.search, wanted: below })?;
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut seq: A) -> Result<(), A::Error> {
        for index in 0_usize.. {
            let below = self.below(&index.to_string());
            let more = if below.is_empty() {
                seq.next_element::<IgnoredAny>()?.is_some()
            } else {
                seq.next_element_seed(Step { search: &mut *self.search, wanted: below })?.is_some()
            };
            if !more {
                break;
            }
        }
        Ok(())
    }

    // Below a scalar there is nothing.
    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }
    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }
    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }
    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }
    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }
    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}
