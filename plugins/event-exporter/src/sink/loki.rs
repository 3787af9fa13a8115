//! `loki`: a batch of lines, grouped by the labels of their streams.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::json;

use super::{
    api::Sink,
    common::{Headers, Tls, document, render},
};
use crate::{
    http::{Request, Url, basic},
    layout::{Layout, Text},
    record::Record,
    route::or_default,
};

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Loki {
    url: Url,
    #[serde(default, deserialize_with = "or_default")]
    stream_labels: BTreeMap<String, Text>,
    #[serde(default, deserialize_with = "or_default")]
    headers: Headers,
    username: Option<String>,
    password: Option<String>,
    layout: Option<Layout>,
    #[serde(default, rename = "tls")]
    _tls: Option<Tls>,
    sent_update_event: Option<bool>,
}

impl Sink for Loki {
    fn batch(&self) -> usize {
        if self.headers.are_constant() { 100 } else { 1 }
    }

    /// The time of a line is the time of the Event. So a line that is sent twice is stored once.
    fn request(&self, records: &[Record], _attempt: u32) -> Result<Request, String> {
        let first = records.first().ok_or("there is no event")?;
        let mut streams: BTreeMap<BTreeMap<&str, String>, Vec<[String; 2]>> = BTreeMap::new();
        for record in records {
            let mut labels = BTreeMap::new();
            for (name, value) in &self.stream_labels {
                labels.insert(name.as_str(), render(&format!("streamLabels.{name}"), value, record)?);
            }
            let at = record.occurrence(Timestamp::now()).at.as_nanosecond().to_string();
            let line = document(self.layout.as_ref(), false, record)?.to_string();
            streams.entry(labels).or_default().push([at, line]);
        }
        let streams: Vec<_> =
            streams.into_iter().map(|(stream, values)| json!({"stream": stream, "values": values})).collect();
        let mut url = self.url.clone();
        // The headers of the configuration win over both. An empty name counts as absent: a mounted file may be empty.
        let name = self.username.as_ref().filter(|name| !name.is_empty());
        let password = self.password.as_deref().unwrap_or_default();
        let own = name.map(|name| basic(name.as_bytes(), password.as_bytes()));
        url.authorization = own.or(url.authorization);
        let headers = self.headers.of(&url, first)?;
        Ok(Request { url, headers, body: json!({"streams": streams}).to_string() })
    }

    fn takes_updates(&self) -> bool {
        self.sent_update_event.unwrap_or(true)
    }
}
