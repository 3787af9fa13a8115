//! The requests that cosign makes of a registry, to repeat them and to read their outcome.

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use informer_registry::Digest;
use serde_json::Value;

const MANIFESTS: &str = "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json";

/// One repository of a registry that is reached without TLS.
pub(crate) struct Repository<'a> {
    pub(crate) host: &'a str,
    pub(crate) name: &'a str,
}

// === impl Repository ===

impl Repository<'_> {
    /// The names of all tags.
    pub(crate) async fn tags(&self) -> Vec<String> {
        let answer = self.get("tags/list").await.unwrap();
        let list: Value = serde_json::from_slice(&answer).unwrap();
        list["tags"].as_array().unwrap().iter().map(|tag| tag.as_str().unwrap().to_owned()).collect()
    }

    /// A manifest or an index.
    pub(crate) async fn manifest(&self, reference: &str) -> Option<String> {
        let answer = self.get(&format!("manifests/{reference}")).await?;
        Some(String::from_utf8(answer.to_vec()).unwrap())
    }

    /// The list of referrers; `None` if the registry keeps none.
    pub(crate) async fn referrers(&self, artifact: Digest) -> Option<String> {
        let answer = self.get(&format!("referrers/{artifact}")).await?;
        Some(String::from_utf8(answer.to_vec()).unwrap())
    }

    pub(crate) async fn blob(&self, digest: &str) -> Bytes {
        self.get(&format!("blobs/{digest}")).await.unwrap()
    }

    pub(crate) async fn put_manifest(&self, reference: &str, text: &str) -> Digest {
        let kind = serde_json::from_str::<Value>(text).unwrap()["mediaType"].as_str().unwrap().to_owned();
        let place = self.place(&format!("manifests/{reference}"));
        let answer = send(Method::PUT, &place, &kind, Bytes::copy_from_slice(text.as_bytes())).await;
        assert_eq!(answer.status(), StatusCode::CREATED, "{place}");
        Digest::of(text.as_bytes())
    }

    pub(crate) async fn put_blob(&self, bytes: &[u8]) {
        let answer = send(Method::POST, &self.place("blobs/uploads/"), "", Bytes::new()).await;
        let location = answer.headers()[header::LOCATION].to_str().unwrap();
        let location = match location.strip_prefix('/') {
            Some(path) => format!("http://{}/{path}", self.host),
            None => location.to_owned(),
        };
        let join = if location.contains('?') { '&' } else { '?' };
        let place = format!("{location}{join}digest={}", Digest::of(bytes));
        let answer =
            send(Method::PUT, &place, "application/octet-stream", Bytes::copy_from_slice(bytes)).await;
        assert_eq!(answer.status(), StatusCode::CREATED, "{place}");
    }

    async fn get(&self, path: &str) -> Option<Bytes> {
        let place = self.place(path);
        let answer = send(Method::GET, &place, "", Bytes::new()).await;
        if answer.status() == StatusCode::NOT_FOUND {
            return None;
        }
        assert_eq!(answer.status(), StatusCode::OK, "{place}");
        Some(answer.into_body())
    }

    fn place(&self, path: &str) -> String {
        format!("http://{}/v2/{}/{path}", self.host, self.name)
    }
}

async fn send(method: Method, place: &str, kind: &str, body: Bytes) -> Response<Bytes> {
    let client = Client::builder(TokioExecutor::new()).build_http::<Full<Bytes>>();
    let request = Request::builder().method(method).uri(place).header(header::ACCEPT, MANIFESTS);
    let request = if kind.is_empty() { request } else { request.header(header::CONTENT_TYPE, kind) };
    let (head, body) = client.request(request.body(Full::new(body)).unwrap()).await.unwrap().into_parts();
    Response::from_parts(head, body.collect().await.unwrap().to_bytes())
}
