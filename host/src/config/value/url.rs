//! URLs.

use std::net::IpAddr;

use http::Uri;

use super::scalar::Scalar;
use crate::config::problem::Fault;

/// The URL of an API server.
impl Scalar for Uri {
    const KIND: &'static str = "a URL";

    fn example() -> String {
        "\"https://10.0.0.1:6443\"".to_owned()
    }

    fn parse(text: &str) -> Result<Self, Fault> {
        let invalid = |problem: &str| {
            let remedy = format!("write for example {}", Self::example());
            Fault::new(format!("`{text}` is not the URL of an API server: {problem}"), remedy)
        };
        let uri: Self = text.parse().map_err(|error: http::uri::InvalidUri| invalid(&error.to_string()))?;
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
            Some("https") => Ok(uri),
            Some("http") if is_loopback(host) => Ok(uri),
            Some("http") => {
                Err(invalid("plain http is for this machine only (127.0.0.1, [::1] or localhost)"))
            }
            _ => Err(invalid("its scheme is neither https nor http")),
        }
    }

    fn plain(&self) -> String {
        self.to_string()
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
            assert!(Uri::parse(text).is_ok(), "{text}");
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
            let shown = format!("{:?}", Uri::parse(text).unwrap_err());

            assert!(shown.contains(problem) && shown.contains("https://10.0.0.1:6443"), "{shown}");
        }
    }

    #[test]
    fn a_password_is_refused_and_not_shown() {
        let shown = format!("{:?}", Uri::parse("https://me:hunter2@10.0.0.1").unwrap_err());

        assert!(shown.contains("must not hold credentials") && !shown.contains("hunter2"), "{shown}");
    }
}
