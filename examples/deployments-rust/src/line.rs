//! The texts of the lines.

use informer_sdk::{Cause, ObjectMeta};

/// `added default/nginx (rv 12, initial)`
pub(crate) fn added(new: &ObjectMeta, cause: Cause) -> String {
    format!("added {} (rv {}, {cause})", new.key(), new.resource_version)
}

/// `updated default/nginx (rv 12 -> 15, live)`
pub(crate) fn updated(old: &ObjectMeta, new: &ObjectMeta, cause: Cause) -> String {
    format!("updated {} (rv {} -> {}, {cause})", new.key(), old.resource_version, new.resource_version)
}

/// `deleted default/nginx (rv 20)`, or `(rv 20, final state unknown)` if the watch missed the deletion.
pub(crate) fn deleted(last: &ObjectMeta, final_state_known: bool) -> String {
    let doubt = if final_state_known { "" } else { ", final state unknown" };
    format!("deleted {} (rv {}{doubt})", last.key(), last.resource_version)
}

/// `deployments in default: 2`, then `1 -> nginx`, `2 -> web`.
pub(crate) fn listing(namespace: &str, found: &[ObjectMeta]) -> Vec<String> {
    let heading = format!("deployments in {namespace}: {}", found.len());
    let numbered = found.iter().enumerate().map(|(index, meta)| format!("{} -> {}", index + 1, meta.name));
    std::iter::once(heading).chain(numbered).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meta(name: &str, resource_version: &str) -> ObjectMeta {
        ObjectMeta {
            namespace: "default".to_owned(),
            name: name.to_owned(),
            uid: String::new(),
            resource_version: resource_version.to_owned(),
            creation_timestamp: String::new(),
            deleting: false,
            labels: Vec::new(),
            controller: None,
        }
    }

    #[test]
    fn an_addition_names_its_cause() {
        assert_eq!(added(&meta("nginx", "12"), Cause::Initial), "added default/nginx (rv 12, initial)");
    }

    #[test]
    fn an_update_names_the_old_and_the_new_version() {
        let line = updated(&meta("nginx", "12"), &meta("nginx", "15"), Cause::Live);

        assert_eq!(line, "updated default/nginx (rv 12 -> 15, live)");
    }

    #[test]
    fn a_deletion_says_if_its_final_state_is_unknown() {
        assert_eq!(deleted(&meta("nginx", "20"), true), "deleted default/nginx (rv 20)");
        assert_eq!(
            deleted(&meta("nginx", "20"), false),
            "deleted default/nginx (rv 20, final state unknown)"
        );
    }

    #[test]
    fn a_listing_is_numbered_from_one() {
        let lines = listing("default", &[meta("nginx", "12"), meta("web", "13")]);

        assert_eq!(lines, ["deployments in default: 2", "1 -> nginx", "2 -> web"]);
        assert_eq!(listing("default", &[]), ["deployments in default: 0"]);
    }
}
