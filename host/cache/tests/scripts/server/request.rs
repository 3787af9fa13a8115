//! Requests.

use crate::ledger::Scope;

/// The answer to discovery.
pub(super) const RESOURCES: &str = r#"{"kind":"APIResourceList","groupVersion":"v1","resources":[
    {"name":"pods","singularName":"pod","kind":"Pod","namespaced":true,"verbs":["get","list","watch"]}]}"#;

/// The same document without pods.
pub(super) const NO_RESOURCES: &str = r#"{"kind":"APIResourceList","groupVersion":"v1","resources":[]}"#;

/// One GET.
#[derive(Debug, Default)]
pub(crate) struct Request {
    pub(super) is_discovery: bool,
    pub(super) scope: Scope,
    pub(super) watch: bool,
    pub(super) version: String,
    pub(super) limit: Option<usize>,
    pub(super) token: String,
    pub(super) bookmarks: bool,
    pub(super) timeout_seconds: u64,
    pub(super) initial_events: bool,
}

// === impl Request ===

impl Request {
    pub(super) fn parse(uri: &http::Uri) -> Self {
        let path = uri.path();
        let mut request = Self { is_discovery: !path.ends_with("/pods"), ..Self::default() };
        if let Some(rest) = path.strip_prefix("/api/v1/namespaces/") {
            request.scope = rest.strip_suffix("/pods").map(str::to_owned);
        }
        for (name, value) in form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()) {
            match &*name {
                "watch" => request.watch = value == "true",
                "resourceVersion" => request.version = value.into_owned(),
                "limit" => request.limit = value.parse().ok(),
                "continue" => request.token = value.into_owned(),
                "allowWatchBookmarks" => request.bookmarks = value == "true",
                "timeoutSeconds" => request.timeout_seconds = value.parse().unwrap(),
                "sendInitialEvents" => request.initial_events = value == "true",
                _ => {}
            }
        }
        request
    }
}
