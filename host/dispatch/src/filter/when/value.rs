//! The parts of an object that an expression reads, as a value of CEL. Strings without escapes are borrowed from the object's text.

use std::{borrow::Cow, cell::Cell, collections::HashMap, fmt};

use cel::common::{
    types::{CelBool, CelDouble, CelInt, CelList, CelMap, CelMapKey, CelNull, CelString, CelUInt},
    value::Val,
};
use informer_types::{PartTree, Scanner};
use serde::{
    Deserialize,
    de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor},
};

use super::error::{MAX_ENTRIES, WhenError};

/// Any value.
type Tree<'t> = Box<dyn Val + 't>;

/// Builds a value and records the length of its longest list or map.
#[derive(Clone, Copy)]
struct Growing<'c> {
    longest: &'c Cell<usize>,
}

/// A string, borrowed if it has no escapes.
#[derive(Deserialize)]
struct Text<'t>(#[serde(borrow)] Cow<'t, str>);

/// Parses the `wanted` parts of a JSON text; maps have no other members. If `bounded`, a list or map of more than [`MAX_ENTRIES`] in
/// a wanted part is an error. Integers are `int`, as in Kubernetes' own expressions; only larger ones are `uint`.
pub(super) fn parse<'t>(json: &'t str, wanted: &PartTree, bounded: bool) -> Result<Tree<'t>, WhenError> {
    let longest = Cell::new(0);
    let mut scanner = Scanner::new(json);
    let tree = Growing { longest: &longest }.part(json, &mut scanner, wanted)?;
    scanner.end()?;
    if bounded && longest.get() > MAX_ENTRIES {
        return Err(WhenError::TooManyEntries(longest.get()));
    }
    Ok(tree)
}

// === impl Growing ===

impl Growing<'_> {
    fn note(self, entries: usize) {
        self.longest.set(self.longest.get().max(entries));
    }

    /// Builds the `wanted` parts of the next value of the scanner, which reads `json`.
    fn part<'t>(
        self,
        json: &'t str,
        scanner: &mut Scanner<'t>,
        wanted: &PartTree,
    ) -> Result<Tree<'t>, WhenError> {
        let members = match wanted {
            PartTree::Members(members) if scanner.peek() == Some(b'{') => members,
            // A value that is no map has no members, but an expression can see its type. Expressions name no digests.
            PartTree::Members(_) | PartTree::Part(_) => {
                return self.whole(json.get(scanner.skip()?).unwrap_or_default());
            }
        };
        let mut map = HashMap::new();
        scanner.object(|scanner, key| {
            let name = key.unescaped();
            match members.get(&*name) {
                Some(wanted) => {
                    map.insert(map_key(name), self.part(json, scanner, wanted)?);
                }
                None => {
                    scanner.skip()?;
                }
            }
            Ok::<(), WhenError>(())
        })?;
        Ok(Box::new(CelMap::from(map)))
    }

    fn whole(self, json: &str) -> Result<Tree<'_>, WhenError> {
        let tree = self.deserialize(&mut serde_json::Deserializer::from_str(json));
        tree.map_err(|_| WhenError::Unreadable)
    }
}

impl<'de> DeserializeSeed<'de> for Growing<'_> {
    type Value = Tree<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Tree<'de>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Growing<'_> {
    type Value = Tree<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Tree<'de>, E> {
        Ok(Box::new(CelNull))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Tree<'de>, E> {
        Ok(Box::new(CelBool::from(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Tree<'de>, E> {
        Ok(Box::new(CelInt::from(value)))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Tree<'de>, E> {
        Ok(match i64::try_from(value) {
            Ok(value) => Box::new(CelInt::from(value)),
            Err(_) => Box::new(CelUInt::from(value)),
        })
    }

    fn visit_f64<E>(self, value: f64) -> Result<Tree<'de>, E> {
        Ok(Box::new(CelDouble::from(value)))
    }

    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Tree<'de>, E> {
        Ok(Box::new(CelString::from(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Tree<'de>, E> {
        Ok(Box::new(CelString::from(value.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Tree<'de>, A::Error> {
        let mut list = Vec::new();
        while let Some(entry) = entries.next_element_seed(self)? {
            list.push(entry);
        }
        self.note(list.len());
        Ok(Box::new(CelList::from(list)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Tree<'de>, A::Error> {
        let mut map = HashMap::new();
        while let Some(Text(key)) = entries.next_key()? {
            map.insert(map_key(key), entries.next_value_seed(self)?);
        }
        self.note(map.len());
        Ok(Box::new(CelMap::from(map)))
    }
}

fn map_key(key: Cow<'_, str>) -> CelMapKey<'_> {
    match key {
        Cow::Borrowed(key) => CelMapKey::from(key),
        Cow::Owned(key) => CelMapKey::from(key),
    }
}
