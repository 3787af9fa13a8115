//! Parses the lines of the fixture `echo`: one line for each call.

use std::collections::BTreeMap;

/// One call, as the component logged it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) verb: String,
    /// The key of the object: `namespace/name`.
    pub(crate) key: String,
    pub(crate) version: u64,
    pub(crate) attempt: u32,
}

/// The calls among the lines, without `start` and `stop`.
pub(crate) fn calls(lines: &[String]) -> Vec<Call> {
    lines.iter().filter_map(|line| call(line)).collect()
}

fn call(line: &str) -> Option<Call> {
    let words: Vec<&str> = line.split(' ').collect();
    let [verb @ ("add" | "update" | "delete"), key, version, _cause, attempt, _calls] = words[..] else {
        return None;
    };
    Some(Call {
        verb: verb.to_owned(),
        key: key.to_owned(),
        version: version.parse().unwrap(),
        attempt: attempt.parse().unwrap(),
    })
}

/// The last delivered version of each object. Objects whose deletion was delivered are left out.
pub(crate) fn last_versions(calls: &[Call]) -> BTreeMap<String, u64> {
    let mut versions = BTreeMap::new();
    for call in calls {
        if call.verb == "delete" {
            versions.remove(&call.key);
        } else {
            versions.insert(call.key.clone(), call.version);
        }
    }
    versions
}

/// Asserts that the versions of each object increase from call to call: no call goes back in time, and none is
/// repeated.
pub(crate) fn assert_each_object_in_order_and_once(calls: &[Call]) {
    let mut last: BTreeMap<&str, &Call> = BTreeMap::new();
    for call in calls {
        if let Some(before) = last.insert(&call.key, call) {
            assert!(before.version < call.version, "{call:?} after {before:?}");
        }
    }
}
