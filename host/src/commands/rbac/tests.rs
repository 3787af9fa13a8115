use std::path::Path;

use super::*;
use crate::config::{Environment, Place, parse};

fn config(text: &str) -> Config {
    let environment = Environment::default();
    let place = Place { file: Path::new("informer.toml"), base: Path::new("/"), environment: &environment };
    parse(text, &place, Components::Unseen).unwrap_or_else(|error| panic!("{error}"))
}

fn shown(text: &str) -> String {
    let names = Names { role: "informer".to_owned(), account: ("apps".to_owned(), "host".to_owned()) };
    yaml(&manifests(&Rules::of(&config(text)), &names)).unwrap()
}

/// One line for each rule: `shop: apps/deployments patch,get`.
fn lines(text: &str) -> Vec<String> {
    of_identity(&Rules::of(&config(text)).host)
}

fn of_identity(rules: &Scopes) -> Vec<String> {
    let line = |scope: &Option<String>, (what, verbs): (&What, &BTreeSet<Verb>)| {
        let What { group, resource, name } = what;
        let name = name.as_ref().map(|name| format!(" {name}")).unwrap_or_default();
        let verbs: Vec<String> = verbs.iter().map(|verb| format!("{verb:?}").to_lowercase()).collect();
        format!("{}: {group}/{resource}{name} {}", scope.as_deref().unwrap_or("*"), verbs.join(","))
    };
    let scopes = rules.by_scope.iter();
    scopes.flat_map(|(scope, rules)| rules.iter().map(move |rule| line(scope, rule))).collect()
}

const PLUGIN: &str =
    "[[plugin]]\nname = \"a\"\nsource = \"a\"\n[[plugin.on]]\nwatch = \"apps/v1/deployments\"\n";
const DEPLOYMENTS: &str = "[[watch]]\ngvr = \"apps/v1/deployments\"\n";

#[test]
fn the_smallest_configuration_lists_and_watches() {
    assert_eq!(
        shown(&format!("{DEPLOYMENTS}{PLUGIN}")),
        r#"---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: informer
rules:
- apiGroups:
  - apps
  resources:
  - deployments
  verbs:
  - list
  - watch
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: informer
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: informer
subjects:
- kind: ServiceAccount
  name: host
  namespace: apps
"#
    );
}

/// `kubectl apply` fails with "no objects passed to apply" if its input has no objects.
#[test]
fn a_configuration_that_needs_no_rule_has_an_empty_cluster_role() {
    let names = Names { role: "informer".to_owned(), account: ("apps".to_owned(), "host".to_owned()) };

    let manifests = manifests(&Rules::of(&config(DEPLOYMENTS)), &names);

    let kinds: Vec<_> = manifests.iter().map(|object| object["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["ClusterRole", "ClusterRoleBinding"]);
    assert_eq!(manifests[0]["rules"], json!([]));
}

#[test]
fn watched_namespaces_get_a_role_each_and_no_cluster_role() {
    let text = format!("{DEPLOYMENTS}namespaces = [\"shop\", \"default\"]\n{PLUGIN}");

    assert_eq!(lines(&text), ["default: apps/deployments list,watch", "shop: apps/deployments list,watch"]);
    let names = Names { role: "x".to_owned(), account: ("apps".to_owned(), "host".to_owned()) };
    let kinds: Vec<_> = manifests(&Rules::of(&config(&text)), &names)
        .iter()
        .map(|object| format!("{} {}", object["kind"].as_str().unwrap(), object["metadata"]["namespace"]))
        .collect();
    assert_eq!(
        kinds,
        ["Role \"default\"", "RoleBinding \"default\"", "Role \"shop\"", "RoleBinding \"shop\"",]
    );
}

#[test]
fn namespaces_that_subscriptions_name_get_a_role_each_unless_a_plugin_reads_the_resource() {
    let named = format!("{DEPLOYMENTS}{PLUGIN}namespaces = [\"shop\"]\n");
    let reads = format!("{named}[plugin.grant]\nread = [\"apps/v1/deployments\"]\n");

    assert_eq!(lines(&named), ["shop: apps/deployments list,watch"]);
    assert_eq!(lines(&reads), ["*: apps/deployments list,watch"]);
}

#[test]
fn a_watch_without_a_plugin_needs_no_rule() {
    let text = format!("{DEPLOYMENTS}[[watch]]\ngvr = \"v1/pods\"\n{PLUGIN}");

    assert_eq!(lines(&text), ["*: apps/deployments list,watch"]);
}

#[test]
fn reads_need_rules_only_if_the_plugin_has_a_client() {
    let text = |grant: &str| format!("{DEPLOYMENTS}{PLUGIN}[plugin.grant]\n{grant}\n");
    let read = "read = [\"apps/v1/deployments\", \"apps/v1/deployments/scale @shop\"]";

    assert_eq!(lines(&text(read)), ["*: apps/deployments list,watch"]);
    assert_eq!(
        lines(&text(&format!("{read}\nwrite = []"))),
        ["*: apps/deployments get,list,watch", "shop: apps/deployments/scale get"]
    );
}

#[test]
fn each_write_grant_becomes_the_verbs_that_the_server_requires() {
    let write = r#"write = [
        "patch apps/v1/deployments @shop,default",
        "apply v1/configmaps @shop",
        "apply,update apps/v1/deployments/status @shop",
        "create events.k8s.io/v1/events @shop",
        "delete v1/nodes",
        "create v1/pods/eviction @shop",
    ]"#;
    let text = format!("{DEPLOYMENTS}{PLUGIN}[plugin.grant]\n{write}\n");

    assert_eq!(
        lines(&text),
        [
            "*: /nodes delete",
            "*: apps/deployments list,watch",
            "default: apps/deployments patch",
            "shop: /configmaps create,patch",
            "shop: /pods/eviction create",
            "shop: apps/deployments patch",
            "shop: apps/deployments/status update,patch",
            "shop: events.k8s.io/events create,patch",
        ]
    );
}

#[test]
fn a_rule_for_all_namespaces_is_not_repeated_for_one() {
    let plugin = |name: &str, write: &str| {
        format!("{}[plugin.grant]\nwrite = [\"{write}\"]\n", PLUGIN.replace("\"a\"", &format!("\"{name}\"")))
    };
    let text = format!(
        "{DEPLOYMENTS}{}{}",
        plugin("a", "patch apps/v1/deployments"),
        plugin("b", "patch,delete apps/v1/deployments @shop")
    );

    assert_eq!(lines(&text), ["*: apps/deployments list,watch,patch", "shop: apps/deployments delete"]);
}

#[test]
fn a_grant_of_a_named_secret_becomes_a_rule_with_its_name() {
    let text = |secrets: &str| {
        format!(
            "[[watch]]\ngvr = \"v1/pods\"\n{}[plugin.grant]\nread = [\"v1/pods\"]\n\
             write = [\"create,patch v1/secrets @shop,default\"]\nsecrets = [{secrets}]\n",
            PLUGIN.replace("apps/v1/deployments", "v1/pods")
        )
    };
    let pods = "*: /pods get,list,watch";

    assert_eq!(lines(&text("")), [pods], "the host refuses them all");
    assert_eq!(
        lines(&text("\"shop/db\", \"other/x\"")),
        [pods, "shop: /secrets create", "shop: /secrets db patch"]
    );
    assert_eq!(lines(&text("\"digest *\"")), [pods], "digests allow no write");
    assert_eq!(lines(&text("\"shop/db\", \"shop/*\"")), [pods, "shop: /secrets create,patch"]);
    assert_eq!(
        lines(&text("\"*\"")),
        [pods, "default: /secrets create,patch", "shop: /secrets create,patch"]
    );
}

#[test]
fn digests_of_secrets_come_from_the_cache_and_need_no_rule_to_get_secrets() {
    let text = format!(
        "[[watch]]\ngvr = \"v1/secrets\"\n{}[plugin.grant]\nread = [\"v1/secrets\"]\nwrite = []\n",
        PLUGIN.replace("apps/v1/deployments", "v1/secrets")
    );

    assert_eq!(lines(&format!("{text}secrets = [\"digest *\"]\n")), ["*: /secrets list,watch"]);
    assert_eq!(lines(&format!("{text}secrets = [\"*\"]\n")), ["*: /secrets get,list,watch"]);
}

#[test]
fn an_http_grant_lets_the_host_read_the_addresses_of_the_api_server() {
    let grant = "[plugin.grant]\nhttp = [\"https://hooks.example.com/\"]\n";

    assert_eq!(
        lines(&format!("{DEPLOYMENTS}{PLUGIN}{grant}")),
        [
            "*: apps/deployments list,watch",
            "default: /services kubernetes get",
            "default: discovery.k8s.io/endpointslices list",
        ]
    );
}

#[test]
fn reviews_of_tokens_need_rules_only_if_the_metrics_need_a_token() {
    let with = |host: &str| lines(&format!("[host]\n{host}\n{DEPLOYMENTS}"));

    assert_eq!(with("health = \"0.0.0.0:8081\""), Vec::<String>::new());
    assert_eq!(
        with("health = \"0.0.0.0:8081\"\nmetrics-auth = \"kubernetes\""),
        [
            "*: authentication.k8s.io/tokenreviews create",
            "*: authorization.k8s.io/subjectaccessreviews create"
        ]
    );
}

#[test]
fn a_host_that_competes_for_a_lease_may_create_leases_and_write_its_own() {
    assert_eq!(
        lines(&format!("[host]\nlease = \"apps/informer\"\n{DEPLOYMENTS}")),
        ["apps: coordination.k8s.io/leases create", "apps: coordination.k8s.io/leases informer get,update"]
    );
}

#[test]
fn requests_of_a_service_account_need_its_roles_and_the_host_may_impersonate_it_alone() {
    let text = format!(
        "{DEPLOYMENTS}{PLUGIN}[plugin.grant]\nread = [\"apps/v1/deployments\"]\nwrite = [\"patch apps/v1/deployments @shop\"]\n\
         http = [\"https://hooks.example.com/\"]\n"
    );
    let text = text.replace("source = ", "as = \"system:serviceaccount:shop:reloader\"\nsource = ");

    assert_eq!(
        lines(&text),
        [
            "*: apps/deployments list,watch",
            "default: /services kubernetes get",
            "default: discovery.k8s.io/endpointslices list",
            "shop: /serviceaccounts reloader impersonate",
        ]
    );
    let rules = Rules::of(&config(&text));
    let reloader = &rules.accounts[&"system:serviceaccount:shop:reloader".parse().unwrap()];
    assert_eq!(of_identity(reloader), ["*: apps/deployments get,list", "shop: apps/deployments patch"]);
    assert_eq!(rules.accounts.len(), 1);
    // Without `write` a plugin sends no requests.
    let silent = format!(
        "{DEPLOYMENTS}{}",
        PLUGIN.replace("source = ", "as = \"system:serviceaccount:shop:reloader\"\nsource = ")
    );
    assert_eq!(lines(&silent), ["*: apps/deployments list,watch"]);
    let manifests = shown(&text);
    assert!(manifests.contains("name: informer:shop:reloader\n  namespace: shop\n"), "{manifests}");
    assert!(manifests.contains("kind: ServiceAccount\n  name: reloader\n  namespace: shop\n"), "{manifests}");
}

#[test]
fn labels_of_namespaces_need_a_watch_of_all_namespaces() {
    let follows = format!("{DEPLOYMENTS}{PLUGIN}namespaces = [\"shop\"]\nnamespaces-labels = \"team\"\n");
    assert_eq!(lines(&follows), ["*: /namespaces list,watch", "shop: apps/deployments list,watch"]);

    let namespaces = "[[watch]]\ngvr = \"v1/namespaces\"\n";
    assert_eq!(lines(&format!("{namespaces}{follows}")), lines(&follows));
    assert_eq!(lines(&format!("{DEPLOYMENTS}{namespaces}{PLUGIN}")), ["*: apps/deployments list,watch"]);
}

#[test]
fn tenancy_needs_the_objects_their_status_and_what_they_may_do() {
    let tenancy = |lines: &str| {
        self::lines(&format!(
            "{DEPLOYMENTS}[[watch]]\ngvr = \"v1/configmaps\"\n{PLUGIN}[tenancy]\nread = [\"v1/configmaps\"]\n\
             write = [\"patch v1/configmaps\"]\n{lines}"
        ))
    };
    let own = [
        "*: /configmaps list,watch",
        "*: apps/deployments list,watch",
        "*: events.k8s.io/events create",
        "*: informer.dev/plugins list,watch",
        "*: informer.dev/plugins/status patch",
    ];

    assert_eq!(tenancy("namespaces = [\"shop\"]"), [&own[..], &["shop: /configmaps get,patch"]].concat());
    let everywhere = tenancy("namespaces = [\"team-*\"]\ncluster-plugins = true\nhttp = [\"https://a/\"]");
    for rule in [
        "*: /configmaps get,list,watch,patch",
        "*: informer.dev/clusterplugins list,watch",
        "*: informer.dev/clusterplugins/status patch",
        "default: /services kubernetes get",
    ] {
        assert!(everywhere.iter().any(|own| own == rule), "{rule}: {everywhere:#?}");
    }
    let off = tenancy("");
    assert_eq!(off, ["*: apps/deployments list,watch"]);
}

#[test]
fn a_pattern_is_a_rule_for_all_resources_of_its_groups() {
    let text = |gvr: &str, read: &str, write: &str| {
        format!(
            "{DEPLOYMENTS}[[watch]]\ngvr = \"{gvr}\"\nmetadata-only = true\n{PLUGIN}[[plugin.on]]\nwatch = \"{gvr}\"\n\
             [plugin.grant]\nread = [\"{read}\"]\nwrite = [\"{write}\", \"create events.k8s.io/v1/events\", \"delete apps/v1/deployments\"]\n"
        )
    };

    assert_eq!(
        lines(&text("*/*/*", "*/*/*", "delete */*/*")),
        ["*: */* get,list,watch,delete", "*: events.k8s.io/events create,patch"],
        "rules that the wildcard covers are left out"
    );
    assert_eq!(
        lines(&text("apps/*/*", "apps/*/* @shop", "delete apps/*/* @shop")),
        [
            "*: apps/* list,watch",
            "*: apps/deployments delete",
            "*: events.k8s.io/events create,patch",
            "shop: apps/* get,delete",
        ]
    );
    assert_eq!(
        lines(&text("core/*/*", "core/*/*", "delete core/*/*")),
        [
            "*: /* get,list,watch,delete",
            "*: apps/deployments list,watch,delete",
            "*: events.k8s.io/events create,patch",
        ]
    );
}

/// If an Event repeats, the host raises the count of the existing Event. Without a [[watch]] of this resource, the pattern does not stand
/// for the resource.
#[test]
fn a_pattern_that_stands_for_events_needs_the_verb_for_a_repeated_event() {
    let unwatched = |gvr: &str| {
        format!(
            "{DEPLOYMENTS}[[watch]]\ngvr = \"{gvr}\"\nmetadata-only = true\n\
             {PLUGIN}[plugin.grant]\nwrite = [\"create {gvr} @shop\"]\n"
        )
    };
    let watched = |gvr: &str| format!("[[watch]]\ngvr = \"events.k8s.io/v1/events\"\n{}", unwatched(gvr));
    let deployments = "*: apps/deployments list,watch";

    for (gvr, create) in
        [("*/*/*", "shop: */* create"), ("events.k8s.io/*/*", "shop: events.k8s.io/* create")]
    {
        assert_eq!(lines(&watched(gvr)), [deployments, create, "shop: events.k8s.io/events patch"]);
        assert_eq!(lines(&unwatched(gvr)), [deployments, create]);
    }
    assert_eq!(lines(&watched("apps/*/*")), [deployments, "shop: apps/* create"]);
}

#[test]
fn a_watch_of_its_own_that_a_pattern_uses_needs_the_namespaces_that_it_requests() {
    let pattern = "[[watch]]\ngvr = \"apps/*/*\"\nmetadata-only = true\nnamespaces = [\"shop\"]\n";
    let subscribes = format!("{pattern}{DEPLOYMENTS}{}", PLUGIN.replace("apps/v1/deployments", "apps/*/*"));
    let reads = format!("{subscribes}[plugin.grant]\nread = [\"apps/*/*\"]\n");

    assert_eq!(lines(&subscribes), ["shop: apps/* list,watch"]);
    // The cache that plugins read is complete.
    assert_eq!(lines(&reads), ["*: apps/deployments list,watch", "shop: apps/* list,watch"]);
}
