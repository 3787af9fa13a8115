//! The kinds of workloads that are rolled, and of sources that they read.

use std::{fmt, str::FromStr};

use informer_sdk::ObjectKey;
use serde::{Deserialize, Serialize};

/// A kind of workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum WorkloadKind {
    Deployment,
    StatefulSet,
    DaemonSet,
    CronJob,
    Job,
    Rollout,
}

/// A kind of object with configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SourceKind {
    ConfigMap,
    Secret,
}

/// A ConfigMap or a Secret in the namespace of a workload. It is written `ConfigMap/app`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub(crate) struct SourceId {
    pub(crate) kind: SourceKind,
    pub(crate) name: String,
}

/// A workload. It is written `apps/v1/deployments shop/web`, which is its key in the workqueue.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Workload {
    pub(crate) kind: WorkloadKind,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

/// The text names no workload or no source.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is neither `apps/v1/deployments shop/web` nor `ConfigMap/app`")]
pub(crate) struct Unnamed(String);

// === impl WorkloadKind ===

impl WorkloadKind {
    pub(crate) const ALL: [Self; 6] =
        [Self::Deployment, Self::StatefulSet, Self::DaemonSet, Self::CronJob, Self::Job, Self::Rollout];

    pub(crate) fn gvr(self) -> &'static str {
        match self {
            Self::Deployment => "apps/v1/deployments",
            Self::StatefulSet => "apps/v1/statefulsets",
            Self::DaemonSet => "apps/v1/daemonsets",
            Self::CronJob => "batch/v1/cronjobs",
            Self::Job => "batch/v1/jobs",
            Self::Rollout => "argoproj.io/v1alpha1/rollouts",
        }
    }

    /// `deployments`.
    pub(crate) fn plural(self) -> &'static str {
        self.gvr().rsplit('/').next().unwrap_or_default()
    }

    pub(crate) fn of_gvr(gvr: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.gvr() == gvr)
    }

    /// The JSON pointer of the pod template.
    pub(crate) fn template(self) -> &'static str {
        match self {
            Self::CronJob => "/spec/jobTemplate/spec/template",
            _ => "/spec/template",
        }
    }

    /// The JSON pointer of the annotations of the pod template.
    pub(crate) fn template_annotations(self) -> &'static str {
        match self {
            Self::CronJob => "/spec/jobTemplate/spec/template/metadata/annotations",
            _ => "/spec/template/metadata/annotations",
        }
    }
}

impl fmt::Display for WorkloadKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

// === impl SourceKind ===

impl SourceKind {
    pub(crate) const ALL: [Self; 2] = [Self::ConfigMap, Self::Secret];

    pub(crate) fn gvr(self) -> &'static str {
        match self {
            Self::ConfigMap => "v1/configmaps",
            Self::Secret => "v1/secrets",
        }
    }

    pub(crate) fn of_gvr(gvr: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.gvr() == gvr)
    }

    /// The index of each watch of workloads by the names of the sources that a workload refers to.
    pub(crate) fn index(self) -> &'static str {
        match self {
            Self::ConfigMap => "configmaps",
            Self::Secret => "secrets",
        }
    }

    /// The word for this kind in the markers of the original.
    pub(crate) fn marker(self) -> &'static str {
        match self {
            Self::ConfigMap => "CONFIGMAP",
            Self::Secret => "SECRET",
        }
    }
}

impl fmt::Display for SourceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

// === impl SourceId ===

impl SourceId {
    pub(crate) fn new(kind: SourceKind, name: impl Into<String>) -> Self {
        Self { kind, name: name.into() }
    }
}

impl fmt::Display for SourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.kind, self.name)
    }
}

impl From<SourceId> for String {
    fn from(id: SourceId) -> Self {
        id.to_string()
    }
}

impl TryFrom<String> for SourceId {
    type Error = Unnamed;

    fn try_from(text: String) -> Result<Self, Unnamed> {
        let parts = text.split_once('/').and_then(|(kind, name)| {
            let kind = SourceKind::ALL.into_iter().find(|known| known.to_string() == kind)?;
            Some(Self::new(kind, name))
        });
        parts.ok_or(Unnamed(text))
    }
}

// === impl Workload ===

impl Workload {
    pub(crate) fn new(kind: WorkloadKind, key: &ObjectKey) -> Self {
        Self { kind, namespace: key.namespace.clone(), name: key.name.clone() }
    }

    pub(crate) fn gvr(&self) -> &'static str {
        self.kind.gvr()
    }

    pub(crate) fn key(&self) -> ObjectKey {
        ObjectKey::new(&self.namespace, &self.name)
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}/{}", self.gvr(), self.namespace, self.name)
    }
}

impl FromStr for Workload {
    type Err = Unnamed;

    fn from_str(text: &str) -> Result<Self, Unnamed> {
        let parts = text
            .split_once(' ')
            .and_then(|(gvr, key)| Some(Self::new(WorkloadKind::of_gvr(gvr)?, &key.parse().ok()?)));
        parts.ok_or_else(|| Unnamed(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_written_forms_parse_and_other_texts_are_refused() {
        let web = Workload::new(WorkloadKind::Deployment, &ObjectKey::new("shop", "web"));
        assert_eq!(web.to_string(), "apps/v1/deployments shop/web");
        assert_eq!(web.to_string().parse::<Workload>().unwrap(), web);
        let app = SourceId::new(SourceKind::Secret, "app");
        assert_eq!(app.to_string(), "Secret/app");
        assert_eq!(SourceId::try_from(app.to_string()).unwrap(), app);
        for text in ["", "shop/web", "v1/pods shop/web", "apps/v1/deployments a/b/c"] {
            assert!(text.parse::<Workload>().is_err(), "{text}");
        }
        assert!(SourceId::try_from("Pod/app".to_owned()).is_err());
    }
}
