//! Answers: pointers in, texts out, within the plugin's limit.

use std::sync::Arc;

use informer_types::{InvalidPointer, Pointer, locate};

use crate::bindings::informer::plugin::types::Error;

/// Pointers in one question: each of them is looked for at every key of the object.
const POINTERS: usize = 256;

/// Of their texts together: a token takes twenty times its byte, and each is compared at each key.
const POINTERS_BYTES: usize = 64 << 10;

/// A longer question is not worth remembering: a plugin does not get to keep its memory with the host.
const REMEMBERED_BYTES: usize = 4 << 10;

/// The pointers of the last question: a handler asks the same at each call.
#[derive(Default)]
pub(crate) struct LastQuestion {
    texts: Vec<String>,
    pointers: Arc<[Pointer]>,
}

impl LastQuestion {
    /// Reads the pointers of one question.
    pub(super) fn pointers(&mut self, texts: Vec<String>) -> Result<Arc<[Pointer]>, Error> {
        if texts != self.texts {
            if texts.len() > POINTERS {
                return Err(Error::invalid(&format!(
                    "{} pointers in one call; at most {POINTERS}",
                    texts.len()
                )));
            }
            let bytes = texts.iter().map(String::len).sum::<usize>();
            if bytes > POINTERS_BYTES {
                return Err(Error::invalid(&format!(
                    "{bytes} bytes of pointers in one call; at most {POINTERS_BYTES}"
                )));
            }
            let parsed: Result<_, InvalidPointer> = texts.iter().map(|text| text.parse()).collect();
            let pointers: Arc<[Pointer]> = parsed.map_err(|problem| Error::invalid(&problem))?;
            if bytes > REMEMBERED_BYTES {
                return Ok(pointers);
            }
            (self.texts, self.pointers) = (texts, pointers);
        }
        Ok(Arc::clone(&self.pointers))
    }
}

/// Counts what an answer holds, and refuses it beyond the limit.
pub(super) struct Budget {
    used: usize,
    limit: usize,
}

impl Budget {
    pub(super) fn new(limit: usize) -> Self {
        Self { used: 0, limit }
    }

    pub(super) fn spend(&mut self, bytes: usize) -> Result<(), Error> {
        self.used = self.used.saturating_add(bytes);
        if self.used > self.limit { Err(Error::too_large(self.used, self.limit)) } else { Ok(()) }
    }
}

/// The texts at the pointers, in the order asked.
pub(super) fn values(
    json: &str,
    pointers: &[Pointer],
    budget: &mut Budget,
) -> Result<Vec<Option<String>>, Error> {
    let mut values = Vec::with_capacity(pointers.len());
    for range in locate(json, pointers)? {
        let value = range.and_then(|range| json.get(range));
        budget.spend(value.map_or(0, str::len))?;
        values.push(value.map(str::to_owned));
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bindings::informer::plugin::types::ErrorCode;

    #[test]
    fn each_question_is_answered_by_its_own_pointers() {
        let mut last = LastQuestion::default();
        let ask = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let told = |pointers: &[Pointer]| pointers.iter().map(ToString::to_string).collect::<Vec<_>>();

        for question in [&[][..], &["/a"], &["/a"], &["/b", "/a"], &["/a"]] {
            assert_eq!(told(&last.pointers(ask(question)).unwrap()), question);
        }
        assert!(last.pointers(ask(&["a"])).is_err());
        assert!(last.pointers(vec![String::new(); POINTERS + 1]).is_err());
        assert_eq!(told(&last.pointers(ask(&["/a"])).unwrap()), ["/a"]);
        let error = last.pointers(ask(&["/".repeat(POINTERS_BYTES).as_str(), "/"])).unwrap_err();
        assert_eq!(
            (error.code, error.message.contains("65537 bytes of pointers")),
            (ErrorCode::Invalid, true)
        );
        let long = format!("/{}", "x".repeat(REMEMBERED_BYTES));
        assert_eq!(told(&last.pointers(ask(&[&long])).unwrap()), [long]);
        assert_eq!(last.texts, ["/a"]);
    }
}
