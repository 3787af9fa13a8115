//! The data about a component in the config of its artifact.

use serde::{Deserialize, Serialize};

use crate::Digest;

/// The architecture of every WebAssembly artifact.
const ARCHITECTURE: &str = "wasm";

/// Components of WASI 0.2.
const COMPONENT: &str = "wasip2";

/// Core modules.
const MODULE: &str = "wasip1";

/// The most bytes shown of the problem of a config that cannot be read.
const SHOWN: usize = 128;

/// The most imports or exports that a config may name. The largest components have some dozens.
const NAMES: usize = 1_000;

/// The config of an artifact: `application/vnd.wasm.config.v0+json`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Contents {
    /// When it was made (RFC 3339).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<String>,
    /// The person or program that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    architecture: String,
    os: String,
    layer_digests: Vec<String>,
    /// The interfaces of the component; `None` if the artifact does not name them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub component: Option<Interfaces>,
}

/// The interfaces of a component, by their full names: `informer:plugin/handler@0.1.0`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interfaces {
    /// The exports of the component.
    #[serde(default)]
    pub exports: Vec<String>,
    /// The imports of the component.
    #[serde(default)]
    pub imports: Vec<String>,
    /// The world that it was built against, if it is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

/// Why a config does not belong to the component.
#[derive(Debug, thiserror::Error)]
pub enum InvalidContents {
    /// It is not JSON, or lacks a part.
    #[error("its config cannot be read: {}", informer_types::excerpt(&_0.to_string(), SHOWN))]
    Json(#[from] serde_json::Error),
    /// It is not WebAssembly.
    #[error("its config is for the architecture `{}`, not `{ARCHITECTURE}`", informer_types::excerpt(_0, 64))]
    Architecture(String),
    /// It is a core module.
    #[error(
        "its config says that it is a core module (`{MODULE}`), not a component; build it for the target wasm32-wasip2"
    )]
    Module,
    /// It is about another layer.
    #[error("its config is about another layer than {0}")]
    Layer(Digest),
    /// It names more interfaces than any component has.
    #[error("its config names more than {NAMES} imports or exports")]
    TooMany,
}

// === impl Contents ===

impl Contents {
    /// The fields in the config of a component.
    pub fn of_component(
        layer: Digest,
        interfaces: Interfaces,
        created: Option<String>,
        author: Option<String>,
    ) -> Self {
        Self {
            created,
            author,
            architecture: ARCHITECTURE.to_owned(),
            os: COMPONENT.to_owned(),
            layer_digests: vec![layer.to_string()],
            component: Some(interfaces),
        }
    }

    /// Reads the config of the artifact with this layer. Never panics, whatever the bytes.
    ///
    /// # Errors
    /// [`InvalidContents`], with what was found.
    pub fn parse(bytes: &[u8], layer: Digest) -> Result<Self, InvalidContents> {
        let contents: Self = serde_json::from_slice(bytes)?;
        if contents.architecture != ARCHITECTURE {
            return Err(InvalidContents::Architecture(contents.architecture));
        }
        if contents.os == MODULE {
            return Err(InvalidContents::Module);
        }
        let layer_text = layer.to_string();
        if !contents.layer_digests.contains(&layer_text) {
            return Err(InvalidContents::Layer(layer));
        }
        let too_many = |names: &Vec<String>| names.len() > NAMES;
        if contents.component.as_ref().is_some_and(|own| too_many(&own.imports) || too_many(&own.exports)) {
            return Err(InvalidContents::TooMany);
        }
        Ok(contents)
    }

    /// The JSON text.
    pub(crate) fn to_json(&self) -> Vec<u8> {
        // Texts and lists of texts always have a JSON form.
        serde_json::to_vec(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_config_reads_back_and_belongs_to_its_layer() {
        let interfaces = Interfaces { exports: vec!["a:b/c@1.0.0".to_owned()], ..Interfaces::default() };
        let contents = Contents::of_component(
            Digest::of(b"x"),
            interfaces,
            Some("2026-01-01T00:00:00Z".to_owned()),
            None,
        );

        assert_eq!(Contents::parse(&contents.to_json(), Digest::of(b"x")).unwrap(), contents);
        let error = Contents::parse(&contents.to_json(), Digest::of(b"y")).unwrap_err().to_string();
        assert!(error.starts_with("its config is about another layer than sha256:"), "{error}");
    }

    #[test]
    fn a_config_of_something_else_is_refused() {
        let layer = Digest::of(b"x");
        let read = |text: String| Contents::parse(text.as_bytes(), layer).unwrap_err().to_string();
        let config = |architecture: &str, os: &str, component: &str| {
            format!(
                r#"{{"architecture": "{architecture}", "os": "{os}", "layerDigests": ["{layer}"], "component": {component}}}"#
            )
        };
        let many = format!(r#"{{"imports": [{}"a"]}}"#, "\"a\",".repeat(NAMES));
        for (text, problem) in [
            (config("amd64", "linux", "null"), "for the architecture `amd64`, not `wasm`"),
            (config("wasm", "wasip1", "null"), "a core module"),
            (config("wasm", "wasip2", &many), "more than 1000 imports"),
            ("[]".to_owned(), "cannot be read"),
            ("{".to_owned(), "cannot be read"),
        ] {
            let error = read(text);
            assert!(error.contains(problem), "{error}");
        }
        // The JSON library quotes a text of another type in full.
        let error = read(config("wasm", "wasip2", &format!("{:?}", "x".repeat(1 << 19))));
        assert!(error.starts_with("its config cannot be read: invalid type") && error.len() < 256, "{error}");
        assert!(
            Contents::parse(config("wasm", "wasip2", "null").as_bytes(), layer).unwrap().component.is_none()
        );
    }
}
