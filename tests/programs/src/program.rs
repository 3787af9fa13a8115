//! The programs, and the `go` arguments that build them.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};

/// The release of Kubernetes that `tests/cluster/kubernetes/go.mod` requires.
const KUBERNETES: &str = "v1.36.3";
/// The release of etcd that `tests/cluster/etcd/go.mod` requires.
const ETCD: &str = "v3.6.16";
/// The release of client-go that `tests/cluster/oracle/go.mod` and `tests/bench/client-go/go.mod` require. It belongs to [`KUBERNETES`].
const CLIENT_GO: &str = "v0.36.3";
/// The release of Helm that `tests/cluster/helm/go.mod` requires.
const HELM: &str = "v4.3.1";

/// The release of Prometheus that `tests/deploy/promtool/go.mod` requires: version 3 in the way of Go modules.
const PROMETHEUS: &str = "v0.316.0";

/// The release of distribution that `tests/registries/servers/go.mod` requires.
const DISTRIBUTION: &str = "v3.1.2";
/// The release of go-containerregistry that `tests/registries/servers/go.mod` requires.
const GO_CONTAINERREGISTRY: &str = "v0.22.1";
/// The release of the OTLP receiver that `tests/e2e/collector/go.mod` requires.
const OTLP_RECEIVER: &str = "v0.165.0";
/// The release of cosign that `tests/registries/cosign/go.mod` requires.
const COSIGN: &str = "v3.1.3";

/// The version in `/version` and `kubectl version`. Without these flags a module build reports v0.0.0-master.
const KUBERNETES_LINKING: &str = "-s -w \
    -X k8s.io/component-base/version.gitVersion=v1.36.3 \
    -X k8s.io/component-base/version.gitMajor=1 \
    -X k8s.io/component-base/version.gitMinor=36 \
    -X k8s.io/component-base/version.gitTreeState=clean";

/// The version in `helm version`.
const HELM_LINKING: &str = "-s -w -X helm.sh/helm/v4/internal/version.version=v4.3.1";

/// Arguments for each program. The linker leaves out debug information (`-s -w`), so the compiler makes none.
const ALWAYS: [&str; 4] = ["-mod=readonly", "-trimpath", "-buildvcs=false", "-gcflags=all=-dwarf=false"];

/// Leaves out the clients of the clouds, which take most of the time of a build.
const PROMTOOL_TAGS: [&str; 2] = ["-tags", "remove_all_sd"];

/// A program of the Go modules in `tests/bench`, `tests/cluster`, `tests/deploy`, `tests/e2e` and `tests/registries`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// The subject of the benchmark with client-go's shared informers (`tests/bench/client-go`).
    ClientGo,
    /// The OTLP receiver of the OpenTelemetry Collector.
    Collector,
    /// Signs and verifies artifacts.
    Cosign,
    /// The database of the API server.
    Etcd,
    /// Installs the chart.
    Helm,
    /// The API server of Kubernetes.
    KubeApiserver,
    /// The controllers of Kubernetes.
    KubeControllerManager,
    /// Assigns pods to nodes.
    KubeScheduler,
    /// The command line of Kubernetes.
    Kubectl,
    /// Runs the pods of a node.
    Kubelet,
    /// The program that runs client-go's shared informers and prints what they do (`tests/cluster/oracle`).
    Oracle,
    /// The registry of go-containerregistry, with lists of referrers.
    RegistryWithLists,
    /// The registry of distribution, without lists of referrers.
    PlainRegistry,
    /// Checks rules and metrics for Prometheus.
    Promtool,
}

// === impl Program ===

impl Program {
    /// The name that messages show.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ClientGo => "client-go",
            Self::Collector => "collector",
            Self::Cosign => "cosign",
            Self::Etcd => "etcd",
            Self::Helm => "helm",
            Self::KubeApiserver => "kube-apiserver",
            Self::KubeControllerManager => "kube-controller-manager",
            Self::KubeScheduler => "kube-scheduler",
            Self::Kubectl => "kubectl",
            Self::Kubelet => "kubelet",
            Self::Oracle => "oracle",
            Self::RegistryWithLists => "go-containerregistry",
            Self::PlainRegistry => "distribution",
            Self::Promtool => "promtool",
        }
    }

    pub(crate) fn version(self) -> &'static str {
        match self {
            Self::Etcd => ETCD,
            Self::Helm => HELM,
            Self::ClientGo | Self::Oracle => CLIENT_GO,
            Self::Collector => OTLP_RECEIVER,
            Self::Cosign => COSIGN,
            Self::RegistryWithLists => GO_CONTAINERREGISTRY,
            Self::PlainRegistry => DISTRIBUTION,
            Self::Promtool => PROMETHEUS,
            _ => KUBERNETES,
        }
    }

    /// The directory of the program's `go.mod`.
    pub(crate) fn module(self) -> PathBuf {
        let module = match self {
            Self::ClientGo => "bench/client-go",
            Self::Etcd => "cluster/etcd",
            Self::Helm => "cluster/helm",
            Self::Oracle => "cluster/oracle",
            Self::Collector => "e2e/collector",
            Self::Cosign => "registries/cosign",
            Self::Promtool => "deploy/promtool",
            Self::RegistryWithLists | Self::PlainRegistry => "registries/servers",
            _ => "cluster/kubernetes",
        };
        Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(module)
    }

    /// The arguments of `go`, without the output.
    pub(crate) fn build_arguments(self) -> Vec<&'static str> {
        let (linking, package) = match self {
            Self::ClientGo | Self::Collector | Self::Etcd | Self::Oracle => ("-s -w", "."),
            Self::Helm => (HELM_LINKING, "helm.sh/helm/v4/cmd/helm"),
            Self::KubeApiserver => (KUBERNETES_LINKING, "./kube-apiserver"),
            Self::KubeControllerManager => (KUBERNETES_LINKING, "./kube-controller-manager"),
            Self::KubeScheduler => (KUBERNETES_LINKING, "./kube-scheduler"),
            Self::Kubelet => (KUBERNETES_LINKING, "./kubelet"),
            Self::Cosign => ("-s -w", "./cosign"),
            Self::RegistryWithLists => ("-s -w", "./lists"),
            Self::PlainRegistry => ("-s -w", "./plain"),
            Self::Kubectl => (KUBERNETES_LINKING, "k8s.io/kubernetes/cmd/kubectl"),
            Self::Promtool => ("-s -w", "github.com/prometheus/prometheus/cmd/promtool"),
        };
        let tags: &[_] = if self == Self::Promtool { &PROMTOOL_TAGS } else { &[] };
        [&ALWAYS, tags, &["-ldflags", linking, package]].concat()
    }

    /// The file name of the built program. It changes with every input of the build.
    ///
    /// # Errors
    /// Fails if a file of the module cannot be read.
    pub(crate) fn file_name(self) -> io::Result<String> {
        let mut sources = Vec::new();
        collect_sources(&self.module(), &mut sources)?;
        sources.sort();
        let mut hash = Sha256::new();
        hash.update(self.build_arguments().join("\0"));
        for source in sources {
            let text = fs::read(source)?;
            // The length distinguishes two files from their concatenation.
            hash.update(text.len().to_le_bytes());
            hash.update(text);
        }
        let digest: String = hash.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect();
        Ok(format!("{}-{}-{digest}", self.name(), self.version()))
    }
}

fn collect_sources(directory: &Path, into: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            collect_sources(&path, into)?;
        } else if path.extension().is_some_and(|it| it == "go" || it == "mod" || it == "sum") {
            into.push(path);
        }
    }
    Ok(())
}
