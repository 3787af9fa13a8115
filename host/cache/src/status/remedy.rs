//! What an operator can do about a failure.

use crate::{ErrorClass, InformerKey};

/// None where the text of the failure says it already.
pub(super) fn remedy(class: ErrorClass, key: &InformerKey) -> Option<String> {
    let text = match class {
        ErrorClass::Forbidden => return Some(rule(key)),
        ErrorClass::UnknownResource => return Some(install(key)),
        ErrorClass::Unauthorized | ErrorClass::VeryShortWatch => return None,
        ErrorClass::Refused => "start the API server, or correct its address",
        ErrorClass::Unreachable => {
            "check the network, the name, the certificates and the proxy between this host and the API server"
        }
        ErrorClass::Silent => "the API server, or a proxy before it, is overloaded or holds answers back",
        ErrorClass::Throttled => {
            "the API server protects itself; where it lasts, give this identity a larger share of it"
        }
        ErrorClass::Expired => {
            "its history was compacted; everything is listed anew and nothing but intermediate states is missed"
        }
        ErrorClass::TooLargeResourceVersion => {
            "this API server lags behind another one; everything is listed anew"
        }
        ErrorClass::NotFound => {
            "the API server names this resource, yet does not find it; look whether its aggregated API server runs"
        }
        ErrorClass::UnfinishedList => {
            "a proxy cuts long answers, or the API server cannot stream lists; set [cluster] watch-list = \"off\""
        }
        ErrorClass::Inconsistent => "report it with the versions of the API server and of this host",
        ErrorClass::Server => "look into the API server's log",
        ErrorClass::Malformed => {
            "make sure that the address is an API server's and that no proxy changes its answers"
        }
        ErrorClass::Bug => "restart this host and report what its log says",
    };
    Some(text.to_owned())
}

/// The least rule that lets an informer run, as it stands in a role.
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
    // Groups without a dot are Kubernetes' own, and no CRD can bring them.
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

    fn key(gvr: &str, namespaces: &[&str]) -> InformerKey {
        let namespaces = namespaces.iter().map(|&namespace| namespace.to_owned()).collect();
        InformerKey::from(&WatchConfig { namespaces, ..WatchConfig::new(gvr.parse().unwrap()) })
    }

    #[test]
    fn a_missing_permission_is_told_as_the_rule_to_write() {
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
    fn only_what_a_crd_can_bring_is_to_be_installed() {
        let told = |gvr| remedy(ErrorClass::UnknownResource, &key(gvr, &[])).unwrap();

        assert_eq!(
            told("shop.example.com/v1/orders"),
            "install the CRD orders.shop.example.com that serves v1, or correct the gvr"
        );
        assert_eq!(told("apps/v1/deploymnets"), "correct the gvr");
    }
}
