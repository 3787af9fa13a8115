//! Classifies the bytes of a block with one bit for each byte; the lowest bit is the first byte. Skips a container 64 bytes at a
//! time, by its brackets, quotes and backslashes alone.
//!
//! One test of a whole block replaces a loop whose end the processor cannot predict.

use wide::u8x16;

/// A bit for each quote, backslash and control character: the bytes that end a run of ordinary characters in a string.
#[inline]
pub(super) fn special(block: &[u8; 32]) -> u32 {
    let (halves, _) = block.as_chunks();
    let part = |bytes: &[u8; 16]| {
        let bytes = u8x16::new(*bytes);
        let quote = bytes.simd_eq(u8x16::splat(b'"'));
        let backslash = bytes.simd_eq(u8x16::splat(b'\\'));
        let control = bytes.min(u8x16::splat(0x1f)).simd_eq(bytes);
        (quote | backslash | control).to_bitmask()
    };
    halves.iter().rev().fold(0, |found, half| found << 16 | part(half))
}

/// The bytes that determine the nesting of a text.
#[derive(Clone, Copy, Default)]
struct Nesting {
    quotes: u64,
    backslashes: u64,
    /// `{` and `[`, including those in strings.
    opening: u64,
    /// `}` and `]`, including those in strings.
    closing: u64,
}

/// The state between two blocks.
#[derive(Clone, Copy, Default)]
struct Carry {
    /// The next block starts in a string.
    in_string: bool,
    /// The first byte of the next block is escaped.
    escape: bool,
}

// === impl Nesting ===

impl Nesting {
    #[inline]
    fn of(block: &[u8; 64]) -> Self {
        let (quarters, _) = block.as_chunks();
        quarters.iter().rev().fold(Self::default(), |of, quarter: &[u8; 16]| {
            let bytes = u8x16::new(*quarter);
            // `[` and `{` differ only in this bit, and so do `]` and `}`.
            let folded = bytes | u8x16::splat(0x20);
            let add = |bits: u64, found: u8x16| bits << 16 | u64::from(found.to_bitmask());
            Self {
                quotes: add(of.quotes, bytes.simd_eq(u8x16::splat(b'"'))),
                backslashes: add(of.backslashes, bytes.simd_eq(u8x16::splat(b'\\'))),
                opening: add(of.opening, folded.simd_eq(u8x16::splat(b'{'))),
                closing: add(of.closing, folded.simd_eq(u8x16::splat(b'}'))),
            }
        })
    }

    /// A bit for each byte between quotes, including the opening quote. `carry` is the state after the block before.
    #[inline]
    fn strings(&self, carry: &mut Carry) -> u64 {
        let mut strings = self.quotes & !self.escaped(carry);
        for shift in [1, 2, 4, 8, 16, 32] {
            strings ^= strings << shift;
        }
        if carry.in_string {
            strings = !strings;
        }
        carry.in_string = strings >> 63 == 1;
        strings
    }

    /// A bit for each byte after an odd number of backslashes.
    #[inline]
    fn escaped(&self, carry: &mut Carry) -> u64 {
        /// Every second bit.
        const EVEN: u64 = 0x5555_5555_5555_5555;
        let first = u64::from(carry.escape);
        let backslashes = self.backslashes & !first;
        if backslashes == 0 {
            carry.escape = false;
            return first;
        }
        let behind = backslashes << 1 | first;
        // An addition at the start of a run of backslashes carries through the run. The bit behind the run then shows
        // on which parity the run started: the length of a run is odd if its start and its end have different parity.
        let odd_starts = backslashes & !EVEN & !behind;
        let (ends, overflow) = odd_starts.overflowing_add(backslashes);
        carry.escape = overflow;
        (EVEN ^ (ends << 1)) & behind
    }
}

/// The offset after the array or object that starts at `at`. Returns `None` if it does not end.
pub(super) fn container_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    let (mut depth, mut carry) = (0, Carry::default());
    let (blocks, tail) = bytes.get(at..)?.as_chunks();
    for block in blocks {
        if let Some(end) = close(&mut depth, &mut carry, block) {
            return Some(at + end);
        }
        at += block.len();
    }
    // White space neither opens nor closes anything.
    let mut last = [b' '; 64];
    for (to, from) in last.iter_mut().zip(tail) {
        *to = *from;
    }
    Some(at + close(&mut depth, &mut carry, &last)?)
}

/// Reads a block. If the last open bracket is closed in it, returns the number of bytes up to there.
#[inline]
fn close(depth: &mut usize, carry: &mut Carry, block: &[u8; 64]) -> Option<usize> {
    let nesting = Nesting::of(block);
    let strings = nesting.strings(carry);
    let (opening, closing) = (nesting.opening & !strings, nesting.closing & !strings);
    let (opened, closed) = (opening.count_ones() as usize, closing.count_ones() as usize);
    if closed < *depth {
        *depth = *depth + opened - closed;
        return None;
    }
    one_by_one(depth, opening, closing)
}

fn one_by_one(depth: &mut usize, opening: u64, closing: u64) -> Option<usize> {
    let mut left = opening | closing;
    while left != 0 {
        let at = left.trailing_zeros();
        left &= left - 1;
        if opening >> at & 1 == 1 {
            *depth += 1;
        } else {
            *depth = depth.saturating_sub(1);
            if *depth == 0 {
                return Some(at as usize + 1);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_classified_at_every_position() {
        for byte in 0..=u8::MAX {
            for at in 0..64 {
                let mut block = [b'a'; 64];
                block[at] = byte;
                let nesting = Nesting::of(&block);
                let bit = |set: bool| if set { 1_u64 << at } else { 0 };
                assert_eq!(nesting.quotes, bit(byte == b'"'), "{byte} at {at}");
                assert_eq!(nesting.backslashes, bit(byte == b'\\'), "{byte} at {at}");
                assert_eq!(nesting.opening, bit(matches!(byte, b'{' | b'[')), "{byte} at {at}");
                assert_eq!(nesting.closing, bit(matches!(byte, b'}' | b']')), "{byte} at {at}");
                let half = block.first_chunk::<32>().unwrap();
                let ends = at < 32 && matches!(byte, b'"' | b'\\' | 0..0x20);
                assert_eq!(u64::from(special(half)), bit(ends), "{byte} at {at}");
            }
        }
    }

    #[test]
    fn strings_are_found_across_blocks_with_any_escapes() {
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..5_000 {
            let text: Vec<u8> = (0..256).map(|_| *random.choice(b"\\\\\\\"a{").unwrap()).collect();
            let (mut carry, mut escaped, mut in_string) = (Carry::default(), false, false);
            for block in text.as_chunks::<64>().0 {
                let strings = Nesting::of(block).strings(&mut carry);
                for (at, byte) in block.iter().enumerate() {
                    let quote = *byte == b'"' && !escaped;
                    in_string ^= quote;
                    assert_eq!(strings >> at & 1 == 1, in_string, "{}", String::from_utf8_lossy(&text));
                    escaped = *byte == b'\\' && !escaped;
                }
            }
        }
    }
}
