use std::fs;

use serde_json::json;
use tempfile::TempDir;

use super::*;

/// Writes a kubeconfig whose only context has the name.
fn write(directory: &TempDir, name: &str, current: &str) -> PathBuf {
    let text = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: {current}\n\
         clusters:\n- name: shared\n  cluster: {{server: 'https://{name}.example'}}\n\
         users:\n- name: {name}\n  user: {{}}\n\
         contexts:\n- name: {name}\n  context: {{cluster: shared, user: {name}}}\n"
    );
    let path = directory.path().join(name);
    fs::write(&path, text).unwrap();
    path
}

/// The names of the contexts.
fn contexts(loaded: &Loaded) -> Vec<&str> {
    loaded.kubeconfig().contexts.iter().map(|context| context.name.as_str()).collect()
}

#[test]
fn absent_files_of_the_list_are_skipped_and_an_absent_file_alone_is_an_error() {
    let directory = TempDir::new().unwrap();
    let absent = directory.path().join("absent");
    let (one, two) = (write(&directory, "one", "one"), write(&directory, "two", "two"));

    let paths = [absent.clone(), one.clone(), absent.clone(), two.clone()];
    let loaded = Loaded::merged(&paths).unwrap().unwrap();
    assert_eq!(loaded.place(), format!("{}:{}", one.display(), two.display()));
    assert_eq!(contexts(&loaded), ["one", "two"]);

    assert!(Loaded::merged(&[absent.clone(), one.join("below")]).unwrap().is_none());
    for refused in [Loaded::at(&absent), Loaded::required(std::slice::from_ref(&absent))] {
        let refused = refused.err().unwrap().to_string();
        let expected = format!(
            "the kubeconfig {} cannot be used: failed to read kubeconfig from '{absent:?}': No such file or directory",
            absent.display()
        );
        assert!(refused.starts_with(&expected), "{refused}");
    }
}

#[tokio::test]
async fn the_first_file_that_sets_a_value_wins() {
    let directory = TempDir::new().unwrap();
    let (one, two) = (write(&directory, "one", "one"), write(&directory, "two", "two"));

    let loaded = Loaded::merged(&[one, two]).unwrap().unwrap();

    assert_eq!(loaded.kubeconfig().current_context.as_deref(), Some("one"));
    let config = loaded.config(Some("two")).await.unwrap();
    assert_eq!(config.cluster_url, "https://one.example/");
}

#[test]
fn after_an_empty_current_context_that_of_the_next_file_counts() {
    let directory = TempDir::new().unwrap();
    let (one, two) = (write(&directory, "one", "''"), write(&directory, "two", "two"));

    assert_eq!(Loaded::at(&one).unwrap().kubeconfig().current_context, None);
    let loaded = Loaded::merged(&[one, two]).unwrap().unwrap();
    assert_eq!(loaded.kubeconfig().current_context.as_deref(), Some("two"));
}

#[test]
fn each_file_of_the_list_is_checked_before_it_is_read() {
    let directory = TempDir::new().unwrap();
    let one = write(&directory, "one", "one");

    let refused = Loaded::merged(&[one.clone(), "/dev/zero".into()]).err().unwrap().to_string();
    assert!(refused.starts_with("/dev/zero, which is the kubeconfig, cannot be used: "), "{refused}");

    let loaded = Loaded::merged(&["/dev/null".into(), one]).unwrap().unwrap();
    assert_eq!(contexts(&loaded), ["one"]);
    assert!(Loaded::merged(&["/dev/null".into()]).unwrap().is_none());
}

#[test]
fn empty_strings_of_a_kubeconfig_are_unset() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("kubeconfig");
    let text = "apiVersion: v1\nkind: Config\n\
        clusters:\n- name: a\n  cluster: {server: 'https://a', certificate-authority: '', \
        certificate-authority-data: '', tls-server-name: ''}\n\
        users:\n- name: file\n  user: {token: '', tokenFile: token, username: '', password: '', \
        client-certificate: '', client-certificate-data: '', client-key: '', client-key-data: ''}\n\
        - name: text\n  user: {token: a, tokenFile: '', client-key: key}\n";
    fs::write(&path, text).unwrap();

    let loaded = Loaded::at(&path).unwrap();

    let below = |name: &str| directory.path().join(name).display().to_string();
    let Kubeconfig { clusters, auth_infos, .. } = loaded.kubeconfig();
    assert_eq!(serde_json::to_value(&clusters[0].cluster).unwrap(), json!({ "server": "https://a" }));
    let users: Vec<_> =
        auth_infos.iter().map(|user| serde_json::to_value(&user.auth_info).unwrap()).collect();
    assert_eq!(
        users,
        [json!({ "tokenFile": below("token") }), json!({ "token": "a", "client-key": below("key") })]
    );
}

#[test]
fn the_text_of_a_mistake_in_a_kubeconfig_names_the_file_and_shows_no_credentials() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("kubeconfig");
    fs::write(&path, "users:\n- name: a\n  user:\n    token: s3cret\ncontexts: wrong\n").unwrap();

    let refused = Loaded::at(&path).err().unwrap().to_string();

    let expected = format!("the kubeconfig {} cannot be used: failed to parse", path.display());
    assert!(refused.starts_with(&expected), "{refused}");
    assert!(!refused.contains("s3cret"), "{refused}");
}

#[test]
fn the_variable_with_the_list_comes_before_the_file_at_home() {
    let paths = |variable: Option<&str>| listed(variable.map(OsString::from), Some("/home/me".into()));
    let home = [PathBuf::from("/home/me/.kube/config")];
    assert_eq!(paths(None), home);
    assert_eq!(paths(Some("")), home);
    assert_eq!(paths(Some("/a::/b")), [PathBuf::from("/a"), PathBuf::from("/b")]);
    assert!(paths(Some(":")).is_empty());
    assert!(listed(None, None).is_empty());
}
