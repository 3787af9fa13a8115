//! Which host answers: its socket, its process and its configuration file.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use informer_devserver::DevServer;
use informer_tests::host::PATIENCE;
use tempfile::TempDir;

use super::binary::{Running, informer};

/// The commands for a running host.
const COMMANDS: [&[&str]; 6] = [
    &["status"],
    &["queues"],
    &["dead-letters", "list"],
    &["explain", "v1/configmaps", "default/web"],
    &["log-level", "info"],
    &["reload"],
];

/// A directory with configurations for one API server.
struct Site {
    server: DevServer,
    directory: TempDir,
}

impl Site {
    async fn new() -> Self {
        let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
        Self { server, directory: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Writes a configuration with these lines in `[host]`. Returns its path.
    fn write(&self, name: &str, host: &str) -> String {
        let path = self.path(name);
        let url = self.server.url();
        let text =
            format!("[cluster]\nserver = \"{url}\"\n[host]\n{host}\n[[watch]]\ngvr = \"v1/configmaps\"\n");
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

async fn run(configuration: &str) -> (Running, String) {
    let mut host = Running::start(&["run", "--config", configuration]).await;
    let admin = host.admin().await;
    (host, admin)
}

async fn with_config(command: &[&str], configuration: &str) -> super::binary::Finished {
    informer(&[command, &["--config", configuration]].concat()).await
}

#[tokio::test]
async fn every_command_finds_a_unix_socket_through_the_configuration() {
    let site = Site::new().await;
    let own = site.write("informer.toml", "admin = \"unix:run/admin.sock\"\nstate-dir = \"off\"");
    let socket = site.path("run/admin.sock");
    let (host, admin) = run(&own).await;
    assert_eq!(admin, format!("unix:{}", socket.display()));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&socket), mode(&site.path("run"))), (0o600, 0o700));

    for command in COMMANDS {
        let answer = with_config(command, &own).await;

        // No watch runs without a plugin, so there is nothing to explain.
        let unserved = answer.stderr.contains("refuses: ") && command[0] == "explain";
        assert!(answer.status == Some(0) || unserved, "{command:?}: {}{}", answer.stdout, answer.stderr);
    }
    let status = with_config(&["status"], &own).await.stdout;
    let line = format!(" at {admin}, process {} with the configuration {own}: all is well\n", host.id());
    assert!(status.contains(&line), "{status}");
    let directly = informer(&["status", "--admin", &admin]).await;
    assert_eq!(directly.status, Some(0), "{}", directly.stderr);

    host.stop().await;
    assert!(!socket.exists(), "the socket is removed");
    let nobody = with_config(&["status"], &own).await;
    let words = format!("no host answers at {admin}; is `informer run` running");
    assert!(nobody.stderr.contains(&words), "{}", nobody.stderr);
}

#[tokio::test]
async fn the_socket_of_a_killed_host_is_replaced_and_that_of_a_living_one_refused_with_its_process() {
    let site = Site::new().await;
    let own = site.write("informer.toml", "admin = \"unix:admin.sock\"\nstate-dir = \"off\"");
    let (first, admin) = run(&own).await;

    let refused = with_config(&["run"], &own).await;

    assert_eq!(refused.status, Some(1));
    let words = format!(
        "the admin endpoint cannot listen on {admin}: it is taken by process {} with the configuration {own}; \
         stop that host if it should not run; choose another address under [host] admin, or \"off\"",
        first.id()
    );
    assert!(refused.stderr.contains(&words), "{}", refused.stderr);
    assert_eq!(with_config(&["status"], &own).await.status, Some(0), "the first one goes on");

    first.signal("KILL").await;
    first.ended(PATIENCE).await;
    assert!(site.path("admin.sock").exists(), "a killed process removes nothing");
    let (second, _) = run(&own).await;
    assert_eq!(with_config(&["status"], &own).await.status, Some(0));
    second.stop().await;
}

#[tokio::test]
async fn a_socket_in_a_directory_that_others_can_write_is_refused() {
    let site = Site::new().await;
    let own = site.write("informer.toml", "admin = \"unix:open/admin.sock\"\nstate-dir = \"off\"");
    fs::create_dir(site.path("open")).unwrap();
    fs::set_permissions(site.path("open"), Permissions::from_mode(0o777)).unwrap();

    let refused = with_config(&["run"], &own).await;

    assert_eq!(refused.status, Some(1));
    let words = "open has mode 0777, so other users may write to it: make it your own (`chmod go-w`)";
    assert!(refused.stderr.contains(words), "{}", refused.stderr);
}

#[tokio::test]
async fn no_command_accepts_the_answer_of_a_host_with_another_configuration() {
    let site = Site::new().await;
    let theirs = site.write("theirs.toml", "admin = \"127.0.0.1:0\"\nstate-dir = \"off\"");
    let (stranger, admin) = run(&theirs).await;
    let own = site.write("own.toml", &format!("admin = \"{admin}\"\nstate-dir = \"off\""));
    let them = format!("process {} with the configuration {theirs}", stranger.id());

    // The host of the configuration does not start, because its port is taken.
    let refused = with_config(&["run"], &own).await;
    let words = format!("the admin endpoint cannot listen on {admin}: it is taken by {them}; stop that host");
    assert!(refused.status == Some(1) && refused.stderr.contains(&words), "{}", refused.stderr);

    for command in COMMANDS {
        let answer = with_config(command, &own).await;

        assert_eq!((answer.status, answer.stdout.as_str()), (Some(1), ""), "{command:?}");
        let words =
            format!("another host answers at {admin}: {them}, not {own}; start the host of that file");
        assert!(answer.stderr.contains(&words), "{command:?}: {}", answer.stderr);
    }
    let directly = informer(&["status", "--config", &own, "--admin", &admin]).await;
    assert!(directly.status == Some(0) && directly.stdout.contains(&them), "{}", directly.stdout);
    stranger.stop().await;
}

#[tokio::test]
async fn an_answer_without_an_identity_is_not_taken_for_that_of_a_host() {
    let site = Site::new().await;
    // The embedded API server is some HTTP server.
    let address = site.server.address();
    let own = site.write("own.toml", &format!("admin = \"{address}\"\nstate-dir = \"off\""));

    let answer = with_config(&["status"], &own).await;
    assert_eq!(answer.status, Some(1));
    assert!(
        answer.stderr.contains(&format!("the program at {address} does not name its process")),
        "{}",
        answer.stderr
    );
    let refused = with_config(&["run"], &own).await;
    let words = format!("cannot listen on {address}: it is taken by another program; choose another address");
    assert!(refused.stderr.contains(&words), "{}", refused.stderr);
}

#[tokio::test]
async fn a_state_in_use_names_the_process_that_has_it_and_is_used_once_that_is_gone() {
    let site = Site::new().await;
    let first = site.write("first.toml", "admin = \"127.0.0.1:0\"\nstate-dir = \"state\"");
    let second = site.write("second.toml", "admin = \"127.0.0.1:0\"\nstate-dir = \"state\"");
    let (predecessor, _) = run(&first).await;
    let mut successor = Running::start(&["run", "--config", &second]).await;

    let line = successor.logged("the state cannot be used").await;

    let words = format!(
        "informer.redb is in use by process {} (informer): stop that one, or give each host its own",
        predecessor.id()
    );
    assert!(line.contains(&words), "{line}");
    let admin = successor.admin().await;
    let status = informer(&["status", "--output", "json", "--admin", &admin]).await.json();
    assert!(status["degraded"].to_string().contains(&words), "{status:#}");

    predecessor.signal("KILL").await;
    predecessor.ended(PATIENCE).await;
    successor.logged("the state can be used again").await;
    successor.stop().await;
}
