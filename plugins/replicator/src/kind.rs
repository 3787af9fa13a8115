//! The kinds of objects that are copied, and the fields that a copy gets.

/// A kind of object. Fields that a kind does not name are neither copied nor compared.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    /// The resource as in `informer.toml`.
    pub(crate) gvr: &'static str,
    pub(crate) api_version: &'static str,
    pub(crate) name: &'static str,
    /// Fields that are copied key by key.
    pub(crate) maps: &'static [&'static str],
    /// Lists of names that are copied name by name. Names that other clients add to a copy stay: OpenShift adds a name to
    /// `imagePullSecrets` of each ServiceAccount, and adds the name again when it is removed.
    pub(crate) named: &'static [&'static str],
    /// Fields that are copied as a whole.
    pub(crate) wholes: &'static [&'static str],
    /// The immutable field: only the creation of an object can set it.
    pub(crate) fixed: Option<&'static str>,
}

const RBAC: &str = "rbac.authorization.k8s.io/v1";

pub(crate) const KINDS: [Kind; 5] = [
    Kind {
        gvr: "v1/secrets",
        api_version: "v1",
        name: "Secret",
        maps: &["data"],
        named: &[],
        wholes: &[],
        fixed: Some("type"),
    },
    Kind {
        gvr: "v1/configmaps",
        api_version: "v1",
        name: "ConfigMap",
        maps: &["data", "binaryData"],
        named: &[],
        wholes: &[],
        fixed: None,
    },
    Kind {
        gvr: "rbac.authorization.k8s.io/v1/roles",
        api_version: RBAC,
        name: "Role",
        maps: &[],
        named: &[],
        wholes: &["rules"],
        fixed: None,
    },
    Kind {
        gvr: "rbac.authorization.k8s.io/v1/rolebindings",
        api_version: RBAC,
        name: "RoleBinding",
        maps: &[],
        named: &[],
        wholes: &["subjects"],
        fixed: Some("roleRef"),
    },
    Kind {
        gvr: "v1/serviceaccounts",
        api_version: "v1",
        name: "ServiceAccount",
        maps: &[],
        named: &["imagePullSecrets"],
        wholes: &["automountServiceAccountToken"],
        fixed: None,
    },
];

// === impl Kind ===

impl Kind {
    /// The kind of a resource. Returns `None` if the plugin does not copy it.
    pub(crate) fn of(gvr: &str) -> Option<&'static Self> {
        KINDS.iter().find(|kind| kind.gvr == gvr)
    }

    /// Returns true if objects of this kind have keys or names. A copy may then have keys or names that its source does not have.
    pub(crate) fn has_keys(&self) -> bool {
        !self.maps.is_empty() || !self.named.is_empty()
    }
}
