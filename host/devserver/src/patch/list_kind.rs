//! Merge rules: which lists of built-in resources are merged, and by which keys.

/// How two versions of a list are merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListKind {
    /// The new list replaces the old one.
    Atomic,
    /// The list is a set of values.
    Set,
    /// The items are objects that these keys identify. Strategic merge uses only the first key, server-side apply all
    /// keys.
    Map(&'static [Key]),
}

/// A field that identifies an item of a list, and its default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) field: &'static str,
    pub(crate) default: Option<&'static str>,
}

const fn key(field: &'static str) -> Key {
    Key { field, default: None }
}

const NAME: ListKind = ListKind::Map(&[key("name")]);
const TYPE: ListKind = ListKind::Map(&[key("type")]);
const IP: ListKind = ListKind::Map(&[key("ip")]);
const PROTOCOL: Key = Key { field: "protocol", default: Some("TCP") };

/// The kind of the list at a path of field names. Indexes of lists are not part of the path.
pub(crate) fn of(path: &[&str]) -> ListKind {
    let Some((field, parents)) = path.split_last() else { return ListKind::Atomic };
    match *field {
        "containers"
        | "initContainers"
        | "ephemeralContainers"
        | "volumes"
        | "env"
        | "imagePullSecrets"
        | "resourceClaims"
        | "schedulingGates" => NAME,
        "secrets" if parents.is_empty() => NAME,
        "ports" => ports(parents),
        "volumeMounts" => const { ListKind::Map(&[key("mountPath")]) },
        "volumeDevices" => const { ListKind::Map(&[key("devicePath")]) },
        "conditions" if parents == ["status"] => TYPE,
        "addresses" if parents == ["status"] => TYPE,
        "ownerReferences" if parents == ["metadata"] => const { ListKind::Map(&[key("uid")]) },
        "finalizers" if parents == ["metadata"] => ListKind::Set,
        "hostAliases" | "podIPs" | "hostIPs" => IP,
        "topologySpreadConstraints" => {
            const { ListKind::Map(&[key("topologyKey"), key("whenUnsatisfiable")]) }
        }
        "podCIDRs" => ListKind::Set,
        _ => ListKind::Atomic,
    }
}

fn ports(parents: &[&str]) -> ListKind {
    match parents {
        [.., "containers" | "initContainers" | "ephemeralContainers"] => {
            const { ListKind::Map(&[key("containerPort"), PROTOCOL]) }
        }
        ["spec"] => const { ListKind::Map(&[key("port"), PROTOCOL]) },
        _ => ListKind::Atomic,
    }
}

/// The source of the merge rules of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// The tables of this module.
    BuiltIn,
    /// The tables for the metadata only. All other lists are atomic.
    Custom,
}

// === impl Layout ===

impl Layout {
    /// The kind of the list at a path of field names.
    pub(crate) fn list_kind(self, path: &[&str]) -> ListKind {
        match (self, path) {
            (Self::BuiltIn, _) | (Self::Custom, ["metadata", ..]) => of(path),
            (Self::Custom, _) => ListKind::Atomic,
        }
    }

    /// Returns true if the object at a path is replaced as a whole, as selectors and references are.
    pub(crate) fn is_atomic_map(self, path: &[&str]) -> bool {
        let Some(field) = path.last().filter(|_| self == Self::BuiltIn) else { return false };
        let selectors = ["selector", "labelSelector", "namespaceSelector", "podSelector", "nodeSelector"];
        let references = [
            "configMapKeyRef",
            "configMapRef",
            "fieldRef",
            "resourceFieldRef",
            "secretKeyRef",
            "secretRef",
            "involvedObject",
            "claimRef",
            "scaleTargetRef",
        ];
        selectors.contains(field) || references.contains(field)
    }
}
