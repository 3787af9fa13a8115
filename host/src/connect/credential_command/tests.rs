//! Runs of real scripts.

use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf, process::Command};

use futures::future::join_all;
use serde_json::json;
use tempfile::TempDir;

use super::*;

/// A script of the shell, and the command that runs it.
struct Script {
    directory: TempDir,
    command: CredentialCommand,
}

// === impl Script ===

impl Script {
    fn new(text: &str) -> Self {
        Self::limited(text, LIMITS)
    }

    /// Each run adds a line to the file `runs`.
    fn limited(text: &str, limits: ProgramLimits) -> Self {
        let directory = TempDir::new().unwrap();
        fs::write(directory.path().join("script"), format!("cd \"$(dirname \"$0\")\"; echo >> runs; {text}"))
            .unwrap();
        let exec = serde_json::from_value(json!({
            "apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never",
            "command": "sh", "args": [directory.path().join("script"), "secret-argument"],
        }));
        let setting = Setting::read(exec.unwrap(), "me").ok().unwrap();
        Self { command: CredentialCommand::new(setting, limits), directory }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let new = self.path("new");
        fs::write(&new, text).unwrap();
        fs::rename(new, self.path(name)).unwrap();
    }

    fn runs(&self) -> usize {
        fs::read_to_string(self.path("runs")).unwrap_or_default().lines().count()
    }

    async fn token(&self) -> Result<String, String> {
        let credentials = self.command.credentials().await.map_err(|error| error.to_string())?;
        let header = credentials.header.as_ref().unwrap();
        assert!(header.is_sensitive());
        Ok(header.to_str().unwrap().to_owned())
    }

    /// Refuses the credentials of now, as the API server does.
    async fn refuse(&self) {
        let sent = self.command.credentials().await.unwrap();
        self.command.refused(&sent);
    }
}

fn answer(status: &str) -> String {
    format!(
        r#"{{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {status}}}"#
    )
}

/// Prints the file `answer`.
const CAT: &str = "cat answer";

fn token(token: &str, lasting: i64) -> String {
    let expiry = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(lasting);
    answer(&format!(r#"{{"token": "{token}", "expirationTimestamp": "{expiry}"}}"#))
}

#[tokio::test]
async fn one_run_serves_all_requests_until_shortly_before_the_credentials_expire() {
    let script = Script::new("mkdir running || echo >> together; sleep 0.1; rmdir running; cat answer");
    script.write("answer", &token("one", 3600));
    let tokens = join_all((0..10).map(|_| script.token())).await;
    assert!(tokens.iter().all(|token| token.as_deref() == Ok("Bearer one")), "{tokens:?}");
    assert_eq!(script.runs(), 1);
    script.write("answer", &token("two", 3600));
    assert_eq!(script.token().await.as_deref(), Ok("Bearer one"));

    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(3600) - EARLY).await;
    tokio::time::resume();

    let tokens = join_all((0..10).map(|_| script.token())).await;
    assert!(tokens.iter().all(|token| token.as_deref() == Ok("Bearer two")), "{tokens:?}");
    assert_eq!(script.runs(), 2);
    assert!(!script.path("together").exists());
}

#[tokio::test]
async fn credentials_that_the_api_server_refused_are_renewed_at_once() {
    let script = Script::new(CAT);
    script.write("answer", &answer(r#"{"token": "one"}"#));
    let first = script.command.credentials().await.unwrap();
    script.write("answer", &answer(r#"{"token": "two"}"#));
    assert_eq!(script.token().await.as_deref(), Ok("Bearer one"));

    script.command.refused(&first);
    assert_eq!(script.token().await.as_deref(), Ok("Bearer two"));
    // A request that was sent before.
    script.command.refused(&first);
    assert_eq!((script.token().await.as_deref(), script.runs()), (Ok("Bearer two"), 2));
}

#[tokio::test]
async fn a_command_whose_credentials_are_refused_is_started_a_limited_number_of_times() {
    let script = Script::new(CAT);
    script.write("answer", &answer(r#"{"token": "one"}"#));
    let started = Instant::now();
    for _ in 0..200 {
        script.refuse().await;
    }
    let (burst, per_second) = STARTS;
    let most = burst + 1.0 + started.elapsed().as_secs_f64() * per_second;
    assert!(script.runs() >= 5 && script.runs() as f64 <= most, "{} of {most}", script.runs());
    // The credentials are sent all the same, so that the status shows the answer of the API server.
    assert_eq!(script.token().await.as_deref(), Ok("Bearer one"));
}

#[tokio::test]
async fn a_command_that_fails_is_named_without_its_arguments_and_without_what_it_printed() {
    for (text, why) in [
        ("echo s3cret; echo s3cret >&2; exit 3", "failed with exit status 3"),
        ("echo s3cret", "printed 7 bytes that are no ExecCredential in JSON or YAML"),
        ("yes s3cret", "was ended because it printed more than 1048576 bytes"),
    ] {
        let script = Script::new(text);
        assert_eq!(
            script.token().await.unwrap_err(),
            format!(
                "the command `sh` of the user me in the kubeconfig {why}; the log has the end of what it printed to \
                 standard error"
            )
        );
    }
    let limits = ProgramLimits { time: Duration::from_millis(100), ..LIMITS };
    let slow = Script::limited("sleep 1000", limits).token().await.unwrap_err();
    assert!(slow.contains("was ended because it had not finished after 0.1 s"), "{slow}");
}

#[tokio::test]
async fn after_a_failure_the_command_runs_again_and_credentials_that_are_still_valid_stay() {
    let script = Script::new(CAT);
    assert!(script.token().await.is_err());
    script.write("answer", &token("one", 3600));
    assert_eq!(script.token().await.as_deref(), Ok("Bearer one"));

    fs::remove_file(script.path("answer")).unwrap();
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(3600) - EARLY).await;
    tokio::time::resume();
    assert_eq!((script.token().await.as_deref(), script.runs()), (Ok("Bearer one"), 3));
    tokio::time::pause();
    tokio::time::advance(EARLY).await;
    tokio::time::resume();
    assert!(script.token().await.unwrap_err().contains("failed with exit status 1"));
}

#[tokio::test]
async fn a_run_goes_on_while_a_request_waits_for_it_and_ends_with_the_last() {
    let script = Script::new("while ! [ -e answer ]; do sleep 0.01; done; cat answer");
    let (mut first, mut second) = (Box::pin(script.token()), Box::pin(script.token()));
    let patience = Duration::from_millis(50);
    assert!(tokio::time::timeout(patience, &mut first).await.is_err());
    assert!(tokio::time::timeout(patience, &mut second).await.is_err());
    drop(first);
    script.write("answer", &token("one", 3600));
    assert_eq!((second.await.as_deref(), script.runs()), (Ok("Bearer one"), 1));

    let script = Script::new("while ! [ -e answer ]; do sleep 0.01; done; cat answer");
    assert!(tokio::time::timeout(patience, script.token()).await.is_err());
    script.write("answer", &token("two", 3600));
    assert_eq!(script.token().await.as_deref(), Ok("Bearer two"));
}

#[tokio::test]
async fn the_log_has_the_end_of_what_a_failing_command_wrote_without_secrets() {
    let script = Script::new(
        "echo expired: log in again, eyJhbGciOiJSUzI1NiIsImtpZCI6IjEifQ >&2; echo s3cret; exit 1",
    );
    let run = tokio::runtime::Handle::current();
    let lines = tokio::task::spawn_blocking(move || {
        crate::logging::testing::written(false, || drop(run.block_on(script.token())))
    });
    let lines = lines.await.unwrap();
    assert!(
        lines.contains("WARN") && lines.contains("expired: log in again, [34 characters hidden]"),
        "{lines}"
    );
    assert!(!lines.contains("eyJ") && !lines.contains("s3cret"), "{lines}");
}

#[test]
fn other_credentials_of_the_user_are_preferred_to_a_command() {
    let exec = || serde_json::from_value(json!({ "command": "sh" })).unwrap();
    for other in [
        json!({ "token": "one" }),
        json!({ "tokenFile": "/token" }),
        json!({ "username": "me", "password": "secret" }),
    ] {
        let mut user = AuthInfo { exec: Some(exec()), ..serde_json::from_value(other).unwrap() };
        assert!(CredentialCommand::take(&mut user, "me").unwrap().is_none());
        assert!(user.exec.is_none());
    }
    for provider in ["gcp", "azure"] {
        let provider =
            json!({ "auth-provider": { "name": provider, "config": { "cmd-path": "/bin/true" } } });
        let mut user: AuthInfo = serde_json::from_value(provider).unwrap();
        let refused = CredentialCommand::take(&mut user, "me").err().unwrap().to_string();
        assert!(refused.contains("which kubectl no longer supports either; use the command"), "{refused}");
    }
    // This one is used, and has no version.
    let mut user = AuthInfo { exec: Some(exec()), ..AuthInfo::default() };
    assert!(CredentialCommand::take(&mut user, "me").is_err());
}

/// client-go resolves a command with a slash against the directory of the kubeconfig.
#[tokio::test]
async fn a_relative_command_is_beside_the_kubeconfig() {
    let directory = TempDir::new().unwrap();
    let path = |name: &str| directory.path().join(name);
    fs::create_dir(path("bin")).unwrap();
    fs::write(path("text"), format!("#!/bin/sh\necho '{}'\n", answer(r#"{"token": "near"}"#))).unwrap();
    fs::set_permissions(path("text"), fs::Permissions::from_mode(0o755)).unwrap();
    // This process never has the program open for writing: another thread that starts a program would keep it busy.
    assert!(Command::new("cp").args([path("text"), path("bin/give")]).status().unwrap().success());
    let kubeconfig = "apiVersion: v1\nkind: Config\nusers:\n- name: me\n  user:\n    exec: {command: bin/give, \
                      apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never}\n";
    fs::write(path("kubeconfig"), kubeconfig).unwrap();
    let kubeconfig = kube::config::Kubeconfig::read_from(path("kubeconfig")).unwrap();
    let mut user = kubeconfig.auth_infos[0].auth_info.clone().unwrap();

    let command = CredentialCommand::take(&mut user, "me").unwrap().unwrap();

    let credentials = command.credentials().await.unwrap();
    assert_eq!(credentials.header.as_ref().unwrap(), "Bearer near");
}
