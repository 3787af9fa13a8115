//! The URLs of a collection.

use std::time::Duration;

use http::Request;
use informer_types::Gvr;
use kube::client::Body;

const JSON: &str = "application/json";

/// Servers that cannot cut objects down send them whole.
const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";

const LIST_OF_METADATA: &str =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

/// One collection as one reflector sees it: a resource, one namespace or all, and the server-side selectors,
/// which go on every request (F-6).
#[derive(Clone, Debug)]
pub(crate) struct Collection {
    pub(crate) gvr: Gvr,
    pub(crate) namespace: Option<String>,
    pub(crate) labels: String,
    pub(crate) fields: String,
    /// Only the metadata of the objects is asked for.
    pub(crate) metadata_only: bool,
}

/// What a list asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ListOptions<'a> {
    /// Empty: the most recent state.
    pub(crate) resource_version: &'a str,
    /// That resource version or an error.
    pub(crate) exact: bool,
    pub(crate) limit: Option<u32>,
    /// Set on the second page and later.
    pub(crate) continue_token: &'a str,
}

/// What a watch asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WatchOptions<'a> {
    /// Empty: the most recent state.
    pub(crate) resource_version: &'a str,
    /// When the server should end it.
    pub(crate) timeout: Duration,
    /// A streaming list first.
    pub(crate) initial_events: bool,
}

// === impl Collection ===

impl Collection {
    /// For error texts: `apps/v1/deployments in namespace shop`.
    pub(crate) fn name(&self) -> String {
        match &self.namespace {
            Some(namespace) => format!("{} in namespace {namespace}", self.gvr),
            None => self.gvr.to_string(),
        }
    }

    pub(crate) fn list(&self, options: ListOptions<'_>) -> Result<Request<Body>, http::Error> {
        let mut query = self.selectors();
        if let Some(limit) = options.limit {
            query.append_pair("limit", &limit.to_string());
        }
        if !options.continue_token.is_empty() {
            // the token carries the resource version.
            query.append_pair("continue", options.continue_token);
        } else if !options.resource_version.is_empty() {
            query.append_pair("resourceVersion", options.resource_version);
            if options.exact {
                query.append_pair("resourceVersionMatch", "Exact");
            }
        }
        self.get(&query.finish(), LIST_OF_METADATA)
    }

    /// with initial events.
    pub(crate) fn watch(&self, options: WatchOptions<'_>) -> Result<Request<Body>, http::Error> {
        let mut query = self.selectors();
        query.append_pair("watch", "true");
        query.append_pair("allowWatchBookmarks", "true");
        query.append_pair("timeoutSeconds", &options.timeout.as_secs().to_string());
        if options.initial_events {
            query.append_pair("sendInitialEvents", "true");
            query.append_pair("resourceVersionMatch", "NotOlderThan");
        }
        if !options.resource_version.is_empty() {
            query.append_pair("resourceVersion", options.resource_version);
        }
        self.get(&query.finish(), METADATA)
    }

    fn get(&self, query: &str, metadata: &'static str) -> Result<Request<Body>, http::Error> {
        let accept = if self.metadata_only { metadata } else { JSON };
        accepting(accept, &format!("{}?{query}", self.path()))
    }

    fn path(&self) -> String {
        let (root, resource) = (self.gvr.api_root(), &self.gvr.resource);
        match &self.namespace {
            Some(namespace) => {
                let namespace: String = form_urlencoded::byte_serialize(namespace.as_bytes()).collect();
                format!("{root}/namespaces/{namespace}/{resource}")
            }
            None => format!("{root}/{resource}"),
        }
    }

    fn selectors(&self) -> form_urlencoded::Serializer<'static, String> {
        let mut query = form_urlencoded::Serializer::new(String::new());
        if !self.labels.is_empty() {
            query.append_pair("labelSelector", &self.labels);
        }
        if !self.fields.is_empty() {
            query.append_pair("fieldSelector", &self.fields);
        }
        query
    }
}

/// A GET that wants JSON and nothing else.
pub(crate) fn get(path: &str) -> Result<Request<Body>, http::Error> {
    accepting(JSON, path)
}

fn accepting(accept: &'static str, path: &str) -> Result<Request<Body>, http::Error> {
    Request::get(path).header(http::header::ACCEPT, accept).body(Body::empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deployments() -> Collection {
        Collection {
            gvr: Gvr::new("apps", "v1", "deployments"),
            namespace: Some("shop".to_owned()),
            labels: "app in (a,b)".to_owned(),
            fields: String::new(),
            metadata_only: false,
        }
    }

    #[test]
    fn metadata_alone_is_asked_for_in_lists_and_in_watches_with_the_whole_as_second_choice_a10() {
        let collection = Collection { metadata_only: true, ..deployments() };
        let watch =
            WatchOptions { resource_version: "7", timeout: Duration::from_secs(300), initial_events: false };
        let accepted = |request: Request<Body>| request.headers()["accept"].to_str().unwrap().to_owned();

        assert_eq!(
            accepted(collection.list(ListOptions::default()).unwrap()),
            "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
        );
        assert_eq!(
            accepted(collection.watch(watch).unwrap()),
            "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
        );
        assert_eq!(accepted(deployments().watch(watch).unwrap()), "application/json");
    }

    #[test]
    fn a_first_list_says_its_version_and_limit_and_the_selectors_r5_f6() {
        let options = ListOptions { resource_version: "0", limit: Some(500), ..ListOptions::default() };

        let request = deployments().list(options).unwrap();

        assert_eq!(
            request.uri(),
            "/apis/apps/v1/namespaces/shop/deployments?labelSelector=app+in+%28a%2Cb%29&limit=500&resourceVersion=0"
        );
    }

    #[test]
    fn a_later_page_sends_the_token_and_no_version_r12() {
        let options = ListOptions {
            resource_version: "7",
            limit: Some(2),
            continue_token: "a=b",
            ..ListOptions::default()
        };
        let pods = Collection {
            gvr: Gvr::new("", "v1", "pods"),
            namespace: None,
            labels: String::new(),
            ..deployments()
        };

        assert_eq!(pods.list(options).unwrap().uri(), "/api/v1/pods?limit=2&continue=a%3Db");
    }

    #[test]
    fn a_watch_asks_for_bookmarks_and_a_timeout_r19() {
        let options =
            WatchOptions { resource_version: "7", timeout: Duration::from_secs(300), initial_events: false };

        let request = deployments().watch(options).unwrap();

        assert!(
            request
                .uri()
                .query()
                .unwrap()
                .ends_with("watch=true&allowWatchBookmarks=true&timeoutSeconds=300&resourceVersion=7")
        );
    }

    #[test]
    fn a_streaming_list_asks_for_initial_events_not_older_than_the_version_r41() {
        let options =
            WatchOptions { resource_version: "", timeout: Duration::from_secs(300), initial_events: true };

        let request = deployments().watch(options).unwrap();

        assert!(request.uri().query().unwrap().ends_with(
            "watch=true&allowWatchBookmarks=true&timeoutSeconds=300&sendInitialEvents=true\
             &resourceVersionMatch=NotOlderThan"
        ));
    }
}
