//! The built-in resources with the names of kube-apiserver 1.36.

use super::{CollectionId, NameRule, Resource, Scale};

/// A line for each resource: `apiVersion`, plural, kind, short names and scope, then its rare properties. The indented
/// lines below it are the fields that field selectors may name.
const TABLE: &str = "\
v1 configmaps ConfigMap cm namespaced
v1 endpoints Endpoints ep namespaced
v1 events Event ev namespaced path-segment-names
  involvedObject.kind involvedObject.namespace involvedObject.name involvedObject.uid
  involvedObject.apiVersion involvedObject.resourceVersion involvedObject.fieldPath reason
  reportingComponent source type
v1 limitranges LimitRange limits namespaced
v1 namespaces Namespace ns cluster status label-names
  status.phase
v1 nodes Node no cluster status
  spec.unschedulable
v1 persistentvolumeclaims PersistentVolumeClaim pvc namespaced status
v1 persistentvolumes PersistentVolume pv cluster status
v1 pods Pod po namespaced all status generation
  spec.nodeName spec.restartPolicy spec.schedulerName spec.serviceAccountName spec.hostNetwork
  status.phase status.podIP status.nominatedNodeName
v1 replicationcontrollers ReplicationController rc namespaced all status generation scale
  status.replicas
v1 resourcequotas ResourceQuota quota namespaced status
v1 secrets Secret - namespaced
  type
v1 serviceaccounts ServiceAccount sa namespaced
v1 services Service svc namespaced all status dns-label-names
  spec.clusterIP spec.type
apps/v1 controllerrevisions ControllerRevision - namespaced
apps/v1 daemonsets DaemonSet ds namespaced all status generation
apps/v1 deployments Deployment deploy namespaced all status generation scale
apps/v1 replicasets ReplicaSet rs namespaced all status generation scale
  status.replicas
apps/v1 statefulsets StatefulSet sts namespaced all status generation scale
batch/v1 cronjobs CronJob cj namespaced all status generation
batch/v1 jobs Job - namespaced all status generation
  status.successful
networking.k8s.io/v1 ingressclasses IngressClass - cluster generation
networking.k8s.io/v1 ingresses Ingress ing namespaced status generation
networking.k8s.io/v1 networkpolicies NetworkPolicy netpol namespaced generation
policy/v1 poddisruptionbudgets PodDisruptionBudget pdb namespaced status generation
rbac.authorization.k8s.io/v1 clusterrolebindings ClusterRoleBinding - cluster path-segment-names
rbac.authorization.k8s.io/v1 clusterroles ClusterRole - cluster path-segment-names
rbac.authorization.k8s.io/v1 rolebindings RoleBinding - namespaced path-segment-names
rbac.authorization.k8s.io/v1 roles Role - namespaced path-segment-names
coordination.k8s.io/v1 leases Lease - namespaced
discovery.k8s.io/v1 endpointslices EndpointSlice - namespaced generation
events.k8s.io/v1 events Event ev namespaced renamed-events
  regarding.kind regarding.namespace regarding.name regarding.uid regarding.apiVersion
  regarding.resourceVersion regarding.fieldPath reason reportingController type
authentication.k8s.io/v1 selfsubjectreviews SelfSubjectReview - cluster review
authorization.k8s.io/v1 selfsubjectaccessreviews SelfSubjectAccessReview - cluster review
autoscaling/v2 horizontalpodautoscalers HorizontalPodAutoscaler hpa namespaced all status
storage.k8s.io/v1 storageclasses StorageClass sc cluster
apiextensions.k8s.io/v1 customresourcedefinitions CustomResourceDefinition crd,crds cluster api-extensions status generation
";

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

/// All built-in resources.
pub(super) fn resources() -> Vec<Resource> {
    let mut resources: Vec<Resource> = Vec::new();
    for line in TABLE.lines() {
        match (line.strip_prefix(' '), resources.last_mut()) {
            (Some(fields), Some(resource)) => {
                resource.selectable.extend(fields.split_whitespace().map(str::to_owned));
            }
            _ => resources.extend(resource(line)),
        }
    }
    resources
}

fn resource(line: &str) -> Option<Resource> {
    let mut words = line.split(' ');
    let (api_version, plural, kind) = (words.next()?, words.next()?, words.next()?);
    let short_names = words.next()?.split(',').filter(|name| *name != "-");
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let mut resource = Resource {
        group: group.to_owned(),
        version: version.to_owned(),
        plural: plural.to_owned(),
        singular: kind.to_ascii_lowercase(),
        kind: kind.to_owned(),
        list_kind: format!("{kind}List"),
        short_names: short_names.map(str::to_owned).collect(),
        ..Resource::default()
    };
    for word in words {
        match word {
            "namespaced" => resource.namespaced = true,
            "cluster" => {}
            "status" => resource.status = true,
            "generation" => resource.generation = true,
            "scale" => resource.scale = Some(Scale::replicas()),
            "review" => resource.is_review = true,
            "label-names" => resource.name_rule = NameRule::Label,
            "dns-label-names" => resource.name_rule = NameRule::DnsLabel,
            "path-segment-names" => resource.name_rule = NameRule::PathSegment,
            "renamed-events" => {
                resource.stored_as = Some(CollectionId { group: String::new(), plural: "events".to_owned() });
                resource.renames = EVENT_RENAMES;
            }
            category => resource.categories.push(category.to_owned()),
        }
    }
    Some(resource)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_valid() {
        let resources = resources();
        assert_eq!(resources.len(), TABLE.lines().filter(|line| !line.starts_with(' ')).count());
        for category in resources.iter().flat_map(|resource| &resource.categories) {
            assert!(
                ["all", "api-extensions"].contains(&category.as_str()),
                "{category} is an unknown property"
            );
        }
    }
}
