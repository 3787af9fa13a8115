//! Credentials in the form of docker's `config.json`: those of `docker login`, of credential helpers, and of image pull secrets
//! (`kubernetes.io/dockerconfigjson`).

use std::{
    env, fmt,
    path::{Path, PathBuf},
};

use docker_credential::{CredentialRetrievalError, DockerCredential, get_credential_from_reader};
use informer_system::{FileError, read_file};

use crate::{RegistryError, settings::RegistrySettings};

/// The most bytes of a file of credentials. Kubernetes accepts Secrets of 1 MiB.
const BYTES: u64 = 1 << 20;

/// The name under which docker keeps the credentials of `docker.io`.
const DOCKER_HUB: &str = "https://index.docker.io/v1/";

/// The credentials that are sent to a registry.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Credentials {
    /// Nothing: the registry serves everybody.
    Anonymous,
    /// A user and a password.
    Basic { user: String, password: String },
    /// A token that is exchanged for others.
    Identity(String),
}

// === impl Credentials ===

impl Credentials {
    /// Reads the credentials of a registry, each time anew: secrets rotate. A credential helper is a program that is run.
    ///
    /// # Errors
    /// [`RegistryError::File`] if a file that is named cannot be used. Without a file and without an entry the registry is
    /// asked without credentials.
    pub(crate) async fn of(settings: &RegistrySettings) -> Result<Self, RegistryError> {
        let settings = settings.clone();
        let reading = tokio::task::spawn_blocking(move || Self::read(&settings));
        reading.await.unwrap_or(Ok(Self::Anonymous))
    }

    fn read(settings: &RegistrySettings) -> Result<Self, RegistryError> {
        let Some(path) = settings.credentials.clone().or_else(of_docker) else { return Ok(Self::Anonymous) };
        let failed = |why: String| RegistryError::File {
            path: path.clone(),
            registry: settings.host.clone(),
            what: "the credentials",
            why,
        };
        let bytes = match read_file(&path, BYTES) {
            Ok(bytes) => bytes,
            Err(error) if settings.credentials.is_none() && error.is_absent() => return Ok(Self::Anonymous),
            Err(error) => return Err(failed(file_error(error))),
        };
        // The file may name the host as the configuration writes it, or as `docker login` writes it.
        let (written, address) = (settings.host.clone(), settings.address());
        let other = (address != written).then(|| address.clone());
        let names =
            [written].into_iter().chain(other).flat_map(|host| [host.clone(), format!("https://{host}")]);
        let hub = (address == "docker.io").then(|| DOCKER_HUB.to_owned());
        for name in hub.into_iter().chain(names) {
            match get_credential_from_reader(bytes.as_slice(), &name) {
                Ok(DockerCredential::IdentityToken(token)) => return Ok(Self::Identity(token)),
                Ok(DockerCredential::UsernamePassword(user, password)) => {
                    return Ok(Self::Basic { user, password });
                }
                Err(CredentialRetrievalError::NoCredentialConfigured) => {}
                // A helper that keeps nothing for this registry ends with an error.
                Err(CredentialRetrievalError::HelperFailure { stdout, .. })
                    if stdout.contains("not found") => {}
                Err(error) => return Err(failed(error.to_string())),
            }
        }
        Ok(Self::Anonymous)
    }

    pub(crate) fn is_anonymous(&self) -> bool {
        *self == Self::Anonymous
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Anonymous => f.write_str("Anonymous"),
            Self::Basic { user, .. } => write!(f, "Basic({user})"),
            Self::Identity(_) => f.write_str("Identity"),
        }
    }
}

fn file_error(error: FileError) -> String {
    std::io::Error::from(error).to_string()
}

/// Docker's own file.
fn of_docker() -> Option<PathBuf> {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let directory = set("DOCKER_CONFIG").or_else(|| set("HOME").map(|home| Path::new(&home).join(".docker")));
    Some(directory?.join("config.json"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    fn read(config: &str, host: &str) -> Result<Credentials, String> {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join(".dockerconfigjson");
        fs::write(&path, config).unwrap();
        let settings = RegistrySettings {
            host: host.to_owned(),
            credentials: Some(path),
            ..RegistrySettings::default()
        };
        Credentials::read(&settings).map_err(|error| error.to_string())
    }

    fn basic(user: &str, password: &str) -> Credentials {
        Credentials::Basic { user: user.to_owned(), password: password.to_owned() }
    }

    #[test]
    fn an_image_pull_secret_has_the_credentials_of_each_registry() {
        // `me:secret:word` and `you:other`
        let config = r#"{"auths": {"ghcr.io": {"auth": "bWU6c2VjcmV0OndvcmQ="}, "https://a.example:5000": {"username": "you",
            "password": "other"}, "https://index.docker.io/v1/": {"identitytoken": "t"}}}"#;

        assert_eq!(read(config, "ghcr.io"), Ok(basic("me", "secret:word")));
        assert_eq!(read(config, "a.example:5000"), Ok(basic("you", "other")));
        assert_eq!(read(config, "docker.io"), Ok(Credentials::Identity("t".to_owned())));
        assert_eq!(read(config, "GHCR.io:0443"), Ok(basic("me", "secret:word")));
        assert_eq!(read(config, "A.example:05000"), Ok(basic("you", "other")));
        assert_eq!(read(config, "b.example"), Ok(Credentials::Anonymous));
        assert_eq!(read("{}", "ghcr.io"), Ok(Credentials::Anonymous));
    }

    #[test]
    fn a_file_that_is_named_and_cannot_be_used_is_an_error() {
        for config in [
            "",
            "[]",
            r#"{"auths": {"ghcr.io": {"auth": "%"}}}"#,
            r#"{"credHelpers": {"ghcr.io": "missing-one"}}"#,
        ] {
            let error = read(config, "ghcr.io").unwrap_err();
            assert!(error.contains("which holds the credentials for ghcr.io, cannot be used"), "{error}");
        }
        let absent = RegistrySettings {
            host: "ghcr.io".to_owned(),
            credentials: Some("/nowhere/config.json".into()),
            ..RegistrySettings::default()
        };
        assert!(Credentials::read(&absent).is_err());
    }

    #[test]
    fn a_password_is_not_shown() {
        assert!(!format!("{:?}", basic("me", "hunter2")).contains("hunter2"));
    }
}
