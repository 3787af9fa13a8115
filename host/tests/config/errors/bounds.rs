//! Values out of bounds: the least and the most of each key.

use super::problems;

#[test]
fn a_value_below_its_bounds_is_refused_with_the_least() {
    let text = r#"[cluster]
qps = 0
burst = 0
[host]
shutdown-timeout = "99ms"
component-size = "4095B"
[[watch]]
gvr = "v1/pods"
resync = "999ms"
[[plugin]]
name = "a"
source = "a"
[[plugin.on]]
watch = "v1/pods"
resync = "999ms"
[plugin.queue]
rate = 1
burst = 0
[plugin.retry]
min = "0s"
max = "0s"
factor = 0.9
jitter = -0.1
[plugin.quarantine]
max = "0s"
[plugin.workqueue]
max = "0s"
qps = 0
[plugin.reload]
return-after = -0.1
[plugin.limits]
response = "1023B"
http-body = "1023B"
"#;
    assert_eq!(
        problems(text),
        r#"2:7: cluster.qps: 0 is too small; write at least 1
3:9: cluster.burst: 0 is too small; write at least 1
5:20: host.shutdown-timeout: "99ms" is too small; write at least "100ms"
6:18: host.component-size: "4095B" is too small; write at least "4KiB"
9:10: watch[0].resync: "999ms" is too small; write at least "1s"
15:10: plugin.a.on[0].resync: "999ms" is too small; write at least "1s"
18:9: plugin.a.queue.burst: 0 is too small; write at least 1
20:7: plugin.a.retry.min: "0s" is too small; write at least "1ms"
21:7: plugin.a.retry.max: "0s" is too small; write at least "1ms"
22:10: plugin.a.retry.factor: 0.9 is too small; write at least 1
23:10: plugin.a.retry.jitter: -0.1 is too small; write at least 0
25:7: plugin.a.quarantine.max: "0s" is too small; write at least "1ms"
27:7: plugin.a.workqueue.max: "0s" is too small; write at least "1ms"
28:7: plugin.a.workqueue.qps: 0 is too small; write at least 1
30:16: plugin.a.reload.return-after: -0.1 is too small; write at least 0
32:12: plugin.a.limits.response: "1023B" is too small; write at least "1KiB"
33:13: plugin.a.limits.http-body: "1023B" is too small; write at least "1KiB"
"#
    );
}

#[test]
fn a_list_size_out_of_its_bounds_or_without_a_unit_is_refused() {
    for (written, why) in [
        ("\"1023KiB\"", "\"1023KiB\" is too small; write at least \"1MiB\""),
        ("\"1048577GiB\"", "\"1048577GiB\" is too large; write at most \"1048576GiB\""),
        ("\"4GB\"", "`4GB` is not a size"),
        ("0", "0B\" is too small; write at least \"1MiB\""),
    ] {
        let text = format!("[cluster]\nlist-size = {written}\n[[watch]]\ngvr = \"v1/pods\"\n");

        let found = problems(&text);

        assert!(found.starts_with("2:13: cluster.list-size: ") && found.contains(why), "{found}");
    }
}

/// Each value is just above its bound.
const TOO_LARGE: &str = r#"[cluster]
idle-watch-timeout = "25h"
[host]
shutdown-timeout = "61m"
component-size = "1025MiB"
[[watch]]
gvr = "v1/pods"
resync = "169h"
[[plugin]]
name = "a"
source = "a"
[[plugin.on]]
watch = "v1/pods"
resync = "169h"
[plugin.queue]
delivery = "every"
capacity = 1_000_001
rate = 1_000_001
[plugin.retry]
min = "25h"
max = "25h"
factor = 10.5
budget = 1001
[plugin.quarantine]
min = "25h"
[plugin.workqueue]
workers = 257
capacity = 10_000_001
min = "25h"
qps = 100_001
burst = 100_001
[plugin.limits]
memory = "5GiB"
deadline = "61m"
log = "65MiB"
requests = 10_001
http-requests = 1025
http-body = "1025MiB"
instances = 257
keyvalue-writes = 100_001
"#;

/// The problems of [`TOO_LARGE`].
const AT_MOST: &str = r#"2:22: cluster.idle-watch-timeout: "25h" is too large; write at most "24h"
4:20: host.shutdown-timeout: "1h1m" is too large; write at most "1h"
5:18: host.component-size: "1025MiB" is too large; write at most "1GiB"
8:10: watch[0].resync: "169h" is too large; write at most "168h"
14:10: plugin.a.on[0].resync: "169h" is too large; write at most "168h"
17:12: plugin.a.queue.capacity: 1000001 is too large; write at most 1000000
18:8: plugin.a.queue.rate: 1000001 is too large; write at most 1000000
20:7: plugin.a.retry.min: "25h" is too large; write at most "24h"
21:7: plugin.a.retry.max: "25h" is too large; write at most "24h"
22:10: plugin.a.retry.factor: 10.5 is too large; write at most 10
23:10: plugin.a.retry.budget: 1001 is too large; write at most 1000
25:7: plugin.a.quarantine.min: "25h" is too large; write at most "24h"
27:11: plugin.a.workqueue.workers: 257 is too large; write at most 256
28:12: plugin.a.workqueue.capacity: 10000001 is too large; write at most 10000000
29:7: plugin.a.workqueue.min: "25h" is too large; write at most "24h"
30:7: plugin.a.workqueue.qps: 100001 is too large; write at most 100000
31:9: plugin.a.workqueue.burst: 100001 is too large; write at most 100000
33:10: plugin.a.limits.memory: "5GiB" is too large; write at most "4GiB"
34:12: plugin.a.limits.deadline: "1h1m" is too large; write at most "1h"
35:7: plugin.a.limits.log: "65MiB" is too large; write at most "64MiB"
36:12: plugin.a.limits.requests: 10001 is too large; write at most 10000
37:17: plugin.a.limits.http-requests: 1025 is too large; write at most 1024
38:13: plugin.a.limits.http-body: "1025MiB" is too large; write at most "1GiB"
39:13: plugin.a.limits.instances: 257 is too large; write at most 256
40:19: plugin.a.limits.keyvalue-writes: 100001 is too large; write at most 100000
"#;

#[test]
fn a_value_above_its_bounds_is_refused_with_the_most() {
    assert_eq!(problems(TOO_LARGE), AT_MOST);
}

#[test]
fn a_value_that_no_machine_can_hold_is_refused_with_a_bound() {
    let text = r#"[cluster]
page-size = 4294967296
qps = -1
idle-watch-timeout = "8761h"
[host]
component-size = "17179869184GiB"
[[watch]]
gvr = "v1/pods"
"#;
    assert_eq!(
        problems(text),
        r#"2:13: cluster.page-size: 4294967296 is out of range; write a whole number from 0 to 4294967295
3:7: cluster.qps: -1 is out of range; write a whole number from 0 to 4294967295
4:22: cluster.idle-watch-timeout: `8761h` is longer than a year; write at most "8760h"
6:18: host.component-size: `17179869184GiB` is larger than the memory that this machine can address; write at most "17179869183GiB"
"#
    );
}

#[test]
fn the_memory_of_guests_has_bounds() {
    let with = |value: &str| {
        problems(&format!("[host]\nguest-memory = \"{value}\"\n[[watch]]\ngvr = \"v1/pods\"\n"))
    };

    let place = "2:16: host.guest-memory: ";
    assert_eq!(with("15MiB"), format!("{place}\"15MiB\" is too small; write at least \"16MiB\"\n"));
    assert_eq!(with("16385GiB"), format!("{place}\"16385GiB\" is too large; write at most \"16384GiB\"\n"));
    assert!(with("2G").starts_with(&format!("{place}`2G` is not a size; ")), "{}", with("2G"));
}
