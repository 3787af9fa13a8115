//! What the fixture `echo` says, understood: one line a call.

use std::collections::BTreeMap;

/// One call, as the component saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) verb: String,
    /// `namespace/name`
    pub(crate) key: String,
    pub(crate) version: u64,
    pub(crate) attempt: u32,
}

/// The calls among the lines; `start` and `stop` are none.
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

/// The version each object had when it was last told of; one that was told to be deleted is not there.
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

/// Each object's versions go up from call to call: nothing went back in time, and nothing was told twice.
pub(crate) fn assert_each_object_in_order_and_once(calls: &[Call]) {
    let mut told: BTreeMap<&str, &Call> = BTreeMap::new();
    for call in calls {
        if let Some(before) = told.insert(&call.key, call) {
            assert!(before.version < call.version, "{call:?} after {before:?}");
        }
    }
}
