//! Finds the end of a JSON value that arrives in chunks.

/// Follows one JSON value through several chunks. It balances brackets and skips strings, and leaves validation to the
/// parser.
#[derive(Default)]
pub(super) struct ValueScanner {
    depth: usize,
    in_string: bool,
    escaped: bool,
    started: bool,
}

// === impl ValueScanner ===

impl ValueScanner {
    /// Scans the next bytes. `bytes` starts where the last call stopped. Returns the offset in `bytes` before which the
    /// value ends, or `None` if it ends in a later chunk.
    pub(super) fn scan(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            if self.in_string {
                at += self.string(bytes.get(at..).unwrap_or_default());
                if !self.in_string && self.depth == 0 {
                    return Some(at);
                }
                continue;
            }
            match byte {
                b'"' => self.in_string = true,
                b'{' | b'[' => self.depth += 1,
                // A number or word ends at the next delimiter of its container.
                b'}' | b']' | b',' if self.depth == 0 => return Some(at),
                b'}' | b']' => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        return Some(at + 1);
                    }
                }
                byte if byte.is_ascii_whitespace() && self.depth == 0 && self.started => {
                    return Some(at);
                }
                _ => {}
            }
            self.started = true;
            at += 1;
        }
        None
    }

    /// Consumes bytes of a string and returns their number.
    fn string(&mut self, bytes: &[u8]) -> usize {
        let mut at = 0;
        if self.escaped && !bytes.is_empty() {
            self.escaped = false;
            at = 1;
        }
        while let Some(found) = memchr::memchr2(b'"', b'\\', bytes.get(at..).unwrap_or_default()) {
            at += found + 1;
            if bytes.get(at - 1) == Some(&b'"') {
                self.in_string = false;
                return at;
            }
            if at == bytes.len() {
                self.escaped = true;
                return at;
            }
            at += 1;
        }
        bytes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_value_is_found_wherever_the_text_is_split() {
        for value in [r#"{"a":["}\"]\\",{}]}"#, "[]", r#""x\\\"y""#, "12.5", "null"] {
            let text = format!("{value},next");
            for cut in 0..value.len() {
                let mut scanner = ValueScanner::default();
                let (head, tail) = text.as_bytes().split_at(cut);

                assert_eq!(scanner.scan(head), None, "{value} at {cut}");
                assert_eq!(scanner.scan(tail), Some(value.len() - cut), "{value} at {cut}");
            }
        }
    }
}
