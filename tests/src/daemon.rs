//! The built host as a process of its own, with its log in a file.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a host that does not start is a failed test")]

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use informer::{config::Access, connect::connect};
use informer_runtime::CodeKey;
use kube::Client;
use serde_json::Value;
use tokio::{
    process::{Child, Command},
    time::{sleep, timeout},
};

use crate::{
    host::{PATIENCE, PATIENT},
    metrics,
};

/// The interval between two looks at the process.
const POLL: Duration = Duration::from_millis(20);

/// A running host. It is killed when dropped.
pub struct Daemon {
    child: Child,
    admin: Client,
    log: PathBuf,
}

// === impl Daemon ===

impl Daemon {
    /// Starts `program run` with this configuration file, which must have `admin = "127.0.0.1:0"`. Its log is appended to the file
    /// `log`. Returns when the admin endpoint listens.
    ///
    /// # Panics
    /// Panics with the log if the host ends, or does not listen in time.
    pub async fn start(program: &Path, configuration: &Path, log: &Path) -> Self {
        let before = fs::read_to_string(log).unwrap_or_default().len();
        let output = File::options().create(true).append(true).open(log).unwrap();
        let mut child = Command::new(program)
            .args(["run", "--config"])
            .arg(configuration)
            .env_clear()
            // The image sets this variable too.
            .env("GLIBC_TUNABLES", informer_image::contents::ALLOCATOR)
            .stdin(Stdio::null())
            .stdout(output.try_clone().unwrap())
            .stderr(output)
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let listening = async {
            loop {
                let text = fs::read_to_string(log).unwrap();
                let listens = text.get(before..).unwrap_or_default().lines().find_map(|line| {
                    let rest = line.split_once("the admin endpoint listens")?.1;
                    Some(rest.rsplit_once("address=")?.1.trim().to_owned())
                });
                if let Some(address) = listens {
                    return address;
                }
                assert!(child.try_wait().unwrap().is_none(), "the host ended:\n{text}");
                sleep(POLL).await;
            }
        };
        let address = timeout(PATIENCE, listening).await.unwrap();
        let url = format!("http://{address}").parse().unwrap();
        let admin = connect(&Access::Server(url)).await.unwrap().client;
        Self { child, admin, log: log.to_owned() }
    }

    /// The lines of `[host]` for a host with its state in this directory. All such hosts share compiled code, so only the first one
    /// compiles a component, and has time for it on a busy machine.
    #[must_use]
    pub fn state(directory: &Path) -> String {
        let cache = std::env::temp_dir().join("informer-tests-daemon");
        private(directory);
        let key = directory.join("compile-cache.key");
        fs::write(&key, [0; CodeKey::BYTES]).unwrap();
        mode(&key, 0o600);
        format!("admin = \"127.0.0.1:0\"\nstate-dir = {directory:?}\ncache-dir = {cache:?}\n{PATIENT}")
    }

    /// The process number.
    ///
    /// # Panics
    /// Panics if the process has ended.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id().unwrap()
    }

    /// An answer of the admin endpoint.
    ///
    /// # Errors
    /// The host does not answer, or not with JSON.
    pub async fn get(&self, path: &str) -> kube::Result<Value> {
        let request = http::Request::get(path).body(Vec::new()).map_err(kube::Error::HttpError)?;
        self.admin.request(request).await
    }

    /// The value of a series of `/metrics`, by its beginning.
    ///
    /// # Errors
    /// The host does not answer.
    ///
    /// # Panics
    /// Panics if there is no such series.
    pub async fn metric(&self, series: &str) -> kube::Result<f64> {
        let request = http::Request::get("/metrics").body(Vec::new()).map_err(kube::Error::HttpError)?;
        Ok(metrics::value(&self.admin.request_text(request).await?, series))
    }

    /// Returns true if the host is ready, and no notification and no key waits or is in flight, but for the key with which the
    /// event exporter looks for Events that are gone.
    pub async fn is_idle(&self) -> bool {
        let request = http::Request::get("/readyz").body(Vec::new()).unwrap();
        if self.admin.request_text(request).await.is_err() {
            return false;
        }
        let Ok(answer) = self.get("/queues").await else { return false };
        let queues = answer.get("queues").and_then(Value::as_array);
        queues.is_some_and(|queues| queues.iter().all(is_at_rest))
    }

    /// Waits until the components of these plugins are compiled.
    ///
    /// # Panics
    /// Panics with the end of the log if that takes too long.
    pub async fn compiled(&self, plugins: &[&str]) {
        let compiling = async {
            let loaded = |text: &str| text.lines().filter(|line| line.contains("plugin loaded")).count();
            while loaded(&fs::read_to_string(&self.log).unwrap()) < plugins.len() {
                sleep(POLL).await;
            }
        };
        if timeout(PATIENCE, compiling).await.is_err() {
            panic!("the components are not compiled:\n{}", self.log_tail());
        }
    }

    /// Waits until the host is idle twice in a row.
    ///
    /// # Panics
    /// Panics with the end of the log if that takes too long.
    pub async fn idle(&self) {
        let resting = async {
            let mut times = 0;
            while times < 2 {
                times = if self.is_idle().await { times + 1 } else { 0 };
                sleep(POLL).await;
            }
        };
        if timeout(PATIENCE, resting).await.is_err() {
            let (status, log) = (self.get("/queues").await, self.log_tail());
            panic!("the host does not come to rest: {status:?}\n{log}");
        }
    }

    /// The end of the log.
    #[must_use]
    pub fn log_tail(&self) -> String {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<_> = text.lines().collect();
        lines.get(lines.len().saturating_sub(60)..).unwrap_or_default().join("\n")
    }

    /// Kills the process, like a crash.
    pub async fn kill(mut self) {
        self.child.kill().await.unwrap();
    }

    /// Stops the process by SIGTERM, and waits until it has ended without an error.
    ///
    /// # Panics
    /// Panics if it fails.
    pub async fn stop(mut self) {
        let sent = Command::new("kill").args(["-TERM", &self.id().to_string()]).status().await.unwrap();
        assert!(sent.success());
        let status = timeout(PATIENCE, self.child.wait()).await.unwrap().unwrap();
        assert!(status.success(), "{status}\n{}", self.log_tail());
    }
}

fn is_at_rest(queue: &Value) -> bool {
    let number = |pointer: &str| queue.pointer(pointer).and_then(Value::as_u64).unwrap_or_default();
    let regular = u64::from(queue.get("plugin").is_some_and(|plugin| plugin == "event-exporter"));
    number("/pending") == 0 && number("/in-flight") == 0 && number("/reconciler/keys") <= regular
}

/// Creates a directory that only this user may use.
fn private(directory: &Path) {
    fs::create_dir_all(directory).unwrap();
    mode(directory, 0o700);
}

fn mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}
