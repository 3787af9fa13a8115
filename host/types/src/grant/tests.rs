use super::*;
use crate::Gvr;

fn deployments() -> Gvr {
    "apps/v1/deployments".parse().unwrap()
}

fn refused<T: std::str::FromStr<Err = InvalidGrant> + fmt::Debug>(text: &str) -> String {
    text.parse::<T>().unwrap_err().to_string()
}

#[test]
fn a_grant_is_read_and_written_in_the_same_form() {
    for text in [
        "v1/pods",
        "apps/v1/deployments @default,shop",
        "apps/v1/deployments/scale @shop",
        "v1/namespaces/finalize",
    ] {
        assert_eq!(text.parse::<ReadGrant>().unwrap().to_string(), text);
    }
    for text in [
        "patch apps/v1/deployments @default",
        "update,patch v1/configmaps/status @shop",
        "create v1/namespaces",
    ] {
        assert_eq!(text.parse::<WriteGrant>().unwrap().to_string(), text);
    }
    for text in ["*", "shop/*", "shop/db.credentials-1"] {
        assert_eq!(text.parse::<SecretGrant>().unwrap().to_string(), text);
    }
    let spaced: WriteGrant = "patch, create  v1/configmaps  @shop, default".parse().unwrap();
    assert_eq!(spaced.to_string(), "create,patch v1/configmaps @default,shop");
    let all: WriteGrant = "* v1/configmaps".parse().unwrap();
    assert_eq!(all.to_string(), "create,update,patch,apply,delete v1/configmaps");
}

/// A pattern grants nothing by itself: the host replaces it by the resources that it stands for.
#[test]
fn a_pattern_is_read_for_objects_only_and_grants_nothing_by_itself() {
    for text in ["*/*/*", "apps/*/* @shop", "core/*/*"] {
        assert_eq!(text.parse::<ReadGrant>().unwrap().to_string(), text);
    }
    let delete: WriteGrant = "delete */*/*".parse().unwrap();
    assert_eq!(delete.to_string(), "delete */*/*");
    for text in ["*/*/*/status", "apps/*/*/scale", "apps/v1/*", "*", "*/*"] {
        let error = refused::<ReadGrant>(text);
        assert!(
            error.contains("neither a resource nor a pattern") && error.contains("`apps/*/*`"),
            "{error}"
        );
    }

    let read: ReadGrants = ["*/*/*".parse::<ReadGrant>().unwrap()].into_iter().collect();
    let write: WriteGrants = [delete].into_iter().collect();
    assert_eq!(read.namespaces(&deployments()), None);
    assert!(!write.allow(WriteVerb::Delete, &deployments(), None, "shop"));
}

#[test]
fn a_subresource_of_the_core_group_is_not_taken_for_a_group() {
    let grant: ReadGrant = "v1/pods/status".parse().unwrap();

    assert_eq!((grant.gvr, grant.subresource.as_deref()), (Gvr::new("", "v1", "pods"), Some("status")));
}

#[test]
fn a_text_that_is_not_a_grant_is_refused_with_a_remedy() {
    for (text, problem, remedy) in [
        ("pods", "`pods` is neither a resource nor a subresource", "write group/version/resource"),
        ("apps/v1/deployments/a/b", "is neither a resource", "write group/version/resource"),
        ("v1/pods @", "`` is not a namespace", "`@shop`"),
        ("v1/pods @shop,,x", "`` is not a namespace", "`@shop`"),
        ("v1/pods @Shop", "`Shop` is not a namespace", "`@shop`"),
        ("v1/pods @../x", "`../x` is not a namespace", "`@shop`"),
        ("v1/pods/exec", "the subresource `exec` is never granted", "remove it"),
        ("v1/serviceaccounts/token", "the subresource `token` is never granted", "remove it"),
        ("v1/pods/Status", "`Status` is not a subresource", "`status`"),
        (
            "v1/namespaces/secrets",
            "`secrets` is not a subresource of `v1/namespaces`",
            "`status` or `finalize`",
        ),
        ("v1/namespaces/pods @shop", "is not a subresource", "the objects themselves: `v1/pods`"),
        ("v1/watch", "is neither a resource", "write group/version/resource"),
        ("v1/watch/secrets", "is neither a resource", "write group/version/resource"),
        ("v1/..", "is neither a resource", "write group/version/resource"),
        ("get v1/pods", "neither a resource", "write group/version/resource"),
    ] {
        let error = refused::<ReadGrant>(text);
        assert!(error.contains(problem) && error.contains(remedy), "{error}");
    }
    for (text, problem, remedy) in [
        ("v1/pods", "it needs verbs and a resource", "`patch apps/v1/deployments @default`"),
        ("get v1/pods", "`get` is not a verb", "create, update, patch, apply or delete"),
        ("patch, v1/pods", "`` is not a verb", "create, update"),
        ("create,* v1/pods", "`*` is not a verb", "`*` for all of them"),
        ("create v1/pods/attach", "never granted", "remove it"),
        ("create v1/namespaces/secrets", "is not a subresource", "`status` or `finalize`"),
    ] {
        let error = refused::<WriteGrant>(text);
        assert!(error.contains(problem) && error.contains(remedy), "{error}");
    }
    for (text, problem) in [
        ("credentials", "no namespace"),
        ("*/x", "namespace is not a valid name"),
        ("shop/", "name is not a valid name"),
        ("shop/A", "name is not a valid name"),
    ] {
        let error = refused::<SecretGrant>(text);
        assert!(error.contains(problem) && error.contains("`shop/*`"), "{error}");
    }
}

#[test]
fn lines_for_one_resource_are_combined() {
    let of = |lines: &[&str]| -> ReadGrants {
        lines.iter().map(|line| line.parse::<ReadGrant>().unwrap()).collect()
    };

    let some = of(&["apps/v1/deployments @a", "apps/v1/deployments @b", "apps/v1/deployments/scale"]);
    let namespaces = some.namespaces(&deployments()).unwrap();
    assert!(namespaces.contains("a") && namespaces.contains("b"));
    assert!(!namespaces.contains("c") && !namespaces.contains(""));
    assert_eq!(some.of(&deployments(), Some("scale")), Some(&Namespaces::All));
    assert_eq!(some.of(&deployments(), Some("status")), None);
    assert_eq!(some.gvrs().collect::<Vec<_>>(), [&deployments()]);
    let shown: Vec<String> =
        some.iter().map(|(gvr, subresource, of)| format!("{gvr} {subresource:?}{of}")).collect();
    assert_eq!(shown, ["apps/v1/deployments None @a,b", "apps/v1/deployments Some(\"scale\")"]);

    let subresource = of(&["apps/v1/deployments/scale @a"]);
    assert_eq!(subresource.namespaces(&deployments()), None);
    assert_eq!(subresource.gvrs().count(), 0);

    let all = of(&["apps/v1/deployments @a", "apps/v1/deployments"]);
    assert_eq!(all.namespaces(&deployments()), Some(&Namespaces::All));
}

#[test]
fn a_write_is_allowed_by_verb_subresource_and_namespace_alone() {
    let lines = ["patch apps/v1/deployments @shop", "update apps/v1/deployments/status"];
    let grants: WriteGrants = lines.iter().map(|line| line.parse::<WriteGrant>().unwrap()).collect();
    let gvr = deployments();

    assert!(grants.allow(WriteVerb::Patch, &gvr, None, "shop"));
    assert!(grants.allow(WriteVerb::Update, &gvr, Some("status"), "anywhere"));
    for (verb, subresource, namespace) in [
        (WriteVerb::Patch, None, "default"),
        (WriteVerb::Patch, None, ""),
        (WriteVerb::Patch, Some("status"), "shop"),
        (WriteVerb::Apply, None, "shop"),
        (WriteVerb::Update, None, "shop"),
    ] {
        assert!(!grants.allow(verb, &gvr, subresource, namespace), "{verb} {subresource:?} {namespace}");
    }
    assert!(!grants.allow(WriteVerb::Patch, &"apps/v1beta1/deployments".parse().unwrap(), None, "shop"));
}

#[test]
fn a_secret_is_granted_by_name_by_namespace_or_by_a_wildcard() {
    let of = |line: &str| -> SecretGrants { [line.parse::<SecretGrant>().unwrap()].into_iter().collect() };

    assert!(of("shop/db").contains("shop", "db"));
    assert!(!of("shop/db").contains("shop", "other") && !of("shop/db").contains("default", "db"));
    assert!(!of("shop/db").contain_all(Some("shop")));
    assert!(of("shop/*").contains("shop", "any") && of("shop/*").contain_all(Some("shop")));
    assert!(!of("shop/*").contain_all(None) && of("*").contain_all(None));
    assert!(!SecretGrants::default().contains("shop", "db"));
}

#[test]
fn digests_of_a_secret_are_granted_with_its_values_or_by_themselves() {
    let of = |line: &str| line.parse::<SecretGrant>().unwrap();
    let all = |line: &str| -> SecretGrants { [of(line)].into_iter().collect() };

    for line in ["digest *", "digest shop/*", "digest shop/db"] {
        assert_eq!(of(line).to_string(), line);
        let grants = all(line);
        assert!(grants.contains_digests("shop", "db"), "{line}");
        assert!(!grants.contains("shop", "db") && !grants.contain_all(Some("shop")), "{line}");
        assert!(grants.cover(&of("digest shop/db")) && !grants.cover(&of("shop/db")), "{line}");
    }
    assert!(all("shop/db").contains_digests("shop", "db") && all("shop/*").cover(&of("digest shop/db")));
    assert!(!all("digest shop/*").contains_digests("other", "db"));
    for (granted, line, is_covered) in [
        ("*", "*", true),
        ("*", "shop/*", true),
        ("shop/*", "*", false),
        ("shop/*", "other/*", false),
        ("shop/*", "shop/db", true),
        ("shop/db", "shop/*", false),
        ("shop/db", "shop/db", true),
        ("shop/db", "shop/other", false),
    ] {
        assert_eq!(all(granted).cover(&of(line)), is_covered, "{granted} {line}");
    }
    for broken in ["digest", "digest ", "digests *", "digest  *", "digest shop"] {
        assert!(broken.parse::<SecretGrant>().is_err(), "{broken}");
    }
}
