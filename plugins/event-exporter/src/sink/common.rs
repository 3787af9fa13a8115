//! Parts of the configuration that several receivers have.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::{
    http::Url,
    layout::{Layout, Text},
    record::Record,
};

/// Headers, whose values are templates.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(try_from = "BTreeMap<String, Text>")]
pub(super) struct Headers(BTreeMap<String, Text>);

/// Headers that the host, or the exporter itself, writes. The host refuses each request that has one of them.
const RESERVED: [&str; 10] = [
    "connection",
    "content-length",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "transfer-encoding",
    "upgrade",
];

/// `tls`. The host makes the connections, so its certificate authorities count.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(try_from = "BTreeMap<String, Value>")]
pub(super) struct Tls;

/// The document of an Event: its layout, or all of it.
pub(super) fn document(layout: Option<&Layout>, de_dot: bool, record: &Record) -> Result<Value, String> {
    let without_dots = de_dot.then(|| record.without_dots());
    let whole = without_dots.as_ref().unwrap_or(record.document());
    match layout {
        Some(layout) => layout.render(whole).map_err(|error| format!("layout: {error}")),
        None => Ok(whole.clone()),
    }
}

/// Renders a template of the configuration. `key` names it in the error.
pub(super) fn render(key: &str, text: &Text, record: &Record) -> Result<String, String> {
    text.render(record.document()).map_err(|error| format!("{key}: {error}"))
}

// === impl Headers ===

impl Headers {
    /// Returns true if the headers are the same for all Events.
    pub(super) fn are_constant(&self) -> bool {
        self.0.values().all(Text::is_constant)
    }

    /// The headers of a request: the headers of the configuration, and `Content-Type` and `Authorization` if they are not among
    /// them.
    pub(super) fn of(&self, url: &Url, record: &Record) -> Result<Vec<(String, String)>, String> {
        self.with(url, record, "application/json")
    }

    pub(super) fn with(
        &self,
        url: &Url,
        record: &Record,
        content_type: &str,
    ) -> Result<Vec<(String, String)>, String> {
        let mut headers = Vec::new();
        for (name, value) in &self.0 {
            headers.push((name.clone(), render(&format!("headers.{name}"), value, record)?));
        }
        let mut add = |name: &str, value: Option<String>| {
            if let Some(value) = value.filter(|_| !self.0.keys().any(|own| own.eq_ignore_ascii_case(name))) {
                headers.push((name.to_owned(), value));
            }
        };
        add("Content-Type", Some(content_type.to_owned()));
        add("Authorization", url.authorization.clone());
        Ok(headers)
    }
}

impl TryFrom<BTreeMap<String, Text>> for Headers {
    type Error = String;

    /// Refuses what no request can have. Otherwise each Event would become a dead letter.
    fn try_from(headers: BTreeMap<String, Text>) -> Result<Self, String> {
        for name in headers.keys() {
            if RESERVED.iter().any(|reserved| name.eq_ignore_ascii_case(reserved)) {
                return Err(format!("headers.{name}: the host writes this header itself"));
            }
            let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
            if name.is_empty() || !name.bytes().all(fits) {
                return Err(format!("headers.{name}: this is not the name of a header"));
            }
        }
        Ok(Self(headers))
    }
}

// === impl Tls ===

impl TryFrom<BTreeMap<String, Value>> for Tls {
    type Error = String;

    fn try_from(keys: BTreeMap<String, Value>) -> Result<Self, String> {
        let is_set = |value: &Value| !matches!(value, Value::Null | Value::Bool(false)) && value != "";
        match keys.iter().find(|(_, value)| is_set(value)) {
            None => Ok(Self),
            Some((key, _)) => Err(format!(
                "tls.{key} is not supported: the host makes the connections, and trusts the authorities of \
                 `http-ca` under [host]"
            )),
        }
    }
}
