//! `[plugin.reload]`

use std::sync::LazyLock;

use informer_runtime::TrialConfig;

use crate::config::{
    key::{Key, Section},
    value::{Count, Number},
};

type K<V> = Key<TrialConfig, V>;

/// After ten thousand calls a version is no longer new.
const CALLS: (Count, Count) = (Count(0), Count(10_000));

pub(super) static RELOAD: LazyLock<Section<TrialConfig>> = LazyLock::new(|| Section {
    doc: "How a new version of the component is judged. A call fails if it traps, exceeds the deadline, \
          the memory or the host calls, or if `start` fails; an error that the plugin returns is not a \
          failure. If too many calls fail, or each of the first five, the previous version returns. The \
          new one is tried again when its file changes, or on `informer reload`.",
    keys: vec![
        K::<Number>::new("return-after", |trial| &mut trial.share).within((Number(0.0), Number(1.0))).doc(
            "The previous version returns if more than this share of the calls on trial fail. 1 means \
             never.",
        ),
        K::<Count>::new("trial", |trial| &mut trial.calls)
            .within(CALLS)
            .doc("The number of first calls that are on trial. 0 means no trial."),
    ],
});
