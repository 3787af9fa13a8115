//! Grants of `informer.toml`: what was parsed is printed in a form that means the same, and grants no more than it says.

use informer_runtime::capabilities::HttpGrant;
use informer_types::{
    Gvr, Namespaces, ReadGrant, ReadGrants, SecretGrant, SecretGrants, WriteGrant, WriteGrants, WriteVerb,
};

use crate::parts::texts;

/// Subresources that no grant may name.
const NEVER: [&str; 6] = ["exec", "attach", "portforward", "proxy", "log", "token"];

/// Grants, one a line, and what is requested: resource, subresource, namespace and name, one a line.
pub(crate) fn run(input: &[u8]) {
    let Some([grants, request]) = texts(input) else { return };
    let mut request = request.lines();
    let mut next = || request.next().unwrap_or_default();
    let (gvr, subresource, namespace, name) = (next(), next(), next(), next());
    let subresource = (!subresource.is_empty()).then_some(subresource);
    if let Ok(gvr) = gvr.parse::<Gvr>() {
        read(grants, &gvr, subresource, namespace);
        write(grants, &gvr, subresource, namespace);
    }
    secrets(grants, namespace, name);
    grants.lines().for_each(http);
}

/// The lines that are grants. Each is printed as a line that means the same.
fn parsed<G>(grants: &str) -> Vec<G>
where
    G: std::str::FromStr + std::fmt::Display + std::fmt::Debug + PartialEq,
    G::Err: std::fmt::Display,
{
    let mut found = Vec::new();
    for line in grants.lines() {
        match line.parse::<G>() {
            Ok(grant) => {
                let printed = grant.to_string();
                assert_eq!(printed.parse().ok().as_ref(), Some(&grant), "{line:?} is printed as {printed:?}");
                assert_eq!(printed.parse::<G>().ok().unwrap().to_string(), printed);
                found.push(grant);
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    found
}

fn read(grants: &str, gvr: &Gvr, subresource: Option<&str>, namespace: &str) {
    let lines: Vec<ReadGrant> = parsed(grants);
    for line in &lines {
        assert!(!line.subresource.as_deref().is_some_and(|name| NEVER.contains(&name)), "{line}");
    }
    let expected = lines.iter().any(|line| {
        line.gvr == *gvr && line.subresource.as_deref() == subresource && is_in(&line.namespaces, namespace)
    });
    let all: ReadGrants = lines.into_iter().collect();
    let found = all.of(gvr, subresource).is_some_and(|namespaces| namespaces.contains(namespace));
    assert_eq!(found, expected, "{gvr} {subresource:?} {namespace:?} of {grants:?}");
}

fn write(grants: &str, gvr: &Gvr, subresource: Option<&str>, namespace: &str) {
    let lines: Vec<WriteGrant> = parsed(grants);
    for line in &lines {
        assert!(!line.subresource.as_deref().is_some_and(|name| NEVER.contains(&name)), "{line}");
        assert!(!line.verbs.is_empty());
    }
    let all: WriteGrants = lines.iter().cloned().collect();
    for verb in WriteVerb::ALL {
        let expected = lines.iter().any(|line| {
            line.gvr == *gvr
                && line.subresource.as_deref() == subresource
                && line.to_string().split([' ', ',']).any(|word| word == verb.as_str())
                && is_in(&line.namespaces, namespace)
        });
        assert_eq!(all.allow(verb, gvr, subresource, namespace), expected, "{verb} {gvr} of {grants:?}");
    }
}

/// The model of [`Namespaces`] reads its printed form.
fn is_in(namespaces: &Namespaces, namespace: &str) -> bool {
    let printed = namespaces.to_string();
    printed.is_empty() || printed.trim_start_matches(" @").split(',').any(|name| name == namespace)
}

fn secrets(grants: &str, namespace: &str, name: &str) {
    let lines: Vec<SecretGrant> = parsed(grants);
    let covers = |before: &str, namespace: &str, name: &str| {
        let ways = ["*", &format!("{namespace}/*"), &format!("{namespace}/{name}")];
        let ways = ways.map(|secrets| format!("{before}{secrets}"));
        lines.iter().any(|line| ways.contains(&line.to_string()))
    };
    let all: SecretGrants = lines.iter().cloned().collect();
    if !name.contains(['*', '/']) && !namespace.contains(['*', '/']) {
        let values = covers("", namespace, name);
        assert_eq!(all.contains(namespace, name), values, "{namespace}/{name} of {grants:?}");
        let digests = values || covers("digest ", namespace, name);
        assert_eq!(all.contains_digests(namespace, name), digests, "{namespace}/{name} of {grants:?}");
    }
    for line in &lines {
        assert!(all.cover(line), "{line} of {grants:?}");
    }
    if all.contain_all(Some(namespace)) {
        assert!(all.contains(namespace, "any"));
    }
    if all.contain_all(None) {
        assert!(all.contain_all(Some(namespace)));
    }
}

fn http(line: &str) {
    for grant in parsed::<HttpGrant>(line) {
        let printed = grant.to_string();
        // The oracle checks the encoding of international names, which a resolver does not.
        if printed.contains("xn--") {
            continue;
        }
        let url = printed.rsplit(' ').next().unwrap().replacen("://*.", "://", 1);
        let url = url::Url::parse(&url).unwrap();
        assert!(["http", "https"].contains(&url.scheme()), "{printed}");
        assert!(url.username().is_empty() && url.password().is_none() && url.query().is_none(), "{printed}");
    }
}
