//! The brackets that are open.

/// A stack with one bit for each bracket. It uses the heap only for texts that are deeper than any Kubernetes object.
#[derive(Default)]
pub(super) struct Brackets {
    /// The innermost bracket is the lowest bit; 1 means an object.
    inner: u64,
    /// The number of bits in use.
    used: u32,
    /// The bits pushed out of `inner`, 64 at a time.
    outer: Vec<u64>,
}

// === impl Brackets ===

impl Brackets {
    pub(super) fn push(&mut self, object: bool) {
        if self.used == u64::BITS {
            self.outer.push(self.inner);
            self.used = 0;
        }
        self.inner = self.inner << 1 | u64::from(object);
        self.used += 1;
    }

    pub(super) fn pop(&mut self) {
        self.inner >>= 1;
        self.used = self.used.saturating_sub(1);
        if self.used == 0
            && let Some(outer) = self.outer.pop()
        {
            self.inner = outer;
            self.used = u64::BITS;
        }
    }

    /// Returns true for an object, false for an array, and `None` if no bracket is open.
    pub(super) fn innermost(&self) -> Option<bool> {
        (self.used > 0).then_some(self.inner & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_are_closed_in_reverse_order_at_any_depth() {
        let kinds: Vec<bool> = (0..1_000_u32).map(|n| n.count_ones() % 2 == 0).collect();
        let mut open = Brackets::default();
        for kind in &kinds {
            open.push(*kind);
            assert_eq!(open.innermost(), Some(*kind));
        }
        for kind in kinds.iter().rev() {
            assert_eq!(open.innermost(), Some(*kind));
            open.pop();
        }
        assert_eq!(open.innermost(), None);
        open.pop();
        assert_eq!(open.innermost(), None);
    }
}
