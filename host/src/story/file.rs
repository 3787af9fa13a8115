//! The text of a story, as it is written. Values have their lines, for texts about them.

use std::{collections::BTreeMap, path::PathBuf};

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use serde_saphyr::Spanned;

/// Texts by key, by bucket.
pub(super) type Buckets = BTreeMap<String, BTreeMap<String, String>>;

/// Texts of files by name; `None` if the file is removed.
pub(super) type Files = BTreeMap<String, Option<String>>;

/// A value with its line.
#[derive(Clone, Debug)]
pub(super) struct Located<T> {
    pub(super) line: usize,
    pub(super) value: T,
}

/// A mistake and its line.
pub(super) type Fault = (usize, String);

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoryText {
    #[serde(default = "default_config")]
    pub(super) config: PathBuf,
    pub(super) plugin: Option<Spanned<String>>,
    pub(super) clock: Option<Spanned<String>>,
    pub(super) settings: Option<Spanned<Map<String, Value>>>,
    #[serde(default)]
    pub(super) objects: Vec<Spanned<Value>>,
    #[serde(default)]
    pub(super) keyvalue: Buckets,
    pub(super) files: Option<Spanned<BTreeMap<String, String>>>,
    #[serde(default)]
    pub(super) http: Vec<Spanned<AnswerText>>,
    #[serde(default)]
    pub(super) api: Vec<Spanned<AnswerText>>,
    pub(super) start: Option<ExpectText>,
    #[serde(default)]
    pub(super) steps: Vec<Spanned<StepText>>,
}

/// One step: a name, one action, and what follows from it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StepText {
    pub(super) name: Option<String>,
    pub(super) add: Option<Spanned<Value>>,
    pub(super) update: Option<Spanned<Value>>,
    pub(super) delete: Option<Spanned<String>>,
    pub(super) resync: Option<Spanned<String>>,
    pub(super) restart: Option<Spanned<bool>>,
    pub(super) reload: Option<Spanned<Map<String, Value>>>,
    pub(super) pass: Option<Spanned<String>>,
    pub(super) key: Option<Spanned<String>>,
    pub(super) files: Option<Spanned<Files>>,
    pub(super) expect: Option<ExpectText>,
}

/// The expectations of a step. A list that is absent is not compared.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExpectText {
    #[serde(default, deserialize_with = "list")]
    pub(super) calls: Option<Vec<Spanned<Value>>>,
    #[serde(default, deserialize_with = "list")]
    pub(super) log: Option<Vec<Spanned<Value>>>,
    #[serde(default, deserialize_with = "list")]
    pub(super) failures: Option<Vec<Spanned<Value>>>,
    #[serde(default, deserialize_with = "list")]
    pub(super) writes: Option<Vec<Spanned<Value>>>,
    #[serde(default, deserialize_with = "list")]
    pub(super) http: Option<Vec<Spanned<Value>>>,
    #[serde(default)]
    pub(super) objects: Vec<Spanned<Value>>,
    #[serde(default)]
    pub(super) gone: Vec<Spanned<String>>,
    pub(super) keyvalue: Option<Spanned<Buckets>>,
}

/// The answer to requests that match.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AnswerText {
    pub(super) request: String,
    #[serde(default = "ok")]
    pub(super) status: u16,
    #[serde(default)]
    pub(super) headers: BTreeMap<String, String>,
    pub(super) body: Option<String>,
    pub(super) json: Option<Value>,
    pub(super) times: Option<u32>,
}

/// A list that is written. A key without a value is the empty list, and not a list that is left out.
fn list<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<Spanned<Value>>>, D::Error> {
    Vec::deserialize(from).map(Some)
}

fn default_config() -> PathBuf {
    crate::config::FILE_NAME.into()
}

fn ok() -> u16 {
    200
}
