//! Requests of a plugin in the name of a ServiceAccount, judged by the real authorizer.

use std::time::Duration;

use informer::{
    commands::rbac::{Names, Rules, manifests},
    connect::Connection,
};
use informer_guests::guest;
use informer_tests::{
    cluster::{Options, RealCluster, User},
    host::{TestHost, configuration},
    writer::Writer,
};
use k8s_openapi::api::{
    authorization::v1::SubjectAccessReview,
    core::v1::{ConfigMap, Namespace},
};
use kube::{Api, Client, api::PostParams};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::{
    rbac::roles::api,
    support::{SOON, create},
};

/// A plugin that reads a ConfigMap from the API server, whenever one of this name is created in any namespace.
fn toml() -> String {
    let steps = json!([{"do": "get", "namespace": "default", "name": "trigger"}]);
    let writer = Writer { on: "v1/configmaps", grant: "read = [\"v1/configmaps\"]\nwrite = []", steps };
    let account = "[[plugin]]\nas = \"system:serviceaccount:shop:reloader\"\n";
    format!(
        "[[watch]]\ngvr = \"v1/configmaps\"\n{}",
        writer.toml(&guest("writer")).replace("[[plugin]]\n", account)
    )
}

/// Creates these objects of RBAC with another subject.
async fn bind(admin: &Client, objects: &[Value], kind: &str, name: &str) {
    for object in objects {
        let mut object = object.clone();
        if object.get("subjects").is_some() {
            object["subjects"] =
                json!([{"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}]);
        }
        let dynamic = serde_json::from_value(object.clone()).unwrap();
        api(admin, &object).create(&PostParams::default(), &dynamic).await.unwrap();
    }
}

/// Waits until the authorizer applies what was bound.
async fn allowed(admin: &Client, spec: Value) {
    let review: SubjectAccessReview = serde_json::from_value(json!({ "spec": &spec })).unwrap();
    let reviews: Api<SubjectAccessReview> = Api::all(admin.clone());
    let deadline = Instant::now() + SOON;
    while !reviews.create(&PostParams::default(), &review).await.unwrap().status.unwrap().allowed {
        assert!(Instant::now() < deadline, "{spec} is never allowed");
        sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn the_api_server_refuses_a_service_account_until_its_printed_roles_are_bound() {
    let cluster = RealCluster::start(Options::default()).await.unwrap();
    let admin = cluster.client(User::Admin).await.unwrap();
    let triggers = |namespace: &str| Api::<ConfigMap>::namespaced(admin.clone(), namespace);
    let names = Names { role: "informer".to_owned(), account: ("default".to_owned(), "informer".to_owned()) };
    let printed = manifests(&Rules::of(&configuration(&toml()).unwrap()), &names);
    let (of_host, of_account): (Vec<Value>, Vec<Value>) =
        printed.into_iter().partition(|object| object["metadata"]["name"] == "informer");
    let (impersonate, watch): (Vec<Value>, Vec<Value>) =
        of_host.into_iter().partition(|object| object["metadata"]["namespace"] == "shop");
    assert_eq!((watch.len(), impersonate.len(), of_account.len()), (2, 2, 2));
    let shop = serde_json::from_value(json!({"metadata": {"name": "shop"}})).unwrap();
    let namespaces: Api<Namespace> = Api::all(admin.clone());
    namespaces.create(&PostParams::default(), &shop).await.unwrap();
    bind(&admin, &watch, "User", User::Informer.name()).await;
    let client = cluster.client(User::Informer).await.unwrap();
    let host = TestHost::start_with(Connection::new(client, cluster.url()), &toml()).await.unwrap();
    host.synced().await;
    let mut count = 0;
    let mut answer = async |namespace: &str| {
        create(&triggers(namespace), "trigger").await;
        count += 1;
        host.lines.until("writer", "an answer", |lines| lines.len() >= count).await;
        host.lines.of("writer").remove(count - 1)
    };

    // The host may not impersonate yet.
    let refused = answer("default").await;
    assert!(refused.starts_with("get error forbidden: "), "{refused}");
    assert!(refused.contains("cannot impersonate"), "{refused}");

    bind(&admin, &impersonate, "User", User::Informer.name()).await;
    let attributes = json!({"resource": "serviceaccounts", "namespace": "shop", "name": "reloader", "verb": "impersonate"});
    allowed(&admin, json!({"user": User::Informer.name(), "resourceAttributes": attributes})).await;
    let refused = answer("kube-system").await;
    assert!(refused.starts_with("get error forbidden: "), "{refused}");
    assert!(refused.contains("system:serviceaccount:shop:reloader"), "{refused}");
    assert!(refused.contains("cannot get resource"), "{refused}");

    // The API server gives the ServiceAccount the group of its namespace.
    let group = "system:serviceaccounts:shop";
    bind(&admin, &of_account, "Group", group).await;
    let attributes = json!({"resource": "configmaps", "namespace": "default", "verb": "get"});
    allowed(&admin, json!({"groups": [group], "resourceAttributes": attributes})).await;
    let answered = answer("kube-public").await;
    assert!(answered.starts_with("get ok"), "{answered}");
    host.stop().await;
    cluster.shutdown().await.unwrap();
}
