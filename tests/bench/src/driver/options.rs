//! The options of a benchmark run.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};

use crate::{collection::Kind, subject::ManagedFields};

/// Where `cargo xtask guests` puts the components, relative to the directory of the programs.
const GUESTS: &str = "../wasm32-wasip2/plugin/examples";

/// The component whose handler receives one notification in a call.
const COMPONENT: &str = "two_fields.wasm";

/// The options of a benchmark run.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Kind of the served objects.
    #[arg(long, value_enum, default_value_t)]
    pub kind: Kind,
    /// Sizes of the collection; the report has one table for each.
    #[arg(long, value_delimiter = ',', default_values_t = [10_000, 50_000])]
    pub objects: Vec<usize>,
    /// Number of events after the list.
    #[arg(long, default_value_t = 100_000)]
    pub events: u64,
    /// Number of events at 1,000 a second after the others; the report has their latency.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub paced: u64,
    /// Number of runs of each subject; the table shows medians.
    #[arg(long, default_value_t = 3)]
    pub rounds: usize,
    /// Subjects to run; the ratios compare the first one with the others.
    #[arg(long, value_enum, value_delimiter = ',',
        default_values_t = [SubjectName::Informer, SubjectName::InformerBatch, SubjectName::KubeDynamic, SubjectName::KubeTyped,
            SubjectName::ClientGoTyped, SubjectName::ClientGoTypedTuned, SubjectName::ClientGoUnstructured])]
    pub subjects: Vec<SubjectName>,
    /// What all subjects do with `metadata.managedFields`: drop or keep.
    #[arg(long, value_enum, default_value_t = ManagedFields::Drop)]
    pub managed_fields: ManagedFields,
    /// Largest number of events in flight; never more than there are objects.
    #[arg(long, default_value_t = 5_000)]
    pub batch: u64,
    /// Number of objects on each page of a list.
    #[arg(long, default_value_t = 500)]
    pub page_size: usize,
    /// Seed; the same seed generates the same objects.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Delete and create a fifth of the objects instead of updating them.
    #[arg(long)]
    pub churn: bool,
    /// Longest wait for the memory of a subject to settle.
    #[arg(long, default_value_t = 20)]
    pub settle_seconds: u64,
    /// Deadline for the list of a subject, and for each batch of events.
    #[arg(long, default_value_t = 300)]
    pub limit_seconds: u64,
    /// Directory with the programs of the subjects; defaults to the directory of this program.
    #[arg(long)]
    pub programs: Option<PathBuf>,
    /// Directory of the components; defaults to the output of `cargo xtask guests`.
    #[arg(long)]
    pub guests: Option<PathBuf>,
}

/// The subjects of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum SubjectName {
    /// Our informer with a sandboxed component as the handler.
    Informer,
    /// The same with a component that receives up to 100 notifications in one call.
    InformerBatch,
    /// Our informer with a handler in the host. The difference to `informer` is the cost of the sandbox.
    InformerNative,
    /// kube-rs with `DynamicObject`.
    KubeDynamic,
    /// kube-rs with the type of `k8s_openapi`.
    KubeTyped,
    /// client-go with the type of `k8s.io/api`.
    ClientGoTyped,
    /// The same with `GOGC=400`: a fifth of the collections for more memory.
    ClientGoTypedTuned,
    /// client-go with `unstructured.Unstructured`.
    ClientGoUnstructured,
    /// The same with `GOGC=400`.
    ClientGoUnstructuredTuned,
}

// === impl Options ===

impl Options {
    /// The directory of the programs of the subjects.
    ///
    /// # Errors
    /// The running program has no path.
    pub fn programs(&self) -> Result<PathBuf> {
        let own = std::env::current_exe().context("cannot find the running program")?;
        let beside = own.parent().map_or_else(PathBuf::new, Path::to_owned);
        Ok(self.programs.clone().unwrap_or(beside))
    }

    /// The directory of the components.
    ///
    /// # Errors
    /// Fails as [`programs`](Self::programs) does.
    pub fn guests(&self) -> Result<PathBuf> {
        self.guests.clone().map_or_else(|| Ok(self.programs()?.join(GUESTS)), Ok)
    }

    /// The component whose handler receives one notification in a call.
    ///
    /// # Errors
    /// Fails as [`programs`](Self::programs) does.
    pub fn component(&self) -> Result<PathBuf> {
        Ok(self.guests()?.join(COMPONENT))
    }
}

// === impl SubjectName ===

impl SubjectName {
    /// The file of the component that is the handler. `None` if the handler is a function of the program.
    pub(super) fn component(self) -> Option<&'static str> {
        match self {
            Self::Informer => Some(COMPONENT),
            Self::InformerBatch => Some("two_fields_batch.wasm"),
            Self::InformerNative
            | Self::KubeDynamic
            | Self::KubeTyped
            | Self::ClientGoTyped
            | Self::ClientGoTypedTuned
            | Self::ClientGoUnstructured
            | Self::ClientGoUnstructuredTuned => None,
        }
    }

    /// Returns true for the subjects that use the informers of this project.
    pub(super) fn is_ours(self) -> bool {
        self.component().is_some() || self == Self::InformerNative
    }

    /// Returns true for the subjects that are written in Go.
    pub(super) fn is_client_go(self) -> bool {
        matches!(
            self,
            Self::ClientGoTyped
                | Self::ClientGoTypedTuned
                | Self::ClientGoUnstructured
                | Self::ClientGoUnstructuredTuned
        )
    }

    /// Returns true for the subjects that decode objects into a type of Kubernetes' libraries.
    pub(super) fn is_typed(self) -> bool {
        matches!(self, Self::KubeTyped | Self::ClientGoTyped | Self::ClientGoTypedTuned)
    }

    /// Returns true for the subjects to which the goals apply.
    pub(super) fn is_kube_rs(self) -> bool {
        matches!(self, Self::KubeDynamic | Self::KubeTyped)
    }
}

impl fmt::Display for SubjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Informer => "informer",
            Self::InformerBatch => "informer-batch",
            Self::InformerNative => "informer-native",
            Self::KubeDynamic => "kube-dynamic",
            Self::KubeTyped => "kube-typed",
            Self::ClientGoTyped => "client-go-typed",
            Self::ClientGoTypedTuned => "client-go-typed-tuned",
            Self::ClientGoUnstructured => "client-go-unstructured",
            Self::ClientGoUnstructuredTuned => "client-go-unstructured-tuned",
        })
    }
}
