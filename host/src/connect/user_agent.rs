//! The `User-Agent` of the requests to the API server, which its log and its audit show.

use std::env::consts::{ARCH, OS};

use http::{HeaderValue, Request, header::USER_AGENT};

/// The product. Embedded and real API servers derive the default field manager from it.
const PRODUCT: &str = concat!("informer/", env!("CARGO_PKG_VERSION"));

/// Adds the agent of the host, `informer/0.1.0 (linux/amd64)`, to a request without one.
pub(super) fn sign<B>(mut request: Request<B>) -> Request<B> {
    if let Ok(agent) = HeaderValue::try_from(host()) {
        request.headers_mut().entry(USER_AGENT).or_insert(agent);
    }
    request
}

/// The agent of a plugin's own requests: `informer/0.1.0 (linux/amd64) plugin/scaler`.
pub(super) fn of_plugin(plugin: &str) -> String {
    format!("{} plugin/{plugin}", host())
}

/// The names of Go are those that operators know from other agents.
fn host() -> String {
    let arch = match ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    format!("{PRODUCT} ({OS}/{arch})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_of_the_host_names_it_and_a_request_of_a_plugin_keeps_its_own_agent() {
        let agent = |request: Request<()>| request.headers()[USER_AGENT].to_str().unwrap().to_owned();
        let own = agent(sign(Request::new(())));
        assert!(own.starts_with(PRODUCT) && own.ends_with(')'), "{own}");
        assert!(!own.contains("x86_64"), "{own}");

        let of_plugin = of_plugin("scaler");
        assert_eq!(of_plugin, format!("{own} plugin/scaler"));
        let request = Request::builder().header(USER_AGENT, &of_plugin).body(()).unwrap();
        assert_eq!(agent(sign(request)), of_plugin);
    }
}
