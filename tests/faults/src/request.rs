//! What the server was asked.

use std::{collections::BTreeMap, time::Instant};

use crate::continue_token::ContinueToken;

/// The collection's path, and the end of its path in a namespace.
const COLLECTION: &str = "/api/v1/pods";

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// What resources there are.
    Discovery,
    /// A page of a list.
    List,
    /// A watch.
    Watch,
    /// Something this server does not have.
    Other,
}

/// One request, as it came.
#[derive(Clone, Debug)]
pub struct Request {
    /// What it is for.
    pub call: Call,
    /// When it came.
    pub at: Instant,
    /// The version of HTTP it came by.
    pub http: http::Version,
    /// The connection it came by: 1 is the first one accepted.
    pub connection: usize,
    /// The path.
    pub path: String,
    /// The query, decoded.
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

    /// A parameter; empty where it was not sent.
    #[must_use]
    pub fn get(&self, parameter: &str) -> &str {
        self.query.get(parameter).map_or("", String::as_str)
    }

    /// The resource version asked for; empty where none was sent.
    #[must_use]
    pub fn resource_version(&self) -> &str {
        self.get("resourceVersion")
    }

    /// The page of a list it asks for, from 1.
    #[must_use]
    pub fn page(&self) -> usize {
        ContinueToken::parse(self.get("continue")).map_or(1, |token| token.page)
    }

    /// True where it asks for a streaming list.
    #[must_use]
    pub fn wants_initial_events(&self) -> bool {
        self.call == Call::Watch && self.get("sendInitialEvents") == "true"
    }

    /// The one namespace it is about; none: all.
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
