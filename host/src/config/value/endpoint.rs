//! Endpoints of servers that are no API servers: scheme, host and port.

use http::Uri;

use super::scalar::Scalar;
use crate::config::problem::Fault;

/// An URL of scheme, host and perhaps a port, without a `/` at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::config) struct Endpoint(pub(in crate::config) String);

impl Scalar for Endpoint {
    const KIND: &'static str = "an endpoint";

    fn example() -> String {
        "\"http://127.0.0.1:4317\"".to_owned()
    }

    fn parse(text: &str) -> Result<Self, Fault> {
        let invalid = |problem: &str| {
            let remedy = format!("write for example {}", Self::example());
            Fault::new(format!("`{text}` is not an endpoint: {problem}"), remedy)
        };
        let uri: Uri = text.parse().map_err(|error: http::uri::InvalidUri| invalid(&error.to_string()))?;
        let (Some(host), Some(authority)) = (uri.host(), uri.authority()) else {
            return Err(invalid("it has no host"));
        };
        if authority.as_str().contains('@') {
            // The message does not repeat `text`, which holds a password.
            let remedy = "put them into a header by OTEL_EXPORTER_OTLP_HEADERS in the environment";
            return Err(Fault::new("an endpoint must not hold credentials", remedy));
        }
        if authority.as_str().len() > host.len() && uri.port_u16().is_none() {
            return Err(invalid("its port is not a number up to 65535"));
        }
        if !uri.path().trim_end_matches('/').is_empty() || uri.query().is_some() {
            return Err(invalid("it has a path"));
        }
        match uri.scheme_str() {
            Some(scheme @ ("https" | "http")) => Ok(Self(format!("{scheme}://{authority}"))),
            _ => Err(invalid("its scheme is neither https nor http")),
        }
    }

    fn plain(&self) -> String {
        self.0.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_a_scheme_a_host_and_a_port() {
        for (text, read) in [
            ("http://127.0.0.1:4317", "http://127.0.0.1:4317"),
            ("https://otlp.example.com/", "https://otlp.example.com"),
            ("http://[::1]:4318", "http://[::1]:4318"),
        ] {
            assert_eq!(Endpoint::parse(text), Ok(Endpoint(read.to_owned())));
        }
        for (text, problem) in [
            ("otel-collector:4317", "neither https nor http"),
            ("grpc://a:4317", "neither https nor http"),
            ("http://a/v1/traces", "it has a path"),
            ("http://a?b=c", "it has a path"),
            ("http://a:99999", "its port"),
            ("", "is not an endpoint"),
        ] {
            let shown = format!("{:?}", Endpoint::parse(text).unwrap_err());

            assert!(shown.contains(problem) && shown.contains("127.0.0.1:4317"), "{shown}");
        }
    }

    #[test]
    fn credentials_are_refused_and_not_shown() {
        let shown = format!("{:?}", Endpoint::parse("https://me:hunter2@a").unwrap_err());

        assert!(shown.contains("must not hold credentials") && !shown.contains("hunter2"), "{shown}");
    }
}
