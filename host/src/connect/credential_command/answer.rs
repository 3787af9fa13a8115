//! The output of a command for credentials: an `ExecCredential`.

use std::time::Duration;

use http::HeaderValue;
use jiff::Timestamp;
use serde::Deserialize;

/// A client certificate with its key, both PEM. It implements neither `Debug` nor `Display`, so no text shows the key.
#[derive(PartialEq, Eq)]
pub(in crate::connect) struct Identity {
    pub(in crate::connect) certificate: String,
    pub(in crate::connect) key: String,
}

/// Credentials of a command.
pub(super) struct Answer {
    pub(super) header: Option<HeaderValue>,
    pub(super) identity: Option<Identity>,
    /// The time until the credentials expire, zero if they have. `None` means that they never do.
    pub(super) lifetime: Option<Duration>,
}

/// Why the output of the command has no credentials. The texts follow the name of the command and show nothing of its output,
/// which may be a secret.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Garbage {
    #[error("printed {0} bytes that are no ExecCredential in JSON or YAML")]
    Unreadable(usize),
    #[error("printed something other than an ExecCredential of {0}, the apiVersion in the kubeconfig")]
    OtherVersion(String),
    #[error("printed an ExecCredential without a status")]
    NoStatus,
    #[error("printed a status with neither a token nor a client certificate")]
    Nothing,
    #[error("printed only one of clientCertificateData and clientKeyData")]
    HalfAnIdentity,
    #[error("printed a token that no HTTP header can hold")]
    Token,
    #[error("printed an expirationTimestamp that is no time, such as 2030-01-31T12:00:00Z")]
    Expiry,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExecCredential {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    kind: String,
    status: Option<Status>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    expiration_timestamp: Option<String>,
    token: Option<String>,
    client_certificate_data: Option<String>,
    client_key_data: Option<String>,
}

// === impl Answer ===

impl Answer {
    /// Reads JSON or YAML, as client-go does.
    ///
    /// # Errors
    /// The command printed something else.
    pub(super) fn read(printed: &[u8], version: &str) -> Result<Self, Garbage> {
        let json = serde_json::from_slice(printed);
        let read: Option<ExecCredential> = json.ok().or_else(|| serde_saphyr::from_slice(printed).ok());
        // An empty document of YAML is an object without fields.
        let read = read.filter(|_| !printed.trim_ascii().is_empty());
        let credential = read.ok_or(Garbage::Unreadable(printed.len()))?;
        if credential.api_version != version || credential.kind != "ExecCredential" {
            return Err(Garbage::OtherVersion(version.to_owned()));
        }
        let Status { expiration_timestamp, token, client_certificate_data, client_key_data } =
            credential.status.ok_or(Garbage::NoStatus)?;
        let [token, certificate, key] = [token, client_certificate_data, client_key_data]
            .map(|text| text.filter(|text| !text.is_empty()));
        let identity = match (certificate, key) {
            (None, None) => None,
            (Some(certificate), Some(key)) => Some(Identity { certificate, key }),
            _ => return Err(Garbage::HalfAnIdentity),
        };
        if identity.is_none() && token.is_none() {
            return Err(Garbage::Nothing);
        }
        let header = token.as_deref().map(bearer).transpose()?;
        let lifetime = expiration_timestamp.as_deref().map(until).transpose()?;
        Ok(Self { header, identity, lifetime })
    }
}

fn bearer(token: &str) -> Result<HeaderValue, Garbage> {
    let mut header = HeaderValue::try_from(format!("Bearer {token}")).map_err(|_| Garbage::Token)?;
    header.set_sensitive(true);
    Ok(header)
}

fn until(expiry: &str) -> Result<Duration, Garbage> {
    let expiry: Timestamp = expiry.parse().map_err(|_| Garbage::Expiry)?;
    Ok(Duration::try_from(expiry.duration_since(Timestamp::now())).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const V1: &str = "client.authentication.k8s.io/v1";

    fn read(status: &str) -> Result<Answer, Garbage> {
        let text = format!(r#"{{"apiVersion": "{V1}", "kind": "ExecCredential", "status": {status}}}"#);
        Answer::read(text.as_bytes(), V1)
    }

    #[test]
    fn tokens_and_certificates_are_read_from_json_and_yaml() {
        let answer = read(r#"{"token": "one", "expirationTimestamp": null}"#).ok().unwrap();
        let header = answer.header.unwrap();
        assert!(header.is_sensitive() && header == "Bearer one");
        assert!(answer.identity.is_none() && answer.lifetime.is_none());

        let yaml = format!(
            "kind: ExecCredential\napiVersion: {V1}\nstatus:\n  clientCertificateData: a\n  clientKeyData: b\n  \
             expirationTimestamp: '2001-01-01T00:00:00Z'\n"
        );
        let answer = Answer::read(yaml.as_bytes(), V1).ok().unwrap();
        assert!(answer.header.is_none());
        assert!(answer.identity.is_some_and(|identity| identity.certificate == "a" && identity.key == "b"));
        assert_eq!(answer.lifetime, Some(Duration::ZERO));

        let answer = read(r#"{"token": "one", "expirationTimestamp": "2999-01-01T00:00:00+02:00"}"#);
        assert!(answer.ok().unwrap().lifetime > Some(Duration::from_secs(60)));
    }

    #[test]
    fn anything_else_is_refused_without_showing_it() {
        for (status, garbage) in [
            ("null", Garbage::NoStatus),
            ("{}", Garbage::Nothing),
            (r#"{"token": ""}"#, Garbage::Nothing),
            (r#"{"token": "one", "clientKeyData": "secret"}"#, Garbage::HalfAnIdentity),
            (r#"{"clientCertificateData": "secret"}"#, Garbage::HalfAnIdentity),
            (r#"{"token": "sec\nret"}"#, Garbage::Token),
            (r#"{"token": "secret", "expirationTimestamp": "tomorrow"}"#, Garbage::Expiry),
        ] {
            assert_eq!(read(status).err(), Some(garbage), "{status}");
        }
        for printed in ["", "secret", "secret: [", r#"{"status": "secret"}"#, "\u{0}\u{1}", "- secret"] {
            let garbage = Answer::read(printed.as_bytes(), V1).err();
            assert_eq!(garbage, Some(Garbage::Unreadable(printed.len())), "{printed:?}");
        }
        for other in [
            r#"{"token": "secret"}"#.to_owned(),
            format!(
                r#"{{"apiVersion": "{V1}beta1", "kind": "ExecCredential", "status": {{"token": "secret"}}}}"#
            ),
            format!(r#"{{"apiVersion": "{V1}", "kind": "Secret", "status": {{"token": "secret"}}}}"#),
        ] {
            let garbage = Answer::read(other.as_bytes(), V1).err();
            assert_eq!(garbage, Some(Garbage::OtherVersion(V1.to_owned())), "{other}");
        }
    }
}
