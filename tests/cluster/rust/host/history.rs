//! The notifications of each object that the component received, parsed from its log lines.

use std::collections::BTreeMap;

/// The notifications by object name, in order.
pub(crate) struct History(BTreeMap<String, Vec<Logged>>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Logged {
    Added(u64),
    Updated(u64, u64),
    Deleted(u64),
}

impl History {
    pub(crate) fn of(lines: &[String]) -> Self {
        let mut history: BTreeMap<String, Vec<Logged>> = BTreeMap::new();
        for line in lines {
            if let Some((name, logged)) = read(line) {
                history.entry(name).or_default().push(logged);
            }
        }
        Self(history)
    }

    /// Returns true if the last notification of each object has its final state.
    pub(crate) fn ends_as(&self, finals: &BTreeMap<String, Option<u64>>) -> bool {
        finals.iter().all(|(name, version)| {
            let last = self.0.get(name).and_then(|logged| logged.last());
            match (last, version) {
                (Some(Logged::Added(logged) | Logged::Updated(_, logged)), Some(version)) => {
                    logged == version
                }
                // An object that existed only between two lists is never notified.
                (Some(Logged::Deleted(_)) | None, None) => true,
                _ => false,
            }
        })
    }

    /// Checks each object: the first notification and the one after each deletion are additions, each update starts from
    /// the state before it, versions only grow, and the server had each state.
    pub(crate) fn check(&self, versions: &BTreeMap<String, Vec<u64>>) {
        for (name, logged) in &self.0 {
            let real = &versions[name];
            let mut present: Option<u64> = None;
            let mut newest = 0;
            for step in logged {
                let now = match *step {
                    Logged::Added(version) => {
                        assert_eq!(present, None, "{name} was added twice: {logged:?}");
                        Some(version)
                    }
                    Logged::Updated(old, new) => {
                        assert_eq!(present, Some(old), "{name} was updated from another state: {logged:?}");
                        Some(new)
                    }
                    Logged::Deleted(version) => {
                        assert!(present.is_some(), "{name} was deleted without being there: {logged:?}");
                        assert!(version >= newest, "{name} went back in time: {logged:?}");
                        newest = version;
                        None
                    }
                };
                if let Some(version) = now {
                    assert!(version > newest, "{name} went back in time: {logged:?}");
                    assert!(real.contains(&version), "{name} never was at {version}: {real:?}");
                    newest = version;
                }
                present = now;
            }
        }
    }
}

/// Parses `added default/web (rv 12, live)`, `updated default/web (rv 12 -> 15, live)` or
/// `deleted default/web (rv 20)`.
fn read(line: &str) -> Option<(String, Logged)> {
    let (verb, rest) = line.split_once(" default/")?;
    let (name, rest) = rest.split_once(" (rv ")?;
    let versions = rest.split([',', ')']).next()?;
    let logged = match verb {
        "added" => Logged::Added(versions.parse().ok()?),
        "updated" => {
            let (old, new) = versions.split_once(" -> ")?;
            Logged::Updated(old.parse().ok()?, new.parse().ok()?)
        }
        "deleted" => Logged::Deleted(versions.parse().ok()?),
        _ => return None,
    };
    Some((name.to_owned(), logged))
}
