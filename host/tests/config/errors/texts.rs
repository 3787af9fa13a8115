//! Texts that cannot be parsed.

use std::path::Path;

use informer::config::{self, Components, Environment, Place};

use super::problems;
use crate::parse;

const WATCH: &str = "[[watch]]\ngvr = \"v1/pods\"\n";

/// The problems of a file with this line in this table; it is the second line.
fn told(table: &str, line: &str) -> String {
    problems(&format!("{table}\n{line}\n{WATCH}"))
}

#[test]
fn a_url_that_is_no_api_server_is_refused_with_the_reason() {
    let remedy = r#"write for example "https://10.0.0.1:6443""#;
    for (url, problem) in [
        ("", "empty string"),
        ("https://a b", "invalid uri character"),
        ("/path", "it has no host"),
        ("https://a:99999", "its port is not a number up to 65535"),
        ("https://a?b=c", "it has a query"),
        ("http://10.0.0.1:8080", "plain http is for this machine only (127.0.0.1, [::1] or localhost)"),
        ("10.0.0.1:6443", "its scheme is neither https nor http"),
        ("ftp://10.0.0.1", "its scheme is neither https nor http"),
    ] {
        assert_eq!(
            told("[cluster]", &format!("server = \"{url}\"")),
            format!("2:10: cluster.server: `{url}` is not the URL of an API server: {problem}; {remedy}\n")
        );
    }
    assert_eq!(
        told("[cluster]", "server = \"https://me:hunter2@10.0.0.1\""),
        "2:10: cluster.server: a URL must not hold credentials; put them into a kubeconfig and name it under \
         [cluster] kubeconfig\n"
    );
}

#[test]
fn the_password_in_a_malformed_url_is_not_shown() {
    for (table, line) in [
        ("[cluster]", "server = \"https://me:hunter2@a b\""),
        ("[cluster]", "page-size = \"https://me:hunter2@a\""),
        ("[telemetry]", "endpoint = \"https://me:hunter2@a b\""),
        ("[host]", "http-ca = \"https://me:hunter2@a/ca.pem\""),
    ] {
        let told = told(table, line);
        assert!(told.contains("https://***@a") && !told.contains("hunter2"), "{told}");
    }
}

#[test]
fn a_malformed_address_or_context_is_refused_with_an_example() {
    for (table, line, problem) in [
        (
            "[host]",
            "admin = \"8080\"",
            "2:9: host.admin: `8080` is not an address; write an IP address and a port, like 127.0.0.1:8080",
        ),
        (
            "[host]",
            "admin = \"localhost:8080\"",
            "2:9: host.admin: `localhost:8080` is not an address; write an IP address and a port, like \
             127.0.0.1:8080",
        ),
        (
            "[host]",
            "health = \":8081\"",
            "2:10: host.health: `:8081` is not an address; write an IP address and a port, like 0.0.0.0:8081 or \
             [::]:8081",
        ),
        (
            "[host]",
            "metrics-auth = \"kubernetes\"",
            "2:16: host.metrics-auth: there is no health endpoint, so the key has no effect; set `health`, or remove \
             this key",
        ),
        (
            "[cluster]",
            "context = \"\"",
            "2:11: cluster.context: the text is empty; write something, or leave the key out",
        ),
        (
            "[cluster]",
            "context = \" \"",
            "2:11: cluster.context: the text is empty; write something, or leave the key out",
        ),
    ] {
        assert_eq!(told(table, line), format!("{problem}\n"));
    }
}

#[test]
fn two_endpoints_at_one_address_are_refused() {
    for health in ["0.0.0.0:8080", "[::]:8080", "127.0.0.1:8080"] {
        assert_eq!(
            told("[host]", &format!("health = \"{health}\"")),
            "2:10: host.health: the admin endpoint listens at 127.0.0.1:8080 already; write another port, or another \
             address for `admin`\n"
        );
    }
    for lines in [
        "health = \"0.0.0.0:8081\"",
        "health = \"127.0.0.2:8080\"",
        "health = \"0.0.0.0:8080\"\nadmin = \"off\"",
        "health = \"0.0.0.0:8080\"\nadmin = \"[::1]:8080\"",
        "health = \"0.0.0.0:8080\"\nadmin = \"unix:admin.sock\"",
        "health = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"",
    ] {
        assert!(parse(&format!("[host]\n{lines}\n{WATCH}")).is_ok(), "{lines}");
    }
}

#[test]
fn a_path_below_a_missing_home_directory_is_refused() {
    let text = format!(
        "[cluster]\nkubeconfig = \"~/a\"\n[host]\ncache-dir = \"~/b\"\nstate-dir = \"~/c\"\nhttp-ca = \"~/d\"\n{WATCH}\
         [[plugin]]\nname = \"a\"\nsource = \"~/e\"\nconfig-files = [\"/etc/f\", \"~/g\"]\n[[plugin.on]]\nwatch = \"v1/pods\"\n"
    );
    let environment = Environment::default();
    let place = Place {
        file: Path::new("informer.toml"),
        base: Path::new("/etc/informer"),
        environment: &environment,
    };

    let error = config::parse(&text, &place, Components::Unseen).unwrap_err().to_string();

    let said = |place: &str, key: &str, path: &str| {
        format!(
            "informer.toml:{place}: {key}: `~/{path}`: this process has no home directory; set $HOME, or write \
             the path in full\n"
        )
    };
    assert_eq!(
        error,
        [
            said("2:14", "cluster.kubeconfig", "a"),
            said("4:13", "host.cache-dir", "b"),
            said("5:13", "host.state-dir", "c"),
            said("6:11", "host.http-ca", "d"),
            said("11:10", "plugin.a.source", "e"),
            said("12:27", "plugin.a.config-files[1]", "g"),
            "6 problems in informer.toml".to_owned(),
        ]
        .concat()
    );
}
