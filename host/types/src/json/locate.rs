//! Finds the ranges of the wanted values in one pass over a JSON text.

use std::{borrow::Borrow, cmp::Ordering, fmt::Write, ops::Range};

use serde::de::IgnoredAny;

use super::{
    InvalidJson, Pointer,
    scan::{NotJson, Scanner},
};

/// The number of pointers up to which they are compared one by one.
const FEW: usize = 8;

/// The indices of one digit.
const DIGITS: &str = "0123456789";

/// The maximum depth of a wanted value, because each level takes stack.
pub(super) const MAX_DEPTH: usize = 256;

/// Returns the ranges of the values at the pointers in a JSON text, in the order of the pointers; `None` if there is no
/// value. If an object has a key twice, the last one wins, as usual for JSON. A pointer of more than 256 tokens finds
/// nothing. The text is read once; each key costs a binary search among the pointers that lead there.
///
/// # Errors
/// [`InvalidJson`] if the search finds that the text is not JSON. The search does not check values that no pointer
/// leads to, because the cache has checked its texts already.
pub fn locate<P: Borrow<Pointer>>(
    json: &str,
    pointers: &[P],
) -> Result<Vec<Option<Range<usize>>>, InvalidJson> {
    let mut search = Search::new(pointers);
    match search.text(json) {
        Ok(()) => {}
        // The parser reports the error and its position.
        Err(NotJson) => {
            serde_json::from_str::<IgnoredAny>(json)?;
        }
    }
    Ok(search.found)
}

struct Search<'p> {
    /// The tokens of the pointers, sorted: pointers with the same first tokens are neighbours, the shortest first.
    sorted: Vec<Wanted<'p>>,
    found: Vec<Option<Range<usize>>>,
    /// The index of an array element as text.
    index: String,
    /// The keys that were compared with pointers.
    #[cfg(test)]
    keys: usize,
}

#[derive(Clone, Copy)]
struct Wanted<'p> {
    tokens: &'p [String],
    /// The position of the pointer in the argument.
    slot: usize,
}

// === impl Search ===

impl<'p> Search<'p> {
    fn new<P: Borrow<Pointer>>(pointers: &'p [P]) -> Self {
        let wanted = |(slot, pointer): (usize, &'p P)| Wanted { tokens: pointer.borrow().tokens(), slot };
        let mut sorted: Vec<Wanted<'p>> = pointers.iter().enumerate().map(wanted).collect();
        if sorted.len() > 1 {
            sorted.sort_unstable_by(|left, right| {
                let tokens = left.tokens.iter().zip(right.tokens);
                let different = tokens.map(|(left, right)| order(left, right)).find(|order| order.is_ne());
                different.unwrap_or_else(|| left.tokens.len().cmp(&right.tokens.len()))
            });
        }
        Self {
            sorted,
            found: vec![None; pointers.len()],
            index: String::new(),
            #[cfg(test)]
            keys: 0,
        }
    }

    /// Reads the whole text.
    fn text(&mut self, json: &str) -> Result<(), NotJson> {
        let mut scanner = Scanner::new(json);
        self.value(&mut scanner, 0, 0..self.sorted.len())?;
        scanner.end()
    }

    /// Reads a value to which the first `depth` tokens of the wanted pointers lead.
    fn value(
        &mut self,
        scanner: &mut Scanner<'_>,
        depth: usize,
        wanted: Range<usize>,
    ) -> Result<(), NotJson> {
        let longer = wanted.start + self.of(&wanted).partition_point(|pointer| pointer.tokens.len() == depth);
        let (ending, going_on) = (wanted.start..longer, longer..wanted.end);
        if going_on.is_empty() {
            let range = scanner.skip()?;
            self.set(ending, Some(&range));
            return Ok(());
        }
        let first = scanner.peek();
        let start = scanner.offset();
        match first {
            Some(b'{') => self.members(scanner, depth, &going_on)?,
            Some(b'[') => self.elements(scanner, depth, &going_on)?,
            // There is nothing below a scalar.
            _ => scanner.skip().map(|_| ())?,
        }
        self.set(ending, Some(&(start..scanner.offset())));
        Ok(())
    }

    fn members(
        &mut self,
        scanner: &mut Scanner<'_>,
        depth: usize,
        wanted: &Range<usize>,
    ) -> Result<(), NotJson> {
        scanner.object(|scanner, key| {
            #[cfg(test)]
            {
                self.keys += 1;
            }
            let below = self.below(wanted, depth, &key.unescaped());
            self.child(scanner, depth, below)
        })
    }

    /// Reads the elements of an array. The token of an element is its index: digits without leading zeros (RFC 6901).
    fn elements(
        &mut self,
        scanner: &mut Scanner<'_>,
        depth: usize,
        wanted: &Range<usize>,
    ) -> Result<(), NotJson> {
        let mut next = 0_usize;
        scanner.array(|scanner| {
            let below = match DIGITS.get(next..=next) {
                Some(digit) => self.below(wanted, depth, digit),
                None => {
                    let mut index = std::mem::take(&mut self.index);
                    index.clear();
                    // Writing to a string does not fail.
                    write!(index, "{next}").ok();
                    let below = self.below(wanted, depth, &index);
                    self.index = index;
                    below
                }
            };
            next += 1;
            self.child(scanner, depth, below)
        })
    }

    /// Reads a child. If a key is repeated, the later value replaces the earlier one.
    fn child(&mut self, scanner: &mut Scanner<'_>, depth: usize, below: Range<usize>) -> Result<(), NotJson> {
        if below.is_empty() || depth >= MAX_DEPTH {
            return scanner.skip().map(|_| ());
        }
        self.set(below.clone(), None);
        self.value(scanner, depth + 1, below)
    }

    /// The pointers among the wanted ones whose token at `depth` is this one.
    fn below(&self, wanted: &Range<usize>, depth: usize, token: &str) -> Range<usize> {
        let pointers = self.of(wanted);
        let own = |pointer: &Wanted<'p>| pointer.tokens.get(depth).map(String::as_str);
        // The usual few pointers are compared faster than searched.
        let first = if pointers.len() <= FEW {
            pointers.iter().position(|pointer| own(pointer) == Some(token)).unwrap_or(pointers.len())
        } else {
            pointers.partition_point(|pointer| own(pointer).is_none_or(|own| order(own, token).is_lt()))
        };
        let equal = pointers.iter().skip(first).take_while(|pointer| own(pointer) == Some(token)).count();
        let start = wanted.start + first;
        start..start + equal
    }

    fn of(&self, wanted: &Range<usize>) -> &[Wanted<'p>] {
        self.sorted.get(wanted.clone()).unwrap_or_default()
    }

    fn set(&mut self, wanted: Range<usize>, range: Option<&Range<usize>>) {
        for pointer in self.sorted.get(wanted).unwrap_or_default() {
            if let Some(found) = self.found.get_mut(pointer.slot) {
                *found = range.cloned();
            }
        }
    }
}

/// An order of tokens that is quick to compare: by length, then by bytes.
fn order(left: &str, right: &str) -> Ordering {
    left.len().cmp(&right.len()).then_with(|| left.cmp(right))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A guest may pass 256 pointers for an object of a megabyte: the time must not be the product of both.
    #[test]
    fn each_key_is_read_once_however_many_pointers_there_are() {
        let members: Vec<String> = (0..1_000).map(|n| format!("\"k{n}\":{{\"a\":[{n}]}}")).collect();
        let text = format!("{{{}}}", members.join(","));
        for pointers in [1, 64, 65, 256] {
            let pointers: Vec<Pointer> =
                (0..pointers).map(|n| format!("/k{n}/a/0").parse().unwrap()).collect();
            let mut search = Search::new(&pointers);

            search.text(&text).unwrap();

            assert_eq!(search.keys, 1_000 + pointers.len());
            for (n, range) in search.found.into_iter().enumerate() {
                assert_eq!(&text[range.unwrap()], n.to_string());
            }
        }
    }
}
