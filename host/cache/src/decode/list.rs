//! Decodes a LIST answer while it arrives. Each object is decoded as soon as its last byte is there, so a list of any
//! length needs only the memory of its objects and of one chunk.

use std::sync::Arc;

use informer_types::{Object, container_length};
use serde::Deserialize;

use super::{Decoder, Undecodable, scan::ValueScanner};
use crate::{api_status::ApiStatus, error::Problem};

/// The content of one answer.
#[derive(Default)]
pub(crate) struct ListPage {
    pub(crate) resource_version: String,
    /// Empty on the last page.
    pub(crate) continue_token: String,
    /// In the server's order (R-12).
    pub(crate) objects: Vec<Arc<Object>>,
    /// Objects that did not decode (D-2).
    pub(crate) undecodable: Vec<Undecodable>,
}

/// Decodes one answer, chunk by chunk.
pub(crate) struct ListDecoder<'d> {
    decoder: &'d Decoder,
    /// The bytes that are not consumed yet.
    pending: Vec<u8>,
    consumed: usize,
    /// The number of bytes that have arrived.
    pub(crate) read: u64,
    state: State,
    scanner: ValueScanner,
    /// The number of pending bytes that `scanner` has seen.
    scanned: usize,
    /// The text of the answer without its items.
    head: Vec<u8>,
    has_items: bool,
    page: ListPage,
}

/// The part of the answer that the next byte belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Start,
    /// Before a key. The object may end here only if no comma came before.
    Key {
        may_end: bool,
    },
    Value {
        items: bool,
    },
    AfterValue,
    Item {
        may_end: bool,
    },
    AfterItem,
    Done,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Head {
    kind: Option<String>,
    metadata: Option<ListMeta>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ListMeta {
    resource_version: Option<String>,
    #[serde(rename = "continue")]
    continue_token: Option<String>,
}

// === impl ListDecoder ===

impl<'d> ListDecoder<'d> {
    pub(crate) fn new(decoder: &'d Decoder) -> Self {
        Self {
            decoder,
            pending: Vec::new(),
            consumed: 0,
            read: 0,
            state: State::Start,
            scanner: ValueScanner::default(),
            scanned: 0,
            head: Vec::new(),
            has_items: false,
            page: ListPage::default(),
        }
    }

    /// Decodes the next bytes of the answer.
    pub(crate) fn push(&mut self, chunk: &[u8]) -> Result<(), Problem> {
        self.read += chunk.len() as u64;
        self.pending.drain(..self.consumed);
        self.consumed = 0;
        self.pending.extend_from_slice(chunk);
        while self.step()? {}
        if (self.pending.len() - self.consumed).max(self.head.len()) > self.decoder.max_object_bytes {
            return Err(Problem::TooLong(self.decoder.max_object_bytes));
        }
        Ok(())
    }

    /// The number of objects that have arrived.
    pub(crate) fn items(&self) -> usize {
        self.page.objects.len() + self.page.undecodable.len()
    }

    /// Ends the answer and returns the page.
    pub(crate) fn finish(mut self) -> Result<ListPage, Problem> {
        if self.state != State::Done {
            return Err(Problem::Truncated(self.read));
        }
        let head: Head = serde_json::from_slice(&self.head).map_err(Problem::NotJson)?;
        match head.kind.as_deref() {
            Some("Status") => {
                let status = ApiStatus::parse(&self.head).unwrap_or_default();
                return Err(Problem::of_status(Box::new(status)));
            }
            // A server sends a table if it ignores the requested media type (R-17).
            Some("Table") => return Err(Problem::Table),
            _ if !self.has_items => {
                let kind: String = head.kind.unwrap_or_default().chars().take(64).collect();
                return Err(Problem::Unexpected(format!("`{kind}`, which is no list: it has no items")));
            }
            _ => {}
        }
        let metadata = head.metadata.unwrap_or_default();
        self.page.resource_version = metadata.resource_version.unwrap_or_default();
        self.page.continue_token = metadata.continue_token.unwrap_or_default();
        Ok(self.page)
    }

    /// Consumes one piece of syntax or one whole value. Returns false if more bytes are needed.
    fn step(&mut self) -> Result<bool, Problem> {
        if matches!(self.state, State::Value { .. }) || self.scanned > 0 {
            return self.value();
        }
        let rest = self.pending.get(self.consumed..).unwrap_or_default();
        let Some(blank) = rest.iter().position(|byte| !byte.is_ascii_whitespace()) else {
            self.consumed = self.pending.len();
            return Ok(false);
        };
        let byte = rest.get(blank).copied().unwrap_or_default();
        self.consumed += blank;
        match (self.state, byte) {
            (State::Start, b'{') => {
                self.head.push(byte);
                self.state = State::Key { may_end: true };
            }
            (State::Start, b'<') => return Err(Problem::Html),
            (State::Key { may_end: true } | State::AfterValue, b'}') => {
                self.head.push(byte);
                self.state = State::Done;
            }
            (State::AfterValue, b',') => self.state = State::Key { may_end: false },
            (State::Key { .. }, b'"') => return self.key(),
            (State::Item { may_end: true } | State::AfterItem, b']') => self.state = State::AfterValue,
            (State::AfterItem, b',') => self.state = State::Item { may_end: false },
            (State::Item { .. }, _) => return self.value(),
            _ => return Err(not_json(rest)),
        }
        self.consumed += 1;
        Ok(true)
    }

    /// Reads a key and its colon. An array under `items` is entered, not read as a whole.
    fn key(&mut self) -> Result<bool, Problem> {
        let rest = self.pending.get(self.consumed..).unwrap_or_default();
        let Some(end) = ValueScanner::default().scan(rest) else {
            return Ok(false);
        };
        let skip_blanks = |from: usize| {
            let found = rest.iter().skip(from).position(|byte| !byte.is_ascii_whitespace())?;
            Some(from + found)
        };
        let Some(colon) = skip_blanks(end) else {
            return Ok(false);
        };
        if rest.get(colon) != Some(&b':') {
            return Err(not_json(rest));
        }
        let Some(value) = skip_blanks(colon + 1) else {
            return Ok(false);
        };
        let items = rest.get(..end) == Some(br#""items""#);
        if items && rest.get(value) == Some(&b'[') {
            self.has_items = true;
            self.consumed += value + 1;
            self.state = State::Item { may_end: true };
            return Ok(true);
        }
        if self.head.len() > 1 {
            self.head.push(b',');
        }
        self.head.extend_from_slice(rest.get(..value).unwrap_or_default());
        self.consumed += value;
        self.state = State::Value { items };
        Ok(true)
    }

    /// Reads a whole value: decodes it if it is an item, and keeps its text if it is part of the head.
    fn value(&mut self) -> Result<bool, Problem> {
        let rest = self.pending.get(self.consumed..).unwrap_or_default();
        // Most values are whole in the bytes that have arrived, and are skipped 64 bytes at a time. The others are followed
        // from chunk to chunk.
        let whole = if self.scanned == 0 { container_length(rest) } else { None };
        let length = match whole {
            Some(length) => length,
            None => match self.scanner.scan(rest.get(self.scanned..).unwrap_or_default()) {
                Some(length) => self.scanned + length,
                None => {
                    self.scanned = rest.len();
                    return Ok(false);
                }
            },
        };
        let value = rest.get(..length).unwrap_or_default();
        match self.state {
            State::Value { items } => {
                // Go writes `null` for no items.
                self.has_items |= items && value == b"null";
                self.head.extend_from_slice(value);
                self.state = State::AfterValue;
            }
            _ => {
                match self.decoder.object(value) {
                    Ok(object) => self.page.objects.push(self.decoder.shared(object)),
                    Err(Undecodable::NotJson(error)) => return Err(Problem::NotJson(error)),
                    Err(other) => self.page.undecodable.push(other),
                }
                self.state = State::AfterItem;
            }
        }
        self.consumed += length;
        self.scanned = 0;
        self.scanner = ValueScanner::default();
        Ok(true)
    }
}

/// Lets serde_json describe the error in the part of the text that has it.
fn not_json(text: &[u8]) -> Problem {
    match serde_json::from_slice::<serde::de::IgnoredAny>(text) {
        Err(error) => Problem::NotJson(error),
        Ok(_) => Problem::Unexpected("a JSON value that is no list".to_owned()),
    }
}
