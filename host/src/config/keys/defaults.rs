//! `[defaults]`

use informer_dispatch::QuarantineConfig;
use informer_runtime::TrialConfig;

use super::{
    limits::LIMITS,
    quarantine::QUARANTINE,
    queue::{QUEUE, QueueKeys},
    reload::RELOAD,
    retry::RETRY,
    workqueue::WORKQUEUE,
};
use crate::config::{
    key::{Draft, Section, Sub},
    plugin::{Limits, Retry, Workqueue},
};

/// The tables that `[defaults]` and `[[plugin]]` have in common.
#[derive(Clone, Debug, Default)]
pub(in crate::config) struct Common {
    pub(in crate::config) queue: Draft<QueueKeys>,
    pub(in crate::config) workqueue: Draft<Workqueue>,
    pub(in crate::config) retry: Draft<Retry>,
    pub(in crate::config) quarantine: Draft<QuarantineConfig>,
    pub(in crate::config) reload: Draft<TrialConfig>,
    pub(in crate::config) limits: Draft<Limits>,
}

pub(super) static DEFAULTS: Section<Common> = Section {
    doc: "Values for all plugins. The tables [defaults.queue], [defaults.workqueue], [defaults.retry], \
          [defaults.quarantine], [defaults.reload] and [defaults.limits] have the keys of the tables of the same names \
          below [[plugin]]. A key that a plugin has itself wins over [defaults], which wins over the built-in default.",
    keys: &[
        &Sub { name: "queue", section: &QUEUE, get: |common: &mut Common| &mut common.queue },
        &Sub { name: "workqueue", section: &WORKQUEUE, get: |common: &mut Common| &mut common.workqueue },
        &Sub { name: "retry", section: &RETRY, get: |common: &mut Common| &mut common.retry },
        &Sub { name: "quarantine", section: &QUARANTINE, get: |common: &mut Common| &mut common.quarantine },
        &Sub { name: "reload", section: &RELOAD, get: |common: &mut Common| &mut common.reload },
        &Sub { name: "limits", section: &LIMITS, get: |common: &mut Common| &mut common.limits },
    ],
};
