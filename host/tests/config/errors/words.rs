//! Keys that take one of a few words, and keys that are useless beside another.

use super::{plugin_problems, problems};

#[test]
fn an_unknown_word_is_refused_with_the_known_words() {
    let text = r#"[cluster]
watch-list = "never"
[host]
log-format = "logfmt"
[[watch]]
gvr = "v1/pods"
compression = "gzip"
[[plugin]]
name = "a"
source = "a"
instance = "cold"
[[plugin.on]]
watch = "v1/pods"
relist = "none"
initial = "replay"
"#;
    assert_eq!(
        problems(text),
        r#"2:14: cluster.watch-list: unknown value `never`; write "auto" or "on" or "off"
4:14: host.log-format: unknown value `logfmt`; write "text" or "json"
7:15: watch[0].compression: unknown value `gzip`; write "zstd" or "off"
11:12: plugin.a.instance: unknown value `cold`; write "warm" or "fresh"
14:10: plugin.a.on[0].relist: unknown value `none`; write "changed" or "all"
15:11: plugin.a.on[0].initial: unknown value `replay`; write "deliver" or "skip" or "changed"
"#
    );
    let text = "[cluster]\nwatch-list = \"atuo\"\n[host]\nlog-format = true\n[[watch]]\ngvr = \"v1/pods\"\ncompression = \"zst\"\n";
    assert_eq!(
        problems(text),
        r#"2:14: cluster.watch-list: unknown value `atuo`; did you mean "auto"?
4:14: host.log-format: expected a word, found true; write for example "text" or "json"
7:15: watch[0].compression: unknown value `zst`; did you mean "zstd"?
"#
    );
}

#[test]
fn keys_of_warm_instances_are_refused_for_fresh_ones() {
    let text = "[[watch]]\ngvr = \"v1/pods\"\n[[plugin]]\nname = \"a\"\nsource = \"a\"\ninstance = \"fresh\"\n\
                max-calls = 3\nidle-timeout = \"1m\"\n[[plugin.on]]\nwatch = \"v1/pods\"\n";
    assert_eq!(
        problems(text),
        r#"7:13: plugin.a.max-calls: it has no meaning if each call has its own instance; remove it, or write instance = "warm"
8:16: plugin.a.idle-timeout: it has no meaning if each call has its own instance; remove it, or write instance = "warm"
"#
    );
}

#[test]
fn a_longest_wait_below_the_default_first_wait_is_refused() {
    assert_eq!(
        plugin_problems("[plugin.quarantine]\nmax = \"500ms\"\n"),
        "11:7: plugin.hello.quarantine.max: `max` is shorter than `min`; write a shorter `min` too\n"
    );
    assert_eq!(
        plugin_problems("[plugin.workqueue]\nmax = \"1ms\"\n"),
        "11:7: plugin.hello.workqueue.max: `max` is shorter than `min`; write a shorter `min` too\n"
    );
}

#[test]
fn a_key_whose_value_cannot_be_used_does_not_make_other_keys_wrong() {
    for lines in [
        "[[plugin.timer]]\nname = \"a\"\nevery = \"1 s\"\n",
        "[plugin.queue]\nrate = -1\nburst = 3\n",
        "whole-if = \"has(object.metadata.annotations)\"\nreads = \"spec\"\n",
        "[telemetry]\nendpoint = \"a\"\nsample = 0.5\n",
        "[host]\nhealth = \"8081\"\nmetrics-auth = \"kubernetes\"\n",
        "[[signer]]\nname = \"a\"\npublic-key = 1\n",
        "[[signer]]\nname = \"a\"\nissuer = \"https://a\"\nsubject = 1\n",
        "[[verify]]\nrepository = \"*\"\nall-of = \"acme\"\n",
        "[[watch]]\ngvr = \"*/*/*\"\nmetadata-only = 1\n",
    ] {
        let problems = plugin_problems(lines);
        assert_eq!(problems.lines().count(), 1, "{lines}{problems}");
    }
}
