//! The load of the ready-made plugins: many objects on the real kube-apiserver with its controllers, and the host as a process of its
//! own. With `--beside` the same steps are made with other programs, such as the controllers that the plugins replace.

mod objects;
mod receiver;
mod steps;
mod subject;

use std::path::PathBuf;

use informer_tests::cluster::{Options, RealCluster, User};
use parking_lot::Mutex;

use self::{objects::Objects, subject::Subject};

/// What is loaded, and how much.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The binary of the host, a release build.
    #[arg(long)]
    program: PathBuf,
    /// A program to measure after the host, as a command of `sh`. It finds the API server by $KUBECONFIG. All of them run at the same
    /// time and are measured together.
    #[arg(long)]
    beside: Vec<String>,
    #[arg(long, default_value_t = 200)]
    namespaces: usize,
    #[arg(long, default_value_t = 5000)]
    secrets: usize,
    #[arg(long, default_value_t = 3000)]
    configmaps: usize,
    #[arg(long, default_value_t = 500)]
    workloads: usize,
    /// Changes of ConfigMaps and Secrets of which one in twenty rolls a workload.
    #[arg(long, default_value_t = 10_000)]
    changes: usize,
    /// Changes whose time to the roll is measured, one after the other.
    #[arg(long, default_value_t = 100)]
    rolls: usize,
    /// The reloader records no Event for a roll: `roll-events = false`.
    #[arg(long)]
    without_roll_events: bool,
}

// === impl Arguments ===

impl Arguments {
    /// A small load: each step of the measurement runs, in about a minute.
    pub(crate) fn few(program: PathBuf) -> Self {
        Self {
            program,
            beside: Vec::new(),
            namespaces: 10,
            secrets: 800,
            configmaps: 800,
            workloads: 20,
            changes: 1000,
            rolls: 5,
            without_roll_events: false,
        }
    }
}

/// Prints the table.
///
/// # Errors
/// A program or a request fails.
pub(crate) async fn report(arguments: &Arguments) -> anyhow::Result<()> {
    let options = Options { controllers: true, ..Options::default() };
    let cluster = RealCluster::start(options).await?;
    let Arguments { namespaces, secrets, configmaps, workloads, .. } = *arguments;
    let client = cluster.client(User::Admin).await?;
    let changed = Mutex::default();
    let objects = Objects { client, namespaces, workloads, configmaps, secrets, changed };
    eprintln!(
        "creating {namespaces} namespaces, {secrets} Secrets, {configmaps} ConfigMaps, {workloads} Deployments"
    );
    objects.create().await?;
    println!("{}", steps::HEADER);
    let host = Subject::host(arguments, objects.client.clone()).await?;
    println!("{}", steps::measure("informer", host, &objects, arguments).await?);
    if !arguments.beside.is_empty() {
        let others = Subject::beside(&arguments.beside, objects.client.clone()).await?;
        println!("{}", steps::measure("the others", others, &objects, arguments).await?);
    }
    cluster.shutdown().await
}
