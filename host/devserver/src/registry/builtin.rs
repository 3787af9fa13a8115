//! The built-in resources with the names of kube-apiserver 1.36.

use super::{CollectionId, NameRule, Resource, Scale};

/// A row of the table. Rare properties are in `traits`, so that each row fits on one line.
struct Row {
    group: &'static str,
    version: &'static str,
    plural: &'static str,
    kind: &'static str,
    short_names: &'static [&'static str],
    namespaced: bool,
    traits: &'static [Trait],
}

/// A property that most resources do not have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Trait {
    /// The resource is in the category `all`, which `kubectl get all` shows.
    All,
    /// The resource has a `status` subresource.
    Status,
    /// The server counts changes in `metadata.generation`.
    Generation,
    /// The resource has a `scale` subresource for `.spec.replicas` and `.status.replicas`.
    Scale,
    /// Field selectors may name these fields.
    Fields(&'static [&'static str]),
    /// The resource is in another category than `all`.
    Category(&'static str),
    /// The server answers objects and does not store them.
    Review,
    /// The resource shows the objects of another resource with renamed top-level fields `(stored, shown)`.
    StoredAs(&'static str, &'static [(&'static str, &'static str)]),
    /// The names follow another rule than [`NameRule::Subdomain`].
    Name(NameRule),
}

use Trait::{All, Category, Fields, Generation, Name, Review, Scale as Scaled, Status, StoredAs};

const NAMESPACED: bool = true;
const CLUSTER: bool = false;

const POD_FIELDS: Trait = Fields(&[
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.nominatedNodeName",
]);

const CORE_EVENT_FIELDS: Trait = Fields(&[
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "source",
    "type",
]);

const EVENT_FIELDS: Trait = Fields(&[
    "regarding.kind",
    "regarding.namespace",
    "regarding.name",
    "regarding.uid",
    "regarding.apiVersion",
    "regarding.resourceVersion",
    "regarding.fieldPath",
    "reason",
    "reportingController",
    "type",
]);

/// The fields of a core event and their names in `events.k8s.io`.
const EVENT_RENAMES: &[(&str, &str)] = &[
    ("count", "deprecatedCount"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("involvedObject", "regarding"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("message", "note"),
    ("reportingComponent", "reportingController"),
    ("source", "deprecatedSource"),
];

const fn row(
    (group, version): (&'static str, &'static str),
    (plural, kind): (&'static str, &'static str),
    short_names: &'static [&'static str],
    namespaced: bool,
    traits: &'static [Trait],
) -> Row {
    Row { group, version, plural, kind, short_names, namespaced, traits }
}

const CORE: (&str, &str) = ("", "v1");
const APPS: (&str, &str) = ("apps", "v1");
const BATCH: (&str, &str) = ("batch", "v1");
const NETWORKING: (&str, &str) = ("networking.k8s.io", "v1");
const RBAC: (&str, &str) = ("rbac.authorization.k8s.io", "v1");

const ROWS: &[Row] = &[
    row(CORE, ("configmaps", "ConfigMap"), &["cm"], NAMESPACED, &[]),
    row(CORE, ("endpoints", "Endpoints"), &["ep"], NAMESPACED, &[]),
    row(CORE, ("events", "Event"), &["ev"], NAMESPACED, &[CORE_EVENT_FIELDS]),
    row(CORE, ("limitranges", "LimitRange"), &["limits"], NAMESPACED, &[]),
    row(
        CORE,
        ("namespaces", "Namespace"),
        &["ns"],
        CLUSTER,
        &[Status, Name(NameRule::Label), Fields(&["status.phase"])],
    ),
    row(CORE, ("nodes", "Node"), &["no"], CLUSTER, &[Status, Fields(&["spec.unschedulable"])]),
    row(CORE, ("persistentvolumeclaims", "PersistentVolumeClaim"), &["pvc"], NAMESPACED, &[Status]),
    row(CORE, ("persistentvolumes", "PersistentVolume"), &["pv"], CLUSTER, &[Status]),
    row(CORE, ("pods", "Pod"), &["po"], NAMESPACED, &[All, Status, Generation, POD_FIELDS]),
    row(
        CORE,
        ("replicationcontrollers", "ReplicationController"),
        &["rc"],
        NAMESPACED,
        &[All, Status, Generation, Scaled, Fields(&["status.replicas"])],
    ),
    row(CORE, ("resourcequotas", "ResourceQuota"), &["quota"], NAMESPACED, &[Status]),
    row(CORE, ("secrets", "Secret"), &[], NAMESPACED, &[Fields(&["type"])]),
    row(CORE, ("serviceaccounts", "ServiceAccount"), &["sa"], NAMESPACED, &[]),
    row(
        CORE,
        ("services", "Service"),
        &["svc"],
        NAMESPACED,
        &[All, Status, Name(NameRule::DnsLabel), Fields(&["spec.clusterIP", "spec.type"])],
    ),
    row(APPS, ("controllerrevisions", "ControllerRevision"), &[], NAMESPACED, &[]),
    row(APPS, ("daemonsets", "DaemonSet"), &["ds"], NAMESPACED, &[All, Status, Generation]),
    row(APPS, ("deployments", "Deployment"), &["deploy"], NAMESPACED, &[All, Status, Generation, Scaled]),
    row(
        APPS,
        ("replicasets", "ReplicaSet"),
        &["rs"],
        NAMESPACED,
        &[All, Status, Generation, Scaled, Fields(&["status.replicas"])],
    ),
    row(APPS, ("statefulsets", "StatefulSet"), &["sts"], NAMESPACED, &[All, Status, Generation, Scaled]),
    row(BATCH, ("cronjobs", "CronJob"), &["cj"], NAMESPACED, &[All, Status, Generation]),
    row(BATCH, ("jobs", "Job"), &[], NAMESPACED, &[All, Status, Generation, Fields(&["status.successful"])]),
    row(NETWORKING, ("ingressclasses", "IngressClass"), &[], CLUSTER, &[Generation]),
    row(NETWORKING, ("ingresses", "Ingress"), &["ing"], NAMESPACED, &[Status, Generation]),
    row(NETWORKING, ("networkpolicies", "NetworkPolicy"), &["netpol"], NAMESPACED, &[Generation]),
    row(
        ("policy", "v1"),
        ("poddisruptionbudgets", "PodDisruptionBudget"),
        &["pdb"],
        NAMESPACED,
        &[Status, Generation],
    ),
    row(RBAC, ("clusterrolebindings", "ClusterRoleBinding"), &[], CLUSTER, &[Name(NameRule::PathSegment)]),
    row(RBAC, ("clusterroles", "ClusterRole"), &[], CLUSTER, &[Name(NameRule::PathSegment)]),
    row(RBAC, ("rolebindings", "RoleBinding"), &[], NAMESPACED, &[Name(NameRule::PathSegment)]),
    row(RBAC, ("roles", "Role"), &[], NAMESPACED, &[Name(NameRule::PathSegment)]),
    row(("coordination.k8s.io", "v1"), ("leases", "Lease"), &[], NAMESPACED, &[]),
    row(("discovery.k8s.io", "v1"), ("endpointslices", "EndpointSlice"), &[], NAMESPACED, &[Generation]),
    row(
        ("events.k8s.io", "v1"),
        ("events", "Event"),
        &["ev"],
        NAMESPACED,
        &[EVENT_FIELDS, StoredAs("events", EVENT_RENAMES)],
    ),
    row(
        ("authentication.k8s.io", "v1"),
        ("selfsubjectreviews", "SelfSubjectReview"),
        &[],
        CLUSTER,
        &[Review],
    ),
    row(
        ("authorization.k8s.io", "v1"),
        ("selfsubjectaccessreviews", "SelfSubjectAccessReview"),
        &[],
        CLUSTER,
        &[Review],
    ),
    row(
        ("autoscaling", "v2"),
        ("horizontalpodautoscalers", "HorizontalPodAutoscaler"),
        &["hpa"],
        NAMESPACED,
        &[All, Status],
    ),
    row(("storage.k8s.io", "v1"), ("storageclasses", "StorageClass"), &["sc"], CLUSTER, &[]),
    row(
        ("apiextensions.k8s.io", "v1"),
        ("customresourcedefinitions", "CustomResourceDefinition"),
        &["crd", "crds"],
        CLUSTER,
        &[Status, Generation, Category("api-extensions")],
    ),
];

/// All built-in resources.
pub(super) fn resources() -> impl Iterator<Item = Resource> {
    ROWS.iter().map(Row::resource)
}

// === impl Row ===

impl Row {
    fn resource(&self) -> Resource {
        let mut resource = Resource {
            group: self.group.to_owned(),
            version: self.version.to_owned(),
            plural: self.plural.to_owned(),
            singular: self.kind.to_ascii_lowercase(),
            kind: self.kind.to_owned(),
            list_kind: format!("{}List", self.kind),
            short_names: self.short_names.iter().map(|name| (*name).to_owned()).collect(),
            namespaced: self.namespaced,
            ..Resource::default()
        };
        for one in self.traits {
            one.mark(&mut resource);
        }
        resource
    }
}

impl Trait {
    fn mark(self, resource: &mut Resource) {
        match self {
            All => resource.categories.push("all".to_owned()),
            Category(name) => resource.categories.push(name.to_owned()),
            Status => resource.status = true,
            Generation => resource.generation = true,
            Scaled => resource.scale = Some(Scale::replicas()),
            Fields(paths) => resource.selectable = paths.iter().map(|path| (*path).to_owned()).collect(),
            StoredAs(id, renames) => {
                resource.stored_as = Some(CollectionId::from(id));
                resource.renames = renames;
            }
            Review => resource.is_review = true,
            Name(rule) => resource.name_rule = rule,
        }
    }
}

impl Scale {
    /// The paths of all scalable built-in resources.
    fn replicas() -> Self {
        let path = |text: &str| text.split('.').map(str::to_owned).collect();
        Self {
            spec_replicas: path("spec.replicas"),
            status_replicas: path("status.replicas"),
            selector: None,
        }
    }
}
