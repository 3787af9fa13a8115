//! A node with the images, and the host in its namespace `informer`.

use std::{fs, path::Path, time::Instant};

use informer::{
    commands::rbac::{Names, Rules, manifests},
    config::{self, Components},
};
use informer_tests::{cluster::User, command_line::CommandLine, host::PATIENCE, node::Node};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::{sleep, timeout};

use crate::images;

/// A node, and a Helm for its cluster.
pub(crate) struct Installed {
    pub(crate) node: Node,
    pub(crate) helm: CommandLine,
}

/// The chart of the repository.
pub(crate) fn chart() -> String {
    format!("{}/../host/deploy/helm/informer", env!("CARGO_MANIFEST_DIR"))
}

/// Writes a configuration and the roles that `informer rbac` prints for it, and returns the arguments of Helm that install both.
pub(crate) fn configured(helm: &CommandLine, configuration: &str) -> Vec<String> {
    let (config, roles) = (helm.home().join("informer.toml"), helm.home().join("rbac.json"));
    fs::write(&config, configuration).unwrap();
    let rules = Rules::of(&config::load(&config, Components::Unseen).unwrap());
    let account = ("informer".to_owned(), "informer".to_owned());
    let items = manifests(&rules, &Names { role: "informer".to_owned(), account });
    fs::write(&roles, json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()).unwrap();
    vec![
        format!("--set-file=config={}", config.display()),
        format!("--set-file=rbac.manifest={}", roles.display()),
    ]
}

/// Prints what a test measured.
pub(crate) fn report(what: &str, since: Instant) {
    println!("==> {what}: {:.1} s", since.elapsed().as_secs_f64());
}

// === impl Installed ===

impl Installed {
    /// Starts a node. It has a namespace `informer` that enforces the Pod Security Standard `restricted`, and a namespace `shop`.
    pub(crate) async fn start() -> Self {
        let began = Instant::now();
        let directory = TempDir::new().unwrap();
        let busybox = images::busybox(directory.path());
        let registry = images::registry(directory.path());
        let host = images::host();
        let node = Node::start(&[&busybox, &registry, &host]).await.unwrap();
        let helm = CommandLine::helm(&node.cluster().kubeconfig(User::Admin)).await;
        report("node ready, images imported", began);
        let installed = Self { node, helm };
        installed.kubectl().prints(&["create", "namespace", "shop"]).await;
        installed
    }

    pub(crate) fn kubectl(&self) -> &CommandLine {
        self.node.kubectl()
    }

    /// Runs Helm on the release `informer`.
    pub(crate) async fn helm(&self, verb: &str, values: &[&str]) -> String {
        let chart = chart();
        let mut arguments = vec![verb, "informer", &chart, "--namespace=informer"];
        arguments.extend(values);
        self.helm.prints(&arguments).await
    }

    /// Waits until the pod is ready, which its probes decide, and returns its name.
    pub(crate) async fn ready(&self) -> String {
        let rollout = ["rollout", "status", "deployment/informer", "--namespace=informer", "--timeout=50s"];
        // A command may take a minute, and the controllers are slow while they read thousands of pods.
        for _ in 0..3 {
            if self.kubectl().run(&rollout).await.status.success() {
                return self.pod().await;
            }
        }
        panic!("the pod is not ready\n{}", self.story().await);
    }

    /// The name of the newest pod of the host.
    pub(crate) async fn pod(&self) -> String {
        let newest =
            ["get", "pods", "--namespace=informer", "--sort-by=.metadata.creationTimestamp", "--output=name"];
        let names = self.kubectl().prints(&newest).await;
        names.lines().last().unwrap().trim_start_matches("pod/").to_owned()
    }

    /// Runs `informer` in the pod, as an operator does.
    pub(crate) async fn exec(&self, arguments: &[&str]) -> String {
        let command = ["exec", "deployment/informer", "--namespace=informer", "--", "informer"];
        self.kubectl().prints(&[command.as_slice(), arguments].concat()).await
    }

    /// The log of a pod so far.
    pub(crate) async fn log(&self, pod: &str) -> String {
        self.kubectl().prints(&["logs", pod, "--namespace=informer"]).await
    }

    /// Waits until the log of a pod satisfies the condition, and returns it.
    pub(crate) async fn until_log(&self, pod: &str, what: &str, condition: impl Fn(&str) -> bool) -> String {
        let looking = async {
            loop {
                let log = self.log(pod).await;
                if condition(&log) {
                    return log;
                }
                sleep(std::time::Duration::from_millis(200)).await;
            }
        };
        match timeout(PATIENCE, looking).await {
            Ok(log) => log,
            Err(_) => panic!("the log never shows {what}:\n{}", self.log(pod).await),
        }
    }

    /// Applies a manifest.
    pub(crate) async fn apply(&self, name: &str, manifest: &Value) {
        let file = self.helm.home().join(name);
        fs::write(&file, manifest.to_string()).unwrap();
        self.kubectl().prints(&["apply", "-f", file.to_str().unwrap()]).await;
    }

    /// Runs a pod of busybox in the namespace `shop`, and waits until it is ready.
    pub(crate) async fn client(&self, name: &str) {
        let image = "--image=localhost/busybox:1";
        let run = ["run", name, image, "--image-pull-policy=Never", "--namespace=shop"];
        self.kubectl().prints(&run).await;
        self.pod_ready("shop", name).await;
    }

    /// Requests a page from a pod of busybox in the namespace `shop`. The answer has the text of an error as well.
    pub(crate) async fn wget(&self, client: &str, arguments: &[&str]) -> String {
        let exec = ["exec", client, "--namespace=shop", "--", "wget", "-qO-"];
        let output = self.kubectl().run(&[exec.as_slice(), arguments].concat()).await;
        output.stdout + &output.stderr
    }

    /// Waits until a pod is ready.
    pub(crate) async fn pod_ready(&self, namespace: &str, pod: &str) {
        let (pod, namespace) = (format!("pod/{pod}"), format!("--namespace={namespace}"));
        self.kubectl().prints(&["wait", &pod, &namespace, "--for=condition=Ready", "--timeout=50s"]).await;
    }

    /// The address of a pod.
    pub(crate) async fn address(&self, namespace: &str, pod: &str) -> String {
        let namespace = format!("--namespace={namespace}");
        self.kubectl().prints(&["get", "pod", pod, &namespace, "-ojsonpath={.status.podIP}"]).await
    }

    /// A field of the status of the only container of a pod.
    pub(crate) async fn container(&self, pod: &str, field: &str) -> String {
        let path = format!("-ojsonpath={{.status.containerStatuses[0].{field}}}");
        self.kubectl().prints(&["get", "pod", pod, "--namespace=informer", &path]).await
    }

    /// A file of `/proc` about the main process of a pod.
    pub(crate) async fn proc(&self, pod: &str, file: &str) -> String {
        let process = self.node.process("informer", pod).await.unwrap();
        let path = format!("/proc/{process}/{file}");
        fs::read_to_string(Path::new(&path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// What an operator looks at if a pod does not become ready.
    pub(crate) async fn story(&self) -> String {
        let mut story = String::new();
        for arguments in [
            ["describe", "pods", "--namespace=informer"],
            ["logs", "deployment/informer", "--namespace=informer"],
        ] {
            story.push_str(&self.kubectl().run(&arguments).await.stdout);
        }
        story
    }
}
