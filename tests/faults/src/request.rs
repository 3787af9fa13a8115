//! Recorded requests.

use std::{collections::BTreeMap, time::Instant};

use crate::continue_token::ContinueToken;

/// The path of the collection over all namespaces.
const COLLECTION: &str = "/api/v1/pods";

/// The kind of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// Discovery.
    Discovery,
    /// A page of a list.
    List,
    /// A watch.
    Watch,
    /// A path that this server does not have.
    Other,
}

/// One received request.
#[derive(Clone, Debug)]
pub struct Request {
    /// The kind of the request.
    pub call: Call,
    /// The time at which the request arrived.
    pub at: Instant,
    /// The HTTP version of the connection.
    pub http: http::Version,
    /// The number of the connection; the first accepted connection is 1.
    pub connection: usize,
    /// The path.
    pub path: String,
    /// The decoded query.
    pub query: BTreeMap<String, String>,
}

// === impl Request ===

impl Request {
    pub(crate) fn new(http: http::Version, connection: usize, uri: &http::Uri) -> Self {
        let query = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()).into_owned().collect();
        let mut request = Self {
            call: Call::Other,
            at: Instant::now(),
            http,
            connection,
            path: uri.path().to_owned(),
            query,
        };
        request.call = request.classify();
        request
    }

    /// The value of a parameter; empty if it was not sent.
    #[must_use]
    pub fn get(&self, parameter: &str) -> &str {
        self.query.get(parameter).map_or("", String::as_str)
    }

    /// The requested resource version; empty if none was sent.
    #[must_use]
    pub fn resource_version(&self) -> &str {
        self.get("resourceVersion")
    }

    /// The requested page of a list, counted from 1.
    #[must_use]
    pub fn page(&self) -> usize {
        ContinueToken::parse(self.get("continue")).map_or(1, |token| token.page)
    }

    /// Returns true if the request is for a streaming list.
    #[must_use]
    pub fn wants_initial_events(&self) -> bool {
        self.call == Call::Watch && self.get("sendInitialEvents") == "true"
    }

    /// The namespace of the request. `None` means all namespaces.
    pub(crate) fn namespace(&self) -> Option<&str> {
        self.path.strip_prefix("/api/v1/namespaces/")?.strip_suffix("/pods")
    }

    fn classify(&self) -> Call {
        if self.path == "/api/v1" {
            Call::Discovery
        } else if self.path != COLLECTION && self.namespace().is_none() {
            Call::Other
        } else if self.get("watch") == "true" {
            Call::Watch
        } else {
            Call::List
        }
    }
}
