//! The problems of invalid files, word by word, without the name of the file.

mod bounds;
mod filters;
mod http;
mod lists;
mod patterns;
mod reads;
mod settle;
mod texts;
mod watches;
mod words;

use std::path::Path;

use informer::config::{ConfigError, Problem};

use crate::{parse, with};

/// The problems of a text, one per line.
fn problems(text: &str) -> String {
    let error = parse(text).expect_err("the file is good");
    let shown = error.to_string();
    let (lines, count) = shown.rsplit_once('\n').unwrap();
    let noun = if error.problems.len() == 1 { "problem" } else { "problems" };
    assert_eq!(count, format!("{} {noun} in informer.toml", error.problems.len()));
    lines.lines().map(|line| line.strip_prefix("informer.toml:").unwrap().to_owned() + "\n").collect()
}

/// The problems of a file with one plugin and these lines at its end, from line 10.
fn plugin_problems(lines: &str) -> String {
    problems(&with(lines))
}

/// The problems of a file with one watch and these lines, from line 3.
fn watch_problems(lines: &str) -> String {
    problems(&format!("[[watch]]\ngvr = \"v1/pods\"\n{lines}"))
}

#[test]
fn every_problem_of_a_file_is_reported_at_once_and_in_order() {
    let text = r#"
[cluster]
contxt = "dev"
page-size = "many"

[host]
admin = "0.0.0.0:8080"
log_format = "json"
shutdown-timeout = 25

[[watch]]
gvr = "apps/v1/deployments"
resync = "10"

[[watch]]
gvr = "v1/pods"
drop = ["metadata"]
metadata-only = 1

[[plugin]]
name = "deployment-logger"
source = "deployment-logger.wasm"

  [[plugin.on]]
  watch = "apps/v1/deploymentz"
  events = ["add", "modify"]
  when = "object.spec.replicas >"

  [plugin.limits]
  memory = "64Mi"
  instance = "fresh"
"#;
    assert_eq!(
        problems(text),
        r#"3:1: cluster.contxt: unknown key; did you mean `context`?
4:13: cluster.page-size: expected a whole number, found the text "many"; write for example 10
7:9: host.admin: `0.0.0.0:8080` can be reached from outside; write a loopback address, like 127.0.0.1:8080 or [::1]:8080
8:1: host.log_format: unknown key; did you mean `log-format`?
9:20: host.shutdown-timeout: expected a duration, found the number 25; write for example "30s"
13:10: watch[0].resync: `10` is not a duration; write numbers with the units h, m, s or ms, like "30s", "1h30m" or "500ms"
17:9: watch[1].drop[0]: `metadata` is not a JSON pointer: it must start with `/`, as in `/spec/replicas`
18:17: watch[1].metadata-only: expected true or false, found the number 1; write for example true
25:11: plugin.deployment-logger.on[0].watch: `apps/v1/deploymentz` is not watched; did you mean `apps/v1/deployments`?
26:20: plugin.deployment-logger.on[0].events[1]: unknown value `modify`; write "add" or "update" or "delete"
27:10: plugin.deployment-logger.on[0].when: not CEL, at 1:23 of the expression: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}; write for example `object.spec.replicas > 2`
30:12: plugin.deployment-logger.limits.memory: `64Mi` is not a size; did you mean "64MiB"?
31:3: plugin.deployment-logger.limits.instance: unknown key; it belongs to [[plugin]]
"#
    );
}

#[test]
fn problems_are_serialized_for_programs() {
    let error: ConfigError = parse(&with("[plugin.queue]\nworkers = 0\n")).unwrap_err();

    let problem = Problem {
        file: Path::new("informer.toml").to_owned(),
        line: 11,
        column: 11,
        key: "plugin.hello.queue.workers".to_owned(),
        message: "0 is too small".to_owned(),
        remedy: Some("write at least 1".to_owned()),
    };
    assert_eq!(error, ConfigError { file: Path::new("informer.toml").to_owned(), problems: vec![problem] });
    assert_eq!(
        serde_json::to_value(&error).unwrap(),
        serde_json::json!({
            "file": "informer.toml",
            "problems": [{
                "file": "informer.toml",
                "line": 11,
                "column": 11,
                "key": "plugin.hello.queue.workers",
                "message": "0 is too small",
                "remedy": "write at least 1",
            }],
        })
    );
}

#[test]
fn only_the_first_problem_of_a_text_that_is_not_toml_is_reported() {
    for (text, problem) in [
        ("[host]\nlog = \n[x", "2:7: not TOML: string values must be quoted, expected literal string\n"),
        (
            "[host]\nlog = debug\nlog-format = text",
            "2:7: not TOML: string values must be quoted, expected literal string\n",
        ),
        ("[[watch]\ngvr = 1", "1:9: not TOML: unclosed array table, expected `]`\n"),
        ("[host]\nlog = \"a\"\nlog = \"b\"", "3:1: not TOML: duplicate key; remove one of the two\n"),
        (
            "x = \"\u{e9}\u{e9}\\q\"",
            "1:9: not TOML: missing escaped value, expected `b`, `e`, `f`, `n`, `r`, `\\`, `\"`, `x`, `u`, `U`\n",
        ),
    ] {
        assert_eq!(problems(text), problem);
    }
}

#[test]
fn an_empty_file_watches_nothing() {
    for text in ["", "watch = []", "# a comment\n[host]\n"] {
        assert_eq!(
            problems(text),
            "1:1: nothing is watched; add [[watch]] with gvr = \"apps/v1/deployments\", or another resource\n"
        );
    }
}

#[test]
fn a_table_of_the_wrong_shape_is_refused_with_the_right_one() {
    let text = "watch = 3\n[[cluster]]\n[host.log]\n[[plugin]]\nname = 1\nsource = true\nqueue = 1\non = {}\nconfig = [1]\n";
    assert_eq!(
        problems(text),
        r#"1:9: watch: expected an array of tables, found the number 3; write [[watch]]
2:1: cluster: expected a table, found an array; write [cluster]
3:1: host.log: expected a log filter, found a table; write for example "info"
5:8: plugin[0].name: expected a name, found the number 1; write for example "deployment-logger"
6:10: plugin[0].source: expected a file or an artifact, found true; write for example "plugins/hello.wasm"
7:9: plugin[0].queue: expected a table, found the number 1; write [plugin.queue]
8:6: plugin[0].on: expected an array of tables, found a table; write [[plugin.on]]
9:10: plugin[0].config: expected a table, found an array; write [plugin.config]
"#
    );
    assert_eq!(
        problems("plugin = [1]\n[watch]\ngvr = \"v1/pods\"\n"),
        "1:11: plugin[0]: expected a table, found the number 1; write [[plugin]]\n\
         2:1: watch: expected an array of tables, found a table; write [[watch]]\n"
    );
}

#[test]
fn a_missing_required_key_is_reported_at_its_table() {
    assert_eq!(
        problems("[[watch]]\n\n  [[plugin]]\n  [[plugin.on]]\n"),
        r#"1:1: watch[0].gvr: it is missing in [[watch]]; write for example gvr = "apps/v1/deployments"
3:3: plugin[0].name: it is missing in [[plugin]]; write for example name = "deployment-logger"
3:3: plugin[0].source: it is missing in [[plugin]]; write for example source = "plugins/hello.wasm"
4:3: plugin[0].on[0].watch: it is missing in [[plugin.on]]; write for example watch = "apps/v1/deployments"
"#
    );
}

#[test]
fn an_unknown_key_is_refused_with_its_home_or_the_nearest_key() {
    assert_eq!(
        plugin_problems(
            "deadline = \"1s\"\nlog = 1\nrelists = \"all\"\ncolour = 1\n[plugin.retry]\nmaximum = 1\n[plugins]\n"
        ),
        r#"10:1: plugin.hello.on[0].deadline: unknown key; it belongs to [plugin.limits]
11:1: plugin.hello.on[0].log: unknown key; it belongs to [host] or [plugin.limits]
12:1: plugin.hello.on[0].relists: unknown key; did you mean `relist`?
13:1: plugin.hello.on[0].colour: unknown key; known are `watch`, `events`, `namespaces`, `namespaces-labels`, `labels`, `annotations`, `fields`, `when`, `changed`, `resync`, `settle`, `relist`, `initial`, `enqueue`, `resource-in-key`, `reads`, `whole-if`
15:1: plugin.hello.retry.maximum: unknown key; known are `min`, `max`, `factor`, `jitter`, `attempts`, `budget`, `on-exhausted`
16:2: plugins: unknown key; did you mean `plugin`?
"#
    );
    assert_eq!(
        plugin_problems("[plugin.grant]\nmetrics = true\n"),
        "11:1: plugin.hello.grant.metrics: unknown key; known are `read`, `write`, `secrets`, `keyvalue`, `http`\n"
    );
}

#[test]
fn a_repetition_is_refused_with_the_line_of_the_first_one() {
    let text = r#"[[watch]]
gvr = "v1/pods"
[[watch]]
gvr = "v1/pods"
[[plugin]]
name = "a"
source = "a"
[[plugin.on]]
watch = "v1/pods"
events = ["add", "add"]
[[plugin.on]]
watch = "v1/pods"
[plugin.grant]
read = ["v1/pods", "v1/pods"]
[[plugin]]
name = "a"
source = "a"
[[plugin.on]]
watch = "v1/pods"
"#;
    assert_eq!(
        problems(text),
        r#"4:7: watch[1].gvr: `v1/pods` is watched already on line 2; remove one: all plugins share one watch, and namespaces are listed in it
10:18: plugin.a.on[0].events[1]: `add` is listed twice; remove one
12:9: plugin.a.on[1].watch: it is subscribed to `v1/pods` already on line 9; remove one: each event would be delivered twice
14:20: plugin.a.grant.read[1]: `v1/pods` is listed twice; remove one
16:8: plugin.a.name: a plugin on line 6 is named `a` already; give each its own name
"#
    );
}

#[test]
fn a_resource_without_a_watch_can_be_neither_subscribed_to_nor_read() {
    assert_eq!(
        plugin_problems(
            "[[plugin.on]]\nwatch = \"v1/secrets\"\n[plugin.grant]\nread = [\"v1/pods\", \"apps/v1/deploymnets\"]\n"
        ),
        r#"11:9: plugin.hello.on[1].watch: `v1/secrets` is not watched; add [[watch]] with gvr = "v1/secrets"
13:9: plugin.hello.grant.read[0]: `v1/pods` is not watched; add [[watch]] with gvr = "v1/pods"
13:20: plugin.hello.grant.read[1]: `apps/v1/deploymnets` is not watched; did you mean `apps/v1/deployments`?
"#
    );
}

#[test]
fn a_grant_that_is_malformed_or_grants_nothing_is_refused() {
    let text = r#"[[watch]]
gvr = "v1/pods"
namespaces = ["default"]
[[plugin]]
name = "a"
source = "a"
[[plugin.on]]
watch = "v1/pods"
[plugin.grant]
read = ["v1/pods @default,shop", "v1/services/status", "v1/pods @Shop"]
write = ["patch apps/v1/deployments", "get v1/pods", "patch apps/v1/deployments", "create v1/pods/exec", 3]
secrets = ["shop", "shop/*", "shop/*"]
"#;
    assert_eq!(
        problems(text),
        r#"10:9: plugin.a.grant.read[0]: `v1/pods` is not watched in namespace `shop`; add "shop" to `namespaces` of its [[watch]], or remove it here
10:56: plugin.a.grant.read[2]: `v1/pods @Shop` is not a grant: `Shop` is not a namespace; write the namespaces as in `@shop` or `@shop,default`, or nothing for all of them
11:39: plugin.a.grant.write[1]: `get v1/pods` is not a grant: `get` is not a verb; write create, update, patch, apply or delete, joined by commas, or `*` for all of them
11:54: plugin.a.grant.write[2]: `patch apps/v1/deployments` is listed twice; remove one
11:83: plugin.a.grant.write[3]: `create v1/pods/exec` is not a grant: the subresource `exec` is never granted; remove it: a plugin gets objects, and neither connections nor credentials
11:106: plugin.a.grant.write[4]: expected verbs and a resource, found the number 3; write for example "patch apps/v1/deployments @default"
12:12: plugin.a.grant.secrets[0]: `shop` is not a grant: it has no namespace; write `shop/credentials` for one Secret, `shop/*` for those of a namespace, or `*`; with `digest ` before it the plugin sees digests only
12:30: plugin.a.grant.secrets[2]: `shop/*` is listed twice; remove one
"#
    );
}

#[test]
fn a_reference_to_a_malformed_watch_is_not_reported() {
    let text = "[[watch]]\ngvr = \"V1/pods\"\n[[plugin]]\nname = \"a\"\nsource = \"a\"\n[[plugin.on]]\nwatch = \"v1/pods\"\n";
    assert_eq!(
        problems(text),
        "2:7: watch[0].gvr: `V1/pods` is not a resource: only lower-case letters, digits, `-` and `.` are allowed; \
         write group/version/resource (`apps/v1/deployments`), or version/resource for the core group (`v1/pods`)\n"
    );
}

#[test]
fn only_one_way_to_reach_the_cluster_is_accepted() {
    let text = "[cluster]\nserver = \"https://10.0.0.1\"\ncontext = \"dev\"\nkubeconfig = \"~/x\"\npage-size = 0\nidle-watch-timeout = \"0s\"\n[[watch]]\ngvr = \"v1/pods\"\n";
    assert_eq!(
        problems(text),
        r#"3:11: cluster.context: `server` says already where the API server is; remove one of the two
4:14: cluster.kubeconfig: `server` says already where the API server is; remove one of the two
5:13: cluster.page-size: 0 is too small; write at least 1
6:22: cluster.idle-watch-timeout: "0s" is too small; write at least "100ms"
"#
    );
}

#[test]
fn the_keyvalue_quota_is_a_size_within_bounds() {
    for (quota, problem) in [
        ("\"1MB\"", "`1MB` is not a size; did you mean \"1MiB\"?"),
        ("true", "expected a size, found true; write for example \"64MiB\""),
        ("\"63B\"", "\"63B\" is too small; write at least \"64B\""),
        ("\"2GiB\"", "\"2GiB\" is too large; write at most \"1GiB\""),
    ] {
        let told = plugin_problems(&format!("[plugin.grant]\nkeyvalue = {quota}\n"));
        assert_eq!(told, format!("11:12: plugin.hello.grant.keyvalue: {problem}\n"));
    }
}

#[test]
fn an_identity_is_the_user_name_of_a_service_account() {
    let with = |account: &str| {
        let text = informer::config::SMALLEST.replace("source = ", &format!("as = \"{account}\"\nsource = "));
        problems(&text)
    };
    for account in ["system:admin", "shop/reloader", "system:serviceaccount:shop:"] {
        assert_eq!(
            with(account),
            format!(
                "6:6: plugin.hello.as: `{account}` is not the user name of a ServiceAccount; write \
                 system:serviceaccount:NAMESPACE:NAME\n"
            )
        );
    }
}

#[test]
fn a_log_level_is_one_of_five_words() {
    let told = problems(&informer::config::SMALLEST.replace("source = ", "log-level = \"debg\"\nsource = "));
    assert_eq!(told, "6:13: plugin.hello.log-level: unknown value `debg`; did you mean \"debug\"?\n");
    let told = problems(&format!("[host]\nlog = \"debg\"\n{}", informer::config::SMALLEST));
    assert_eq!(
        told,
        "2:7: host.log: `debg` is not a log filter: `debg` is no level; did you mean `debug`?; write for example \"info\" or \"info,informer_cache=debug\"\n"
    );
}

#[test]
fn the_number_of_trace_steps_is_bounded() {
    for (steps, problem) in [
        ("1048577", "1048577 is too large; write at most 1048576"),
        ("-1", "-1 is out of range; write a whole number from 0 to 4294967295"),
        ("\"off\"", "expected a whole number, found the text \"off\"; write for example 10"),
    ] {
        let told = problems(&format!("[host]\ntrace = {steps}\n{}", informer::config::SMALLEST));
        assert_eq!(told, format!("2:9: host.trace: {problem}\n"));
    }
}

#[test]
fn configuration_files_are_paths() {
    let told = problems(
        &informer::config::SMALLEST.replace("source = ", "config-files = [\"/etc/a\", 1]\nsource = "),
    );
    assert_eq!(
        told,
        "6:27: plugin.hello.config-files[1]: expected a path, found the number 1; write for example \"plugins/hello.wasm\"\n"
    );
}

#[test]
fn a_state_directory_is_a_path() {
    let told = problems(&format!("[host]\nstate-dir = 1\n{}", informer::config::SMALLEST));
    assert_eq!(
        told,
        "2:13: host.state-dir: expected a path, found the number 1; write for example \"plugins/hello.wasm\"\n"
    );
    let told = problems(&format!("[host]\nstate-dir = \"s3://state\"\n{}", informer::config::SMALLEST));
    assert_eq!(
        told,
        "2:13: host.state-dir: `s3://state`: `s3://` is not supported by this version; write the path of a file on this machine\n"
    );
}

#[test]
fn a_number_out_of_range_is_refused_with_the_range() {
    assert_eq!(
        plugin_problems(
            r#"[plugin.queue]
workers = 257
[plugin.retry]
min = "2m"
max = "1m"
factor = nan
jitter = 2
attempts = -1
budget = -0.1
on-exhausted = "retry"
[plugin.quarantine]
after = -1
min = "0s"
max = "25h"
[plugin.limits]
memory = "1B"
deadline = "0s"
log = -1
response = "2GiB"
requests = 0
cpu = "5ms/s"
host-calls = 5000000000
instances = 0
log-lines = -1
"#
        ),
        r#"11:11: plugin.hello.queue.workers: 257 is too large; write at most 256
14:7: plugin.hello.retry.max: `max` is shorter than `min`; lower `min` or raise `max`
15:10: plugin.hello.retry.factor: the number nan cannot be used; write for example 2.0
16:10: plugin.hello.retry.jitter: 2 is too large; write at most 1
17:12: plugin.hello.retry.attempts: -1 is out of range; write a whole number from 0 to 4294967295
18:10: plugin.hello.retry.budget: -0.1 is too small; write at least 0
19:16: plugin.hello.retry.on-exhausted: unknown value `retry`; write "dead-letter" or "drop" or "quarantine"
21:9: plugin.hello.quarantine.after: -1 is out of range; write a whole number from 0 to 4294967295
22:7: plugin.hello.quarantine.min: "0s" is too small; write at least "1ms"
23:7: plugin.hello.quarantine.max: "25h" is too large; write at most "24h"
25:10: plugin.hello.limits.memory: "1B" is too small; write at least "64KiB"
26:12: plugin.hello.limits.deadline: "0s" is too small; write at least "10ms"
27:7: plugin.hello.limits.log: -1 is not a size; write for example "64MiB"
28:12: plugin.hello.limits.response: "2GiB" is too large; write at most "1GiB"
29:12: plugin.hello.limits.requests: 0 is too small; write at least 1
30:7: plugin.hello.limits.cpu: "5ms/s" is too small; write at least "10ms/s"
31:14: plugin.hello.limits.host-calls: 5000000000 is out of range; write a whole number from 0 to 4294967295
32:13: plugin.hello.limits.instances: 0 is too small; write at least 1
33:13: plugin.hello.limits.log-lines: -1 is out of range; write a whole number from 0 to 4294967295
"#
    );
}

#[test]
fn a_number_of_the_workqueue_out_of_range_is_refused_with_the_range() {
    assert_eq!(
        plugin_problems(
            r#"enqueue = "owner"
[plugin.workqueue]
workers = 0
capacity = 0
attempts = -1
min = "0s"
max = "25h"
qps = 0.5
burst = 0
delay = "1s"
"#
        ),
        r#"10:11: plugin.hello.on[0].enqueue: unknown value `owner`; write "object" or "controller"
12:11: plugin.hello.workqueue.workers: 0 is too small; write at least 1
13:12: plugin.hello.workqueue.capacity: 0 is too small; write at least 1
14:12: plugin.hello.workqueue.attempts: -1 is out of range; write a whole number from 0 to 4294967295
15:7: plugin.hello.workqueue.min: "0s" is too small; write at least "1ms"
16:7: plugin.hello.workqueue.max: "25h" is too large; write at most "24h"
17:7: plugin.hello.workqueue.qps: expected a whole number, found the number 0.5; write for example 10
18:9: plugin.hello.workqueue.burst: 0 is too small; write at least 1
19:1: plugin.hello.workqueue.delay: unknown key; known are `workers`, `capacity`, `attempts`, `min`, `max`, `qps`, `burst`
"#
    );
}

#[test]
fn a_longest_wait_below_the_shortest_is_refused() {
    assert_eq!(
        plugin_problems("[plugin.workqueue]\nmin = \"1m\"\nmax = \"1s\"\n"),
        "12:7: plugin.hello.workqueue.max: `max` is shorter than `min`; lower `min` or raise `max`\n"
    );
    assert_eq!(
        plugin_problems("[plugin.retry]\nmax = \"100ms\"\n"),
        "11:7: plugin.hello.retry.max: `max` is shorter than `min`; write a shorter `min` too\n"
    );
    assert_eq!(
        plugin_problems("[plugin.quarantine]\nmin = \"10s\"\nmax = \"1s\"\n"),
        "12:7: plugin.hello.quarantine.max: `max` is shorter than `min`; lower `min` or raise `max`\n"
    );
}

#[test]
fn a_useless_key_of_the_queue_is_refused_with_the_key_it_needs() {
    assert_eq!(
        plugin_problems("[plugin.queue]\ndelivery = \"all\"\ncapacity = 100\nburst = 2\n"),
        r#"11:12: plugin.hello.queue.delivery: unknown value `all`; write "latest" or "every"
12:12: plugin.hello.queue.capacity: it has no meaning if changes merge: there are never more than objects; remove it, or write delivery = "every"
13:9: plugin.hello.queue.burst: it has no meaning without a rate; remove it, or write `rate` too
"#
    );
    assert_eq!(
        plugin_problems("[plugin.queue]\ndelivery = \"every\"\ncapacity = 0\nrate = 0\nburst = 2000000\n"),
        r#"12:12: plugin.hello.queue.capacity: 0 is too small; write at least 1
13:8: plugin.hello.queue.rate: 0 is too small; write at least 0.001
14:9: plugin.hello.queue.burst: 2000000 is too large; write at most 1000000
"#
    );
}

#[test]
fn a_malformed_share_of_the_processors_is_refused_with_an_example() {
    let problem = |line: &str| plugin_problems(&format!("[plugin.limits]\n{line}\n"));

    assert_eq!(
        problem("cpu = \"20%\""),
        "11:7: plugin.hello.limits.cpu: `20%` is not a share of the processors; write processor time a second, \
         like \"200ms/s\", a fifth of one processor, or \"2s/s\", two of them\n"
    );
    assert_eq!(
        problem("cpu = 0.2"),
        "11:7: plugin.hello.limits.cpu: expected a share of the processors, found the number 0.2; write for \
         example \"200ms/s\"\n"
    );
    assert_eq!(
        problem("cpu = \"2000s/s\""),
        "11:7: plugin.hello.limits.cpu: \"33m20s/s\" is too large; write at most \"16m40s/s\"\n"
    );
}

#[test]
fn a_plugin_without_subscriptions_or_from_a_url_is_refused() {
    let text = "[[watch]]\ngvr = \"v1/pods\"\n[[plugin]]\nname = \"A\"\nsource = \"oci://x\"\ninstance = \"fresh\"\nmax-calls = 3\n[plugin.config]\nx = nan\ny = 9999999999999999999\n";
    assert_eq!(
        problems(text),
        r#"3:1: plugin[0]: it subscribes to nothing and would never be called; add [[plugin.on]] with watch = "v1/pods"
4:8: plugin[0].name: `A` is not a name; write at most 63 lower-case letters, digits and `-`, with no `-` at either end
5:10: plugin[0].source: `oci://x` names no registry; write its host first, for example oci://ghcr.io/acme/plugin:1.2
7:13: plugin[0].max-calls: it has no meaning if each call has its own instance; remove it, or write instance = "warm"
9:5: plugin[0].config.x: the number nan has no equal in JSON; write it as a text
10:5: plugin[0].config.y: 9999999999999999999 does not fit 64 bits; write it as a text
"#
    );
}

#[test]
fn the_keys_of_reload_are_bounded() {
    assert_eq!(
        plugin_problems("[plugin.reload]\nreturn-after = 1.5\ntrial = 20_000\nreturn_after = 0.2\n"),
        "11:16: plugin.hello.reload.return-after: 1.5 is too large; write at most 1\n\
         12:9: plugin.hello.reload.trial: 20000 is too large; write at most 10000\n\
         13:1: plugin.hello.reload.return_after: unknown key; did you mean `return-after`?\n"
    );
    assert_eq!(
        plugin_problems("[plugin.reload]\nreturn-after = \"half\"\ntrial = -1\n"),
        "11:16: plugin.hello.reload.return-after: expected a number, found the text \"half\"; write for example 2.0\n\
         12:9: plugin.hello.reload.trial: -1 is out of range; write a whole number from 0 to 4294967295\n"
    );
    assert_eq!(
        plugin_problems("reload = 0.5\n"),
        "10:1: plugin.hello.on[0].reload: unknown key; it belongs to [[plugin]]\n"
    );
    let elsewhere = "[[watch]]\ngvr = \"v1/pods\"\n[[plugin]]\nname = \"hello\"\nsource = \"hello.wasm\"\n\
                     on-reload = \"restart\"\n[[plugin.on]]\nwatch = \"v1/pods\"\n";
    assert_eq!(
        problems(elsewhere),
        "6:13: plugin.hello.on-reload: unknown value `restart`; write \"keep\" or \"replay\"\n"
    );
    let number = elsewhere.replace("on-reload = \"restart\"", "reload = 0.5");
    assert_eq!(
        problems(&number),
        "6:10: plugin.hello.reload: expected a table, found the number 0.5; write [plugin.reload]\n"
    );
}

#[test]
fn the_memory_of_a_compilation_is_bounded() {
    let watched = |line: &str| problems(&format!("[host]\n{line}\n[[watch]]\ngvr = \"v1/pods\"\n"));
    assert_eq!(
        watched("compile-memory = \"63MiB\""),
        "2:18: host.compile-memory: \"63MiB\" is too small; write at least \"64MiB\"\n"
    );
    assert_eq!(
        watched("compile-memory = \"65GiB\""),
        "2:18: host.compile-memory: \"65GiB\" is too large; write at most \"64GiB\"\n"
    );
    assert_eq!(
        watched("compile-memory = true"),
        "2:18: host.compile-memory: expected a size, found true; write for example \"64MiB\"\n"
    );
    assert_eq!(
        watched("compile-memry = \"1GiB\""),
        "2:1: host.compile-memry: unknown key; did you mean `compile-memory`?\n"
    );
}

#[test]
fn the_compile_timeout_is_bounded() {
    let watched = |line: &str| problems(&format!("[host]\n{line}\n[[watch]]\ngvr = \"v1/pods\"\n"));
    assert_eq!(
        watched("compile-timeout = \"0s\""),
        "2:19: host.compile-timeout: \"0s\" is too small; write at least \"1s\"\n"
    );
    assert_eq!(
        watched("compile-timeout = \"2h\""),
        "2:19: host.compile-timeout: \"2h\" is too large; write at most \"1h\"\n"
    );
    assert_eq!(
        watched("compile-timeout = 120"),
        "2:19: host.compile-timeout: expected a duration, found the number 120; write for example \"30s\"\n"
    );
}
