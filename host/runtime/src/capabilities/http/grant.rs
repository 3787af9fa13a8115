//! The grant `http` under `[plugin.grant]`: where requests may go.

use std::{collections::BTreeSet, fmt, net::IpAddr, str::FromStr};

use http::{Method, Uri};

use super::{
    address::{Reach, reach},
    path::is_below,
    problem::Denied,
    target::{Host, Target},
};

/// One line of the grant: `https://hooks.example.com/services/`, or `GET,POST https://*.example.com:8443/`.
///
/// The text form is complete: it includes the port and the path.
///
/// - The scheme is `https` or `http`; the port defaults to the one of the scheme.
/// - `*.example.com` matches every name with exactly one label more, as in a certificate.
/// - The path is a prefix that ends between segments: all paths below it are granted.
/// - Without methods, every method but CONNECT and TRACE is granted.
/// - A loopback address such as 127.0.0.1 is reached only if the grant names the address. Link-local and metadata addresses
///   cannot be granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpGrant {
    /// The granted methods. If empty, all methods are granted.
    methods: BTreeSet<String>,
    /// The URL. For a wildcard, its host is the part after `*.`.
    target: Target,
    wildcard: bool,
}

/// An invalid line. The message names the problem and, after `; `, a valid example.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}; write for example \"https://hooks.example.com/services/\"")]
pub struct InvalidHttpGrant(String);

// === impl HttpGrant ===

impl HttpGrant {
    /// Returns true if the grant names this address.
    pub(super) fn names(&self, address: IpAddr) -> bool {
        self.target.host == Host::Address(address)
    }

    /// The URL that a request under this grant is sent to, as the host understood it, without the query. Returns `None` if this
    /// line does not grant the request.
    #[must_use]
    pub fn sends_to(&self, method: &Method, url: &Uri) -> Option<String> {
        let target = Target::of(url).ok()?;
        self.admits(method, &target).ok()?;
        Some(format!("{target}{}", target.path))
    }

    /// Returns true if this line grants every request that the other line grants.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        let Target { https, host, port, path } = &self.target;
        let hosts = match (self.wildcard, other.wildcard) {
            (false, true) => false,
            (true, false) => self.is_host(host, &other.target.host),
            _ => *host == other.target.host,
        };
        let methods =
            self.methods.is_empty() || (!other.methods.is_empty() && other.methods.is_subset(&self.methods));
        hosts
            && methods
            && (*https, *port) == (other.target.https, other.target.port)
            && is_below(&other.target.path, path)
    }

    /// Checks a request against this line.
    fn admits(&self, method: &Method, request: &Target) -> Result<(), Denied> {
        if is_tunnel(method) {
            return Err(Denied::Tunnel);
        }
        let Target { https, host, port, path } = &self.target;
        if (*https, *port) != (request.https, request.port) || !self.is_host(host, &request.host) {
            return Err(Denied::NotGranted);
        }
        if !is_below(&request.path, path) {
            return Err(Denied::Path);
        }
        if !self.methods.is_empty() && !self.methods.contains(method.as_str()) {
            return Err(Denied::Method);
        }
        Ok(())
    }

    fn is_host(&self, granted: &Host, requested: &Host) -> bool {
        match (granted, requested) {
            (Host::Name(granted), Host::Name(requested)) if self.wildcard => {
                requested.split_once('.').is_some_and(|(_, parent)| parent == granted)
            }
            _ => granted == requested,
        }
    }
}

/// The grant that admits the request.
///
/// # Errors
/// The reason of the line that comes nearest to granting the request.
pub(super) fn admitting<'g>(
    grants: &'g [HttpGrant],
    method: &Method,
    request: &Target,
) -> Result<&'g HttpGrant, Denied> {
    let mut nearest = Denied::NotGranted;
    for grant in grants {
        match grant.admits(method, request) {
            Ok(()) => return Ok(grant),
            Err(Denied::NotGranted) => {}
            Err(nearer) => nearest = nearer,
        }
    }
    Err(nearest)
}

impl fmt::Display for HttpGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let methods: Vec<&str> = self.methods.iter().map(String::as_str).collect();
        if !methods.is_empty() {
            write!(f, "{} ", methods.join(","))?;
        }
        let Target { https, host, port, path } = &self.target;
        let scheme = if *https { "https" } else { "http" };
        write!(f, "{scheme}://{}{host}:{port}{path}", if self.wildcard { "*." } else { "" })
    }
}

impl FromStr for HttpGrant {
    type Err = InvalidHttpGrant;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (methods, url) = match text.trim().rsplit_once(char::is_whitespace) {
            Some((methods, url)) => (methods.trim(), url),
            None => ("", text.trim()),
        };
        // First of all: credentials must not appear in any other message.
        if url.contains('@') {
            return Err(InvalidHttpGrant("a URL must not hold credentials".to_owned()));
        }
        let invalid = |why: String| InvalidHttpGrant(format!("`{text}` grants nothing: {why}"));
        if url.contains(['?', '#']) {
            return Err(invalid("a query or a fragment cannot be granted".to_owned()));
        }
        let (url, wildcard) = match url.split_once("://*.") {
            Some((scheme, rest)) => (format!("{scheme}://{rest}"), true),
            None => (url.to_owned(), false),
        };
        if url.contains('*') {
            return Err(invalid("a `*` stands only for the first label, as in `*.example.com`".to_owned()));
        }
        let uri: Uri = url.parse().map_err(|error| invalid(format!("it is not a URL ({error})")))?;
        let target = Target::of(&uri).map_err(|error| invalid(error.to_string()))?;
        match &target.host {
            Host::Address(_) if wildcard => {
                return Err(invalid("an address has no names below it".to_owned()));
            }
            Host::Address(address) => {
                if let Reach::Never(why) = reach(*address) {
                    return Err(invalid(format!("no plugin may reach {address}: {why}")));
                }
            }
            Host::Name(_) => {}
        }
        Ok(Self { methods: methods_of(methods).map_err(invalid)?, target, wildcard })
    }
}

/// Returns true for CONNECT and TRACE. Methods are case-sensitive, but some servers and proxies read `connect` as CONNECT.
fn is_tunnel(method: &Method) -> bool {
    [Method::CONNECT, Method::TRACE]
        .iter()
        .any(|tunnel| method.as_str().eq_ignore_ascii_case(tunnel.as_str()))
}

fn methods_of(text: &str) -> Result<BTreeSet<String>, String> {
    let words = text.split(',').map(str::trim).filter(|_| !text.is_empty());
    words
        .map(|word| match word {
            "CONNECT" | "TRACE" => Err(format!("{word} is never granted")),
            _ if !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_uppercase()) => {
                Ok(word.to_owned())
            }
            _ => Err(format!("`{word}` is not a method; write methods as `GET,POST`")),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(grants: &[&str], method: &Method, url: &str) -> Result<(), Denied> {
        let grants: Vec<HttpGrant> = grants.iter().map(|text| text.parse().unwrap()).collect();
        admitting(&grants, method, &Target::of(&url.parse().unwrap()).unwrap()).map(drop)
    }

    #[test]
    fn scheme_host_and_port_must_be_those_of_the_grant() {
        let grants = ["https://hooks.example.com/services/", "http://10.1.2.3:8080/"];

        for url in [
            "https://hooks.example.com/services/x",
            "https://HOOKS.example.com.:443/services/",
            "https://hooks.example.com/a/../services/x",
            "http://10.1.2.3:8080",
            "http://[::ffff:10.1.2.3]:8080/x",
        ] {
            assert_eq!(verdict(&grants, &Method::POST, url), Ok(()), "{url}");
        }
        for url in [
            "http://hooks.example.com/services/",
            "http://hooks.example.com:443/services/",
            "https://hooks.example.com:8443/services/",
            "https://example.com/services/",
            "https://hooks.example.com.evil.org/services/",
            "https://xhooks.example.com/services/",
            "http://10.1.2.3/",
            "http://10.1.2.30:8080/",
        ] {
            assert_eq!(verdict(&grants, &Method::POST, url), Err(Denied::NotGranted), "{url}");
        }
        for url in ["https://hooks.example.com/", "https://hooks.example.com/services/../x"] {
            assert_eq!(verdict(&grants, &Method::POST, url), Err(Denied::Path), "{url}");
        }
    }

    #[test]
    fn a_wildcard_matches_one_label() {
        let grants = ["https://*.example.com/"];

        assert_eq!(verdict(&grants, &Method::GET, "https://a.example.com/"), Ok(()));
        for url in ["https://example.com/", "https://a.b.example.com/", "https://aexample.com/"] {
            assert_eq!(verdict(&grants, &Method::GET, url), Err(Denied::NotGranted), "{url}");
        }
    }

    #[test]
    fn if_methods_are_named_only_these_are_granted() {
        let grants = ["GET,POST https://a/"];

        assert_eq!(verdict(&grants, &Method::GET, "https://a/"), Ok(()));
        assert_eq!(verdict(&grants, &Method::DELETE, "https://a/"), Err(Denied::Method));
        assert_eq!(verdict(&["https://a/"], &Method::DELETE, "https://a/"), Ok(()));
    }

    #[test]
    fn a_line_covers_the_lines_that_grant_no_more() {
        let covers = |wide: &str, narrow: &str| {
            wide.parse::<HttpGrant>().unwrap().covers(&narrow.parse::<HttpGrant>().unwrap())
        };
        for (wide, narrow) in [
            ("https://a.example.com/", "https://a.example.com/x/"),
            ("https://*.example.com/", "https://a.example.com/"),
            ("https://*.example.com/", "GET https://*.example.com/x"),
            ("GET,POST https://a/", "GET https://a/"),
            ("http://10.0.0.1/", "http://10.0.0.1/"),
        ] {
            assert!(covers(wide, narrow), "{wide} {narrow}");
        }
        for (wide, narrow) in [
            ("https://a.example.com/x", "https://a.example.com/"),
            ("https://a.example.com/x", "https://a.example.com/xy"),
            ("https://a.example.com/", "https://*.example.com/"),
            ("https://*.example.com/", "https://a.b.example.com/"),
            ("https://*.example.com/", "https://*.b.example.com/"),
            ("https://*.example.com/", "https://example.com/"),
            ("https://a/", "http://a:443/"),
            ("https://a/", "https://a:8443/"),
            ("GET https://a/", "https://a/"),
            ("GET https://a/", "GET,POST https://a/"),
        ] {
            assert!(!covers(wide, narrow), "{wide} {narrow}");
        }
    }

    #[test]
    fn an_invalid_line_is_refused_with_the_reason() {
        for (text, why) in [
            ("hooks.example.com", "neither https nor http"),
            ("", "not a URL"),
            ("ftp://a/", "neither https nor http"),
            ("https://a/?q=1", "a query or a fragment"),
            ("https://a/#x", "a query or a fragment"),
            ("https://*/", "a `*` stands only"),
            ("https://a.*.b/", "a `*` stands only"),
            ("https://*.10.0.0.1/", "no names below it"),
            ("http://169.254.169.254/", "it is link-local"),
            ("http://[fd00:ec2::254]/", "metadata service"),
            ("http://0.0.0.0:8080/", "it is unspecified"),
            ("http://2130706433/", "unusual spelling"),
            ("https://a:0/", "its port"),
            ("CONNECT https://a/", "CONNECT is never granted"),
            ("get https://a/", "`get` is not a method"),
            ("GET, https://a/", "`` is not a method"),
            ("https://a/..%2f", "percent-encoding"),
        ] {
            let error = text.parse::<HttpGrant>().unwrap_err().to_string();
            assert!(error.contains(why) && error.ends_with("services/\""), "{text}: {error}");
        }
        let error = "https://me:hunter2@a/".parse::<HttpGrant>().unwrap_err().to_string();
        assert!(error.contains("credentials") && !error.contains("hunter2"), "{error}");
    }
}
