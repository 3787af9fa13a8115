//! The files that a kubeconfig names. kube reads them whole, whatever they are; here they are checked first.

use std::path::{Path, PathBuf};

use informer_system::{FileError, read_file};
use kube::config::{Cluster, Context, Kubeconfig};

/// The most bytes of a kubeconfig, of a certificate and of a key.
pub(super) const BYTES: u64 = 4 << 20;

/// A file cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}, which is {what}, cannot be used: {source}; name a file with the content that belongs there", path.display())]
pub struct CredentialFileError {
    /// The part of the file in the connection.
    what: &'static str,
    /// The file.
    path: PathBuf,
    /// The cause.
    source: FileError,
}

/// Checks a kubeconfig before it is parsed.
pub(super) fn check_kubeconfig(path: &Path) -> Result<(), CredentialFileError> {
    check("the kubeconfig", path)
}

/// Checks the files that the context names; without a name, the current context. A context, cluster or user that does not
/// exist is reported by kube.
pub(super) fn check_named(kubeconfig: &Kubeconfig, context: Option<&str>) -> Result<(), CredentialFileError> {
    let Some(context) = named_context(kubeconfig, context) else { return Ok(()) };
    let cluster = cluster_of(kubeconfig, context);
    let user = kubeconfig.auth_infos.iter().find(|user| Some(&user.name) == context.user.as_ref());
    let user = user.and_then(|user| user.auth_info.as_ref());
    let files = [
        ("the certificate authority", cluster.and_then(|cluster| cluster.certificate_authority.as_ref())),
        ("the client certificate", user.and_then(|user| user.client_certificate.as_ref())),
        ("the client key", user.and_then(|user| user.client_key.as_ref())),
    ];
    files
        .into_iter()
        .filter_map(|(what, path)| Some((what, path?)))
        .try_for_each(|(what, path)| check(what, path.as_ref()))
}

/// The cluster of the context; without a name, of the current context.
pub(super) fn named_cluster<'a>(kubeconfig: &'a Kubeconfig, context: Option<&str>) -> Option<&'a Cluster> {
    cluster_of(kubeconfig, named_context(kubeconfig, context)?)
}

/// The name of the user of the context; without a name, of the current context.
pub(super) fn named_user<'a>(kubeconfig: &'a Kubeconfig, context: Option<&str>) -> Option<&'a str> {
    named_context(kubeconfig, context)?.user.as_deref()
}

fn named_context<'a>(kubeconfig: &'a Kubeconfig, context: Option<&str>) -> Option<&'a Context> {
    let name = context.or(kubeconfig.current_context.as_deref());
    let context = kubeconfig.contexts.iter().find(|context| Some(context.name.as_str()) == name);
    context?.context.as_ref()
}

fn cluster_of<'a>(kubeconfig: &'a Kubeconfig, context: &Context) -> Option<&'a Cluster> {
    kubeconfig.clusters.iter().find(|cluster| cluster.name == context.cluster)?.cluster.as_ref()
}

fn check(what: &'static str, path: &Path) -> Result<(), CredentialFileError> {
    match read_file(path, BYTES) {
        Ok(_) => Ok(()),
        // kube reports it.
        Err(error) if error.is_absent() => Ok(()),
        Err(source) => Err(CredentialFileError { what, path: path.to_owned(), source }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kubeconfig(authority: &str) -> Kubeconfig {
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: one\n\
             clusters:\n- name: one\n  cluster: {{server: 'https://127.0.0.1', certificate-authority: {authority}}}\n\
             users:\n- name: me\n  user: {{}}\n\
             contexts:\n- name: one\n  context: {{cluster: one, user: me}}\n"
        );
        Kubeconfig::from_yaml(&text).unwrap()
    }

    #[test]
    fn an_authority_that_never_ends_is_refused_before_it_is_read() {
        for (path, why) in [
            ("/dev/zero", "it is a device, not a regular file"),
            ("/", "it is a directory, not a regular file"),
        ] {
            let refused = check_named(&kubeconfig(path), None).unwrap_err().to_string();

            let expected = format!("{path}, which is the certificate authority, cannot be used: {why}; ");
            assert!(refused.starts_with(&expected), "{refused}");
        }
        // Another context is not looked at, and kube reports an absent file.
        assert!(check_named(&kubeconfig("/dev/zero"), Some("two")).is_ok());
        assert!(check_named(&kubeconfig("/absent"), None).is_ok());
        // A file of the kernel that reports no length and hardly ends.
        for endless in ["/dev/zero", "/proc/self/pagemap"] {
            assert!(check_kubeconfig(Path::new(endless)).is_err());
        }
    }
}
