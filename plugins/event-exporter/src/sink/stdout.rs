//! `stdout`: a line of JSON in the log of the host.

use serde::Deserialize;

use super::common::document;
use crate::{layout::Layout, record::Record, route::or_default};

/// The most bytes of a line. The host cuts the log of a call at 64 KiB, and a line that is cut is no JSON. This limit leaves room for other
/// lines of the call.
const LINE_BYTES: usize = 60 << 10;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Stdout {
    #[serde(default, deserialize_with = "or_default")]
    de_dot: bool,
    layout: Option<Layout>,
    sent_update_event: Option<bool>,
}

// === impl Stdout ===

impl Stdout {
    /// The line of an Event.
    ///
    /// # Errors
    /// Returns an error text if the layout fails for this Event, or if the line is too long.
    pub(crate) fn line(&self, record: &Record) -> Result<String, String> {
        let line = document(self.layout.as_ref(), self.de_dot, record)?.to_string();
        if line.len() > LINE_BYTES {
            let bytes = line.len();
            return Err(format!(
                "the line has {bytes} bytes, and at most {LINE_BYTES} fit into the log; shorten it by a `layout` with `trunc`"
            ));
        }
        Ok(line)
    }

    pub(super) fn takes_updates(&self) -> bool {
        self.sent_update_event.unwrap_or(true)
    }
}
