//! `stdout`: a line of JSON in the log of the host.

use serde::Deserialize;

use super::common::document;
use crate::{layout::Layout, record::Record};

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Stdout {
    #[serde(default)]
    de_dot: bool,
    layout: Option<Layout>,
    sent_update_event: Option<bool>,
}

// === impl Stdout ===

impl Stdout {
    pub(crate) fn line(&self, record: &Record) -> Result<String, String> {
        Ok(document(self.layout.as_ref(), self.de_dot, record)?.to_string())
    }

    pub(super) fn takes_updates(&self) -> bool {
        self.sent_update_event.unwrap_or(true)
    }
}
