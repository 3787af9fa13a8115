//! The addresses of the API server that the API server itself lists.

use std::{
    fmt::Display,
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use futures::future::{BoxFuture, join_all};
use http::Method;
use informer_runtime::capabilities::{ApiAnswer, ApiClient, ApiFailure, ApiRequest, Directory};
use serde_json::Value;

/// Most bytes of an answer. A control plane has a few addresses.
const LONGEST_ANSWER: usize = 1 << 20;

/// A path and the function that reads the answer.
type List = (&'static str, fn(&Value) -> Vec<SocketAddr>);

/// The requests. The first needs no more than `system:discovery`, which every
/// account has; the others need the rules that `informer rbac` prints.
const LISTS: [List; 3] = [
    ("/api", advertised),
    ("/api/v1/namespaces/default/services/kubernetes", service),
    (
        "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices?labelSelector=kubernetes.io%2Fservice-name%3Dkubernetes",
        endpoints,
    ),
];

/// Lists the address that the API server advertises, its Service, and the endpoints of this Service.
pub(super) struct ControlPlane(Arc<dyn ApiClient>);

// === impl ControlPlane ===

impl ControlPlane {
    pub(super) fn new(client: Arc<dyn ApiClient>) -> Self {
        Self(client)
    }

    async fn get(&self, path: &str) -> Result<Option<Value>, ApiFailure> {
        let request = ApiRequest {
            plugin: "egress".into(),
            method: Method::GET,
            path: path.to_owned(),
            content_type: None,
            body: Default::default(),
            longest_answer: LONGEST_ANSWER,
        };
        let ApiAnswer { status, body, .. } = self.0.send(request).await?;
        match status {
            200..300 => serde_json::from_slice(&body).map(Some).map_err(|error| unread(path, &error)),
            // A request that RBAC forbids, and an API that is not served, list nothing.
            403 | 404 => Ok(None),
            // An API server that is overloaded or restarts has the same addresses as before.
            _ => Err(unread(path, &format_args!("the status is {status}"))),
        }
    }
}

impl Directory for ControlPlane {
    fn places(&self) -> BoxFuture<'_, io::Result<Vec<SocketAddr>>> {
        Box::pin(async move {
            let list = |(path, read): List| async move {
                self.get(path).await.map(|answer| answer.as_ref().map(read).unwrap_or_default())
            };
            let lists: Result<Vec<_>, _> = join_all(LISTS.map(list)).await.into_iter().collect();
            lists.map(|lists| lists.concat()).map_err(io::Error::other)
        })
    }
}

fn unread(path: &str, why: &dyn Display) -> ApiFailure {
    ApiFailure::Unavailable(format!("the answer to {path} lists no addresses: {why}"))
}

fn advertised(versions: &Value) -> Vec<SocketAddr> {
    let address = |of: &Value| of["serverAddress"].as_str()?.parse().ok();
    all(&versions["serverAddressByClientCIDRs"]).filter_map(address).collect()
}

fn service(service: &Value) -> Vec<SocketAddr> {
    let spec = &service["spec"];
    pairs(all(&spec["clusterIPs"]).chain([&spec["clusterIP"]]), &spec["ports"])
}

fn endpoints(slices: &Value) -> Vec<SocketAddr> {
    let of = |slice: &Value| {
        pairs(all(&slice["endpoints"]).flat_map(|endpoint| all(&endpoint["addresses"])), &slice["ports"])
    };
    all(&slices["items"]).flat_map(of).collect()
}

/// Each address with each port. Texts that are no addresses, such as `None`, are left out.
fn pairs<'a>(addresses: impl Iterator<Item = &'a Value>, ports: &Value) -> Vec<SocketAddr> {
    let port = |port: &Value| u16::try_from(port["port"].as_u64()?).ok();
    let ports: Vec<u16> = all(ports).filter_map(port).collect();
    let addresses = addresses.filter_map(|address| address.as_str()?.parse::<IpAddr>().ok());
    addresses.flat_map(|address| ports.iter().map(move |port| SocketAddr::new(address, *port))).collect()
}

fn all(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use futures::future::ready;
    use serde_json::json;

    use super::*;

    /// Answers each path with a status and a body, and other paths with 403.
    struct Server(Vec<(&'static str, u16, Value)>);

    impl ApiClient for Server {
        fn send(&self, request: ApiRequest) -> BoxFuture<'_, Result<ApiAnswer, ApiFailure>> {
            let found = self.0.iter().find(|(path, ..)| request.path.starts_with(path));
            let (status, body) = found.map_or((403, json!({})), |(_, status, body)| (*status, body.clone()));
            let body = body.to_string().into();
            Box::pin(ready(match status {
                0 => Err(ApiFailure::Unavailable("no connection".to_owned())),
                _ => Ok(ApiAnswer { status, retry_after: None, body }),
            }))
        }
    }

    async fn places(server: Server) -> io::Result<Vec<String>> {
        let places = ControlPlane::new(Arc::new(server)).places().await?;
        Ok(places.iter().map(ToString::to_string).collect())
    }

    #[tokio::test]
    async fn the_advertised_address_the_service_and_its_endpoints_are_listed() {
        let advertised = json!({"serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": "10.0.0.5:6443"}]});
        let service = json!({"spec": {"clusterIP": "10.96.0.1", "clusterIPs": ["10.96.0.1", "fd00::1"], "ports": [{"port": 443}]}});
        let slices = json!({"items": [{"endpoints": [{"addresses": ["10.0.0.5"]}, {"addresses": ["10.0.0.6"]}], "ports": [{"port": 6443}]}]});
        let server = Server(vec![
            ("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices?", 200, slices),
            ("/api/v1/namespaces/default/services/kubernetes", 200, service),
            ("/api", 200, advertised),
        ]);

        let mut places = places(server).await.unwrap();

        places.sort();
        places.dedup();
        assert_eq!(places, ["10.0.0.5:6443", "10.0.0.6:6443", "10.96.0.1:443", "[fd00::1]:443"]);
    }

    #[tokio::test]
    async fn forbidden_lists_are_empty_and_invalid_addresses_are_left_out() {
        let odd =
            json!({"spec": {"clusterIP": "None", "ports": [{"port": 443}, {"port": 70000}, {}]}, "items": 3});
        let server = Server(vec![("/api/v1/namespaces/default/services/kubernetes", 200, odd)]);

        assert_eq!(places(server).await.unwrap(), Vec::<String>::new());
    }

    #[tokio::test]
    async fn without_an_answer_the_list_fails() {
        assert!(places(Server(vec![("/api", 0, json!({}))])).await.is_err());
    }

    /// The caller keeps the addresses of the last answer if a list fails, and an empty list would replace them.
    #[tokio::test]
    async fn an_api_server_that_answers_with_an_error_of_its_own_lists_no_empty_control_plane() {
        for status in [401, 429, 500, 503] {
            let refused = places(Server(vec![("/apis/discovery.k8s.io", status, json!({}))])).await;
            assert!(refused.unwrap_err().to_string().contains(&status.to_string()), "{status}");
        }
        assert_eq!(places(Server(vec![("/apis", 404, json!({}))])).await.unwrap(), Vec::<String>::new());
    }
}
