//! The status names the missing rule. The real authorizer confirms that it is the right one.

use informer::connect::Connection;
use informer_guests::guest;
use informer_tests::{
    cluster::{Options, RealCluster, User},
    host::TestHost,
};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::api::{Api, PostParams};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::support::{config_maps, create};

/// The rule in `... with the rule {apiGroups: [""], resources: [...], verbs: [...]}`.
fn rule(reason: &str) -> Value {
    let flow = reason.rsplit_once("with the rule ").unwrap().1;
    let quoted = ["apiGroups", "resources", "verbs"]
        .iter()
        .fold(flow.to_owned(), |text, key| text.replace(&format!("{key}:"), &format!("\"{key}\":")));
    serde_json::from_str(&quoted).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn granting_the_rule_in_the_status_is_sufficient() {
    let cluster = RealCluster::start(Options::default()).await.unwrap();
    let admin = cluster.client(User::Admin).await.unwrap();
    create(&config_maps(admin.clone()), "first").await;
    let toml = format!(
        "[[watch]]\ngvr = \"v1/configmaps\"\nnamespaces = [\"default\"]\n\
         [[plugin]]\nname = \"echo\"\nsource = {:?}\n[[plugin.on]]\nwatch = \"v1/configmaps\"\n",
        guest("echo"),
    );
    let client = cluster.client(User::Informer).await.unwrap();
    let host = TestHost::start_with(Connection::new(client, cluster.url()), &toml).await.unwrap();
    // The streaming list fails before the plain one, and its failure gives no advice. Both are repeated.
    let advice = Mutex::new(String::new());
    host.until("the refusal", |_| {
        let unready = host.unready();
        let [reason] = &unready[..] else { return false };
        reason.clone_into(&mut advice.lock());
        reason.contains("403 Forbidden") && reason.contains("what helps: ")
    })
    .await;
    let reason = &advice.into_inner();
    assert!(
        reason.contains("what helps: bind this identity to a Role in namespace default with"),
        "{reason}"
    );

    let role: Role =
        serde_json::from_value(json!({"metadata": {"name": "least"}, "rules": [rule(reason)]})).unwrap();
    let binding: RoleBinding = serde_json::from_value(json!({
        "metadata": {"name": "least"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "least"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": User::Informer.name()}],
    }))
    .unwrap();
    let (roles, bindings) = (Api::namespaced(admin.clone(), "default"), Api::namespaced(admin, "default"));
    roles.create(&PostParams::default(), &role).await.unwrap();
    bindings.create(&PostParams::default(), &binding).await.unwrap();

    host.lines.said("echo", "add default/first ", "").await;
    // The object may be delivered before the rest of the first list is.
    host.synced().await;
    assert_eq!(host.unready(), Vec::<String>::new());
    host.stop().await;
    cluster.shutdown().await.unwrap();
}
