//! The requests for a collection.

use std::time::Duration;

use http::Request;
use kube::client::Body;

use crate::InformerKey;

const JSON: &str = "application/json";

/// A server that does not support the partial form sends whole objects.
const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";

const LIST_OF_METADATA: &str =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

/// One collection as a reflector requests it: the resource and the selectors of an informer (F-6), and one namespace or
/// all.
#[derive(Clone, Debug)]
pub(crate) struct Collection {
    pub(crate) informer: InformerKey,
    pub(crate) namespace: Option<String>,
}

/// The options of a list request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ListOptions<'a> {
    /// If empty, the most recent state.
    pub(crate) resource_version: &'a str,
    /// If true, exactly this resource version, or an error.
    pub(crate) exact: bool,
    pub(crate) limit: Option<u32>,
    /// Set on the second and later pages.
    pub(crate) continue_token: &'a str,
}

/// The options of a watch request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WatchOptions<'a> {
    /// If empty, the most recent state.
    pub(crate) resource_version: &'a str,
    /// The time after which the server should end the watch.
    pub(crate) timeout: Duration,
    /// If true, a streaming list comes first.
    pub(crate) initial_events: bool,
}

// === impl Collection ===

impl Collection {
    /// The name in error texts: `apps/v1/deployments in namespace shop`.
    pub(crate) fn name(&self) -> String {
        match &self.namespace {
            Some(namespace) => format!("{} in namespace {namespace}", self.informer.gvr),
            None => self.informer.gvr.to_string(),
        }
    }

    pub(crate) fn list(&self, options: ListOptions<'_>) -> Result<Request<Body>, http::Error> {
        let mut query = self.selectors();
        if let Some(limit) = options.limit {
            query.append_pair("limit", &limit.to_string());
        }
        if !options.continue_token.is_empty() {
            // The continue token contains the resource version.
            query.append_pair("continue", options.continue_token);
        } else if !options.resource_version.is_empty() {
            query.append_pair("resourceVersion", options.resource_version);
            if options.exact {
                query.append_pair("resourceVersionMatch", "Exact");
            }
        }
        self.get(&query.finish(), LIST_OF_METADATA)
    }

    /// A watch request with bookmarks and a timeout, and with initial events if requested.
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
        let accept = if self.informer.metadata_only { metadata } else { JSON };
        accepting(accept, &format!("{}?{query}", self.path()))
    }

    fn path(&self) -> String {
        let (root, resource) = (self.informer.gvr.api_root(), &self.informer.gvr.resource);
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
        if !self.informer.labels.is_empty() {
            query.append_pair("labelSelector", &self.informer.labels);
        }
        if !self.informer.fields.is_empty() {
            query.append_pair("fieldSelector", &self.informer.fields);
        }
        query
    }
}

/// A GET for JSON.
pub(crate) fn get(path: &str) -> Result<Request<Body>, http::Error> {
    accepting(JSON, path)
}

fn accepting(accept: &'static str, path: &str) -> Result<Request<Body>, http::Error> {
    Request::get(path).header(http::header::ACCEPT, accept).body(Body::empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WatchConfig;

    fn collection(gvr: &str, namespace: Option<&str>, labels: &str, metadata_only: bool) -> Collection {
        let labels = labels.parse().unwrap();
        let config = WatchConfig { labels, metadata_only, ..WatchConfig::new(gvr.parse().unwrap()) };
        Collection { informer: InformerKey::from(&config), namespace: namespace.map(str::to_owned) }
    }

    fn deployments() -> Collection {
        collection("apps/v1/deployments", Some("shop"), "app in (a,b)", false)
    }

    /// A server that does not support metadata alone sends whole objects.
    #[test]
    fn metadata_alone_is_requested_in_lists_and_watches_with_whole_objects_as_second_choice() {
        let collection = collection("apps/v1/deployments", Some("shop"), "", true);
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

    /// The first list is at "0", and every request has the selectors (F-6).
    #[test]
    fn a_first_list_has_its_version_its_limit_and_the_selectors() {
        let options = ListOptions { resource_version: "0", limit: Some(500), ..ListOptions::default() };

        let request = deployments().list(options).unwrap();

        assert_eq!(
            request.uri(),
            "/apis/apps/v1/namespaces/shop/deployments?labelSelector=app+in+%28a%2Cb%29&limit=500&resourceVersion=0"
        );
    }

    /// A continue token contains the resource version.
    #[test]
    fn a_later_page_has_the_token_and_no_version() {
        let options = ListOptions {
            resource_version: "7",
            limit: Some(2),
            continue_token: "a=b",
            ..ListOptions::default()
        };

        assert_eq!(
            collection("v1/pods", None, "", false).list(options).unwrap().uri(),
            "/api/v1/pods?limit=2&continue=a%3Db"
        );
    }

    /// A watch requests bookmarks and has a timeout.
    #[test]
    fn a_watch_requests_bookmarks_and_a_timeout() {
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

    /// A streaming list has `sendInitialEvents` and `resourceVersionMatch=NotOlderThan`.
    #[test]
    fn a_streaming_list_requests_initial_events_not_older_than_the_version() {
        let options =
            WatchOptions { resource_version: "", timeout: Duration::from_secs(300), initial_events: true };

        let request = deployments().watch(options).unwrap();

        assert!(request.uri().query().unwrap().ends_with(
            "watch=true&allowWatchBookmarks=true&timeoutSeconds=300&sendInitialEvents=true\
             &resourceVersionMatch=NotOlderThan"
        ));
    }
}
