//! A small registry: manifests, blobs and lists of referrers in memory, served over TCP, with the faults that a test sets.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    sync::Arc,
    time::Duration,
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{Request, State},
    response::Response,
};
use http::{HeaderMap, Method, StatusCode, header};
use informer_registry::Digest;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinHandle};

/// The media types of a component.
pub(crate) const CONFIG: &str = "application/vnd.wasm.config.v0+json";
pub(crate) const LAYER: &str = "application/wasm";
pub(crate) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// The user and the password that the registry accepts, in the form of basic authentication: `me:secret`.
const PASSWORD: &str = "Basic bWU6c2VjcmV0";
const TOKEN: &str = "Bearer the-token";

/// The identity token that the registry accepts, in a form.
const IDENTITY: &str = "refresh_token=the-identity";

/// How the registry misbehaves, and what it supports.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults {
    /// It keeps lists of referrers.
    pub(crate) referrers: bool,
    /// Its lists name the type of the config instead of the type of the artifact.
    pub(crate) lists_configs: bool,
    /// It has no lists of referrers, and answers with a page of its web site.
    pub(crate) page: bool,
    /// It requires a password itself. With `token` it accepts either.
    pub(crate) password: bool,
    /// It requires a token, which its own `/token` issues for the password.
    pub(crate) token: bool,
    /// Its tokens are valid for this number of seconds instead of 300.
    pub(crate) lifetime: Option<u64>,
    /// Its tokens have a line break.
    pub(crate) strange_token: bool,
    /// Manifests are this number of bytes longer, without an announcement.
    pub(crate) padding: usize,
    /// Blobs are these bytes instead.
    pub(crate) blob: Option<Vec<u8>>,
    /// Blobs are elsewhere, and so is the answer about the version of the protocol.
    pub(crate) redirect: Option<String>,
    /// No request for a manifest is answered while this is true.
    pub(crate) silent: bool,
    /// Every request gets this status.
    pub(crate) status: Option<u16>,
    /// `HEAD` names no digest.
    pub(crate) hides_digests: bool,
}

#[derive(Debug, Default)]
struct Content {
    /// The manifests by repository, and by tag or digest.
    manifests: BTreeMap<(String, String), (String, Vec<u8>)>,
    blobs: BTreeMap<String, Vec<u8>>,
    faults: Faults,
    /// Each request: method, path, and what it was authorised with.
    requests: Vec<(String, Option<String>)>,
}

/// A running registry. It ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Registry {
    content: Arc<Mutex<Content>>,
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Registry {
    pub(crate) async fn start() -> Self {
        Self::start_at("127.0.0.1:0".parse().unwrap()).await
    }

    /// Starts at an address, for example the one of a registry that ended.
    pub(crate) async fn start_at(address: SocketAddr) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let (content, address) = (Arc::<Mutex<Content>>::default(), listener.local_addr().unwrap());
        let router = Router::new().fallback(answer).with_state(Arc::clone(&content));
        let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { content, address, task }
    }

    /// `127.0.0.1:12345`
    pub(crate) fn host(&self) -> String {
        self.address.to_string()
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn set(&self, change: impl FnOnce(&mut Faults)) {
        change(&mut self.content.lock().faults);
    }

    /// The requests so far.
    pub(crate) fn requests(&self) -> Vec<(String, Option<String>)> {
        self.content.lock().requests.clone()
    }

    pub(crate) fn forget_requests(&self) {
        self.content.lock().requests.clear();
    }

    pub(crate) fn add_blob(&self, bytes: &[u8]) -> Value {
        self.add_typed("application/octet-stream", bytes)
    }

    /// Adds a blob, and returns its descriptor.
    pub(crate) fn add_typed(&self, media_type: &str, bytes: &[u8]) -> Value {
        let digest = Digest::of(bytes).to_string();
        self.content.lock().blobs.insert(digest.clone(), bytes.to_vec());
        json!({"mediaType": media_type, "digest": digest, "size": bytes.len()})
    }

    /// Adds a manifest under a tag and under its digest.
    pub(crate) fn add_manifest(&self, repository: &str, tag: &str, manifest: &Value) -> Digest {
        let bytes = manifest.to_string().into_bytes();
        let digest = Digest::of(&bytes);
        let kind = manifest["mediaType"].as_str().unwrap_or(MANIFEST).to_owned();
        let mut content = self.content.lock();
        for name in [tag.to_owned(), digest.to_string()] {
            content.manifests.insert((repository.to_owned(), name), (kind.clone(), bytes.clone()));
        }
        digest
    }

    /// Adds a component with these imports and exports.
    pub(crate) fn add_component(
        &self,
        repository: &str,
        tag: &str,
        component: &[u8],
        names: (&[&str], &[&str]),
    ) -> Digest {
        let layer = self.add_typed(LAYER, component);
        let config = json!({"architecture": "wasm", "os": "wasip2", "layerDigests": [layer["digest"]],
            "component": {"imports": names.0, "exports": names.1}});
        let config = self.add_typed(CONFIG, config.to_string().as_bytes());
        let manifest =
            json!({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": [layer]});
        self.add_manifest(repository, tag, &manifest)
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(State(content): State<Arc<Mutex<Content>>>, request: Request) -> Response {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let headers = request.headers().clone();
    let authorization =
        headers.get(header::AUTHORIZATION).map(|value| value.to_str().unwrap_or_default().to_owned());
    let query = request.uri().query().unwrap_or_default().to_owned();
    let body = axum::body::to_bytes(request.into_body(), 64 << 20).await.unwrap_or_default();
    let faults = {
        let mut content = content.lock();
        content.requests.push((format!("{method} {path}"), authorization.clone()));
        content.faults.clone()
    };
    while path.contains("/manifests/") && content.lock().faults.silent {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    if let Some(status) = faults.status {
        let text = r#"{"errors": [{"code": "TOOMANYREQUESTS", "message": "slow down"}]}"#;
        return plain(StatusCode::from_u16(status).unwrap(), text);
    }
    if path == "/token" {
        let form = String::from_utf8_lossy(&body);
        let token = if faults.strange_token { r"the\ntoken" } else { "the-token" };
        return issue(authorization.as_deref(), (&query, &form), (token, faults.lifetime.unwrap_or(300)));
    }
    if let Some(refused) = refusal(&faults, authorization.as_deref(), &headers) {
        return refused;
    }
    if path == "/v2/" {
        return faults.redirect.map_or_else(|| plain(StatusCode::OK, "{}"), |place| moved(&place, &path));
    }
    let parts = path.strip_prefix("/v2/").unwrap_or_default();
    let mut content = content.lock();
    if let Some((repository, name)) = parts.split_once("/manifests/") {
        return content.manifest(&method, (repository, name), &headers, &body);
    }
    if let Some((_, rest)) = parts.split_once("/blobs/") {
        return content.blob(&method, rest, &query, (&path, body));
    }
    match parts.split_once("/referrers/") {
        Some((repository, subject)) if faults.referrers => content.referrers(repository, subject),
        Some(_) if faults.page => plain(StatusCode::OK, "<!doctype html><title>Packages</title>"),
        _ => plain(StatusCode::NOT_FOUND, "404 page not found"),
    }
}

/// What the registry requires and did not get.
fn refusal(faults: &Faults, authorization: Option<&str>, headers: &HeaderMap) -> Option<Response> {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let accepted = [faults.password.then_some(PASSWORD), faults.token.then_some(TOKEN)]
        .map(|own| own.is_some() && own == authorization);
    if accepted.contains(&true) || !(faults.password || faults.token) {
        return None;
    }
    let basic = faults.password.then(|| r#"Basic realm="registry""#.to_owned());
    let bearer = faults.token.then(|| format!(r#"Bearer realm="http://{host}/token",service="registry""#));
    let challenge = basic.into_iter().chain(bearer).collect::<Vec<_>>().join(", ");
    let mut response = plain(
        StatusCode::UNAUTHORIZED,
        r#"{"errors": [{"code": "UNAUTHORIZED", "message": "authentication required"}]}"#,
    );
    response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge.parse().unwrap());
    Some(response)
}

/// Issues a token for the password, or for the identity token of a form.
fn issue(
    authorization: Option<&str>,
    (query, form): (&str, &str),
    (token, lifetime): (&str, u64),
) -> Response {
    let has_password = authorization == Some(PASSWORD) && query.contains("scope=repository%3A");
    if has_password || (form.contains("scope=repository%3A") && form.contains(IDENTITY)) {
        plain(StatusCode::OK, &format!(r#"{{"token": "{token}", "expires_in": {lifetime}}}"#))
    } else {
        plain(StatusCode::UNAUTHORIZED, r#"{"errors": [{"message": "wrong password"}]}"#)
    }
}

impl Content {
    fn manifest(
        &mut self,
        method: &Method,
        (repository, name): (&str, &str),
        headers: &HeaderMap,
        body: &Bytes,
    ) -> Response {
        let key = (repository.to_owned(), name.to_owned());
        if method == Method::PUT {
            let kind = headers[header::CONTENT_TYPE].to_str().unwrap().to_owned();
            let digest = Digest::of(body).to_string();
            self.manifests.insert((repository.to_owned(), digest.clone()), (kind.clone(), body.to_vec()));
            self.manifests.insert(key, (kind, body.to_vec()));
            let mut response = plain(StatusCode::CREATED, "");
            let location = format!("/v2/{repository}/manifests/{digest}");
            response.headers_mut().insert(header::LOCATION, location.parse().unwrap());
            return response;
        }
        let Some((kind, bytes)) = self.manifests.get(&key) else {
            return plain(StatusCode::NOT_FOUND, r#"{"errors": [{"code": "MANIFEST_UNKNOWN"}]}"#);
        };
        let digest = Digest::of(bytes).to_string();
        let padded = [bytes.as_slice(), &vec![b' '; self.faults.padding]].concat();
        let body = if method == Method::HEAD {
            Body::empty()
        } else if self.faults.padding > 0 {
            // In pieces, so the length is not announced.
            Body::from_stream(futures::stream::iter(
                padded
                    .chunks(1 << 16)
                    .map(|piece| Ok::<_, std::io::Error>(piece.to_vec()))
                    .collect::<Vec<_>>(),
            ))
        } else {
            Body::from(padded)
        };
        let mut response = Response::builder().header(header::CONTENT_TYPE, kind);
        if !self.faults.hides_digests {
            response = response.header("docker-content-digest", digest);
        }
        response.body(body).unwrap()
    }

    fn blob(&mut self, method: &Method, rest: &str, query: &str, (path, body): (&str, Bytes)) -> Response {
        if method == Method::POST {
            let mut response = plain(StatusCode::ACCEPTED, "");
            response.headers_mut().insert(header::LOCATION, format!("{path}session").parse().unwrap());
            return response;
        }
        if method == Method::PATCH {
            let upload = self.blobs.entry("session".to_owned()).or_default();
            upload.extend_from_slice(&body);
            let end = upload.len().saturating_sub(1);
            let mut response = plain(StatusCode::ACCEPTED, "");
            response.headers_mut().insert(header::LOCATION, path.parse().unwrap());
            response.headers_mut().insert(header::RANGE, format!("0-{end}").parse().unwrap());
            return response;
        }
        if method == Method::PUT {
            let mut bytes = self.blobs.remove("session").unwrap_or_default();
            bytes.extend_from_slice(&body);
            let digest = Digest::of(&bytes).to_string();
            assert!(query.contains(&digest.replace(':', "%3A")) || query.contains(&digest), "{query}");
            let mut response = plain(StatusCode::CREATED, "");
            response.headers_mut().insert(header::LOCATION, path.parse().unwrap());
            self.blobs.insert(digest, bytes);
            return response;
        }
        if let Some(place) = &self.faults.redirect {
            return moved(place, path);
        }
        match (&self.faults.blob, self.blobs.get(rest)) {
            (Some(bytes), _) | (None, Some(bytes)) => Response::new(Body::from(bytes.clone())),
            (None, None) => plain(StatusCode::NOT_FOUND, r#"{"errors": [{"code": "BLOB_UNKNOWN"}]}"#),
        }
    }

    fn referrers(&self, repository: &str, subject: &str) -> Response {
        let configs = self.faults.lists_configs;
        let own = self.manifests.iter().filter(|((own, _), _)| own == repository);
        let parsed = own.filter_map(|(_, (_, bytes))| {
            let manifest: Value = serde_json::from_slice(bytes).ok()?;
            let refers = manifest["subject"]["digest"] == subject;
            refers.then(|| {
                let digest = Digest::of(bytes).to_string();
                json!({"mediaType": MANIFEST, "digest": digest, "size": bytes.len(),
                    "artifactType": if configs { &manifest["config"]["mediaType"] } else { &manifest["artifactType"] }})
                .to_string()
            })
        });
        let distinct: BTreeSet<String> = parsed.collect();
        let list: Vec<Value> = distinct.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
        let index = json!({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": list});
        plain(StatusCode::OK, &index.to_string())
    }
}

fn moved(place: &str, path: &str) -> Response {
    let mut response = plain(StatusCode::TEMPORARY_REDIRECT, "");
    response.headers_mut().insert(header::LOCATION, format!("{place}{path}").parse().unwrap());
    response
}

fn plain(status: StatusCode, text: &str) -> Response {
    Response::builder().status(status).body(Body::from(text.to_owned())).unwrap()
}
