//! The processes of a run.

use std::{ffi::OsString, path::PathBuf, process::Stdio};

use anyhow::{Context, Result, bail, ensure};
use clap::ValueEnum;
use tempfile::TempDir;
use tokio::process::Command;

use super::options::{Options, SubjectName};
use crate::{
    collection::Recipe,
    processes::{Server, program, start},
    server::Greeting,
    subject::{Events, Paced, Sample, Synced},
};

/// The programs of the benchmark and the compiled components.
pub(super) struct Programs {
    directory: PathBuf,
    guests: PathBuf,
    code_cache: TempDir,
    /// The program with client-go. `None` if no subject needs it.
    client_go: Option<PathBuf>,
}

// === impl Programs ===

impl Programs {
    /// Finds the programs. Compiles the components and builds the program with client-go if a subject needs them.
    pub(super) async fn find(options: &Options) -> Result<Self> {
        let (directory, guests) = (options.programs()?, options.guests()?);
        let code_cache = tempfile::tempdir().context("cannot make a directory for compiled code")?;
        let client_go = if options.subjects.iter().any(|subject| subject.is_client_go()) {
            Some(tokio::task::spawn_blocking(informer_programs::client_go).await??)
        } else {
            None
        };
        let programs = Self { directory, guests, code_cache, client_go };
        for component in options.subjects.iter().filter_map(|subject| subject.component()) {
            let mut command = programs.program("bench-informer");
            command.arg("compile").args(programs.code(component)).kill_on_drop(true);
            let status = command.status().await.context("cannot start bench-informer")?;
            ensure!(status.success(), "{component} does not compile; see the messages above");
        }
        Ok(programs)
    }

    /// Starts a server and waits until it answers.
    pub(super) async fn serve(&self, recipe: Recipe) -> Result<(Server, Greeting)> {
        Server::start(&self.directory, recipe).await
    }

    /// Runs one subject to its end.
    pub(super) async fn measure(
        &self,
        subject: SubjectName,
        served: &Greeting,
        options: &Options,
    ) -> Result<(Synced, Events, Paced)> {
        let mut command = self.subject(subject)?;
        for (name, value) in plan(served, options) {
            command.arg(name).arg(value);
        }
        let (mut child, mut lines) = start(command, Stdio::null())?;
        let (mut synced, mut events, mut paced) = (None, None, None);
        while let Some(line) = lines.next_line().await? {
            match serde_json::from_str(&line).with_context(|| format!("{subject} printed `{line}`"))? {
                Sample::Synced(sample) => synced = Some(sample),
                Sample::Events(sample) => events = Some(sample),
                Sample::Paced(sample) => paced = Some(sample),
            }
        }
        let status = child.wait().await?;
        match (status.success(), synced, events, paced) {
            (true, Some(synced), Some(events), Some(paced)) => Ok((synced, events, paced)),
            _ => bail!("{subject} ended with {status} and an incomplete report; see its messages above"),
        }
    }

    fn subject(&self, subject: SubjectName) -> Result<Command> {
        match subject {
            SubjectName::Informer | SubjectName::InformerBatch | SubjectName::InformerNative => {
                Ok(self.informer(subject.component()))
            }
            SubjectName::KubeDynamic => Ok(self.kube_rs("dynamic")),
            SubjectName::KubeTyped => Ok(self.kube_rs("typed")),
            SubjectName::ClientGoTyped => self.client_go("typed", None),
            SubjectName::ClientGoTypedTuned => self.client_go("typed", Some("400")),
            SubjectName::ClientGoUnstructured => self.client_go("unstructured", None),
            SubjectName::ClientGoUnstructuredTuned => self.client_go("unstructured", Some("400")),
        }
    }

    /// Our informer, with the allocator as in the image. Without a component, the handler is a function.
    fn informer(&self, component: Option<&str>) -> Command {
        let mut command = self.program("bench-informer");
        command.env("GLIBC_TUNABLES", informer_image::contents::ALLOCATOR);
        match component {
            Some(component) => command.arg("component").args(self.code(component)),
            None => command.arg("native"),
        };
        command
    }

    fn kube_rs(&self, types: &str) -> Command {
        let mut command = self.program("bench-kube");
        command.args(["--types", types]);
        command
    }

    fn client_go(&self, types: &str, gogc: Option<&str>) -> Result<Command> {
        let mut command = Command::new(self.client_go.as_ref().context("client-go was not built")?);
        command.env_remove("GOGC").env_remove("GOMEMLIMIT").args(["--types", types]);
        command.envs(gogc.map(|gogc| ("GOGC", gogc)));
        Ok(command)
    }

    fn code(&self, component: &str) -> [OsString; 4] {
        let (component, code_cache) = (self.guests.join(component), self.code_cache.path().to_owned());
        ["--component".into(), component.into(), "--code-cache".into(), code_cache.into()]
    }

    fn program(&self, name: &str) -> Command {
        program(&self.directory, name)
    }
}

fn plan(served: &Greeting, options: &Options) -> [(&'static str, String); 10] {
    let managed_fields = options.managed_fields.to_possible_value();
    [
        ("--server", served.url.clone()),
        ("--kind", served.kind.to_string()),
        ("--objects", served.objects.to_string()),
        ("--events", options.events.to_string()),
        ("--paced", options.paced.to_string()),
        ("--batch", options.batch.min(served.objects as u64).to_string()),
        ("--page-size", options.page_size.to_string()),
        ("--managed-fields", managed_fields.map_or_else(String::new, |value| value.get_name().to_owned())),
        ("--settle-seconds", options.settle_seconds.to_string()),
        ("--limit-seconds", options.limit_seconds.to_string()),
    ]
}
