//! The commands of the W3C WebDriver protocol: JSON over HTTP.
//!
//! This is code of the tests because the libraries for it change the rest of the workspace: thirtyfour switches on
//! `preserve_order` of serde_json for the host too, and fantoccini brings 33 crates, some of them in a second version.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use serde_json::{Value, json};

/// The name under which the protocol identifies an element.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// Time for the browser to end.
const ENDED: Duration = Duration::from_secs(10);

/// A browser that chromedriver controls. It ends when dropped.
pub(crate) struct Session {
    client: Client<HttpConnector, Full<Bytes>>,
    chromedriver: SocketAddr,
    path: String,
}

/// An element of the page.
pub(crate) struct Element(String);

// === impl Session ===

impl Session {
    /// Starts a browser.
    pub(crate) async fn start(chromedriver: SocketAddr, capabilities: Value) -> Self {
        let client = Client::builder(TokioExecutor::new()).build_http();
        let mut session = Self { client, chromedriver, path: "/session".to_owned() };
        let wanted = json!({"capabilities": {"alwaysMatch": capabilities}});
        let started = session.send(Method::POST, "", &wanted).await;
        session.path = format!("/session/{}", started["sessionId"].as_str().unwrap());
        session
    }

    /// Sends a command and returns the value of the answer.
    pub(crate) async fn post(&self, command: &str, parameters: Value) -> Value {
        self.send(Method::POST, command, &parameters).await
    }

    pub(crate) async fn get(&self, command: &str) -> Value {
        self.send(Method::GET, command, &Value::Null).await
    }

    /// Finds the first element.
    pub(crate) async fn find(&self, css: &str) -> Element {
        let found = self.post("/element", json!({"using": "css selector", "value": css})).await;
        Element(format!("/element/{}", found[ELEMENT].as_str().unwrap()))
    }

    pub(crate) async fn click(&self, element: &Element) {
        self.post(&format!("{}/click", element.0), json!({})).await;
    }

    pub(crate) async fn type_into(&self, element: &Element, text: &str) {
        self.post(&format!("{}/value", element.0), json!({"text": text})).await;
    }

    async fn send(&self, method: Method, command: &str, parameters: &Value) -> Value {
        let body = if parameters.is_null() { String::new() } else { parameters.to_string() };
        let url = format!("http://{}{}{command}", self.chromedriver, self.path);
        let request = Request::builder().method(method).uri(url).body(Full::from(body)).unwrap();
        let answer = self.client.request(request).await.unwrap();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        let mut answer: Value = serde_json::from_slice(&body).unwrap();
        let value = answer["value"].take();
        assert!(value["error"].is_null(), "{command} {parameters}: {value:#}");
        value
    }
}

impl Drop for Session {
    /// Ends the browser, also if a test failed: it is no child of this process.
    fn drop(&mut self) {
        let request = format!(
            "DELETE {} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
            self.path, self.chromedriver
        );
        if let Ok(mut connection) = TcpStream::connect(self.chromedriver) {
            connection.set_read_timeout(Some(ENDED)).ok();
            connection.write_all(request.as_bytes()).ok();
            // The answer comes when the browser has ended. chromedriver keeps the connection open after it.
            connection.read_exact(&mut [0]).ok();
        }
    }
}
