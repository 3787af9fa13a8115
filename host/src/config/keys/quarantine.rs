//! `[plugin.quarantine]`

use std::time::Duration;

use informer_dispatch::QuarantineConfig;

use super::workqueue::WAIT;
use crate::config::{
    key::{Key, Section, Shown::ByDefault},
    value::{Count, Scalar},
};

type K<V> = Key<QuarantineConfig, V>;

pub(super) static QUARANTINE: Section<QuarantineConfig> = Section {
    doc: "When the host stops calling a plugin that does not work. In quarantine, notifications wait and merge. The host \
          probes the plugin with one notification after `min`, then after twice as long each time, up to `max`, and at \
          once when a new version is in service. One success ends the quarantine. The call that triggers the quarantine, \
          and calls made during it, do not count as attempts; earlier calls do. If a component exports both `handler` and \
          `reconciler`, each has its own quarantine.",
    keys: &[
        &K::<Count> {
            name: "after",
            doc: "Consecutive calls that trap, exceed the deadline, the memory or the host calls, or find no instance that \
                  starts. 0 means never.",
            shown: ByDefault(|quarantine| quarantine.after.map_or(0, u32::from).to_string()),
            bounds: None,
            set: |quarantine, it| quarantine.after = it.value.non_zero(),
        },
        &K::<Duration> {
            name: "min",
            doc: "The wait before the first probe.",
            shown: ByDefault(|quarantine| Scalar::shown(&quarantine.backoff.min)),
            bounds: Some(WAIT),
            set: |quarantine, it| quarantine.backoff.min = it.value,
        },
        &K::<Duration> {
            name: "max",
            doc: "The longest wait between probes.",
            shown: ByDefault(|quarantine| Scalar::shown(&quarantine.backoff.max)),
            bounds: Some(WAIT),
            set: |quarantine, it| quarantine.backoff.max = it.value,
        },
    ],
};
