//! `[tenancy]`: what Plugin objects may do.

use informer::config::{self, PluginObject};

use crate::parse;

const WATCH: &str =
    "[[watch]]\ngvr = \"v1/configmaps\"\n[[watch]]\ngvr = \"v1/pods\"\nnamespaces = [\"shop\"]\n";

fn problem(tenancy: &str) -> String {
    parse(&format!("{WATCH}[tenancy]\n{tenancy}")).unwrap_err().to_string()
}

#[test]
fn a_file_without_tenancy_or_with_a_closed_one_accepts_no_object() {
    assert_eq!(parse(WATCH).unwrap().tenancy, None);
    assert_eq!(parse(&format!("{WATCH}[tenancy]\nread = [\"v1/configmaps\"]")).unwrap().tenancy, None);
}

#[test]
fn a_key_that_is_not_listed_allows_nothing() {
    let tenancy = parse(&format!("{WATCH}[tenancy]\nnamespaces = [\"shop\"]")).unwrap().tenancy.unwrap();

    assert!(tenancy.admits("shop") && !tenancy.admits("other") && !tenancy.cluster_plugins && !tenancy.when);
    assert_eq!((tenancy.read.iter().count(), tenancy.write.iter().count()), (0, 0));
    assert_eq!((tenancy.registries.len(), tenancy.http.len(), tenancy.keyvalue), (0, 0, None));
    assert_eq!(tenancy.secrets.iter().count(), 0);
    let spec = serde_json::json!({"source": "oci://ghcr.io/a/b:1", "on": [{"watch": "v1/configmaps"}]});
    let config = parse(&format!("{WATCH}[tenancy]\nnamespaces = [\"shop\"]")).unwrap();
    let refused = PluginObject { namespace: "shop", name: "a", spec: &spec }
        .plugin(&config, &tenancy, &|_| false)
        .unwrap_err();
    assert!(refused.message.contains("it lists nothing under `read`"), "{refused}");
    assert_eq!(config::host_name("shop", "a"), "shop/a");
}

#[test]
fn mistakes_are_reported_with_their_place() {
    for (tenancy, words) in [
        ("read = [\"v1/nodes\"]", "informer.toml:7:9: tenancy.read[0]: `v1/nodes` is not watched"),
        ("read = [\"v1/pods @other\"]", "`v1/pods` is not watched in namespace `other`"),
        ("plugins = 0", "tenancy.plugins: 0 is too small; write at least 1"),
        ("namespaces = [\"\"]", "tenancy.namespaces[0]"),
        ("write = [\"exec v1/pods\"]", "`exec` is not a verb"),
        ("limits = { memory = \"1B\" }", "tenancy.limits.memory"),
        ("naemspaces = []", "did you mean `namespaces`?"),
    ] {
        let problem = problem(tenancy);
        assert!(problem.contains(words), "{tenancy}: {problem}");
    }
}
