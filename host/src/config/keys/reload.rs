//! `[plugin.reload]`

use informer_runtime::TrialConfig;

use crate::config::{
    key::{Key, Section, Shown::ByDefault},
    value::{Count, Number},
};

type K<V> = Key<TrialConfig, V>;

/// After ten thousand calls a version is no longer new.
const CALLS: (Count, Count) = (Count(0), Count(10_000));

pub(super) static RELOAD: Section<TrialConfig> = Section {
    doc: "How a new version of the component is judged. A call fails if it traps, exceeds the deadline, the memory or the \
          host calls, or if `start` fails; an error that the plugin returns is not a failure. If too many calls fail, or \
          each of the first five, the previous version returns. The new one is tried again when its file changes, or on \
          `informer reload`.",
    keys: &[
        &K::<Number> {
            name: "return-after",
            doc: "The previous version returns if more than this share of the calls on trial fail. 1 means never.",
            shown: ByDefault(|trial| trial.share.to_string()),
            bounds: Some((Number(0.0), Number(1.0))),
            set: |trial, it| trial.share = it.value.0,
        },
        &K::<Count> {
            name: "trial",
            doc: "The number of first calls that are on trial. 0 means no trial.",
            shown: ByDefault(|trial| trial.calls.to_string()),
            bounds: Some(CALLS),
            set: |trial, it| trial.calls = it.value.0,
        },
    ],
};
