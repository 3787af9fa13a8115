//! Finds the ranges of the wanted values in one pass over a JSON text.

use std::ops::Range;

use serde::de::IgnoredAny;

use super::{
    InvalidJson, Pointer,
    scan::{NotJson, Scanner},
};

/// The number of pointers that one pass can follow: one bit each.
const A_PASS: usize = u64::BITS as usize;

/// The maximum depth of a wanted value, because each level takes stack.
const MAX_DEPTH: usize = 256;

/// Returns the ranges of the values at the pointers in a JSON text, in the order of the pointers; `None` if there is no
/// value. If an object has a key twice, the last one wins, as usual for JSON. A pointer of more than 256 tokens finds
/// nothing.
///
/// # Errors
/// [`InvalidJson`] if the search finds that the text is not JSON. The search does not check values that no pointer
/// leads to, because the cache has checked its texts already.
pub fn locate(json: &str, pointers: &[Pointer]) -> Result<Vec<Option<Range<usize>>>, InvalidJson> {
    let mut found = vec![None; pointers.len()];
    if pointers.is_empty() {
        pass(json, &[], &mut [])?;
    }
    for (pointers, found) in pointers.chunks(A_PASS).zip(found.chunks_mut(A_PASS)) {
        pass(json, pointers, found)?;
    }
    Ok(found)
}

fn pass(json: &str, pointers: &[Pointer], found: &mut [Option<Range<usize>>]) -> Result<(), InvalidJson> {
    let all = Wanted::first(pointers.len());
    let mut search = Search { pointers, found };
    let mut scanner = Scanner::new(json);
    let walked = search.value(&mut scanner, 0, all).and_then(|()| scanner.end());
    match walked {
        Ok(()) => Ok(()),
        // The parser reports the error and its position.
        Err(NotJson) => serde_json::from_str::<IgnoredAny>(json).map(|_| ()).map_err(InvalidJson::from),
    }
}

/// A set of pointers, by their positions.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Wanted(u64);

struct Search<'p> {
    pointers: &'p [Pointer],
    found: &'p mut [Option<Range<usize>>],
}

// === impl Wanted ===

impl Wanted {
    fn first(count: usize) -> Self {
        Self(if count >= A_PASS { u64::MAX } else { (1 << count) - 1 })
    }

    fn is_empty(self) -> bool {
        self.0 == 0
    }

    fn slots(self) -> impl Iterator<Item = usize> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let slot = left.trailing_zeros() as usize;
            left &= left.wrapping_sub(1);
            (slot < A_PASS).then_some(slot)
        })
    }
}

// === impl Search ===

impl Search<'_> {
    /// Reads a value to which the first `depth` tokens of each wanted pointer lead.
    fn value(&mut self, scanner: &mut Scanner<'_>, depth: usize, wanted: Wanted) -> Result<(), NotJson> {
        let ending = self.subset(wanted, |tokens| tokens.len() == depth);
        let going_on = Wanted(wanted.0 & !ending.0);
        if going_on.is_empty() {
            let range = scanner.skip()?;
            self.set(ending, Some(&range));
            return Ok(());
        }
        let first = scanner.peek();
        let start = scanner.offset();
        match first {
            Some(b'{') => self.members(scanner, depth, going_on)?,
            Some(b'[') => self.elements(scanner, depth, going_on)?,
            // There is nothing below a scalar.
            _ => scanner.skip().map(|_| ())?,
        }
        self.set(ending, Some(&(start..scanner.offset())));
        Ok(())
    }

    fn members(&mut self, scanner: &mut Scanner<'_>, depth: usize, wanted: Wanted) -> Result<(), NotJson> {
        scanner.object(|scanner, key| {
            let key = key.unescaped();
            self.child(
                scanner,
                depth,
                self.subset(wanted, |tokens| tokens.get(depth).is_some_and(|it| *it == key)),
            )
        })
    }

    fn elements(&mut self, scanner: &mut Scanner<'_>, depth: usize, wanted: Wanted) -> Result<(), NotJson> {
        let mut index = 0_usize;
        scanner.array(|scanner| {
            let below = self.subset(wanted, |tokens| tokens.get(depth).is_some_and(|it| is_index(it, index)));
            index += 1;
            self.child(scanner, depth, below)
        })
    }

    /// Reads a child. If a key is repeated, the later value replaces the earlier one.
    fn child(&mut self, scanner: &mut Scanner<'_>, depth: usize, below: Wanted) -> Result<(), NotJson> {
        if below.is_empty() || depth >= MAX_DEPTH {
            return scanner.skip().map(|_| ());
        }
        self.set(below, None);
        self.value(scanner, depth + 1, below)
    }

    fn subset(&self, wanted: Wanted, fits: impl Fn(&[String]) -> bool) -> Wanted {
        let fits = |slot: &usize| self.pointers.get(*slot).is_some_and(|pointer| fits(pointer.tokens()));
        Wanted(wanted.slots().filter(fits).fold(0, |set, slot| set | 1 << slot))
    }

    fn set(&mut self, slots: Wanted, range: Option<&Range<usize>>) {
        for slot in slots.slots() {
            if let Some(found) = self.found.get_mut(slot) {
                *found = range.cloned();
            }
        }
    }
}

/// Returns true if the token is this index: digits without leading zeros (RFC 6901).
fn is_index(token: &str, index: usize) -> bool {
    let canonical = token == "0" || !token.starts_with(['0', '+']);
    canonical && token.parse() == Ok(index)
}
