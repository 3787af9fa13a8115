//! The specs that are accepted, and the refusal of each hostile one.

use informer_types::Namespaces;
use serde_json::json;

use super::*;
use crate::config::{Place, parse};

const FILE: &str = r#"
[[watch]]
gvr = "v1/configmaps"
[[watch]]
gvr = "v1/secrets"
[[watch]]
gvr = "v1/nodes"
[[watch]]
gvr = "v1/pods"
namespaces = ["shop"]
[[watch]]
gvr = "v1/services"
[tenancy]
namespaces = ["shop", "team-*"]
cluster-plugins = true
read = ["v1/configmaps", "v1/secrets", "v1/nodes", "v1/pods", "apps/v1/deployments/scale"]
write = ["create,patch v1/configmaps", "delete v1/configmaps @shop", "create events.k8s.io/v1/events"]
secrets = ["shop/*", "team-a/one"]
registries = ["ghcr.io/acme/*"]
http = ["GET https://*.example.com/hooks/"]
keyvalue = "1MiB"
workers = 2
[tenancy.limits]
memory = "32MiB"
"#;

fn config(text: &str) -> Config {
    let place = Place { file: "f".as_ref(), base: "/".as_ref(), environment: &Environment::default() };
    parse(text, &place, Components::Unseen).unwrap_or_else(|error| panic!("{error}"))
}

/// The smallest spec, with these members instead of or besides its own.
#[expect(clippy::needless_pass_by_value, reason = "each caller has it from json!")]
fn spec(members: Value) -> Value {
    let mut spec = json!({"source": "oci://ghcr.io/acme/echo:1", "on": [{"watch": "v1/configmaps"}]});
    spec.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    spec
}

fn judge(namespace: &str, spec: &Value) -> Result<Plugin, Refused> {
    let config = config(FILE);
    let object = PluginObject { namespace, name: "echo", spec };
    object.plugin(&config, config.tenancy.as_ref().unwrap(), &|gvr| gvr.resource == "nodes")
}

fn refused(namespace: &str, members: Value) -> String {
    let refused = judge(namespace, &spec(members)).unwrap_err();
    format!("{}: {}", refused.reason, refused.message)
}

#[test]
fn a_plugin_of_a_namespace_gets_that_namespace_and_nothing_else() {
    let plugin = judge(
        "shop",
        &spec(json!({
            "on": [{"watch": "v1/configmaps"}, {"watch": "v1/pods", "namespaces": ["shop"]}],
            "grant": {
                "read": ["v1/configmaps", "v1/pods @shop", "apps/v1/deployments/scale"],
                "write": ["create,delete v1/configmaps", "create events.k8s.io/v1/events @shop"],
                "secrets": ["shop/credentials", "shop/*"],
                "http": ["GET https://a.example.com/hooks/1"],
                "keyvalue": "64KiB",
            },
        })),
    );

    let plugin = plugin.unwrap();
    assert_eq!(plugin.name, "shop/echo");
    for on in &plugin.subscriptions {
        assert_eq!(on.filter.namespaces.iter().collect::<Vec<_>>(), ["shop"], "{}", on.watch);
    }
    let read: Vec<String> =
        plugin.grants.read.unwrap().iter().map(|(_, _, namespaces)| namespaces.to_string()).collect();
    assert_eq!(read, [" @shop"; 3]);
    let write: Vec<String> = plugin.grants.write.unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(
        write,
        ["create v1/configmaps @shop", "delete v1/configmaps @shop", "create events.k8s.io/v1/events @shop"]
    );
    assert_eq!(plugin.limits.calls.memory_bytes, 32 << 20, "the default is lowered to what is allowed");
    assert_eq!((plugin.account, plugin.config_files), (None, Vec::new()));
}

#[test]
fn other_namespaces_are_refused_by_name() {
    for (members, word) in [
        (
            json!({"on": [{"watch": "v1/configmaps", "namespaces": ["other"]}]}),
            "spec.on of `v1/configmaps`: it names @other",
        ),
        (
            json!({"on": [{"watch": "v1/configmaps", "namespaces": ["shop", "other"]}]}),
            "it names @other,shop, and a Plugin reaches its own namespace only",
        ),
        (
            json!({"grant": {"read": ["v1/configmaps @other"]}}),
            "spec.grant.read of `v1/configmaps`: it names @other",
        ),
        (json!({"grant": {"write": ["create v1/configmaps @shop,other"]}}), "spec.grant.write: create of"),
        (json!({"grant": {"secrets": ["other/*"]}}), "`other/*` is not of the namespace"),
        (json!({"grant": {"secrets": ["*"]}}), "`*` is not of the namespace"),
    ] {
        let refusal = refused("shop", members);
        assert!(refusal.starts_with("NotAllowed: ") && refusal.contains(word), "{refusal}");
    }
}

#[test]
fn more_than_tenancy_lists_is_refused() {
    for (namespace, members, word) in [
        ("shop", json!({"on": [{"watch": "v1/services"}]}), "does not let plugins read `v1/services`"),
        ("shop", json!({"on": [{"watch": "apps/v1/deployments"}]}), "does not let plugins read"),
        (
            "shop",
            json!({"grant": {"read": ["v1/services"]}}),
            "spec.grant.read of `v1/services`: [tenancy] does not",
        ),
        ("shop", json!({"grant": {"read": ["v1/pods/status"]}}), "of `v1/pods/status`: [tenancy] does not"),
        (
            "shop",
            json!({"grant": {"write": ["update v1/configmaps"]}}),
            "update of `v1/configmaps`: [tenancy] does not",
        ),
        (
            "shop",
            json!({"grant": {"write": ["* v1/configmaps"]}}),
            "update of `v1/configmaps`: [tenancy] does not",
        ),
        (
            "team-a",
            json!({"grant": {"write": ["delete v1/configmaps"]}}),
            "[tenancy] allows it in @shop only",
        ),
        ("team-a", json!({"grant": {"secrets": ["team-a/two"]}}), "does not allow `team-a/two`"),
        ("team-a", json!({"on": [{"watch": "v1/pods"}]}), "the host watches it in @shop only"),
        ("shop", json!({"on": [{"watch": "v1/nodes"}]}), "its objects have no namespace"),
        (
            "shop",
            json!({"on": [{"watch": "v1/configmaps", "namespaces-labels": "team"}]}),
            "a Plugin reaches its own namespace only",
        ),
        ("shop", json!({"grant": {"read": ["v1/nodes"]}}), "its objects have no namespace"),
        (
            "shop",
            json!({"source": "oci://ghcr.io/evil/x:1"}),
            "components from `ghcr.io/evil/x`; it allows ghcr.io/acme/*",
        ),
        ("shop", json!({"source": "oci://ghcr.io.evil.org/acme/x:1"}), "components from"),
        ("shop", json!({"source": "/etc/passwd"}), "it names a file of the host"),
        (
            "shop",
            json!({"grant": {"http": ["https://a.example.com/hooks/"]}}),
            "does not allow `https://a.example.com",
        ),
        (
            "shop",
            json!({"grant": {"http": ["GET https://evil.org/"]}}),
            "does not allow `GET https://evil.org",
        ),
    ] {
        let refusal = refused(namespace, members);
        assert!(refusal.starts_with("NotAllowed: ") && refusal.contains(word), "{refusal}");
    }
}

#[test]
fn larger_limits_than_tenancy_has_are_refused() {
    for (namespace, members, word) in [
        ("shop", json!({"grant": {"keyvalue": "1GiB"}}), "at most \"1MiB\""),
        (
            "shop",
            json!({"limits": {"memory": "4GiB"}}),
            "spec.limits.memory: [tenancy.limits] allows at most \"32MiB\"",
        ),
        ("shop", json!({"limits": {"deadline": "60m"}}), "spec.limits.deadline"),
        ("shop", json!({"limits": {"host-calls": 0}}), "spec.limits.host-calls"),
        ("shop", json!({"limits": {"log-lines": 0}}), "spec.limits.log-lines"),
        ("shop", json!({"limits": {"requests": 10000}}), "spec.limits.requests"),
        ("shop", json!({"queue": {"workers": 3}}), "spec.queue.workers: at most 2"),
        ("shop", json!({"workqueue": {"capacity": 10000000}}), "spec.workqueue.capacity"),
        ("shop", json!({"queue": {"delivery": "every", "capacity": 1000000}}), "spec.queue.capacity"),
        ("shop", json!({"poll": "10s"}), "spec.poll"),
        ("shop", json!({"on": [{"watch": "v1/configmaps", "resync": "1s"}]}), "resync is too often"),
        ("shop", json!({"on": [{"watch": "v1/configmaps", "when": "true"}]}), "does not allow `when`"),
        (
            "shop",
            json!({"on": [{"watch": "v1/configmaps", "reads": ["/data"], "whole-if": "object.data.a == 'b'"}]}),
            "does not allow `whole-if`, because it does not allow `when`",
        ),
        ("", json!({"grant": {"write": ["delete v1/configmaps"], "read": ["v1/services"]}}), "v1/services"),
    ] {
        let refusal = refused(namespace, members);
        assert!(refusal.starts_with("NotAllowed: ") && refusal.contains(word), "{refusal}");
    }
}

#[test]
fn the_number_of_conditions_is_limited() {
    let many = |count: usize, term: &str| {
        (0..count).map(|number| format!("{term}{number}")).collect::<Vec<_>>().join(",")
    };
    let on = |key: &str, value: Value| json!({"on": [{"watch": "v1/configmaps", key: value}]});
    for (key, term) in [("labels", "!a"), ("annotations", "!a"), ("fields", "data.a!=")] {
        assert!(judge("shop", &spec(on(key, json!(many(64, term))))).is_ok(), "{key}");
        let refusal = refused("shop", on(key, json!(many(65, term))));
        assert!(refusal.contains(&format!("`{key}` has 65 requirements, and 64 are allowed")), "{refusal}");
    }
    let pointers = |count: usize| (0..count).map(|number| format!("/data/{number}")).collect::<Vec<_>>();
    assert!(judge("shop", &spec(on("changed", json!(pointers(256))))).is_ok());
    for key in ["changed", "reads"] {
        let refusal = refused("shop", on(key, json!(pointers(257))));
        assert!(
            refusal.contains(&format!("spec.on[0].{key} has 257 elements, and 256 are allowed")),
            "{refusal}"
        );
    }
    assert!(judge("shop", &spec(json!({"config": {"names": pointers(1000)}}))).is_ok(), "the plugin's own");
}

/// Otherwise a plugin learns from each delivery whether a guess is right.
#[test]
fn conditions_on_values_of_secrets_need_a_grant_for_the_values() {
    let on = |namespace: &str, key: &str, value: Value, secrets: Value| {
        let on = json!([{"watch": "v1/secrets", key: value}]);
        judge(namespace, &spec(json!({"on": on, "grant": {"secrets": secrets}})))
    };
    let shown = [
        ("fields", json!("metadata.name=db,type=Opaque,metadata.labels.team!=a")),
        ("annotations", json!("replicator.v1.mittwald.de/replicate-to")),
        ("changed", json!(["/metadata/labels", "/type"])),
        ("labels", json!("team=a")),
    ];
    let fields = [("changed", json!(["/data"])), ("changed", json!(["generation"]))];
    let values = [
        ("fields", json!("data.pin!=MDAw")),
        ("annotations", json!("kubectl.kubernetes.io/last-applied-configuration")),
        ("changed", json!(["/data/password"])),
        ("changed", json!(["/metadata/annotations"])),
    ];
    for (key, value) in &shown {
        assert!(on("shop", key, value.clone(), json!([])).is_ok(), "{key} {value}");
    }
    for (key, value) in &fields {
        assert!(on("shop", key, value.clone(), json!([])).is_err(), "{key} {value}");
        assert!(on("shop", key, value.clone(), json!(["digest shop/*"])).is_ok(), "{key} {value}");
    }
    for (key, value) in &values {
        for granted in [json!([]), json!(["digest shop/*"]), json!(["shop/one"])] {
            let refusal = on("shop", key, value.clone(), granted).unwrap_err();
            let words = format!(
                "spec.on of `v1/secrets`: `{key}` would tell the plugin about values that it may not see"
            );
            assert!(refusal.message.contains(&words), "{refusal:?}");
        }
        assert!(on("shop", key, value.clone(), json!(["shop/*"])).is_ok(), "{key} {value}");
        assert!(on("", key, value.clone(), json!([])).is_err(), "{key} {value}");
    }
    let when = on("shop", "when", json!("object.data.pin == 'MDAwMA=='"), json!([])).unwrap_err();
    assert!(when.message.contains("`when` would tell the plugin"), "{when:?}");
}

/// When an informer replaces another one, the condition decides which Secrets are delivered again.
#[test]
fn a_condition_for_whole_secrets_needs_a_grant_for_the_values() {
    let config = config(&FILE.replace("[tenancy]\n", "[tenancy]\nwhen = true\n"));
    let judge = |secrets: Value| {
        let on = json!([{"watch": "v1/secrets", "reads": [], "whole-if": "object.data.pin == 'MDAwMA=='"}]);
        let spec = spec(json!({"on": on, "grant": {"secrets": secrets}}));
        let object = PluginObject { namespace: "shop", name: "echo", spec: &spec };
        object.plugin(&config, config.tenancy.as_ref().unwrap(), &|_| false)
    };

    for granted in [json!([]), json!(["digest shop/*"])] {
        let refusal = judge(granted).unwrap_err();
        assert!(refusal.message.contains("`whole-if` would tell the plugin"), "{refusal:?}");
    }
    assert!(judge(json!(["shop/*"])).is_ok());
}

#[test]
fn an_invalid_spec_is_refused_with_its_key() {
    for (members, word) in [
        (json!({"as": "system:serviceaccount:shop:x"}), "spec.as: unknown key"),
        (json!({"config-files": ["/etc/passwd"]}), "spec.config-files: unknown key"),
        (json!({"name": "hello"}), "spec.name: unknown key"),
        (json!({"limts": {}}), "spec.limts: unknown key; did you mean `limits`?"),
        (json!({"on": []}), "it subscribes to nothing"),
        (json!({"on": "v1/configmaps"}), "spec.on: expected an array of tables"),
        (json!({"on": [{"watch": 3}]}), "spec.on[0].watch: expected a resource, found the number 3"),
        (json!({"limits": {"memory": "64Mi"}}), "did you mean \"64MiB\"?"),
        (
            json!({"limits": {"memory": 18_446_744_073_709_551_615_u64}}),
            "spec.limits.memory: 18446744073709551615 is too large",
        ),
        (json!({"config": {"list": [null]}}), "spec.config.list[0]: null is no element"),
        (json!({"source": null}), "spec.source: it is missing"),
        (json!({"config": {"text": "x".repeat(SPEC_BYTES)}}), "bytes, and 262144 are allowed"),
    ] {
        let refusal = refused("shop", members);
        assert!(refusal.starts_with("InvalidSpec: ") && refusal.contains(word), "{refusal}");
    }
    for wrong in [json!(null), json!("x"), json!([]), json!({})] {
        assert_eq!(judge("shop", &wrong).unwrap_err().reason, Refused::INVALID, "{wrong}");
    }
    let deep = (0..120).fold(json!(1), |inner, _| json!({"a": inner}));
    judge("shop", &spec(json!({"config": deep}))).ok();
}

/// A tenant could otherwise make the host write a text of many GiB.
#[test]
fn a_spec_becomes_a_text_of_about_its_own_size_whatever_its_keys_are() {
    let tables: serde_json::Map<String, Value> =
        (0..5_000).map(|index| (format!("{index:04}"), json!({}))).collect();
    let config = |bytes: usize| {
        let key = "k".repeat(bytes);
        spec(json!({"config": {key: tables.clone()}}))
    };

    let text = as_toml(&config(2_000)).unwrap();
    assert!(text.len() < SPEC_BYTES, "{}", text.len());
    assert!(judge("shop", &config(2_000)).is_ok());

    let refusal = judge("shop", &config(5_000)).unwrap_err().message;
    assert!(refusal.contains("kkk... has more than 4096 bytes; write shorter keys"), "{refusal}");
    assert!(refusal.len() < 300, "{refusal}");
}

#[test]
fn the_name_of_an_object_is_not_one_of_a_file() {
    let (config, spec) = (config(FILE), spec(json!({})));
    let judge = |namespace, name: &str| {
        PluginObject { namespace, name, spec: &spec }.plugin(
            &config,
            config.tenancy.as_ref().unwrap(),
            &|_| false,
        )
    };

    assert_eq!(judge("shop", "echo").unwrap().name, "shop/echo");
    assert_eq!(judge("", "echo").unwrap().name, "cluster:echo");
    for name in ["a.b", "", &"x".repeat(53), "UPPER"] {
        assert_eq!(judge("shop", name).unwrap_err().reason, Refused::INVALID, "{name}");
    }
}

#[test]
fn a_cluster_plugin_gets_what_tenancy_lists_and_no_more() {
    let plugin = judge(
        "",
        &spec(json!({
            "on": [{"watch": "v1/nodes"}, {"watch": "v1/pods"}],
            "grant": {"read": ["v1/nodes"], "write": ["create,delete v1/configmaps"]},
        })),
    )
    .unwrap();

    assert!(plugin.subscriptions[0].filter.namespaces.is_empty());
    assert_eq!(plugin.subscriptions[1].filter.namespaces.iter().collect::<Vec<_>>(), ["shop"]);
    let write: Vec<String> = plugin.grants.write.unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(write, ["create v1/configmaps", "delete v1/configmaps @shop"]);
}

#[test]
fn the_defaults_of_the_operator_apply() {
    let file =
        FILE.replace("[tenancy]\n", "[defaults.limits]\nmemory = \"16MiB\"\ndeadline = \"1h\"\n[tenancy]\n");
    let (config, spec) = (config(&file), spec(json!({})));
    let object = PluginObject { namespace: "shop", name: "echo", spec: &spec };
    let plugin = object.plugin(&config, config.tenancy.as_ref().unwrap(), &|_| false).unwrap();

    assert_eq!(plugin.limits.calls.memory_bytes, 16 << 20);
    assert_eq!(plugin.limits.calls.deadline, config.tenancy.unwrap().limits.calls.deadline);
}

#[test]
fn without_namespaces_and_cluster_plugins_no_object_is_looked_at() {
    let file = FILE.replace("namespaces = [\"shop\", \"team-*\"]\ncluster-plugins = true\n", "");

    assert_eq!(config(&file).tenancy, None);
    assert!(config(FILE).tenancy.unwrap().admits("team-a"));
    assert!(!config(FILE).tenancy.unwrap().admits("shopping"));
}

proptest::proptest! {
    /// Any spec is judged, and none reaches beyond its namespace.
    #[test]
    fn no_spec_reaches_another_namespace(
        namespaces in proptest::collection::vec("(shop|team-a|other)", 0..3),
        verbs in "(create|patch|delete|\\*|create,patch)",
        resource in "(v1/configmaps|v1/secrets|v1/nodes|v1/pods)",
        secret in "(\\*|shop/\\*|other/\\*|shop/a)",
    ) {
        let at = if namespaces.is_empty() { String::new() } else { format!(" @{}", namespaces.join(",")) };
        let spec = spec(json!({
            "on": [{"watch": resource, "namespaces": namespaces}],
            "grant": {"read": [format!("{resource}{at}")], "write": [format!("{verbs} {resource}{at}")], "secrets": [secret]},
        }));
        if let Ok(plugin) = judge("shop", &spec) {
            let own = Namespaces::Only(["shop".into()].into());
            let names = |on: &crate::config::Subscription| on.filter.namespaces.iter().cloned().collect::<Vec<_>>();
            proptest::prop_assert!(plugin.subscriptions.iter().all(|on| names(on) == ["shop"]));
            proptest::prop_assert!(plugin.grants.read.unwrap().iter().all(|(_, _, reach)| *reach == own));
            proptest::prop_assert!(plugin.grants.write.unwrap().iter().all(|line| line.namespaces == own));
            proptest::prop_assert!(!plugin.grants.secrets.contains("other", "a"));
        }
    }
}
