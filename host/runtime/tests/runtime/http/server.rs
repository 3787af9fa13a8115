//! A server on the loopback of this machine. The path decides the answer.

use std::{convert::Infallible, net::SocketAddr, sync::Arc};

use bytes::Bytes;
use futures::{StreamExt, stream};
use http::{Request, Response, StatusCode, header::LOCATION};
use http_body_util::{BodyExt, Full, StreamBody, combinators::BoxBody};
use hyper::{
    body::{Frame, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
    task::JoinSet,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig, crypto,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    },
};

pub(crate) const AUTHORITY: &[u8] = include_bytes!("certificates/authority.pem");
pub(crate) const STRANGER: &[u8] = include_bytes!("certificates/stranger.pem");

/// The server. Dropping it ends it.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Vec<String>>>,
    _serving: JoinSet<()>,
}

impl Server {
    pub(crate) async fn start() -> Self {
        Self::serve(None).await
    }

    /// A server with a certificate for 127.0.0.1, signed by [`AUTHORITY`].
    pub(crate) async fn with_tls() -> Self {
        let chain =
            vec![CertificateDer::from_pem_slice(include_bytes!("certificates/loopback.pem")).unwrap()];
        let key = PrivateKeyDer::from_pem_slice(include_bytes!("certificates/loopback.key")).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        Self::serve(Some(TlsAcceptor::from(Arc::new(config)))).await
    }

    /// The requests in order of arrival, as `POST /path?query host`.
    pub(crate) fn seen(&self) -> Vec<String> {
        self.seen.lock().clone()
    }

    pub(crate) fn authority(&self) -> String {
        self.address.to_string()
    }

    async fn serve(tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let all = Arc::clone(&seen);
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (tls, seen) = (tls.clone(), Arc::clone(&all));
                connections.spawn(async move {
                    match tls {
                        // A client that does not trust the certificate hangs up.
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream).await {
                                connection(stream, seen).await;
                            }
                        }
                        None => connection(stream, seen).await,
                    }
                });
            }
        });
        Self { address, seen, _serving: serving }
    }
}

async fn connection(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    seen: Arc<Mutex<Vec<String>>>,
) {
    let service = service_fn(move |request: Request<Incoming>| answer(request, Arc::clone(&seen)));
    // A client may hang up in the middle.
    http1::Builder::new().serve_connection(TokioIo::new(stream), service).await.ok();
}

async fn answer(
    request: Request<Incoming>,
    seen: Arc<Mutex<Vec<String>>>,
) -> Result<Response<BoxBody<Bytes, Infallible>>, Infallible> {
    let host = request.headers().get("host").map_or("", |host| host.to_str().unwrap()).to_owned();
    seen.lock().push(format!("{} {} {host}", request.method(), request.uri()));
    let path = request.uri().path().to_owned();
    if path == "/silent" {
        std::future::pending::<()>().await;
    }
    let mut response = Response::new(full("hello"));
    match path.as_str() {
        path if path.ends_with("/count") => {
            let body = request.into_body().collect().await;
            *response.body_mut() = full(&body.map_or(0, |body| body.to_bytes().len()).to_string());
        }
        "/redirect" => {
            *response.status_mut() = StatusCode::FOUND;
            response.headers_mut().insert(LOCATION, "/redirected".parse().unwrap());
        }
        "/large" => *response.body_mut() = full(&"x".repeat(10_000)),
        "/endless" => *response.body_mut() = endless(),
        "/stalls" => *response.body_mut() = stalling(),
        _ => {}
    }
    Ok(response)
}

fn full(text: &str) -> BoxBody<Bytes, Infallible> {
    Full::new(Bytes::copy_from_slice(text.as_bytes())).boxed()
}

/// An endless body without a declared length.
fn endless() -> BoxBody<Bytes, Infallible> {
    let chunk = || Ok(Frame::data(Bytes::from_static(&[b'x'; 1000])));
    BodyExt::boxed(StreamBody::new(stream::repeat_with(chunk)))
}

/// A body that stops after one chunk.
fn stalling() -> BoxBody<Bytes, Infallible> {
    let chunk = stream::once(async { Ok(Frame::data(Bytes::from_static(b"begun"))) });
    BodyExt::boxed(StreamBody::new(chunk.chain(stream::pending())))
}
