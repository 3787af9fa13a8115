//! Targets of HTTP requests: a request is sent only to a place that its grant names, however the URL is spelled. The oracle is
//! the `url` crate, which reads URLs as browsers and most clients do.

use std::net::IpAddr;

use http::{Method, Uri};
use informer_runtime::capabilities::HttpGrant;
use percent_encoding::percent_decode;
use url::{Host, Url};

use crate::parts::texts;

/// A grant, a method and a URL, each on a line.
pub(crate) fn run(input: &[u8]) {
    let Some([text]) = texts(input) else { return };
    let mut lines = text.splitn(3, '\n');
    let mut next = || lines.next().unwrap_or_default();
    let (Ok(grant), Ok(method), Ok(url)) =
        (next().parse::<HttpGrant>(), next().parse::<Method>(), next().parse::<Uri>())
    else {
        return;
    };
    let Some(text) = grant.sends_to(&method, &url) else { return };
    assert_eq!(grant.sends_to(&method, &text.parse().unwrap()).as_ref(), Some(&text));
    // The oracle checks the encoding of international names, which a resolver does not.
    if text.contains("xn--") {
        return;
    }
    let sent = Url::parse(&text).unwrap_or_else(|error| panic!("{text} is sent, which is no URL: {error}"));
    is_granted(&grant, &method, &sent);
    means_the_same(&url, &sent);
    hides_nothing(sent.path());
}

/// The place is the one that the printed grant names.
fn is_granted(grant: &HttpGrant, method: &Method, sent: &Url) {
    let printed = grant.to_string();
    let (methods, url) = printed.rsplit_once(' ').unwrap_or(("", &printed));
    let wildcard = url.contains("://*.");
    let granted = Url::parse(&url.replacen("://*.", "://", 1)).unwrap();
    assert_eq!(sent.scheme(), granted.scheme(), "{printed}");
    assert_eq!(sent.port_or_known_default(), granted.port_or_known_default(), "{printed}");
    let (host, granted_host) = (sent.host_str().unwrap(), granted.host_str().unwrap());
    if wildcard {
        let (_, parent) = host.split_once('.').unwrap();
        assert_eq!(parent, granted_host, "{printed}");
    } else {
        assert_eq!(host, granted_host, "{printed}");
    }
    let below = sent.path().strip_prefix(granted.path());
    let below = below.unwrap_or_else(|| panic!("{} is not below {printed}", sent.path()));
    assert!(below.is_empty() || below.starts_with('/') || granted.path().ends_with('/'), "{below} {printed}");
    assert!(methods.is_empty() || methods.split(',').any(|granted| granted == method.as_str()), "{printed}");
    let tunnel = ["CONNECT", "TRACE"].iter().any(|tunnel| method.as_str().eq_ignore_ascii_case(tunnel));
    assert!(!tunnel, "{method} is sent");
}

/// Another reader of the same URL finds the same host, and never an address in disguise.
fn means_the_same(url: &Uri, sent: &Url) {
    let read = Url::parse(&url.to_string()).unwrap_or_else(|error| panic!("{url} is sent, but: {error}"));
    assert_eq!(read.port_or_known_default(), sent.port_or_known_default(), "{url}");
    assert!(read.username().is_empty() && read.password().is_none(), "{url}");
    match (read.host().unwrap(), sent.host().unwrap()) {
        (Host::Domain(read), Host::Domain(sent)) => {
            assert_eq!(read.trim_end_matches('.').to_ascii_lowercase(), sent, "{url}");
        }
        (read, sent) => assert_eq!(address(&read), address(&sent), "{url}"),
    }
}

fn address<S: AsRef<str>>(host: &Host<S>) -> IpAddr {
    match host {
        Host::Ipv4(address) => IpAddr::V4(*address),
        Host::Ipv6(address) => IpAddr::V6(*address).to_canonical(),
        Host::Domain(name) => panic!("{} is a name for one reader and an address for another", name.as_ref()),
    }
}

/// No decoding of a path makes a segment that leads upwards.
fn hides_nothing(path: &str) {
    let mut decoded = path.as_bytes().to_vec();
    for _ in 0..8 {
        // Some servers drop what follows a `;`, and white space around a segment, and decode overlong forms of `.` and `/`.
        let text = String::from_utf8_lossy(&overlong(&decoded)).into_owned();
        for segment in text.split(['/', '\\']) {
            let name = segment.split(';').next().unwrap_or_default().trim();
            assert!(!matches!(name, "." | ".."), "{path} contains {segment:?} as {text:?}");
        }
        decoded = percent_decode(&decoded).collect();
    }
}

/// Replaces the overlong forms of `.`, `/` and `\` in UTF-8, which old decoders accept.
fn overlong(bytes: &[u8]) -> Vec<u8> {
    let mut found = Vec::new();
    let mut rest = bytes;
    while let Some((first, after)) = rest.split_first() {
        let (byte, after) = match rest {
            [0xc0, second, after @ ..] if (0x80..=0xbf).contains(second) => (second & 0x3f, after),
            [0xc1, second, after @ ..] if (0x80..=0xbf).contains(second) => (0x40 | (second & 0x3f), after),
            [0xe0, 0x80 | 0x81, third, after @ ..] if (0x80..=0xbf).contains(third) => (third & 0x3f, after),
            _ => (*first, after),
        };
        found.push(byte);
        rest = after;
    }
    found
}
