//! Skips a container by its brackets alone, 64 bytes at a time.

use super::block::{Carry, Nesting};

/// The offset after the array or object that starts at `at`. Returns `None` if it does not end.
pub(super) fn end(bytes: &[u8], mut at: usize) -> Option<usize> {
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
