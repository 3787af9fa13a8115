//! Lists and tables of names: wrong types, empty lists, repetitions.

use super::{plugin_problems, problems, watch_problems};

#[test]
fn a_value_that_is_not_a_list_is_refused_with_an_example() {
    let text = r#"[host]
http-deny = "10.0.0.0/8"
[[watch]]
gvr = "v1/pods"
namespaces = "default"
drop = "/status"
keep = {}
index = 3
[[plugin]]
name = "a"
source = "a"
config-files = "/etc/a"
[[plugin.on]]
watch = "v1/pods"
events = "add"
changed = true
[plugin.grant]
read = "v1/pods"
write = "patch v1/pods"
secrets = "*"
http = 1
"#;
    assert_eq!(
        problems(text),
        r#"2:13: host.http-deny: expected an array, found the text "10.0.0.0/8"; write http-deny = ["10.0.0.0/8"]
5:14: watch[0].namespaces: expected an array, found the text "default"; write namespaces = ["default"]
6:8: watch[0].drop: expected an array, found the text "/status"; write drop = ["/status"]
7:8: watch[0].keep: expected an array, found a table; write for example keep = ["/spec/nodeName"]
8:9: watch[0].index: expected a table, found the number 3; write for example index = { by-node = "/spec/nodeName" }
12:16: plugin.a.config-files: expected an array, found the text "/etc/a"; write config-files = ["/etc/a"]
15:10: plugin.a.on[0].events: expected an array, found the text "add"; write events = ["add"]
16:11: plugin.a.on[0].changed: expected an array, found true; write for example changed = ["generation", "/metadata/labels"]
18:8: plugin.a.grant.read: expected an array, found the text "v1/pods"; write read = ["v1/pods"]
19:9: plugin.a.grant.write: expected an array, found the text "patch v1/pods"; write write = ["patch v1/pods"]
20:11: plugin.a.grant.secrets: expected an array, found the text "*"; write secrets = ["*"]
21:8: plugin.a.grant.http: expected an array, found the number 1; write for example http = ["https://hooks.example.com/services/"]
"#
    );
}

#[test]
fn a_repeated_element_of_a_list_is_refused() {
    assert_eq!(
        problems("[host]\nhttp-deny = [\"10.0.0.5\", \"10.0.0.5/32\"]\n[[watch]]\ngvr = \"v1/pods\"\n"),
        "2:26: host.http-deny[1]: `10.0.0.5/32` is listed twice; remove one\n"
    );
    assert_eq!(
        watch_problems("namespaces = [\"shop\", \"default\", \"shop\"]\n"),
        "3:34: watch[0].namespaces[2]: `shop` is listed twice; remove one\n"
    );
}

#[test]
fn an_empty_list_of_events_is_refused() {
    assert_eq!(
        plugin_problems("events = []\n"),
        "10:10: plugin.hello.on[0].events: the list is empty; leave the key out for all three\n"
    );
}

#[test]
fn a_plugin_configuration_that_is_nested_too_deeply_is_refused() {
    let nested = |levels: usize| {
        let (open, close) = ("[".repeat(levels), "]".repeat(levels));
        format!("[plugin.config]\nx = {open}{close}\n")
    };
    assert!(crate::parse(&crate::with(&nested(64))).is_ok());

    let told = plugin_problems(&nested(65));

    let path = "[0]".repeat(64);
    assert_eq!(
        told,
        format!(
            "11:69: plugin.hello.config.x{path}: tables and arrays are nested too deeply; use at most 64 levels\n"
        )
    );
}
