//! The manifest of a component, in the CNCF layout for WebAssembly: a config, and one layer with the component.

use std::collections::BTreeMap;

use informer_types::excerpt;
use oci_client::manifest::{OciDescriptor, OciImageIndex, OciImageManifest};
use serde::Deserialize;

use crate::{Digest, media_type};

/// The most bytes shown of a text of a manifest.
const SHOWN: usize = 128;

/// A part of an artifact: where its bytes are, and how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The digest of the bytes.
    pub digest: Digest,
    /// The number of bytes.
    pub bytes: u64,
}

/// The manifest of a component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// The config, which says what is in the layer.
    pub config: Part,
    /// The component.
    pub layer: Part,
    /// Texts by name: who made it, from which source, under which licence.
    pub annotations: BTreeMap<String, String>,
}

/// Why a manifest does not describe a component.
#[derive(Debug, thiserror::Error)]
pub enum InvalidManifest {
    /// It is not JSON, or lacks a part.
    #[error("its manifest cannot be read: {}", excerpt(&_0.to_string(), SHOWN))]
    Json(#[from] serde_json::Error),
    /// It is a list of manifests.
    #[error(
        "it is a list of manifests for several platforms, not a component; name one of them by its digest"
    )]
    Index,
    /// The config is that of something else.
    #[error(
        "its config is of the type {}, not {}: it is no WebAssembly artifact; `informer plugin push` makes one",
        excerpt(_0, SHOWN),
        media_type::WASM_CONFIG
    )]
    Config(String),
    /// It has not exactly one layer.
    #[error("it has {0} layers; a component is one layer")]
    Layers(usize),
    /// The layer is something else.
    #[error("its layer is of the type {}, not {}", excerpt(_0, SHOWN), media_type::WASM_LAYER)]
    Layer(String),
    /// A digest or a size of it cannot be.
    #[error("its {what} has an impossible {problem}")]
    Part {
        /// `config` or `layer`.
        what: &'static str,
        /// The problem.
        problem: String,
    },
}

/// The description of a document in itself.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Kind {
    media_type: Option<String>,
    #[serde(default)]
    manifests: Option<serde::de::IgnoredAny>,
}

// === impl Manifest ===

impl Manifest {
    /// Reads the JSON text of a manifest. Never panics, whatever the bytes.
    ///
    /// # Errors
    /// [`InvalidManifest`], with what was found.
    pub fn parse(bytes: &[u8]) -> Result<Self, InvalidManifest> {
        let kind: Kind = serde_json::from_slice(bytes)?;
        let is_index = [media_type::INDEX, media_type::DOCKER_INDEX]
            .contains(&kind.media_type.as_deref().unwrap_or_default());
        if is_index || kind.manifests.is_some() {
            return Err(InvalidManifest::Index);
        }
        let manifest: OciImageManifest = serde_json::from_slice(bytes)?;
        if manifest.config.media_type != media_type::WASM_CONFIG {
            return Err(InvalidManifest::Config(manifest.config.media_type));
        }
        let [layer] = manifest.layers.as_slice() else {
            return Err(InvalidManifest::Layers(manifest.layers.len()));
        };
        if layer.media_type != media_type::WASM_LAYER {
            return Err(InvalidManifest::Layer(layer.media_type.clone()));
        }
        Ok(Self {
            config: part("config", &manifest.config)?,
            layer: part("layer", layer)?,
            annotations: manifest.annotations.unwrap_or_default(),
        })
    }
}

/// Reads an artifact of any kind, such as the one that holds signatures.
pub(crate) fn any(bytes: &[u8]) -> Result<OciImageManifest, InvalidManifest> {
    Ok(serde_json::from_slice(bytes)?)
}

/// Reads a list of manifests, such as the list of referrers.
pub(crate) fn index(bytes: &[u8]) -> Result<OciImageIndex, InvalidManifest> {
    Ok(serde_json::from_slice(bytes)?)
}

pub(crate) fn part(what: &'static str, descriptor: &OciDescriptor) -> Result<Part, InvalidManifest> {
    let digest = descriptor
        .digest
        .parse()
        .map_err(|error| InvalidManifest::Part { what, problem: format!("digest: {error}") })?;
    let bytes = u64::try_from(descriptor.size)
        .map_err(|_| InvalidManifest::Part { what, problem: format!("size: {}", descriptor.size) })?;
    Ok(Part { digest, bytes })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn manifest() -> Value {
        json!({
            "schemaVersion": 2,
            "mediaType": media_type::MANIFEST,
            "config": {"mediaType": media_type::WASM_CONFIG, "digest": Digest::of(b"c").to_string(), "size": 1},
            "layers": [{"mediaType": media_type::WASM_LAYER, "digest": Digest::of(b"layer").to_string(), "size": 5}],
            "annotations": {"org.opencontainers.image.licenses": "Apache-2.0"},
        })
    }

    fn parse(manifest: &Value) -> Result<Manifest, String> {
        Manifest::parse(manifest.to_string().as_bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_component_is_a_config_and_one_layer() {
        let read = parse(&manifest()).unwrap();

        assert_eq!(read.config, Part { digest: Digest::of(b"c"), bytes: 1 });
        assert_eq!(read.layer, Part { digest: Digest::of(b"layer"), bytes: 5 });
        assert_eq!(read.annotations.len(), 1);
    }

    #[test]
    fn anything_else_is_refused_with_what_was_found() {
        let refused = |change: &dyn Fn(&mut Value)| {
            let mut changed = manifest();
            change(&mut changed);
            parse(&changed).unwrap_err()
        };
        for (problem, change) in [
            (
                "it is a list of manifests",
                (&|it: &mut Value| it["manifests"] = json!([])) as &dyn Fn(&mut Value),
            ),
            ("it is a list of manifests", &|it| it["mediaType"] = json!(media_type::INDEX)),
            ("application/vnd.oci.image.config.v1+json, not", &|it| {
                it["config"]["mediaType"] = json!("application/vnd.oci.image.config.v1+json");
            }),
            ("it has 0 layers", &|it| it["layers"] = json!([])),
            ("it has 2 layers", &|it| it["layers"] = json!([it["layers"][0], it["layers"][0]])),
            ("its layer is of the type text/plain, not application/wasm", &|it| {
                it["layers"][0]["mediaType"] = json!("text/plain");
            }),
            ("its layer has an impossible digest: `sha512:00` is not", &|it| {
                it["layers"][0]["digest"] = json!("sha512:00");
            }),
            ("its config has an impossible size: -1", &|it| it["config"]["size"] = json!(-1)),
            ("missing field `config`", &|it| {
                it.as_object_mut().unwrap().remove("config");
            }),
        ] {
            let error = refused(change);
            assert!(error.contains(problem), "{problem}: {error}");
        }
        // The JSON library quotes a text of another type in full.
        let error = refused(&|it| it["config"] = json!("x".repeat(1 << 20)));
        assert!(error.starts_with("its manifest cannot be read: invalid type"), "{error}");
        assert!(error.len() < 256, "{}", error.len());
        for bytes in [b"".as_slice(), b"{", b"[]", b"null", b"\xff", b"{\"schemaVersion\": 2}"] {
            assert!(Manifest::parse(bytes).is_err());
        }
    }
}
