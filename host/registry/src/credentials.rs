//! Credentials in the form of docker's `config.json`: those of `docker login`, of credential helpers, and of image pull secrets
//! (`kubernetes.io/dockerconfigjson`).

use std::{
    collections::BTreeMap,
    env, fmt,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use docker_credential::{CredentialRetrievalError, DockerCredential, get_credential_from_reader};
use informer_system::{FileError, ProgramError, ProgramLimits, read_file, run_program_with_input};
use informer_types::excerpt;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{RegistryError, settings::RegistrySettings};

/// The most bytes of a file of credentials. Kubernetes accepts Secrets of 1 MiB.
const BYTES: u64 = 1 << 20;

/// The name under which docker keeps the credentials of `docker.io`.
const DOCKER_HUB: &str = "https://index.docker.io/v1/";

/// The limits of a credential helper, which may wait for a person who unlocks a keyring. A request for a manifest or a token has a minute,
/// and this minute includes the helper. The time of the helper is shorter, so that the error names the helper.
const HELPER: ProgramLimits =
    ProgramLimits { time: Duration::from_secs(45), output: 64 << 10, last_words: SHOWN };

/// The most bytes shown of what a helper says when it fails.
const SHOWN: usize = 256;

/// The user in the answer of a helper if the secret is a token.
const TOKEN: &str = "<token>";

/// A file of credentials.
struct Config {
    /// The file without the names of its helpers.
    stored: Vec<u8>,
    /// The helpers that the file names for single registries, by the name of the registry.
    helpers: BTreeMap<String, String>,
    /// The helper of every other registry whose credentials are not in the file.
    store: Option<String>,
}

/// The answer of a helper.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Answer {
    username: String,
    secret: String,
}

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
    /// [`RegistryError::File`] if the file of credentials, or a helper that the file names, cannot be used. The result is
    /// [`Anonymous`](Self::Anonymous) if the file has no entry for the registry, or if the settings name no file and docker's own file
    /// does not exist.
    ///
    /// # Cancel safety
    /// If the future is dropped, a helper that runs is killed.
    pub(crate) async fn of(settings: &RegistrySettings) -> Result<Self, RegistryError> {
        let Some(path) = settings.credentials.clone().or_else(of_docker) else { return Ok(Self::Anonymous) };
        let failed = |why: String| RegistryError::File {
            path: path.clone(),
            registry: settings.host.clone(),
            what: "the credentials",
            why,
        };
        let file = path.clone();
        let bytes = match tokio::task::spawn_blocking(move || read_file(&file, BYTES)).await {
            Ok(Ok(bytes)) => bytes,
            Ok(Err(error)) if settings.credentials.is_none() && error.is_absent() => {
                return Ok(Self::Anonymous);
            }
            Ok(Err(error)) => return Err(failed(file_error(error))),
            Err(error) => return Err(failed(error.to_string())),
        };
        let other_form = || failed("it is not JSON in the form of docker's `config.json`".to_owned());
        let config = Config::parse(&bytes).ok_or_else(other_form)?;
        for name in names(settings) {
            if let Some(found) = config.of(&name).await.map_err(&failed)? {
                return Ok(found);
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

// === impl Config ===

impl Config {
    /// Returns `None` if the bytes are no file of credentials. The error of the JSON library is left out, because it could show a secret.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let mut config: Map<String, Value> = serde_json::from_slice(bytes).ok()?;
        let helpers = config.remove("credHelpers").unwrap_or_default();
        let store = config.remove("credsStore").unwrap_or_default();
        let helpers: Option<BTreeMap<String, String>> = serde_json::from_value(helpers).ok()?;
        let store: Option<String> = serde_json::from_value(store).ok()?;
        Some(Self {
            stored: serde_json::to_vec(&config).ok()?,
            helpers: helpers.unwrap_or_default(),
            store: store.filter(|helper| !helper.is_empty()),
        })
    }

    /// The credentials under one name of a registry. Returns `None` if there are none.
    async fn of(&self, name: &str) -> Result<Option<Credentials>, String> {
        if let Some(helper) = self.helpers.get(name).filter(|helper| !helper.is_empty()) {
            return helped(helper, name).await;
        }
        match get_credential_from_reader(self.stored.as_slice(), name) {
            Ok(DockerCredential::IdentityToken(token)) => return Ok(Some(Credentials::Identity(token))),
            Ok(DockerCredential::UsernamePassword(user, password)) => {
                return Ok(Some(Credentials::Basic { user, password }));
            }
            Err(CredentialRetrievalError::NoCredentialConfigured) => {}
            Err(error) => return Err(error.to_string()),
        }
        match &self.store {
            Some(helper) => helped(helper, name).await,
            None => Ok(None),
        }
    }
}

/// The credentials that a helper of docker keeps for a registry.
async fn helped(helper: &str, name: &str) -> Result<Option<Credentials>, String> {
    let program = format!("docker-credential-{helper}");
    let mut command = Command::new(&program);
    command.arg("get");
    answer(command, name, HELPER).await.map_err(|why| format!("{program} {why}"))
}

/// Runs a helper. Returns `None` if the helper has no credentials for the registry. The text of an error follows the name of the helper
/// in a sentence.
async fn answer(command: Command, name: &str, limits: ProgramLimits) -> Result<Option<Credentials>, String> {
    let ended = run_program_with_input(command, name.as_bytes(), limits).await;
    let output = match ended.output {
        Ok(output) => output,
        Err(error @ ProgramError::Failed(_)) => {
            let said = String::from_utf8_lossy(&ended.output_of_failure);
            // A helper without credentials for this registry ends with an error.
            if said.contains("not found") {
                return Ok(None);
            }
            let said = format!("{said} {}", String::from_utf8_lossy(&ended.last_words));
            return Err(format!("{error}: {}", excerpt(said.trim(), SHOWN)));
        }
        Err(error) => return Err(error.to_string()),
    };
    // The error of the JSON library is left out, because it could show the secret.
    let Ok(Answer { username, secret }) = serde_json::from_slice(&output) else {
        return Err("answers something else than JSON with `Username` and `Secret`".to_owned());
    };
    Ok(Some(if username == TOKEN {
        Credentials::Identity(secret)
    } else {
        Credentials::Basic { user: username, password: secret }
    }))
}

/// The names that a file may have for a registry. The configuration of the host and `docker login` may write the name of a registry
/// differently.
fn names(settings: &RegistrySettings) -> impl Iterator<Item = String> {
    let (written, address) = (settings.host.clone(), settings.address());
    let hub = (address == "docker.io").then(|| DOCKER_HUB.to_owned());
    let other = (address != written).then_some(address);
    let hosts = [written].into_iter().chain(other);
    hub.into_iter().chain(hosts.flat_map(|host| [host.clone(), format!("https://{host}")]))
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

    async fn read(config: &str, host: &str) -> Result<Credentials, String> {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join(".dockerconfigjson");
        fs::write(&path, config).unwrap();
        let settings = RegistrySettings {
            host: host.to_owned(),
            credentials: Some(path),
            ..RegistrySettings::default()
        };
        Credentials::of(&settings).await.map_err(|error| error.to_string())
    }

    fn basic(user: &str, password: &str) -> Credentials {
        Credentials::Basic { user: user.to_owned(), password: password.to_owned() }
    }

    #[tokio::test]
    async fn an_image_pull_secret_has_the_credentials_of_each_registry() {
        // `me:secret:word` and `you:other`
        let config = r#"{"auths": {"ghcr.io": {"auth": "bWU6c2VjcmV0OndvcmQ="}, "https://a.example:5000": {"username": "you",
            "password": "other"}, "https://index.docker.io/v1/": {"identitytoken": "t"}}}"#;

        assert_eq!(read(config, "ghcr.io").await, Ok(basic("me", "secret:word")));
        assert_eq!(read(config, "a.example:5000").await, Ok(basic("you", "other")));
        assert_eq!(read(config, "docker.io").await, Ok(Credentials::Identity("t".to_owned())));
        assert_eq!(read(config, "GHCR.io:0443").await, Ok(basic("me", "secret:word")));
        assert_eq!(read(config, "A.example:05000").await, Ok(basic("you", "other")));
        assert_eq!(read(config, "b.example").await, Ok(Credentials::Anonymous));
        assert_eq!(read("{}", "ghcr.io").await, Ok(Credentials::Anonymous));
    }

    #[tokio::test]
    async fn a_file_that_is_named_and_cannot_be_used_is_an_error() {
        for config in [
            "",
            "[]",
            r#"{"auths": {"ghcr.io": {"auth": "%"}}}"#,
            r#"{"credHelpers": {"ghcr.io": "missing-one"}}"#,
            r#"{"credsStore": "missing-one"}"#,
            r#"{"credsStore": {"secret": "hunter2"}}"#,
        ] {
            let error = read(config, "ghcr.io").await.unwrap_err();
            assert!(error.contains("which holds the credentials for ghcr.io, cannot be used"), "{error}");
            assert!(!error.contains("hunter2"), "{error}");
        }
        let error = read(r#"{"credsStore": "missing-one"}"#, "ghcr.io").await.unwrap_err();
        assert!(
            error.contains("cannot be used: docker-credential-missing-one cannot be started: "),
            "{error}"
        );
        let absent = RegistrySettings {
            host: "ghcr.io".to_owned(),
            credentials: Some("/nowhere/config.json".into()),
            ..RegistrySettings::default()
        };
        assert!(Credentials::of(&absent).await.is_err());
    }

    #[tokio::test]
    async fn a_registry_without_a_helper_of_its_own_has_the_credentials_of_the_file() {
        let config = r#"{"auths": {"ghcr.io": {"username": "me", "password": "secret"}}, "credsStore": "missing-one",
            "credHelpers": {"a.example": "missing-two", "ghcr.io": ""}}"#;

        assert_eq!(read(config, "ghcr.io").await, Ok(basic("me", "secret")));
        let error = read(config, "a.example").await.unwrap_err();
        assert!(error.contains("docker-credential-missing-two cannot be started"), "{error}");
    }

    async fn helped_by(script: &str, time: Duration) -> Result<Option<Credentials>, String> {
        let mut shell = Command::new("sh");
        shell.args(["-c", script]);
        answer(shell, "https://ghcr.io", ProgramLimits { time, ..HELPER }).await
    }

    #[tokio::test]
    async fn a_helper_gets_the_name_of_the_registry_and_gives_a_password_or_a_token_or_nothing() {
        let run = async |script: &str| helped_by(script, Duration::from_secs(60)).await;

        let password = run(r#"printf '{"Username": "me", "Secret": "%s"}' "$(cat)""#).await;
        assert_eq!(password, Ok(Some(basic("me", "https://ghcr.io"))));
        let token = run(r#"printf '{"ServerURL": "x", "Username": "<token>", "Secret": "t"}'"#).await;
        assert_eq!(token, Ok(Some(Credentials::Identity("t".to_owned()))));
        let nothing = run("echo credentials not found in native keychain; exit 1").await;
        assert_eq!(nothing, Ok(None));
        let error = run("echo the keyring is locked >&2; exit 1").await.unwrap_err();
        assert_eq!(error, "failed with exit status 1: the keyring is locked");
        let error = run(r#"printf '{"Secret": "hunter2"}'"#).await.unwrap_err();
        assert_eq!(error, "answers something else than JSON with `Username` and `Secret`");
    }

    /// A helper may wait for a person who is not there.
    #[tokio::test]
    async fn a_helper_that_does_not_answer_is_ended() {
        let error = helped_by("sleep 1000", Duration::from_millis(50)).await.unwrap_err();

        assert_eq!(error, "was ended because it had not finished after 0.05 s");
    }

    #[test]
    fn a_password_is_not_shown() {
        assert!(!format!("{:?}", basic("me", "hunter2")).contains("hunter2"));
    }
}
