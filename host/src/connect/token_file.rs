//! A bearer token in a file, such as the mounted token of a service account, which is replaced long before it expires.
//!
//! kube reads such a file again by the wall clock: if the clock is set back, the old token stays until the clock has reached its
//! former time, long after the API server has stopped accepting the token.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use http::HeaderValue;
use informer_system::read_file;
use kube::config::AuthInfo;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::time::Instant;

/// Time between two reads of the file, as in client-go.
const READ_AGAIN: Duration = Duration::from_secs(60);

/// The most bytes of a token. No server accepts a longer header.
const LONGEST: u64 = 64 << 10;

/// Gives the token. Cheap to clone.
#[derive(Clone)]
pub(super) struct TokenFile {
    path: Arc<Path>,
    read: Arc<Mutex<Read>>,
}

struct Read {
    header: HeaderValue,
    /// `None` means that the server refused the token.
    at: Option<Instant>,
}

// === impl TokenFile ===

impl TokenFile {
    /// Takes the token file out of these credentials. As in client-go, the file has precedence over a token in the kubeconfig, which
    /// is used until the file can be read. Returns `None` if kube would use other credentials.
    ///
    /// # Errors
    /// The file cannot be read, and there is no other token.
    pub(super) fn take(credentials: &mut AuthInfo) -> Result<Option<Self>, (io::Error, PathBuf)> {
        let AuthInfo { auth_provider, username, password, .. } = &*credentials;
        // Credentials that kube prefers to a file.
        if auth_provider.is_some() || (username.is_some() && password.is_some()) {
            return Ok(None);
        }
        let Some(path) = credentials.token_file.take() else { return Ok(None) };
        let path = PathBuf::from(path);
        // Its type gives its text only to serde.
        let written = serde_json::to_value(&*credentials).unwrap_or_default();
        let token = written.get("token").and_then(Value::as_str).and_then(|token| bearer(token).ok());
        match header(&path).or_else(|error| token.ok_or(error)) {
            Ok(header) => {
                credentials.token = None;
                let read = Read { header, at: Some(Instant::now()) };
                Ok(Some(Self { path: path.into(), read: Arc::new(Mutex::new(read)) }))
            }
            Err(error) => Err((error, path)),
        }
    }

    /// The value of `Authorization` with the token, which is at most one minute old. While the file cannot be read, the previous token
    /// is used. The file is small, so that reading it blocks for a moment only.
    pub(super) fn header(&self) -> HeaderValue {
        let mut read = self.read.lock();
        if read.at.is_none_or(|at| at.elapsed() >= READ_AGAIN) {
            read.at = Some(Instant::now());
            if let Ok(header) = header(&self.path) {
                read.header = header;
            }
        }
        read.header.clone()
    }

    /// The server refused this header. If it is the present one, the next request reads the file again.
    pub(super) fn refused(&self, sent: &HeaderValue) {
        let mut read = self.read.lock();
        if read.header == *sent {
            read.at = None;
        }
    }
}

fn header(path: &Path) -> io::Result<HeaderValue> {
    bearer(&String::from_utf8(read_file(path, LONGEST)?).map_err(io::Error::other)?)
}

fn bearer(token: &str) -> io::Result<HeaderValue> {
    let token = token.trim();
    if token.is_empty() {
        return Err(io::Error::other("it is empty"));
    }
    let mut header = HeaderValue::try_from(format!("Bearer {token}")).map_err(io::Error::other)?;
    header.set_sensitive(true);
    Ok(header)
}

#[cfg(test)]
mod tests {
    use std::{fs, process::Command};

    use tempfile::TempDir;

    use super::*;

    fn credentials(directory: &TempDir, token: &str) -> AuthInfo {
        let path = directory.path().join("token");
        fs::write(&path, token).unwrap();
        AuthInfo { token_file: Some(path.to_str().unwrap().to_owned()), ..AuthInfo::default() }
    }

    fn sent(file: &TokenFile) -> String {
        let header = file.header();
        assert!(header.is_sensitive());
        header.to_str().unwrap().to_owned()
    }

    #[tokio::test(start_paused = true)]
    async fn a_token_is_read_again_each_minute_and_stays_while_it_cannot_be_read() {
        let directory = TempDir::new().unwrap();
        let mut of = credentials(&directory, "one\n");
        let path = directory.path().join("token");
        let file = TokenFile::take(&mut of).unwrap().unwrap();
        assert_eq!((of.token_file, sent(&file)), (None, "Bearer one".to_owned()));

        fs::write(&path, "two").unwrap();
        tokio::time::advance(READ_AGAIN - Duration::from_millis(1)).await;
        assert_eq!(sent(&file), "Bearer one");
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(sent(&file), "Bearer two");

        for unusable in [Some("\n"), Some("a\nb"), None] {
            match unusable {
                Some(text) => fs::write(&path, text).unwrap(),
                None => fs::remove_file(&path).unwrap(),
            }
            tokio::time::advance(READ_AGAIN).await;
            assert_eq!(sent(&file), "Bearer two", "{unusable:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_refused_token_is_read_again_at_once() {
        let directory = TempDir::new().unwrap();
        let file = TokenFile::take(&mut credentials(&directory, "one")).unwrap().unwrap();
        let path = directory.path().join("token");
        let refuse = |token: &'static str| file.refused(&HeaderValue::from_static(token));
        fs::write(&path, "two").unwrap();

        // Another token was refused, not this one.
        refuse("Bearer zero");
        assert_eq!(sent(&file), "Bearer one");
        refuse("Bearer one");
        assert_eq!(sent(&file), "Bearer two");
        // The file has no other token yet.
        refuse("Bearer two");
        assert_eq!(sent(&file), "Bearer two");
        fs::write(&path, "three").unwrap();
        refuse("Bearer two");
        assert_eq!(sent(&file), "Bearer three");
    }

    #[tokio::test(start_paused = true)]
    async fn a_token_file_has_precedence_over_a_token_in_the_kubeconfig_as_in_client_go() {
        let directory = TempDir::new().unwrap();
        let both = || {
            let token = Some("inline".to_owned().into());
            AuthInfo { token, ..credentials(&directory, "one") }
        };
        let mut of = both();
        let file = TokenFile::take(&mut of).unwrap().unwrap();
        assert_eq!(sent(&file), "Bearer one");
        assert!(of.token.is_none() && of.token_file.is_none());

        let mut of = both();
        let path = directory.path().join("token");
        fs::remove_file(&path).unwrap();
        let file = TokenFile::take(&mut of).unwrap().unwrap();
        assert_eq!(sent(&file), "Bearer inline");
        fs::write(&path, "two").unwrap();
        tokio::time::advance(READ_AGAIN).await;
        assert_eq!(sent(&file), "Bearer two");
    }

    #[tokio::test]
    async fn a_token_file_is_not_taken_before_other_credentials() {
        let directory = TempDir::new().unwrap();
        let password = Some("secret".to_owned().into());
        let mut basic =
            AuthInfo { username: Some("me".to_owned()), password, ..credentials(&directory, "one") };
        assert!(TokenFile::take(&mut basic).unwrap().is_none());
        assert!(basic.token_file.is_some());

        assert!(TokenFile::take(&mut AuthInfo::default()).unwrap().is_none());
    }

    /// Another process may have replaced the file.
    #[tokio::test(start_paused = true)]
    async fn a_token_file_that_became_a_pipe_a_device_or_endless_keeps_the_token() {
        let directory = TempDir::new().unwrap();
        let mut of = credentials(&directory, "one");
        let path = directory.path().join("token");
        let file = TokenFile::take(&mut of).unwrap().unwrap();

        for replace in [
            &["mkfifo"][..],
            &["ln", "-s", "/dev/zero"],
            &["ln", "-s", "/proc/self/pagemap"],
            &["truncate", "-s", "1G"],
        ] {
            fs::remove_file(&path).unwrap();
            let made = Command::new(replace[0]).args(&replace[1..]).arg(&path).status().unwrap();
            assert!(made.success());
            tokio::time::advance(READ_AGAIN).await;
            assert_eq!(sent(&file), "Bearer one", "{replace:?}");
        }
    }

    #[tokio::test]
    async fn the_error_names_a_missing_file() {
        let directory = TempDir::new().unwrap();
        let mut of = credentials(&directory, "one");
        fs::remove_file(directory.path().join("token")).unwrap();

        let (error, path) = TokenFile::take(&mut of).err().unwrap();

        assert_eq!((error.kind(), path), (io::ErrorKind::NotFound, directory.path().join("token")));
    }
}
