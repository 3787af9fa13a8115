//! Requests to receivers, and their answers.

mod wasi;

use std::time::Duration;

use base64::{Engine, prelude::BASE64_STANDARD};
use jiff::Timestamp;
use serde::Deserialize;

pub(crate) use wasi::Wasi;

/// A request with a body of JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) url: Url,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

/// The address of a receiver.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Url {
    pub(crate) https: bool,
    pub(crate) authority: String,
    /// The path with the query.
    pub(crate) path: String,
    /// The header `Authorization` for credentials that the URL holds.
    pub(crate) authorization: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// The header `Retry-After`.
    pub(crate) retry_after: Option<String>,
    pub(crate) body: String,
}

/// What became of one event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    Sent,
    /// Another attempt may succeed, after this time if the receiver named one.
    Later(String, Option<Duration>),
    /// Another attempt may succeed. The reason is the load of the receiver, and not the event.
    Busy(String, Option<Duration>),
    /// Another attempt of the same event cannot succeed.
    Never(String),
}

/// Sends requests.
pub(crate) trait Post {
    /// # Errors
    /// Returns the verdict if there is no answer.
    fn post(&self, request: &Request) -> Result<Answer, Verdict>;
}

/// The longest time that a receiver can ask for.
pub(crate) const LONGEST_PAUSE: Duration = Duration::from_secs(15 * 60);

/// The value of `Authorization` for a name and a password.
pub(crate) fn basic(name: &[u8], password: &[u8]) -> String {
    format!("Basic {}", BASE64_STANDARD.encode([name, b":".as_slice(), password].concat()))
}

/// The value of `Authorization` for the part of a URL before `@`. The name and the password are percent-encoded there, because
/// characters such as `@` and `/` have a meaning in a URL. Returns `None` if two hexadecimal digits do not follow a `%`.
fn authorization(credentials: &str) -> Option<String> {
    let (name, password) = credentials.split_once(':').unwrap_or((credentials, ""));
    Some(basic(&percent_decoded(name)?, &percent_decoded(password)?))
}

fn percent_decoded(text: &str) -> Option<Vec<u8>> {
    let mut parts = text.split('%');
    let mut decoded = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2)?;
        // The parser of numbers also accepts a sign.
        let is_byte = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        decoded.push(u8::from_str_radix(digits, 16).ok().filter(|_| is_byte)?);
        decoded.extend_from_slice(rest.as_bytes());
    }
    Some(decoded)
}

// === impl Answer ===

impl Answer {
    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The verdict by the status alone.
    pub(crate) fn verdict(&self, now: Timestamp) -> Verdict {
        match self.status {
            200..300 => Verdict::Sent,
            429 => Verdict::Busy(self.to_string(), self.pause(now)),
            408 | 425 | 500.. => Verdict::Later(self.to_string(), self.pause(now)),
            _ => Verdict::Never(self.to_string()),
        }
    }

    /// The time that the receiver requests before the next attempt: `Retry-After` is a number of seconds or a time.
    pub(crate) fn pause(&self, now: Timestamp) -> Option<Duration> {
        let text = self.retry_after.as_deref()?.trim();
        let pause = match text.parse() {
            Ok(seconds) => Duration::from_secs(seconds),
            Err(_) => {
                let until = jiff::fmt::rfc2822::parse(text).ok()?.timestamp();
                Duration::try_from(until.duration_since(now)).unwrap_or_default()
            }
        };
        Some(pause.min(LONGEST_PAUSE))
    }
}

/// Writes the status and the start of the body.
impl std::fmt::Display for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let start: String = self.body.trim().chars().take(200).collect();
        let hint = match self.status {
            301..=303 | 307 | 308 => {
                " (the exporter follows no redirect: configure the address that the receiver redirects to)"
            }
            _ => "",
        };
        write!(f, "it answered {}{hint}{}{start}", self.status, if start.is_empty() { "" } else { ": " })
    }
}

// === impl Url ===

impl Url {
    /// The same address with a path behind its own.
    pub(crate) fn join(&self, path: &str) -> Self {
        Self { path: format!("{}{path}", self.path.trim_end_matches('/')), ..self.clone() }
    }
}

impl TryFrom<String> for Url {
    type Error = String;

    /// The text may hold secrets, so no message shows it.
    fn try_from(text: String) -> Result<Self, String> {
        let (https, rest) = match text.split_once("://") {
            Some(("https", rest)) => (true, rest),
            Some(("http", rest)) => (false, rest),
            _ => return Err("an address begins with `https://` or `http://`".to_owned()),
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at_checked(end).unwrap_or((rest, ""));
        let path = path.split('#').next().unwrap_or_default();
        let (authorization, authority) = match authority.rsplit_once('@') {
            Some(("", authority)) => (None, authority),
            Some((credentials, authority)) => {
                let value = authorization(credentials).ok_or(
                    "the name or the password of an address has a `%` without two hexadecimal digits after it; write \
                     `%25` for `%`",
                )?;
                (Some(value), authority)
            }
            None => (None, authority),
        };
        if authority.is_empty() || authority.chars().any(|character| character.is_whitespace()) {
            return Err("an address has a host, as in `https://example.com/path`".to_owned());
        }
        let start = if path.starts_with('/') { "" } else { "/" };
        Ok(Self { https, authority: authority.to_owned(), path: format!("{start}{path}"), authorization })
    }
}

/// Writes the scheme and the host. The path and the query of a webhook may be secrets.
impl std::fmt::Display for Url {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}://{}", if self.https { "https" } else { "http" }, self.authority)
    }
}

#[cfg(test)]
mod tests;
