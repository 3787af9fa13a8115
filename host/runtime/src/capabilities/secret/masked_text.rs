//! A JSON text in which the mask replaces some values.

use std::ops::Range;

/// The text in place of a value. It is not base64, so no reader mistakes it for a value.
pub(super) const MASK: &str = "***";

/// A copy of a text with the mask in place of some values. The copy is not made before the first mask.
pub(super) struct MaskedText<'a> {
    text: &'a str,
    masked: String,
    /// The number of bytes of `text` that are copied or masked.
    done: usize,
}

// === impl MaskedText ===

impl<'a> MaskedText<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, masked: String::new(), done: 0 }
    }

    /// Masks the value at this range. Ranges come in the order of the text.
    pub(super) fn mask(&mut self, value: Range<usize>) {
        if self.masked.is_empty() {
            self.masked.reserve(self.text.len());
        }
        self.masked.push_str(self.text.get(self.done..value.start).unwrap_or_default());
        self.masked.extend(["\"", MASK, "\""]);
        self.done = value.end;
    }

    /// The text with its masks. Returns `None` if no value is masked.
    pub(super) fn finish(mut self) -> Option<String> {
        if self.masked.is_empty() {
            return None;
        }
        self.masked.push_str(self.text.get(self.done..).unwrap_or_default());
        Some(self.masked)
    }
}
