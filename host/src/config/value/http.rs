//! Destinations of plugins' HTTP requests.

use informer_runtime::capabilities::HttpGrant;
use ipnet::IpNet;

use super::scalar::FromText;
use crate::config::problem::Fault;

// === impl HttpGrant ===

impl FromText for HttpGrant {
    const KIND: &'static str = "a URL";

    fn example() -> String {
        "\"https://hooks.example.com/services/\"".to_owned()
    }

    fn parse(text: &str) -> Result<Self, Fault> {
        text.parse().map_err(|error| Fault::of(&error))
    }
}

// === impl IpNet ===

impl FromText for IpNet {
    const KIND: &'static str = "a network";

    fn example() -> String {
        "\"10.0.0.0/24\"".to_owned()
    }

    fn parse(text: &str) -> Result<Self, Fault> {
        let address = || text.parse().map(|address: std::net::IpAddr| Self::from(address));
        text.parse().or_else(|_| address()).map_err(|_| {
            let remedy = "write for example \"10.0.0.0/24\", or \"10.0.0.5\" for one address";
            Fault::new(format!("`{text}` is not a network"), remedy)
        })
    }
}
