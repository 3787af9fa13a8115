//! The printed roles in the real cluster, bound to the user `informer`. Single verbs can be removed.

use std::time::Duration;

use informer::{
    commands::rbac::{Names, Rules, manifests},
    config::Config,
};
use informer_tests::cluster::User;
use k8s_openapi::api::authorization::v1::SubjectAccessReview;
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, GroupVersionKind, PostParams},
};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::support::SOON;

/// All printed objects.
pub(crate) struct Roles {
    admin: Client,
    roles: Vec<Value>,
}

/// One verb of one rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Verb {
    role: usize,
    rule: usize,
    verb: String,
}

impl Roles {
    /// Creates the printed objects, with the user instead of the ServiceAccount.
    pub(crate) async fn create(admin: Client, config: &Config) -> Self {
        let names =
            Names { role: "informer".to_owned(), account: ("default".to_owned(), "informer".to_owned()) };
        let mut all = manifests(&Rules::of(config), &names);
        for object in &mut all {
            if object.get("subjects").is_some() {
                object["subjects"] = json!([{
                    "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": User::Informer.name(),
                }]);
            }
            let dynamic = serde_json::from_value(object.clone()).unwrap();
            api(&admin, object).create(&PostParams::default(), &dynamic).await.unwrap();
        }
        let roles = all.into_iter().filter(|object| object.get("rules").is_some()).collect();
        let roles = Self { admin, roles };
        for verb in roles.verbs() {
            roles.allowed(&verb, true).await;
        }
        roles
    }

    /// All verbs of all rules of all roles.
    pub(crate) fn verbs(&self) -> Vec<Verb> {
        let mut verbs = Vec::new();
        for (role, object) in self.roles.iter().enumerate() {
            for (rule, content) in object["rules"].as_array().unwrap().iter().enumerate() {
                let of_rule = content["verbs"].as_array().unwrap().iter();
                verbs.extend(of_rule.map(|verb| Verb {
                    role,
                    rule,
                    verb: verb.as_str().unwrap().to_owned(),
                }));
            }
        }
        verbs
    }

    /// Removes one verb and waits until the authorizer applies the change.
    pub(crate) async fn without(&self, verb: &Verb) {
        let mut object = self.roles[verb.role].clone();
        let verbs = object["rules"][verb.rule]["verbs"].as_array_mut().unwrap();
        verbs.retain(|other| *other != verb.verb);
        if verbs.is_empty() {
            object["rules"].as_array_mut().unwrap().remove(verb.rule);
        }
        self.replace(&object).await;
        self.allowed(verb, false).await;
    }

    /// Restores the verb.
    pub(crate) async fn with_all(&self, verb: &Verb) {
        self.replace(&self.roles[verb.role]).await;
        self.allowed(verb, true).await;
    }

    async fn replace(&self, object: &Value) {
        let dynamic: DynamicObject = serde_json::from_value(object.clone()).unwrap();
        let name = dynamic.metadata.name.clone().unwrap();
        api(&self.admin, object).replace(&name, &PostParams::default(), &dynamic).await.unwrap();
    }

    async fn allowed(&self, verb: &Verb, expected: bool) {
        let role = &self.roles[verb.role];
        let rule = &role["rules"][verb.rule];
        let resource = rule["resources"][0].as_str().unwrap();
        let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        let review: SubjectAccessReview = serde_json::from_value(json!({
            "spec": {
                "user": User::Informer.name(),
                "resourceAttributes": {
                    "group": rule["apiGroups"][0], "resource": resource, "subresource": subresource,
                    "verb": verb.verb, "namespace": role["metadata"]["namespace"].as_str().unwrap_or_default(),
                    "name": rule["resourceNames"][0].as_str().unwrap_or_default(),
                },
            },
        }))
        .unwrap();
        let reviews: Api<SubjectAccessReview> = Api::all(self.admin.clone());
        let deadline = Instant::now() + SOON;
        loop {
            let answer = reviews.create(&PostParams::default(), &review).await.unwrap();
            if answer.status.is_some_and(|status| status.allowed == expected) {
                return;
            }
            assert!(Instant::now() < deadline, "{verb:?} is never {expected}");
            sleep(Duration::from_millis(20)).await;
        }
    }
}

/// The API for objects of this kind and namespace.
pub(crate) fn api(admin: &Client, object: &Value) -> Api<DynamicObject> {
    let kind = object["kind"].as_str().unwrap();
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("rbac.authorization.k8s.io", "v1", kind));
    match object["metadata"]["namespace"].as_str() {
        Some(namespace) => Api::namespaced_with(admin.clone(), namespace, &resource),
        None => Api::all_with(admin.clone(), &resource),
    }
}
