//! Answers: pointers in, texts out, within the plugin's limit.

use informer_types::{InvalidPointer, Pointer, locate};

use crate::bindings::informer::plugin::types::Error;

/// Pointers in one question: each of them is looked for at every key of the object.
const POINTERS: usize = 256;

/// Reads the pointers of one question.
pub(super) fn pointers(texts: &[String]) -> Result<Vec<Pointer>, Error> {
    if texts.len() > POINTERS {
        return Err(Error::invalid(&format!("{} pointers in one call; at most {POINTERS}", texts.len())));
    }
    let parsed: Result<Vec<Pointer>, InvalidPointer> = texts.iter().map(|text| text.parse()).collect();
    parsed.map_err(|problem| Error::invalid(&problem))
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
