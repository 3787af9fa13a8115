//! The kubeconfig: the file that the configuration names, or the files that kubectl reads.

use std::{
    env,
    ffi::OsString,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use kube::{
    Config,
    config::{AuthInfo, KubeConfigOptions, Kubeconfig, KubeconfigError},
};
use serde_json::Value;

use super::credential_files::{CredentialFileError, check_kubeconfig, check_named};

/// The variable with the list of files.
const VARIABLE: &str = "KUBECONFIG";

/// Operators write this path into the variable if a program should find no kubeconfig.
const NOTHING: &str = "/dev/null";

/// Why a kubeconfig cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LoadKubeconfigError {
    /// A kubeconfig is absent or invalid, or does not contain what it refers to.
    #[error(
        "the kubeconfig {place} cannot be used: {source}; name another under [cluster] kubeconfig, or another context under [cluster] context"
    )]
    Refused {
        /// The file, or the files with colons between them.
        place: String,
        /// The cause.
        source: KubeconfigError,
    },
    /// The kubeconfig or a file that it names is no regular file, or too large.
    #[error(transparent)]
    File(#[from] CredentialFileError),
}

/// A kubeconfig of one or more files. An empty string counts as unset, as in client-go.
pub(super) struct Loaded {
    /// The file, or the files with colons between them.
    place: String,
    kubeconfig: Kubeconfig,
}

// === impl Loaded ===

impl Loaded {
    /// Reads one file.
    ///
    /// # Errors
    /// The file is absent or invalid.
    pub(super) fn at(path: &Path) -> Result<Self, LoadKubeconfigError> {
        check_kubeconfig(path)?;
        let place = path.display().to_string();
        match Kubeconfig::read_from(path) {
            Ok(mut kubeconfig) => {
                unset_empty(&mut kubeconfig, path);
                Ok(Self { place, kubeconfig })
            }
            Err(source) => Err(LoadKubeconfigError::Refused { place, source: without_lines(source) }),
        }
    }

    /// Reads the files and merges them; the first file that sets a value wins. Absent files are skipped, as in kubectl. Returns
    /// `None` if all are absent.
    ///
    /// # Errors
    /// A file is invalid.
    pub(super) fn merged(paths: &[PathBuf]) -> Result<Option<Self>, LoadKubeconfigError> {
        let mut merged: Option<Self> = None;
        for path in paths.iter().filter(|path| exists(path)) {
            let next = Self::at(path)?;
            merged = Some(match merged {
                Some(first) => first.merge(next)?,
                None => next,
            });
        }
        Ok(merged)
    }

    /// Does the same as [`Self::merged`], and requires a kubeconfig.
    ///
    /// # Errors
    /// A file is invalid, or all are absent.
    pub(super) fn required(paths: &[PathBuf]) -> Result<Self, LoadKubeconfigError> {
        Self::merged(paths)?.ok_or_else(|| {
            let places: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
            let place = if places.is_empty() { "~/.kube/config".to_owned() } else { places.join(":") };
            LoadKubeconfigError::Refused { place, source: absent(paths) }
        })
    }

    /// The file, or the files with colons between them.
    pub(super) fn place(&self) -> &str {
        &self.place
    }

    pub(super) fn kubeconfig(&self) -> &Kubeconfig {
        &self.kubeconfig
    }

    /// Returns true if the files contain nothing. client-go treats them as absent.
    pub(super) fn is_empty(&self) -> bool {
        let Kubeconfig { clusters, auth_infos, contexts, current_context, .. } = &self.kubeconfig;
        clusters.is_empty() && auth_infos.is_empty() && contexts.is_empty() && current_context.is_none()
    }

    /// The configuration of the context; without a name, of the current context.
    ///
    /// # Errors
    /// The context is absent, or something that it refers to is absent or invalid.
    pub(super) async fn config(self, context: Option<&str>) -> Result<Config, LoadKubeconfigError> {
        let Self { place, kubeconfig } = self;
        check_named(&kubeconfig, context)?;
        let options =
            KubeConfigOptions { context: context.map(str::to_owned), ..KubeConfigOptions::default() };
        let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
        config.map_err(|source| LoadKubeconfigError::Refused { place, source })
    }

    fn merge(self, next: Self) -> Result<Self, LoadKubeconfigError> {
        let place = format!("{}:{}", self.place, next.place);
        match self.kubeconfig.merge(next.kubeconfig) {
            Ok(kubeconfig) => Ok(Self { place, kubeconfig }),
            Err(source) => Err(LoadKubeconfigError::Refused { place, source }),
        }
    }
}

/// The files that kubectl reads: those of `$KUBECONFIG`, or `~/.kube/config` if the variable is unset or empty.
pub(super) fn paths() -> Vec<PathBuf> {
    listed(env::var_os(VARIABLE), env::home_dir())
}

fn listed(variable: Option<OsString>, home: Option<PathBuf>) -> Vec<PathBuf> {
    match variable.filter(|list| !list.is_empty()) {
        Some(list) => env::split_paths(&list).filter(|path| !path.as_os_str().is_empty()).collect(),
        None => home.map(|home| home.join(".kube").join("config")).into_iter().collect(),
    }
}

/// Returns false if the list continues without this file. A file that cannot be read exists.
fn exists(path: &Path) -> bool {
    let absent = [ErrorKind::NotFound, ErrorKind::NotADirectory];
    path != Path::new(NOTHING) && !path.metadata().is_err_and(|error| absent.contains(&error.kind()))
}

/// Why these files are no kubeconfig: one is absent, or all are empty.
pub(super) fn absent(paths: &[PathBuf]) -> KubeconfigError {
    let first = paths.iter().find_map(|path| Some((path.metadata().err()?, path)));
    match (first, paths) {
        (Some((error, path)), _) => KubeconfigError::ReadConfig(error, path.clone()),
        (None, []) => KubeconfigError::FindPath,
        (None, _) => KubeconfigError::CurrentContextNotSet,
    }
}

/// Removes the lines around a mistake from the error, because they may contain credentials.
fn without_lines(error: KubeconfigError) -> KubeconfigError {
    let KubeconfigError::Parse(error) = error else { return error };
    KubeconfigError::Parse(match *error {
        serde_saphyr::Error::WithSnippet { error, .. } => error,
        other => Box::new(other),
    })
}

/// Unsets the strings that are empty in the kubeconfig at the path.
fn unset_empty(kubeconfig: &mut Kubeconfig, path: &Path) {
    // kube joins relative paths to the directory of the kubeconfig, and an empty path too.
    let joined = path.parent().map(|directory| directory.join("").into_os_string());
    let is_no_path =
        |text: &str| text.is_empty() || joined.as_ref().is_some_and(|joined| joined.as_os_str() == text);
    unset(&mut kubeconfig.current_context, str::is_empty);
    for cluster in kubeconfig.clusters.iter_mut().filter_map(|named| named.cluster.as_mut()) {
        unset(&mut cluster.certificate_authority, is_no_path);
        unset(&mut cluster.certificate_authority_data, str::is_empty);
        unset(&mut cluster.tls_server_name, str::is_empty);
    }
    for user in kubeconfig.auth_infos.iter_mut().filter_map(|named| named.auth_info.as_mut()) {
        for path in [&mut user.client_certificate, &mut user.client_key, &mut user.token_file] {
            unset(path, is_no_path);
        }
        for text in [&mut user.client_certificate_data, &mut user.username] {
            unset(text, str::is_empty);
        }
        unset_secrets(user);
    }
}

fn unset(text: &mut Option<String>, is_unset: impl FnOnce(&str) -> bool) {
    if text.as_deref().is_some_and(is_unset) {
        *text = None;
    }
}

/// Unsets empty secrets. Their type gives its text only to serde.
fn unset_secrets(user: &mut AuthInfo) {
    let written = serde_json::to_value(&*user).unwrap_or_default();
    let is_empty = |key: &str| written.get(key).and_then(Value::as_str) == Some("");
    for (key, secret) in [
        ("password", &mut user.password),
        ("token", &mut user.token),
        ("client-key-data", &mut user.client_key_data),
    ] {
        if is_empty(key) {
            *secret = None;
        }
    }
}

#[cfg(test)]
mod tests;
