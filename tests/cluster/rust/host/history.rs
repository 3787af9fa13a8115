//! The notifications of each object that the component received, parsed from its log lines.

use std::collections::BTreeMap;

/// The notifications by object name, in order.
pub(crate) struct History(BTreeMap<String, Vec<Said>>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    Added(u64),
    Updated(u64, u64),
    Deleted(u64),
}

impl History {
    pub(crate) fn of(lines: &[String]) -> Self {
        let mut history: BTreeMap<String, Vec<Said>> = BTreeMap::new();
        for line in lines {
            if let Some((name, said)) = read(line) {
                history.entry(name).or_default().push(said);
            }
        }
        Self(history)
    }

    /// Returns true if the last notification of each object has its final state.
    pub(crate) fn ends_as(&self, finals: &BTreeMap<String, Option<u64>>) -> bool {
        finals.iter().all(|(name, version)| {
            let last = self.0.get(name).and_then(|said| said.last());
            match (last, version) {
                (Some(Said::Added(said) | Said::Updated(_, said)), Some(version)) => said == version,
                // An object that existed only between two lists is never notified.
                (Some(Said::Deleted(_)) | None, None) => true,
                _ => false,
            }
        })
    }

    /// Checks each object: the first notification and the one after each deletion are additions, each update starts from
    /// the state before it, versions only grow, and the server had each state.
    pub(crate) fn check(&self, versions: &BTreeMap<String, Vec<u64>>) {
        for (name, said) in &self.0 {
            let real = &versions[name];
            let mut present: Option<u64> = None;
            let mut newest = 0;
            for step in said {
                let now = match *step {
                    Said::Added(version) => {
                        assert_eq!(present, None, "{name} was added twice: {said:?}");
                        Some(version)
                    }
                    Said::Updated(old, new) => {
                        assert_eq!(present, Some(old), "{name} was updated from another state: {said:?}");
                        Some(new)
                    }
                    Said::Deleted(version) => {
                        assert!(present.is_some(), "{name} was deleted without being there: {said:?}");
                        assert!(version >= newest, "{name} went back in time: {said:?}");
                        newest = version;
                        None
                    }
                };
                if let Some(version) = now {
                    assert!(version > newest, "{name} went back in time: {said:?}");
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
fn read(line: &str) -> Option<(String, Said)> {
    let (verb, rest) = line.split_once(" default/")?;
    let (name, rest) = rest.split_once(" (rv ")?;
    let versions = rest.split([',', ')']).next()?;
    let said = match verb {
        "added" => Said::Added(versions.parse().ok()?),
        "updated" => {
            let (old, new) = versions.split_once(" -> ")?;
            Said::Updated(old.parse().ok()?, new.parse().ok()?)
        }
        "deleted" => Said::Deleted(versions.parse().ok()?),
        _ => return None,
    };
    Some((name.to_owned(), said))
}
