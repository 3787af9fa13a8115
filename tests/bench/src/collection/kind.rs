//! The kinds of objects that the benchmark can serve.

use std::fmt;

use clap::ValueEnum;
use informer_types::Gvr;
use kube::api::ApiResource;
use serde::{Deserialize, Serialize};

/// A kind of served objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Pods of 9 KiB, of which 3 KiB are `managedFields`.
    #[default]
    Pods,
    /// The same pods without `managedFields`: 5.5 KiB.
    SmallPods,
    /// ConfigMaps of 1 KiB.
    ConfigMaps,
    /// Custom objects of 50 KiB.
    Workflows,
}

// === impl Kind ===

impl Kind {
    /// The resource.
    #[must_use]
    pub fn gvr(self) -> Gvr {
        match self {
            Self::Pods | Self::SmallPods => Gvr::new("", "v1", "pods"),
            Self::ConfigMaps => Gvr::new("", "v1", "configmaps"),
            Self::Workflows => Gvr::new("bench.example.com", "v1", "workflows"),
        }
    }

    /// The value of the field `kind`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pods | Self::SmallPods => "Pod",
            Self::ConfigMaps => "ConfigMap",
            Self::Workflows => "Workflow",
        }
    }

    /// The resource as kube-rs describes it.
    #[must_use]
    pub fn api_resource(self) -> ApiResource {
        let gvr = self.gvr();
        ApiResource {
            api_version: gvr.api_version(),
            kind: self.name().to_owned(),
            plural: gvr.resource.clone(),
            group: gvr.group,
            version: gvr.version,
        }
    }

    /// The path of the collection over all namespaces.
    #[must_use]
    pub fn path(self) -> String {
        let gvr = self.gvr();
        format!("{}/{}", gvr.api_root(), gvr.resource)
    }

    /// The pointers of the two string fields that each handler reads. The first one is in the object's last field, which each event changes.
    #[must_use]
    pub fn two_fields(self) -> [&'static str; 2] {
        match self {
            Self::Pods | Self::SmallPods => ["/status/phase", "/spec/nodeName"],
            Self::ConfigMaps => ["/data/mode", "/data/release"],
            Self::Workflows => ["/status/phase", "/spec/entrypoint"],
        }
    }

    /// Returns true if Kubernetes' libraries have a type for these objects.
    #[must_use]
    pub fn is_built_in(self) -> bool {
        self != Self::Workflows
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.to_possible_value().as_ref().map_or("", |value| value.get_name()))
    }
}
