//! Texts: some have few rules, for others another crate defines the syntax.

use std::{fmt::Display, net::IpAddr, path::PathBuf, str::FromStr};

use informer_dispatch::When;
use informer_registry::{Digest, SCHEME};
use informer_runtime::capabilities::HttpGrant;
use informer_types::{
    AnnotationSelector, FieldSelector, Gvr, LabelSelector, Pattern, Pointer, ReadGrant, SecretGrant,
    ServiceAccount, WriteGrant, is_namespace,
};
use ipnet::IpNet;

use super::{resource::resource, scalar::Scalar};
use crate::{
    config::{problem::Fault, source::Source},
    cron::Cron,
    election::LeaseName,
    logging,
};

/// A DNS label (RFC 1123). Namespaces, plugins and indexes have such names, because they fit into a metric, a URL and a
/// file name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::config) struct Name(pub(in crate::config) String);

/// A log filter in the syntax of `tracing-subscriber`: `info,informer_cache=debug`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::config) struct LogFilter(pub(in crate::config) String);

/// How a text is read and shown: `KIND`, the example, and `parse` and `plain` of [`Scalar`].
macro_rules! texts {
    ($($type:ty: $kind:literal, $example:literal, $parse:expr, |$own:pat_param| $plain:expr;)*) => {$(
        impl Scalar for $type {
            const KIND: &'static str = $kind;

            fn example() -> String {
                format!("{:?}", $example)
            }

            fn parse(text: &str) -> Result<Self, Fault> {
                $parse(text)
            }

            fn plain(&self) -> String {
                let $own = self;
                $plain
            }
        }
    )*};
}

texts! {
    Name: "a name", "deployment-logger", name, |own| own.0.clone();
    // A text that is not empty.
    String: "a text", "dev", not_empty, |own| own.clone();
    // A path, or `~/` and a path below the home directory.
    PathBuf: "a path", "plugins/hello.wasm", path, |own| own.display().to_string();
    Source: "a file or an artifact", "plugins/hello.wasm", source, |own| own.to_string();
    Digest: "a digest", "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", parsed, |own| own.to_string();
    Pattern: "a pattern", "ghcr.io/acme/*", parsed, |own| own.to_string();
    LogFilter: "a log filter", "info", log_filter, |own| own.0.clone();
    IpNet: "a network", "10.0.0.0/24", network, |own| own.to_string();
    Cron: "a cron expression", "0 3 * * *", parsed, |own| own.to_string();
    When: "an expression", "object.spec.replicas > 2", parsed, |own| own.text().to_owned();
    Gvr: "a resource", "apps/v1/deployments", resource, |own| own.to_string();
    LabelSelector: "a label selector", "app=web", parsed, |own| own.to_string();
    AnnotationSelector: "an annotation selector", "reloader.stakater.com/auto=true", parsed, |own| own.to_string();
    FieldSelector: "a field selector", "spec.nodeName=node-1", parsed, |own| own.to_string();
    Pointer: "a JSON pointer", "/spec/nodeName", parsed, |own| own.to_string();
    ReadGrant: "a resource", "apps/v1/deployments @default", parsed, |own| own.to_string();
    WriteGrant: "verbs and a resource", "patch apps/v1/deployments @default", parsed, |own| own.to_string();
    SecretGrant: "a Secret", "shop/credentials", parsed, |own| own.to_string();
    LeaseName: "a lease", "informer/informer", parsed, |own| own.to_string();
    ServiceAccount: "a ServiceAccount", "system:serviceaccount:shop:reloader", parsed, |own| own.to_string();
    HttpGrant: "a URL", "https://hooks.example.com/services/", parsed, |own| own.to_string();
}

/// A text that another crate reads. Its error ends with what would be right.
fn parsed<T: FromStr<Err: Display>>(text: &str) -> Result<T, Fault> {
    text.parse().map_err(|error| Fault::of(&error))
}

fn name(text: &str) -> Result<Name, Fault> {
    if is_namespace(text) {
        return Ok(Name(text.to_owned()));
    }
    let remedy = "write at most 63 lower-case letters, digits and `-`, with no `-` at either end";
    Err(Fault::new(format!("`{text}` is not a name"), remedy))
}

fn not_empty(text: &str) -> Result<String, Fault> {
    if text.trim().is_empty() {
        return Err(Fault::new("the text is empty", "write something, or leave the key out"));
    }
    Ok(text.to_owned())
}

fn path(text: &str) -> Result<PathBuf, Fault> {
    if text.is_empty() || text.contains('\0') {
        return Err(Fault::new("not a path", format!("write for example {}", PathBuf::example())));
    }
    if let Some((scheme, _)) = text.split_once("://") {
        let problem = format!("`{text}`: `{scheme}://` is not supported by this version");
        return Err(Fault::new(problem, "write the path of a file on this machine"));
    }
    Ok(text.into())
}

fn source(text: &str) -> Result<Source, Fault> {
    if text.starts_with(SCHEME) { parsed(text).map(Source::Registry) } else { path(text).map(Source::File) }
}

fn log_filter(text: &str) -> Result<LogFilter, Fault> {
    logging::check(text).map(|()| LogFilter(text.to_owned())).map_err(|error| {
        let remedy = "write for example \"info\" or \"info,informer_cache=debug\"";
        Fault::new(format!("`{text}` is not a log filter: {}", error.reason()), remedy)
    })
}

fn network(text: &str) -> Result<IpNet, Fault> {
    let address = |_| text.parse().map(|address: IpAddr| IpNet::from(address));
    text.parse().or_else(address).map_err(|_| {
        let remedy = "write for example \"10.0.0.0/24\", or \"10.0.0.5\" for one address";
        Fault::new(format!("`{text}` is not a network"), remedy)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_dns_label() {
        for text in ["a", "web-1", "0", &"x".repeat(63)] {
            assert!(Name::parse(text).is_ok(), "{text}");
        }
        for text in ["", "-a", "a-", "Web", "a.b", "a_b", "a b", "\u{e9}", &"x".repeat(64)] {
            assert!(Name::parse(text).is_err(), "{text}");
        }
    }
}
