//! `[plugin.quarantine]`

use std::{sync::LazyLock, time::Duration};

use informer_dispatch::QuarantineConfig;

use super::workqueue::WAIT;
use crate::config::{
    key::{Key, Section},
    value::Count,
};

type K<V> = Key<QuarantineConfig, V>;

pub(super) static QUARANTINE: LazyLock<Section<QuarantineConfig>> = LazyLock::new(|| Section {
    doc: "When the host stops calling a plugin that does not work. In quarantine, notifications wait and \
          merge. The host probes the plugin with one notification after `min`, then after twice as long \
          each time, up to `max`, and at once when a new version is in service. One success ends the \
          quarantine. The call that triggers the quarantine, and calls made during it, do not count as \
          attempts; earlier calls do. If a component exports both `handler` and `reconciler`, each has \
          its own quarantine.",
    keys: vec![
        K::<Count>::new("after", |quarantine| &mut quarantine.after).doc(
            "Consecutive calls that trap, exceed the deadline, the memory or the host calls, or fail because \
             no instance starts. 0 means never.",
        ),
        K::<Duration>::new("min", |quarantine| &mut quarantine.backoff.min)
            .within(WAIT)
            .doc("The wait before the first probe."),
        K::<Duration>::new("max", |quarantine| &mut quarantine.backoff.max)
            .within(WAIT)
            .doc("The longest wait between probes."),
    ],
});
