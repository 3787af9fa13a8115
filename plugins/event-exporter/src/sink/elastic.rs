//! `elasticsearch` and `opensearch`: a batch of documents in one `_bulk` request.

use base64::{Engine, prelude::BASE64_STANDARD};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    api::Sink,
    common::{Headers, Tls, document, render},
};
use crate::{
    go_time,
    http::{Answer, Request, Url, Verdict, basic},
    layout::{Layout, Text},
    record::Record,
    route::or_default,
};

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Elastic {
    #[serde(default, deserialize_with = "or_default")]
    hosts: Vec<Url>,
    username: Option<String>,
    password: Option<String>,
    #[serde(rename = "cloudID")]
    cloud_id: Option<String>,
    api_key: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    headers: Headers,
    #[serde(default, rename = "useEventID", deserialize_with = "or_default")]
    use_event_id: bool,
    #[serde(default, deserialize_with = "or_default")]
    de_dot: bool,
    index: Option<Text>,
    /// A template with a layout of Go's times in braces: `kube-events-{2006-01-02}`.
    index_format: Option<Text>,
    r#type: Option<String>,
    layout: Option<Layout>,
    #[serde(default, rename = "tls")]
    _tls: Option<Tls>,
    sent_update_event: Option<bool>,
}

// === impl Elastic ===

impl Elastic {
    /// Checks what the types cannot, and resolves the ID of a cluster of Elastic Cloud.
    pub(super) fn checked(mut self) -> Result<Self, String> {
        if let Some(id) = self.cloud_id.as_deref().filter(|id| !id.is_empty()) {
            self.hosts = vec![cloud(id).ok_or("cloudID is not the ID of a cluster")?];
        }
        if self.hosts.is_empty() {
            return Err("`hosts` lists at least one address".to_owned());
        }
        if self.index.is_none() && self.index_format.is_none() {
            return Err("`index` or `indexFormat` is needed".to_owned());
        }
        Ok(self)
    }

    fn index(&self, record: &Record) -> Result<String, String> {
        let Some(format) = &self.index_format else {
            let index = self.index.as_ref();
            return index.map_or(Ok(String::new()), |index| render("index", index, record));
        };
        let at = record.occurrence(Timestamp::now()).at;
        let format = render("indexFormat", format, record)?;
        let mut index = String::new();
        let mut rest = format.as_str();
        while let Some((before, after)) = rest.split_once('{') {
            let Some((layout, after)) = after.split_once('}') else { break };
            index.push_str(before);
            index.push_str(&go_time::format(layout, at));
            rest = after;
        }
        index.push_str(rest);
        Ok(index)
    }

    /// The line before a document. The ID makes a repeated request harmless: it consists of the UID of the Event and the count
    /// and the time of the occurrence, and `create` stores no second document with it. A data stream takes no other action. With
    /// `useEventID` the ID is the UID alone, and `index` replaces the document when the Event occurs again.
    fn action(&self, record: &Record) -> Result<Value, String> {
        let uid = record.uid();
        let (action, id) = if self.use_event_id {
            ("index", uid.to_owned())
        } else {
            let last = record.occurrence(Timestamp::UNIX_EPOCH);
            ("create", format!("{uid}.{}.{}", last.count, last.at.as_millisecond()))
        };
        let index = self.index(record)?;
        Ok(match self.r#type.as_deref().filter(|kind| !kind.is_empty()) {
            Some(kind) => json!({action: {"_index": index, "_id": id, "_type": kind}}),
            None => json!({action: {"_index": index, "_id": id}}),
        })
    }

    fn authorization(&self) -> Option<String> {
        let filled = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        if let Some(key) = filled(&self.api_key) {
            return Some(format!("ApiKey {key}"));
        }
        let password = self.password.as_deref().unwrap_or_default();
        filled(&self.username).map(|name| basic(name.as_bytes(), password.as_bytes()))
    }
}

impl Sink for Elastic {
    fn batch(&self) -> usize {
        if self.headers.are_constant() { 100 } else { 1 }
    }

    /// Each attempt goes to the next host, also after a pause that a host requested with `Retry-After`.
    fn request(&self, records: &[Record], attempt: u32) -> Result<Request, String> {
        let first = records.first().ok_or("there is no event")?;
        let turn = usize::try_from(attempt.saturating_sub(1)).unwrap_or_default();
        let host = self.hosts.iter().cycle().nth(turn % self.hosts.len().max(1)).ok_or("there is no host")?;
        let mut body = String::new();
        for record in records {
            let document = document(self.layout.as_ref(), self.de_dot, record)?;
            body.push_str(&format!("{}\n{document}\n", self.action(record)?));
        }
        let mut url = host.join("/_bulk");
        url.authorization = self.authorization().or(url.authorization);
        let headers = self.headers.with(&url, first, "application/x-ndjson")?;
        Ok(Request { url, headers, body })
    }

    /// An answer with a success status may still name documents that failed.
    fn judge(&self, answer: &Answer, count: usize, now: Timestamp) -> Vec<Verdict> {
        if !answer.is_success() {
            return vec![answer.verdict(now); count];
        }
        let parsed: Value = serde_json::from_str(&answer.body).unwrap_or_default();
        let items = parsed.get("items").and_then(Value::as_array);
        if parsed.get("errors") == Some(&Value::Bool(false)) {
            return vec![Verdict::Sent; count];
        }
        let Some(items) = items.filter(|items| items.len() == count) else {
            return vec![Verdict::Later("its answer does not name the documents".to_owned(), None); count];
        };
        items.iter().map(|item| of_item(item, answer, now)).collect()
    }

    fn takes_updates(&self) -> bool {
        self.sent_update_event.unwrap_or(true)
    }
}

/// The verdict on one document of a bulk request. A conflict of `create` means that an earlier request stored the document. The header
/// `Retry-After` of the answer applies to each document that failed.
fn of_item(item: &Value, answer: &Answer, now: Timestamp) -> Verdict {
    const CONFLICT: u16 = 409;
    let created = item.get("create");
    let result = created.or_else(|| item.get("index")).unwrap_or(&Value::Null);
    let status = result.get("status").and_then(Value::as_u64).and_then(|status| u16::try_from(status).ok());
    if created.is_some() && status == Some(CONFLICT) {
        return Verdict::Sent;
    }
    let body = result.get("error").map(Value::to_string).unwrap_or_default();
    let retry_after = answer.retry_after.clone();
    Answer { status: status.unwrap_or(500), retry_after, body }.verdict(now)
}

/// The address in the ID of a cluster: `name:` and in base64 `host$uuid$uuid`.
fn cloud(id: &str) -> Option<Url> {
    let (_, encoded) = id.rsplit_once(':')?;
    let decoded = String::from_utf8(BASE64_STANDARD.decode(encoded).ok()?).ok()?;
    let mut parts = decoded.split('$');
    let (host, cluster) = (parts.next()?, parts.next()?);
    let (host, port) = host.split_once(':').unwrap_or((host, "443"));
    Url::try_from(format!("https://{cluster}.{host}:{port}")).ok()
}
