//! Conflicts: fields that two managers set to different values.

use serde_json::Value;

use super::{
    entry::Entry,
    path,
    set::{self, FieldSet, Path},
};
use crate::status::{ApiError, Cause};

/// The fields that an apply may not change without force.
#[derive(Debug, Default)]
pub(crate) struct Conflicts(Vec<Conflict>);

#[derive(Debug)]
struct Conflict {
    manager: String,
    api_version: String,
    path: Path,
}

/// The fields of the configuration that other managers own with other values.
pub(super) fn find(live: &Value, config: &Value, wanted: &FieldSet, others: &[Entry]) -> Conflicts {
    let mut conflicts = Vec::new();
    for path in wanted {
        let differs = set::holds_leaf(wanted, path) && path::get(live, path) != path::get(config, path);
        for entry in others.iter().filter(|entry| differs && set::holds(&entry.set, path)) {
            let (manager, api_version) = (entry.manager.clone(), entry.api_version.clone());
            conflicts.push(Conflict { manager, api_version, path: path.clone() });
        }
    }
    Conflicts(conflicts)
}

// === impl Conflicts ===

impl Conflicts {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The fields that conflict with this entry.
    pub(super) fn of(&self, entry: &Entry) -> FieldSet {
        let mine = self.0.iter().filter(|one| one.manager == entry.manager);
        mine.map(|one| one.path.clone()).collect()
    }

    /// The answer with code 409, in the words of kube-apiserver, because kubectl shows it to users.
    pub(crate) fn to_error(&self) -> ApiError {
        let owner = |one: &Conflict| format!("with \"{}\" using {}", one.manager, one.api_version);
        let causes: Vec<Cause> = self
            .0
            .iter()
            .map(|one| {
                let message = format!("conflict {}", owner(one));
                Cause::new("FieldManagerConflict", path::display(&one.path), message)
            })
            .collect();
        let message = match self.0.as_slice() {
            [one] => {
                format!("Apply failed with 1 conflict: conflict {}: {}", owner(one), path::display(&one.path))
            }
            many => {
                let mut message = format!("Apply failed with {} conflicts:", many.len());
                let mut last = String::new();
                for one in many {
                    let owner = owner(one);
                    if owner != last {
                        message.push_str(&format!(" conflicts {owner}:"));
                        last = owner;
                    }
                    message.push_str(&format!("\n- {}", path::display(&one.path)));
                }
                message
            }
        };
        ApiError::apply_conflict(message, &causes)
    }
}
