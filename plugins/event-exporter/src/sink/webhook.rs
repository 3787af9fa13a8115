//! `webhook`: one request for each Event.

use serde::{Deserialize, de::IgnoredAny};

use super::{
    api::Sink,
    common::{Headers, Tls, document},
};
use crate::{
    http::{Request, Url},
    layout::Layout,
    record::Record,
    route::or_default,
};

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Webhook {
    endpoint: Url,
    #[serde(default, deserialize_with = "or_default")]
    headers: Headers,
    layout: Option<Layout>,
    #[serde(default, rename = "tls")]
    _tls: Option<Tls>,
    /// The example of the original has this key, and the original ignores it.
    #[serde(default, rename = "streamName")]
    _stream_name: IgnoredAny,
    sent_update_event: Option<bool>,
}

impl Sink for Webhook {
    fn request(&self, records: &[Record], _attempt: u32) -> Result<Request, String> {
        let record = records.first().ok_or("there is no event")?;
        Ok(Request {
            url: self.endpoint.clone(),
            headers: self.headers.of(&self.endpoint, record)?,
            body: document(self.layout.as_ref(), false, record)?.to_string(),
        })
    }

    fn takes_updates(&self) -> bool {
        self.sent_update_event.unwrap_or(true)
    }
}
