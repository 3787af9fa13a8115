//! The `spec` of a Plugin object: any document is refused in words of one line, or is a plugin that reaches its own namespace only.

use std::{path::Path, sync::LazyLock};

use informer::config::{self, Components, Config, Environment, Place, Plugin, PluginObject};
use informer_types::{Gvr, Namespaces};
use serde_json::Value;

/// A configuration that allows much.
static CONFIG: LazyLock<Config> = LazyLock::new(|| {
    let text = r#"
[[watch]]
gvr = "v1/configmaps"
[[watch]]
gvr = "v1/secrets"
[[watch]]
gvr = "v1/nodes"
[tenancy]
namespaces = ["*"]
read = ["v1/configmaps", "v1/secrets", "v1/nodes", "v1/pods/status"]
write = ["* v1/configmaps", "* v1/secrets", "* v1/nodes", "* v1/pods/status"]
secrets = ["*"]
registries = ["*"]
http = ["https://*.example.com/"]
keyvalue = "1MiB"
when = true
"#;
    let environment = Environment { home: None, cache_dir: None, state_dir: None };
    let place = Place { file: Path::new("f"), base: Path::new("/"), environment: &environment };
    config::parse(text, &place, Components::Unseen).unwrap()
});

/// The text of a spec, as JSON.
pub(crate) fn run(input: &[u8]) {
    let Ok(spec) = serde_json::from_slice::<Value>(input) else { return };
    let tenancy = CONFIG.tenancy.as_ref().unwrap();
    let is_cluster_scoped = |gvr: &Gvr| gvr.resource == "nodes";
    let object = PluginObject { namespace: "shop", name: "echo", spec: &spec };
    match object.plugin(&CONFIG, tenancy, &is_cluster_scoped) {
        Ok(plugin) => confined(&plugin),
        Err(refused) => {
            assert!(!refused.message.is_empty() && refused.reason.chars().all(char::is_alphanumeric));
        }
    }
}

fn confined(plugin: &Plugin) {
    let own = Namespaces::Only(["shop".into()].into());
    assert_eq!(plugin.name, "shop/echo");
    assert!(
        plugin.source.reference().is_some() && plugin.account.is_none() && plugin.config_files.is_empty()
    );
    for on in &plugin.subscriptions {
        assert!(on.filter.namespaces.iter().eq(["shop"]) && on.watch.resource != "nodes");
    }
    for (gvr, _, namespaces) in plugin.grants.read.iter().flat_map(|read| read.iter()) {
        assert!(*namespaces == own && gvr.resource != "nodes");
    }
    for line in plugin.grants.write.iter().flat_map(|write| write.iter()) {
        assert!(line.namespaces == own && line.gvr.resource != "nodes");
    }
    assert!(!plugin.grants.secrets.contains("other", "x") && !plugin.grants.secrets.contain_all(None));
    let limits = (&plugin.limits.calls, &CONFIG.tenancy.as_ref().unwrap().limits.calls);
    assert!(limits.0.memory_bytes <= limits.1.memory_bytes && limits.0.deadline <= limits.1.deadline);
    assert!(plugin.limits.calls.host_calls.is_some() && plugin.grants.keyvalue <= Some(1 << 20));
}
