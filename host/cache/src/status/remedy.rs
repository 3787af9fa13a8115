//! Remedies for failures.

use crate::{ErrorClass, InformerKey};

/// Returns `None` if the error text already contains the remedy.
pub(super) fn remedy(class: ErrorClass, key: &InformerKey) -> Option<String> {
    let text = match class {
        ErrorClass::Forbidden => return Some(rule(key)),
        ErrorClass::UnknownResource => return Some(install(key)),
        ErrorClass::Unauthorized | ErrorClass::NoCredentials | ErrorClass::VeryShortWatch => return None,
        ErrorClass::Refused => "start the API server, or correct its address",
        ErrorClass::Unreachable => {
            "check the network, the name, the certificates and the proxy between this host and the API server"
        }
        ErrorClass::Silent => "the API server or a proxy in front of it is overloaded or delays answers",
        ErrorClass::Throttled => {
            "the API server is overloaded; if this lasts, raise this identity's share in API Priority and Fairness"
        }
        ErrorClass::Initializing => {
            "wait: the API server has just started, or has lost etcd, and still fills its watch cache"
        }
        ErrorClass::Expired => {
            "the informer relists by itself, because the API server no longer has this resource version: it has \
             restarted, or its history was compacted; only intermediate states are missed"
        }
        ErrorClass::TooLargeResourceVersion => {
            "the informer relists by itself, because this API server lags behind another one"
        }
        ErrorClass::NotFound => {
            "discovery lists this resource, but the API server does not find it; check that its aggregated API server runs"
        }
        ErrorClass::UnfinishedList => {
            "a proxy cuts off long answers, or the API server cannot stream lists; set [cluster] watch-list = \"off\""
        }
        ErrorClass::Inconsistent => "report it with the versions of the API server and of this host",
        ErrorClass::Server => "read the API server's log",
        ErrorClass::Malformed => {
            "check that the address is that of an API server and that no proxy changes its answers"
        }
        ErrorClass::ListTooLarge => {
            "raise [cluster] list-size if this host has the memory, or watch less: `namespaces`, `labels` and `fields` of [[watch]]"
        }
        ErrorClass::CacheFull => {
            "raise [host] cache-memory if this host has the memory, or cache less: `namespaces`, `labels`, `fields`, `keep` and `drop` of [[watch]]; restart the host then, because a changed [[watch]] needs room for both caches"
        }
        ErrorClass::Bug => "the informer starts again by itself; report the bug with the log of this host",
    };
    Some(text.to_owned())
}

/// The smallest rule that an informer needs, as it is written in a role.
fn rule(key: &InformerKey) -> String {
    let role = match &*key.namespaces {
        [] => "a ClusterRole".to_owned(),
        [namespace] => format!("a Role in namespace {namespace}"),
        namespaces => format!("a Role in each of the namespaces {}", namespaces.join(", ")),
    };
    format!(
        "bind this identity to {role} with the rule {{apiGroups: [\"{}\"], resources: [\"{}\"], verbs: [\"list\", \
         \"watch\"]}}",
        key.gvr.group, key.gvr.resource
    )
}

fn install(key: &InformerKey) -> String {
    let gvr = &key.gvr;
    // Groups without a dot are built in; no CRD can define them.
    if gvr.group.contains('.') {
        format!(
            "install the CRD {}.{} that serves {}, or correct the gvr",
            gvr.resource, gvr.group, gvr.version
        )
    } else {
        "correct the gvr".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WatchConfig;

    const GUIDE: &str = include_str!("../../../docs/troubleshooting.md");
    const CLASSES: [ErrorClass; 20] = [
        ErrorClass::Refused,
        ErrorClass::Unreachable,
        ErrorClass::NoCredentials,
        ErrorClass::Silent,
        ErrorClass::Throttled,
        ErrorClass::Initializing,
        ErrorClass::Expired,
        ErrorClass::TooLargeResourceVersion,
        ErrorClass::Unauthorized,
        ErrorClass::Forbidden,
        ErrorClass::NotFound,
        ErrorClass::Server,
        ErrorClass::Malformed,
        ErrorClass::ListTooLarge,
        ErrorClass::CacheFull,
        ErrorClass::VeryShortWatch,
        ErrorClass::UnfinishedList,
        ErrorClass::Inconsistent,
        ErrorClass::UnknownResource,
        ErrorClass::Bug,
    ];

    fn key(gvr: &str, namespaces: &[&str]) -> InformerKey {
        let namespaces = namespaces.iter().map(|&namespace| namespace.to_owned()).collect();
        InformerKey::from(&WatchConfig { namespaces, ..WatchConfig::new(gvr.parse().unwrap()) })
    }

    #[test]
    fn the_remedy_for_a_missing_permission_is_the_rule_to_add() {
        let told = |gvr, namespaces: &[&str]| remedy(ErrorClass::Forbidden, &key(gvr, namespaces)).unwrap();

        assert_eq!(
            told("apps/v1/deployments", &[]),
            r#"bind this identity to a ClusterRole with the rule {apiGroups: ["apps"], resources: ["deployments"], verbs: ["list", "watch"]}"#
        );
        assert!(
            told("v1/pods", &["shop"]).contains(r#"a Role in namespace shop with the rule {apiGroups: [""]"#)
        );
        assert!(told("v1/pods", &["b", "a"]).contains("a Role in each of the namespaces a, b with"));
    }

    #[test]
    fn a_crd_is_suggested_only_for_a_group_that_a_crd_can_define() {
        let told = |gvr| remedy(ErrorClass::UnknownResource, &key(gvr, &[])).unwrap();

        assert_eq!(
            told("shop.example.com/v1/orders"),
            "install the CRD orders.shop.example.com that serves v1, or correct the gvr"
        );
        assert_eq!(told("apps/v1/deploymnets"), "correct the gvr");
    }

    #[test]
    fn the_guide_for_operators_has_each_class_and_its_remedy() {
        for class in CLASSES {
            let line = GUIDE.lines().find(|line| line.contains(&format!("| {} |", class.as_str())));
            let line = line.unwrap_or_else(|| panic!("no line for {}", class.as_str()));
            // These two depend on the resource.
            if !matches!(class, ErrorClass::Forbidden | ErrorClass::UnknownResource) {
                let remedy = remedy(class, &key("v1/pods", &[])).unwrap_or_default();
                assert!(line.contains(&remedy), "{remedy} is not in {line}");
            }
        }
    }
}
