//! `exec` of a user in a kubeconfig: the command, its arguments and its environment.

use std::{
    env,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use kube::config::{AuthProviderConfig, ExecConfig, ExecInteractiveMode};
use serde_json::json;

/// The versions that client-go supports.
const VERSIONS: [&str; 2] = ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"];

/// The variable that names the expected form of the answer to the command.
const INFO: &str = "KUBERNETES_EXEC_INFO";

/// The command in the kubeconfig cannot be used by this host.
#[derive(Debug, thiserror::Error)]
#[error("{key} of the user {user} in the kubeconfig {problem}")]
pub struct CredentialCommandError {
    key: &'static str,
    user: String,
    problem: Problem,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum Problem {
    #[error(
        "is {0}, which kubectl no longer supports either; use the command of this provider by `exec`, such as \
         gke-gcloud-auth-plugin or kubelogin"
    )]
    Provider(String),
    #[error("names no `command`; add the program that prints the credentials")]
    NoCommand,
    #[error("has the apiVersion `{0}`; this host supports {v1} and {v1beta1}", v1 = VERSIONS[0], v1beta1 = VERSIONS[1])]
    Version(String),
    #[error("has no `interactiveMode`, which {v1} requires; add `interactiveMode: Never`", v1 = VERSIONS[0])]
    NoMode,
    #[error(
        "has `interactiveMode: Always`, and this host has no terminal; use a command that asks no questions and \
         `interactiveMode: Never`, or another user with a token file or a client certificate"
    )]
    Interactive,
    #[error("needs data of the cluster that cannot be written as JSON: {0}")]
    Cluster(#[source] serde_json::Error),
    #[error("has the command `{command}`, which {place}; install it{}", words_of(.hint.as_deref()))]
    Absent { command: String, place: &'static str, hint: Option<String> },
}

/// The command of a user, checked.
pub(super) struct Setting {
    user: String,
    command: String,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    version: &'static str,
    /// The value of [`INFO`].
    info: String,
    install_hint: Option<String>,
}

// === impl Setting ===

impl Setting {
    pub(super) fn read(exec: ExecConfig, user: &str) -> Result<Self, CredentialCommandError> {
        let user = user.to_owned();
        match Self::checked(exec, &user) {
            Ok(setting) => Ok(setting),
            Err(problem) => Err(CredentialCommandError { key: "exec", user, problem }),
        }
    }

    /// Refuses the providers that client-go has removed. kube would run the command of one of them without bounds.
    pub(super) fn check_provider(
        provider: &AuthProviderConfig,
        user: &str,
    ) -> Result<(), CredentialCommandError> {
        if !["gcp", "azure"].contains(&provider.name.as_str()) {
            return Ok(());
        }
        let problem = Problem::Provider(provider.name.clone());
        Err(CredentialCommandError { key: "auth-provider", user: user.to_owned(), problem })
    }

    fn checked(exec: ExecConfig, user: &str) -> Result<Self, Problem> {
        let command = exec.command.filter(|command| !command.is_empty()).ok_or(Problem::NoCommand)?;
        let version = exec.api_version.unwrap_or_default();
        let Some(version) = VERSIONS.into_iter().find(|supported| *supported == version) else {
            return Err(Problem::Version(version));
        };
        match exec.interactive_mode {
            Some(ExecInteractiveMode::Always) => return Err(Problem::Interactive),
            None if version == VERSIONS[0] => return Err(Problem::NoMode),
            _ => {}
        }
        let mut spec = json!({ "interactive": false });
        if exec.provide_cluster_info
            && let (Some(cluster), Some(spec)) = (exec.cluster, spec.as_object_mut())
        {
            spec.insert("cluster".to_owned(), serde_json::to_value(cluster).map_err(Problem::Cluster)?);
        }
        let info = json!({ "apiVersion": version, "kind": "ExecCredential", "spec": spec }).to_string();
        let environment = exec.env.unwrap_or_default().into_iter().filter_map(|mut variable| {
            Some((variable.remove("name")?, variable.remove("value").unwrap_or_default()))
        });
        Ok(Self {
            user: user.to_owned(),
            command,
            arguments: exec.args.unwrap_or_default(),
            environment: environment.collect(),
            version,
            info,
            install_hint: exec.install_hint.filter(|hint| !hint.trim().is_empty()),
        })
    }

    /// The apiVersion.
    pub(super) fn version(&self) -> &str {
        self.version
    }

    /// The command without its arguments, which may be secrets.
    pub(super) fn name(&self) -> &str {
        &self.command
    }

    /// The command and its place, for texts.
    pub(super) fn description(&self) -> String {
        format!("the command `{}` of the user {} in the kubeconfig", self.command, self.user)
    }

    /// Finds the program: a name without a slash in `PATH`, where only absolute directories count, as in client-go.
    ///
    /// # Errors
    /// There is no such program.
    pub(super) fn find(&self) -> Result<PathBuf, CredentialCommandError> {
        let absent = |place| {
            let (command, hint) = (self.command.clone(), self.install_hint.clone());
            let problem = Problem::Absent { command, place, hint };
            CredentialCommandError { key: "exec", user: self.user.clone(), problem }
        };
        if self.command.contains('/') {
            let path = std::path::absolute(&self.command).unwrap_or_else(|_| PathBuf::from(&self.command));
            return if is_program(&path) { Ok(path) } else { Err(absent("is no program")) };
        }
        let path = env::var_os("PATH").unwrap_or_default();
        let directories = env::split_paths(&path).filter(|directory| directory.is_absolute());
        let mut programs = directories.map(|directory| directory.join(&self.command));
        programs.find(|path| is_program(path)).ok_or_else(|| absent("is not in a directory of PATH"))
    }

    /// The program with its arguments and its environment, which is that of this host and what the kubeconfig adds.
    pub(super) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.args(&self.arguments).envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.env(INFO, &self.info);
        command
    }
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// The kubeconfig's own words. It is text of an operator, but may have many lines.
fn words_of(hint: Option<&str>) -> String {
    hint.map(|hint| format!(". The kubeconfig says: {}", hint.trim())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn read(exec: Value) -> Result<Setting, String> {
        let exec: ExecConfig = serde_json::from_value(exec).unwrap();
        Setting::read(exec, "me").map_err(|error| error.to_string())
    }

    #[test]
    fn a_command_that_this_host_cannot_run_is_refused_with_the_remedy() {
        for (exec, problem) in [
            (json!({}), "names no `command`"),
            (
                json!({ "command": "sh" }),
                "has the apiVersion ``; this host supports client.authentication.k8s.io/v1 and",
            ),
            (
                json!({ "command": "sh", "apiVersion": "client.authentication.k8s.io/v1alpha1" }),
                "has the apiVersion `client.authentication.k8s.io/v1alpha1`; this host",
            ),
            (json!({ "command": "sh", "apiVersion": VERSIONS[0] }), "has no `interactiveMode`, which"),
            (
                json!({ "command": "sh", "apiVersion": VERSIONS[1], "interactiveMode": "Always" }),
                "has `interactiveMode: Always`, and this host has no terminal; use a command",
            ),
        ] {
            let refused = read(exec).err().unwrap();
            let expected = format!("exec of the user me in the kubeconfig {problem}");
            assert!(refused.starts_with(&expected), "{refused}");
        }
        assert!(read(json!({ "command": "sh", "apiVersion": VERSIONS[1] })).is_ok());
        for mode in ["Never", "IfAvailable"] {
            assert!(
                read(json!({ "command": "sh", "apiVersion": VERSIONS[0], "interactiveMode": mode })).is_ok()
            );
        }
    }

    #[test]
    fn a_missing_command_is_reported_with_the_hint_of_the_kubeconfig() {
        let absent = |command: &str, hint: Option<&str>| {
            let exec = json!({ "command": command, "apiVersion": VERSIONS[1], "installHint": hint });
            read(exec).ok().unwrap().find().unwrap_err().to_string()
        };

        assert_eq!(
            absent("no-such-program", Some("brew install it\n")),
            "exec of the user me in the kubeconfig has the command `no-such-program`, which is not in a directory of \
             PATH; install it. The kubeconfig says: brew install it"
        );
        let no_program = "exec of the user me in the kubeconfig has the command `/etc/passwd`, which is no program; install it";
        assert_eq!(absent("/etc/passwd", None), no_program);
    }

    #[test]
    fn the_command_gets_its_arguments_its_variables_and_the_cluster_if_it_asks() {
        let mut exec: ExecConfig = serde_json::from_value(json!({
            "command": "sh", "apiVersion": VERSIONS[0], "interactiveMode": "IfAvailable", "args": ["-c", "true"],
            "env": [{ "name": "PROFILE", "value": "dev" }], "provideClusterInfo": true,
        }))
        .unwrap();
        let cluster = kube::config::Cluster { server: Some("https://api".to_owned()), ..Default::default() };
        exec.cluster = Some((&cluster).try_into().unwrap());
        let setting = Setting::read(exec, "me").ok().unwrap();

        let command = setting.command(&setting.find().ok().unwrap());

        assert_eq!(command.get_args().collect::<Vec<_>>(), ["-c", "true"]);
        let variable = |name: &str| {
            let value = command.get_envs().find(|(own, _)| *own == name).and_then(|(_, value)| value);
            value.unwrap().to_str().unwrap().to_owned()
        };
        assert_eq!(variable("PROFILE"), "dev");
        let info: Value = serde_json::from_str(&variable(INFO)).unwrap();
        let expected = json!({
            "apiVersion": VERSIONS[0], "kind": "ExecCredential",
            "spec": { "interactive": false, "cluster": { "server": "https://api" } },
        });
        assert_eq!(info, expected);
    }
}
