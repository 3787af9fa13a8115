//! HTTP grants, and the keys of `[host]` about HTTP.

use super::{plugin_problems, problems};

#[test]
fn a_destination_that_cannot_be_granted_is_refused_with_the_reason() {
    let text = r#"[plugin.grant]
http = [
  "hooks.example.com",
  "https://me:hunter2@hooks.example.com/",
  "https://hooks.example.com/?token=x",
  "https://*/",
  "http://169.254.169.254/latest/",
  "http://2130706433/",
  "https://a:99999/",
  "get https://hooks.example.com/",
  "https://hooks.example.com",
  "https://HOOKS.example.com:443/",
  7,
]
[plugin.limits]
http-requests = 0
http-body = "1B"
metric-series = 1000000
"#;
    let remedy = r#"write for example "https://hooks.example.com/services/""#;
    assert_eq!(
        plugin_problems(text),
        format!(
            r#"12:3: plugin.hello.grant.http[0]: `hooks.example.com` grants nothing: its scheme is neither https nor http; {remedy}
13:3: plugin.hello.grant.http[1]: a URL must not hold credentials; {remedy}
14:3: plugin.hello.grant.http[2]: `https://hooks.example.com/?token=x` grants nothing: a query or a fragment cannot be granted; {remedy}
15:3: plugin.hello.grant.http[3]: `https://*/` grants nothing: a `*` stands only for the first label, as in `*.example.com`; {remedy}
16:3: plugin.hello.grant.http[4]: `http://169.254.169.254/latest/` grants nothing: no plugin may reach 169.254.169.254: it is link-local; {remedy}
17:3: plugin.hello.grant.http[5]: `http://2130706433/` grants nothing: its host is an address in an unusual spelling; {remedy}
18:3: plugin.hello.grant.http[6]: `https://a:99999/` grants nothing: its port is not a number from 1 to 65535; {remedy}
19:3: plugin.hello.grant.http[7]: `get https://hooks.example.com/` grants nothing: `get` is not a method; write methods as `GET,POST`; {remedy}
21:3: plugin.hello.grant.http[9]: `https://hooks.example.com:443/` is listed twice; remove one
22:3: plugin.hello.grant.http[10]: expected a URL, found the number 7; {remedy}
25:17: plugin.hello.limits.http-requests: 0 is too small; write at least 1
26:13: plugin.hello.limits.http-body: "1B" is too small; write at least "1KiB"
27:17: plugin.hello.limits.metric-series: 1000000 is too large; write at most 100000
"#
        )
    );
}

#[test]
fn a_denied_destination_must_be_a_network() {
    let text = "[host]\nhttp-deny = [\"10.0.0.0/33\", \"10.0.0.5\", \"kubernetes\"]\nhttp-ca = \"\"\n[[watch]]\ngvr = \"v1/pods\"\n";
    let remedy = r#"write for example "10.0.0.0/24", or "10.0.0.5" for one address"#;
    assert_eq!(
        problems(text),
        format!(
            r#"2:14: host.http-deny[0]: `10.0.0.0/33` is not a network; {remedy}
2:41: host.http-deny[2]: `kubernetes` is not a network; {remedy}
3:11: host.http-ca: not a path; write for example "plugins/hello.wasm"
"#
        )
    );
}
