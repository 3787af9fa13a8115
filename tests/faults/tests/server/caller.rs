//! Calls the server and reads its answers.

use std::time::Duration;

use http_body_util::BodyExt;
use informer_faults::{FaultServer, HttpVersion};
use kube::client::Body;
use serde_json::Value;

/// The deadline of each step.
pub(crate) const SOON: Duration = Duration::from_secs(60);

/// An answer that is read chunk by chunk.
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) retry_after: Option<String>,
    body: Body,
    /// The bytes after the last complete line.
    rest: Vec<u8>,
}

/// A body that broke off.
#[derive(Debug)]
pub(crate) struct Broken;

pub(crate) async fn call(
    server: &FaultServer,
    http: HttpVersion,
    target: &str,
) -> Result<Answer, kube::Error> {
    call_by(&server.client(http).unwrap(), target).await
}

pub(crate) async fn call_by(client: &kube::Client, target: &str) -> Result<Answer, kube::Error> {
    let request = http::Request::get(target).body(Body::empty()).unwrap();
    let response = tokio::time::timeout(SOON, client.send(request)).await.expect("an answer")?;
    let retry_after = response.headers().get("retry-after").map(|value| value.to_str().unwrap().to_owned());
    Ok(Answer { code: response.status().as_u16(), retry_after, body: response.into_body(), rest: Vec::new() })
}

/// The JSON document at `target`.
pub(crate) async fn json(server: &FaultServer, target: &str) -> Value {
    let mut answer = call(server, HttpVersion::Http1, target).await.unwrap();
    let text = answer.text().await.unwrap();
    serde_json::from_str(&text).unwrap()
}

impl Answer {
    /// The next chunk that is not empty. Returns `None` at the end. HTTP/2 ends a body with an empty chunk.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Vec<u8>>, Broken> {
        loop {
            let Some(frame) = tokio::time::timeout(SOON, self.body.frame()).await.expect("a chunk") else {
                return Ok(None);
            };
            let data = frame.map_err(|_| Broken)?.into_data().unwrap();
            if !data.is_empty() {
                return Ok(Some(data.to_vec()));
            }
        }
    }

    /// The rest of the body.
    pub(crate) async fn text(&mut self) -> Result<String, Broken> {
        while let Some(chunk) = self.chunk().await? {
            self.rest.extend(chunk);
        }
        Ok(String::from_utf8(std::mem::take(&mut self.rest)).unwrap())
    }

    /// The next frame of a watch, as `ADDED shop/a@11`, `BOOKMARK @12`, `BOOKMARK @12 end`, `ERROR 410`.
    pub(crate) async fn event(&mut self) -> String {
        loop {
            if let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                return describe(&serde_json::from_slice(&line).unwrap());
            }
            let chunk = self.chunk().await.unwrap().expect("an event");
            self.rest.extend(chunk);
        }
    }

    /// Returns true if nothing arrives within a short time.
    pub(crate) async fn is_silent(&mut self) -> bool {
        tokio::time::timeout(Duration::from_millis(100), self.body.frame()).await.is_err()
    }
}

fn describe(event: &Value) -> String {
    let (kind, object) = (event["type"].as_str().unwrap(), &event["object"]);
    let metadata = &object["metadata"];
    let version = metadata["resourceVersion"].as_str().unwrap_or_default();
    match kind {
        "ERROR" => format!("ERROR {}", object["code"]),
        "BOOKMARK" if metadata["annotations"]["k8s.io/initial-events-end"] == "true" => {
            format!("BOOKMARK @{version} end")
        }
        "BOOKMARK" => format!("BOOKMARK @{version}"),
        kind => format!("{kind} {}@{version}", name(object)),
    }
}

/// The namespace and name of an object: `shop/a`.
pub(crate) fn name(object: &Value) -> String {
    let metadata = &object["metadata"];
    format!("{}/{}", metadata["namespace"].as_str().unwrap(), metadata["name"].as_str().unwrap())
}
