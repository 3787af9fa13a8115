//! Credentials that change: a token, a client certificate and certificate authorities in files that are replaced, and those of a
//! command.

use std::{
    path::PathBuf,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use futures::future::BoxFuture;
use http::{HeaderValue, Request, Response, StatusCode, header::AUTHORIZATION};
use hyper::body::Incoming;
use informer_system::read_file;
use kube::{Config, client::Body};
use parking_lot::Mutex;
use tokio::time::Instant;
use tower::{BoxError, Service, ServiceExt};

use super::{
    credential_command::{CredentialCommand, Credentials, Identity},
    credential_files::BYTES,
    sender::Sender,
    token_file::TokenFile,
};

/// Time between two looks at the files of TLS. After an answer 401 and after a failed connection the next request looks at once.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// Makes a sender from the files as they are now, with the client certificate of a command if there is one.
type Make = dyn Fn(Option<&Identity>) -> Result<Sender, kube::Error> + Send + Sync;

/// The credentials that change, except the TLS files.
pub(super) enum Source {
    None,
    File(TokenFile),
    Command(CredentialCommand),
}

/// The credentials with which a request was sent.
enum Sent {
    Unchanging,
    Token(HeaderValue),
    Given(Arc<Credentials>),
}

/// Sends requests with the current credentials. Cheap to clone.
#[derive(Clone)]
pub(super) struct Rotating(Arc<Shared>);

struct Shared {
    source: Source,
    /// The files of TLS.
    files: Vec<PathBuf>,
    make: Box<Make>,
    current: Mutex<Current>,
}

struct Current {
    sender: Sender,
    identity: Option<Arc<Identity>>,
    contents: Vec<Option<Vec<u8>>>,
    /// `None` means that the next request looks at the files.
    looked: Option<Instant>,
}

// === impl Rotating ===

impl Rotating {
    /// Sends requests with the credentials of `source`, over the senders that `make` returns. The TLS files are those that `config`
    /// names.
    ///
    /// # Errors
    /// The files cannot be used.
    pub(super) fn new(
        source: Source,
        config: &Config,
        make: impl Fn(Option<&Identity>) -> Result<Sender, kube::Error> + Send + Sync + 'static,
    ) -> Result<Self, kube::Error> {
        let identity = &config.auth_info;
        let certificate =
            identity.client_certificate.as_ref().filter(|_| identity.client_certificate_data.is_none());
        let key = identity.client_key.as_ref().filter(|_| identity.client_key_data.is_none());
        let mut files: Vec<PathBuf> = certificate.into_iter().chain(key).map(PathBuf::from).collect();
        files.extend(config.root_cert_file.clone());
        let contents = read(&files);
        let sender = make(None)?;
        let current = Current { sender, identity: None, contents, looked: Some(Instant::now()) };
        Ok(Self(Arc::new(Shared { source, files, make: Box::new(make), current: Mutex::new(current) })))
    }
}

// === impl Shared ===

impl Shared {
    async fn send(&self, request: Request<Body>) -> Result<Response<Incoming>, BoxError> {
        let (request, sent) = self.source.authorize(request).await?;
        let sender = match (&self.source, &sent) {
            (Source::Command(command), Sent::Given(credentials)) => {
                let sender = self.current.lock().sender_with(credentials.identity.as_ref(), self);
                sender.map_err(|error| command.unusable(credentials, &error))?
            }
            _ => self.current.lock().sender(self),
        };
        let answer = sender.oneshot(request).await;
        let refused = answer.as_ref().is_ok_and(|answer| answer.status() == StatusCode::UNAUTHORIZED);
        if refused || answer.is_err() {
            self.current.lock().looked = None;
        }
        if refused {
            self.source.refused(&sent);
        }
        answer
    }
}

// === impl Source ===

impl Source {
    async fn authorize(&self, mut request: Request<Body>) -> Result<(Request<Body>, Sent), BoxError> {
        let (header, sent) = match self {
            Self::None => (None, Sent::Unchanging),
            Self::File(token) => {
                let header = token.header();
                (Some(header.clone()), Sent::Token(header))
            }
            Self::Command(command) => {
                let credentials = command.credentials().await?;
                (credentials.header.clone(), Sent::Given(credentials))
            }
        };
        if let Some(header) = header {
            request.headers_mut().insert(AUTHORIZATION, header);
        }
        Ok((request, sent))
    }

    fn refused(&self, sent: &Sent) {
        match (self, sent) {
            (Self::File(token), Sent::Token(header)) => token.refused(header),
            (Self::Command(command), Sent::Given(credentials)) => command.refused(credentials),
            _ => {}
        }
    }
}

impl Service<Request<Body>> for Rotating {
    type Response = Response<Incoming>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let shared = Arc::clone(&self.0);
        Box::pin(async move { shared.send(request).await })
    }
}

// === impl Current ===

impl Current {
    /// Returns the sender for requests with this client certificate. Another one makes a new sender.
    ///
    /// # Errors
    /// The certificate cannot be used.
    fn sender_with(
        &mut self,
        identity: Option<&Arc<Identity>>,
        shared: &Shared,
    ) -> Result<Sender, kube::Error> {
        if self.identity.as_ref() != identity {
            self.sender = (shared.make)(identity.map(|identity| &**identity))?;
            self.identity = identity.cloned();
        }
        Ok(self.sender(shared))
    }

    /// Returns the sender. Files that changed make a new one, so that new connections use them; requests in flight keep their
    /// connections. Files that cannot be used change nothing: they may be half written.
    fn sender(&mut self, shared: &Shared) -> Sender {
        let due = self.looked.is_none_or(|looked| looked.elapsed() >= LOOK_EVERY);
        if due && !shared.files.is_empty() {
            self.looked = Some(Instant::now());
            let contents = read(&shared.files);
            if contents != self.contents && contents.iter().all(Option::is_some) {
                match (shared.make)(self.identity.as_deref()) {
                    Ok(sender) => {
                        tracing::info!(files = ?shared.files, "new connections to the API server use the changed files");
                        self.sender = sender;
                    }
                    Err(error) => {
                        tracing::warn!(files = ?shared.files, %error, "changed files of the connection cannot be used; the previous ones stay in use");
                    }
                }
                self.contents = contents;
            }
        }
        self.sender.clone()
    }
}

/// Each file, or `None` if it cannot be read. The files are small, so that reading them blocks for a moment only.
fn read(files: &[PathBuf]) -> Vec<Option<Vec<u8>>> {
    files.iter().map(|file| read_file(file, BYTES).ok()).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::connect::{keepalive::tcp, sender::sender};

    #[tokio::test(start_paused = true)]
    async fn files_that_changed_make_a_new_sender_within_ten_seconds_and_broken_ones_do_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let write = |name: &str, text: &str| std::fs::write(path(name), text).unwrap();
        let mut config = Config::new("http://127.0.0.1:1".parse().unwrap());
        config.auth_info.client_certificate = Some(path("crt").to_str().unwrap().to_owned());
        config.auth_info.client_key = Some(path("key").to_str().unwrap().to_owned());
        config.root_cert_file = Some(path("ca"));
        for name in ["crt", "key", "ca"] {
            write(name, "one");
        }
        let made = Arc::new(AtomicUsize::new(0));
        let (counted, plain) = (Arc::clone(&made), config.clone());
        let make = move |_: Option<&Identity>| {
            counted.fetch_add(1, Ordering::Relaxed);
            sender(tcp(None), &plain)
        };
        let shared = Rotating::new(Source::None, &config, make).unwrap().0;
        let next = || {
            drop(shared.current.lock().sender(&shared));
            made.load(Ordering::Relaxed)
        };
        assert_eq!(next(), 1);

        for (count, file) in ["crt", "key", "ca"].into_iter().enumerate() {
            write(file, "two");
            tokio::time::advance(LOOK_EVERY - Duration::from_millis(1)).await;
            assert_eq!(next(), 1 + count, "{file}");
            tokio::time::advance(Duration::from_millis(1)).await;
            assert_eq!(next(), 2 + count, "{file}");
        }
        std::fs::remove_file(path("ca")).unwrap();
        tokio::time::advance(LOOK_EVERY).await;
        assert_eq!(next(), 4);
        // A refused request or a failed connection.
        write("ca", "three");
        shared.current.lock().looked = None;
        assert_eq!((next(), next()), (5, 5));
    }
}
