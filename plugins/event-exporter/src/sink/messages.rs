//! `slack`, `teams` and `opsgenie`: a message or an alert for each Event.

use std::{collections::BTreeMap, time::Duration};

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, de::Error};
use serde_json::{Map, Value, json};

use super::{
    api::Sink,
    common::{Headers, document, render},
};
use crate::{
    http::{Answer, Request, Url, Verdict},
    layout::{Layout, Text},
    record::Record,
    route::or_default,
};

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Slack {
    token: String,
    channel: Text,
    message: Text,
    color: Option<Text>,
    footer: Option<Text>,
    title: Option<Text>,
    author_name: Option<Text>,
    /// The fields of an attachment. Without this key, the message has no attachment, as in the original.
    fields: Option<BTreeMap<String, Text>>,
    /// The API of Slack; another one for a proxy.
    #[serde(default = "slack_api")]
    endpoint: Url,
    #[serde(rename = "sentUpdateEvent")]
    sent_update_event: Option<bool>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Teams {
    endpoint: Url,
    layout: Option<Layout>,
    #[serde(default, deserialize_with = "or_default")]
    headers: Headers,
    sent_update_event: Option<bool>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Opsgenie {
    api_key: String,
    #[serde(default = "opsgenie_api", rename = "URL", alias = "url", deserialize_with = "opsgenie_address")]
    url: Url,
    #[serde(default)]
    priority: Option<Text>,
    message: Text,
    alias: Option<Text>,
    description: Option<Text>,
    #[serde(default, deserialize_with = "or_default")]
    tags: Vec<Text>,
    #[serde(default, deserialize_with = "or_default")]
    details: BTreeMap<String, Text>,
    sent_update_event: Option<bool>,
}

/// Errors of Slack's API after which another attempt may succeed.
const PASSING: [&str; 5] =
    ["internal_error", "fatal_error", "service_unavailable", "request_timeout", "team_added_to_org"];

fn slack_api() -> Url {
    address("slack.com", "/api/chat.postMessage")
}

fn opsgenie_api() -> Url {
    address("api.opsgenie.com", "")
}

/// Reads the address of the API. In the original this is a host without a scheme, such as `api.eu.opsgenie.com`.
fn opsgenie_address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Url, D::Error> {
    let text: String = or_default(deserializer)?;
    if text.is_empty() {
        return Ok(opsgenie_api());
    }
    let text = if text.contains("://") { text } else { format!("https://{text}") };
    Url::try_from(text).map_err(D::Error::custom)
}

fn address(host: &str, path: &str) -> Url {
    Url { https: true, authority: host.to_owned(), path: path.to_owned(), authorization: None }
}

fn json_headers(authorization: String) -> Vec<(String, String)> {
    vec![
        ("Content-Type".to_owned(), "application/json; charset=utf-8".to_owned()),
        ("Authorization".to_owned(), authorization),
    ]
}

/// Adds the values of the templates that the configuration has. An empty value is not added, as in the original: Opsgenie refuses an
/// empty priority.
fn add_texts(
    to: &mut Map<String, Value>,
    texts: &[(&str, Option<&Text>)],
    record: &Record,
) -> Result<(), String> {
    for (key, text) in texts {
        let value = text.map(|text| render(key, text, record)).transpose()?;
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            to.insert((*key).to_owned(), Value::from(value));
        }
    }
    Ok(())
}

/// Escapes the characters that have a meaning in a text of Slack. A text of an Event thus mentions no user and makes no link.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

// === impl Slack ===

impl Slack {
    fn attachment(&self, fields: &BTreeMap<String, Text>, record: &Record) -> Result<Value, String> {
        let mut attachment = Map::new();
        let texts = [
            ("color", self.color.as_ref()),
            ("footer", self.footer.as_ref()),
            ("title", self.title.as_ref()),
            ("author_name", self.author_name.as_ref()),
        ];
        add_texts(&mut attachment, &texts, record)?;
        let mut shown = Vec::new();
        for (title, value) in fields {
            let value = render(&format!("fields.{title}"), value, record)?;
            shown.push(json!({"title": title, "value": value, "short": false}));
        }
        if !shown.is_empty() {
            attachment.insert("fields".to_owned(), Value::from(shown));
        }
        Ok(Value::Object(attachment))
    }
}

impl Sink for Slack {
    /// As in the original, the text is escaped, and the attachment is not.
    fn request(&self, records: &[Record], _attempt: u32) -> Result<Request, String> {
        let record = records.first().ok_or("there is no event")?;
        let channel = render("channel", &self.channel, record)?;
        let text = escaped(&render("message", &self.message, record)?);
        let mut message = json!({"channel": channel, "text": text});
        if let (Some(fields), Some(parts)) = (&self.fields, message.as_object_mut()) {
            parts.insert("attachments".to_owned(), Value::from(vec![self.attachment(fields, record)?]));
        }
        let headers = json_headers(format!("Bearer {}", self.token));
        Ok(Request { url: self.endpoint.clone(), headers, body: message.to_string() })
    }

    /// Slack answers 200 with `ok: false` if it refused a message.
    fn judge(&self, answer: &Answer, count: usize, now: Timestamp) -> Vec<Verdict> {
        let parsed: Value = serde_json::from_str(&answer.body).unwrap_or_default();
        let refused = parsed.get("ok") == Some(&Value::Bool(false));
        let error = parsed.get("error").and_then(Value::as_str).unwrap_or_default();
        let verdict = match answer.verdict(now) {
            Verdict::Sent if refused && error == "ratelimited" => {
                Verdict::Busy(format!("Slack answered {error}"), answer.pause(now))
            }
            Verdict::Sent if refused && PASSING.contains(&error) => {
                Verdict::Later(format!("Slack answered {error}"), answer.pause(now))
            }
            Verdict::Sent if refused => Verdict::Never(format!("Slack answered {error}")),
            verdict => verdict,
        };
        vec![verdict; count]
    }

    fn takes_updates(&self) -> bool {
        self.sent_update_event.unwrap_or(true)
    }
}

impl Sink for Teams {
    /// If the layout has `text`, `attachments` or `@type`, it is a Teams message, and the sink sends it unchanged. Otherwise the sink
    /// writes a message from the fields `message`, `reason` and `metadata`.
    fn request(&self, records: &[Record], _attempt: u32) -> Result<Request, String> {
        let record = records.first().ok_or("there is no event")?;
        let document = document(self.layout.as_ref(), false, record)?;
        let is_message = document.get("text").is_some()
            || document.get("attachments").is_some()
            || document.get("@type").is_some();
        let message = if self.layout.is_some() && is_message {
            document
        } else {
            let part = |key: &str| match document.get(key) {
                Some(Value::String(text)) => text.clone(),
                Some(other) => other.to_string(),
                None => String::new(),
            };
            let text = format!(
                "Event: {} \nStatus: {} \nMetadata: {}",
                part("message"),
                part("reason"),
                part("metadata")
            );
            json!({"summary": "event", "text": text})
        };
        Ok(Request {
            url: self.endpoint.clone(),
            headers: self.headers.of(&self.endpoint, record)?,
            body: message.to_string(),
        })
    }

    /// Teams may answer 200 with the real status in a sentence of the body.
    fn judge(&self, answer: &Answer, count: usize, now: Timestamp) -> Vec<Verdict> {
        let status = answer
            .body
            .split_once("returned HTTP error ")
            .and_then(|(_, after)| after.get(..3).and_then(|digits| digits.parse::<u16>().ok()));
        let judged = match status {
            Some(status) if answer.is_success() => Answer { status, ..answer.clone() },
            _ => answer.clone(),
        };
        let verdict = match judged.verdict(now) {
            Verdict::Busy(why, None) => Verdict::Busy(why, Some(Duration::from_secs(10))),
            verdict => verdict,
        };
        vec![verdict; count]
    }

    fn takes_updates(&self) -> bool {
        self.sent_update_event.unwrap_or(true)
    }
}

impl Sink for Opsgenie {
    fn request(&self, records: &[Record], _attempt: u32) -> Result<Request, String> {
        let record = records.first().ok_or("there is no event")?;
        let mut alert = Map::new();
        let texts = [
            ("message", Some(&self.message)),
            ("alias", self.alias.as_ref()),
            ("description", self.description.as_ref()),
            ("priority", self.priority.as_ref()),
        ];
        add_texts(&mut alert, &texts, record)?;
        let tags = self.tags.iter().map(|tag| render("tags", tag, record));
        alert.insert("tags".to_owned(), Value::from(tags.collect::<Result<Vec<_>, _>>()?));
        let mut details = Map::new();
        for (key, value) in &self.details {
            details.insert(key.clone(), Value::from(render(&format!("details.{key}"), value, record)?));
        }
        alert.insert("details".to_owned(), Value::Object(details));
        Ok(Request {
            url: self.url.join("/v2/alerts"),
            headers: json_headers(format!("GenieKey {}", self.api_key)),
            body: Value::Object(alert).to_string(),
        })
    }

    fn takes_updates(&self) -> bool {
        self.sent_update_event.unwrap_or(true)
    }
}
