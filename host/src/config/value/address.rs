//! Addresses and URLs.

use std::net::{IpAddr, SocketAddr};

use http::Uri;

use super::scalar::FromText;
use crate::config::{loopback::loopback, problem::Fault};

/// The address of the admin endpoint; `None` turns it off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Admin(pub(crate) Option<SocketAddr>);

/// The URL of an API server.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ServerUrl(pub(crate) Uri);

// === impl Admin ===

impl FromText for Admin {
    const KIND: &'static str = "an address";

    fn example() -> String {
        "\"127.0.0.1:8080\" or \"off\"".to_owned()
    }

    fn parse(text: &str) -> Result<Self, Fault> {
        if text == "off" {
            return Ok(Self(None));
        }
        loopback(text).map(|address| Self(Some(address))).map_err(|error| Fault::of(&error))
    }

    fn shown(&self) -> String {
        self.0.map_or_else(|| "\"off\"".to_owned(), |address| format!("\"{address}\""))
    }
}

// === impl ServerUrl ===

impl FromText for ServerUrl {
    const KIND: &'static str = "a URL";

    fn example() -> String {
        "\"https://10.0.0.1:6443\"".to_owned()
    }

    fn parse(text: &str) -> Result<Self, Fault> {
        let invalid = |problem: &str| {
            let remedy = format!("write for example {}", Self::example());
            Fault::new(format!("`{text}` is not the URL of an API server: {problem}"), remedy)
        };
        let uri: Uri = text.parse().map_err(|error: http::uri::InvalidUri| invalid(&error.to_string()))?;
        let (Some(host), Some(authority)) = (uri.host(), uri.authority()) else {
            return Err(invalid("it has no host"));
        };
        if authority.as_str().contains('@') {
            // The message does not repeat `text`, which holds a password.
            let remedy = "put them into a kubeconfig and name it under [cluster] kubeconfig";
            return Err(Fault::new("a URL must not hold credentials", remedy));
        }
        if authority.as_str().len() > host.len() && uri.port_u16().is_none() {
            return Err(invalid("its port is not a number up to 65535"));
        }
        if uri.query().is_some() {
            return Err(invalid("it has a query"));
        }
        match uri.scheme_str() {
            Some("https") => Ok(Self(uri)),
            Some("http") if is_loopback(host) => Ok(Self(uri)),
            Some("http") => {
                Err(invalid("plain http is for this machine only (127.0.0.1, [::1] or localhost)"))
            }
            _ => Err(invalid("its scheme is neither https nor http")),
        }
    }
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn https_reaches_any_host_and_http_only_this_machine() {
        for text in [
            "https://10.0.0.1:6443",
            "https://k8s.example.com/k8s/clusters/c-1",
            "http://127.0.0.1:8001",
            "http://[::1]:8001",
            "http://localhost:8001",
        ] {
            assert!(ServerUrl::parse(text).is_ok(), "{text}");
        }
        for (text, problem) in [
            ("http://10.0.0.1:8080", "plain http"),
            ("http://127.0.0.1.example.com", "plain http"),
            ("10.0.0.1:6443", "neither https nor http"),
            ("/path", "it has no host"),
            ("", "is not the URL"),
            ("ftp://10.0.0.1", "neither https nor http"),
            ("https://a:99999", "its port"),
            ("https://a?b=c", "it has a query"),
            ("https://a b", "is not the URL"),
        ] {
            let shown = format!("{:?}", ServerUrl::parse(text).unwrap_err());

            assert!(shown.contains(problem) && shown.contains("https://10.0.0.1:6443"), "{shown}");
        }
    }

    #[test]
    fn a_password_is_refused_and_not_shown() {
        let shown = format!("{:?}", ServerUrl::parse("https://me:hunter2@10.0.0.1").unwrap_err());

        assert!(shown.contains("must not hold credentials") && !shown.contains("hunter2"), "{shown}");
    }
}
