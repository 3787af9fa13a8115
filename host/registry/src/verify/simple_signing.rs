//! cosign's older form: a layer with a small JSON text, whose annotations hold the signature.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use sigstore_verify::types::{Bundle, DerCertificate};

use crate::Digest;

/// A signature under the `.sig` tag, not verified yet.
#[derive(Clone, Debug, Default)]
pub(crate) struct SimpleSigning {
    /// The bytes that are signed.
    pub(super) payload: Vec<u8>,
    pub(super) signature: Vec<u8>,
    /// The certificate of the signer in PEM form; `None` for a key.
    pub(super) certificate: Option<String>,
    /// The promise of the transparency log, as JSON.
    pub(super) log_entry: Option<String>,
}

/// What is signed.
#[derive(Deserialize)]
struct Payload {
    critical: Critical,
}

#[derive(Deserialize)]
struct Critical {
    image: Image,
}

#[derive(Deserialize)]
struct Image {
    #[serde(rename = "docker-manifest-digest")]
    digest: String,
}

/// The promise of the log, in cosign's form.
#[derive(Deserialize)]
struct LogEntry {
    #[serde(rename = "SignedEntryTimestamp")]
    promise: String,
    #[serde(rename = "Payload")]
    payload: LogPayload,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LogPayload {
    body: String,
    integrated_time: i64,
    log_index: i64,
    #[serde(rename = "logID")]
    log_id: String,
}

// === impl SimpleSigning ===

impl SimpleSigning {
    /// Returns why the signed text is not about the artifact.
    pub(super) fn is_about(&self, artifact: Digest) -> Result<(), String> {
        let payload: Payload = serde_json::from_slice(&self.payload)
            .map_err(|error| format!("what it signs cannot be read: {error}"))?;
        let signed = payload.critical.image.digest;
        if signed == artifact.to_string() {
            Ok(())
        } else {
            Err(format!("it is about another artifact, {}", informer_types::excerpt(&signed, 80)))
        }
    }

    /// The same signature as a bundle of the oldest version, which needs a promise of the log and no proof.
    pub(super) fn to_bundle(&self) -> Result<Bundle, String> {
        let signer = match &self.certificate {
            Some(pem) => {
                let certificate =
                    DerCertificate::from_pem(pem).map_err(|error| format!("its certificate: {error}"))?;
                ("x509CertificateChain", json!({"certificates": [{"rawBytes": certificate.to_base64()}]}))
            }
            None => ("publicKey", json!({"hint": ""})),
        };
        let bundle = json!({
            "mediaType": "application/vnd.dev.sigstore.bundle+json;version=0.1",
            "verificationMaterial": {(signer.0): signer.1, "tlogEntries": [self.log_entry()?]},
            "messageSignature": {
                "messageDigest": {"algorithm": "SHA2_256", "digest": STANDARD.encode(Sha256::digest(&self.payload))},
                "signature": STANDARD.encode(&self.signature),
            },
        });
        Bundle::from_json(&bundle.to_string()).map_err(|error| error.to_string())
    }

    fn log_entry(&self) -> Result<Value, String> {
        let text = self.log_entry.as_ref().ok_or("it is not in the transparency log")?;
        let LogEntry { promise, payload } =
            serde_json::from_str(text).map_err(|error| format!("its log entry cannot be read: {error}"))?;
        let id: Digest = format!("sha256:{}", payload.log_id)
            .parse()
            .map_err(|_| "its log entry names no log".to_owned())?;
        Ok(json!({
            "logIndex": payload.log_index.to_string(),
            "logId": {"keyId": STANDARD.encode(id.as_bytes())},
            "kindVersion": {"kind": "hashedrekord", "version": "0.0.1"},
            "integratedTime": payload.integrated_time.to_string(),
            "inclusionPromise": {"signedEntryTimestamp": promise},
            "canonicalizedBody": payload.body,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_about_the_digest_that_its_text_names() {
        let artifact = Digest::of(b"x");
        let signing =
            |payload: String| SimpleSigning { payload: payload.into_bytes(), ..SimpleSigning::default() };
        let text = |digest: &str| {
            format!(
                r#"{{"critical": {{"image": {{"docker-manifest-digest": "{digest}"}}, "type": "x"}}, "optional": null}}"#
            )
        };

        assert_eq!(signing(text(&artifact.to_string())).is_about(artifact), Ok(()));
        let other = signing(text("sha256:0")).is_about(artifact).unwrap_err();
        assert_eq!(other, "it is about another artifact, sha256:0");
        assert!(signing("{}".to_owned()).is_about(artifact).unwrap_err().contains("cannot be read"));
    }

    #[test]
    fn a_promise_of_the_log_becomes_a_bundle() {
        let payload = json!({"body": "e30=", "integratedTime": 1, "logIndex": 2, "logID": "00".repeat(32)});
        let entry = json!({"SignedEntryTimestamp": "AA==", "Payload": payload}).to_string();
        let signing = SimpleSigning { log_entry: Some(entry), ..SimpleSigning::default() };

        assert!(signing.to_bundle().unwrap().has_inclusion_promise());
        let without = SimpleSigning::default().to_bundle().unwrap_err();
        assert_eq!(without, "it is not in the transparency log");
    }
}
