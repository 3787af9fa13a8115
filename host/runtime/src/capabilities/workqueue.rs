//! `workqueue`: the plugin's own queue of keys.

use std::time::Duration;

use informer_types::AddError;
use wasmtime::component::HasSelf;

use super::interface::Interface;
use crate::{
    bindings::informer::plugin::{
        types::{Error, ErrorCode},
        workqueue::{self, Host},
    },
    guest::Guest,
};

pub(super) const INTERFACES: &[Interface] = &[Interface::ours("informer:plugin/workqueue", |instance| {
    workqueue::add_to_linker_instance::<_, HasSelf<Guest>>(instance, Guest::called)
})];

impl Host for Guest {
    fn add(&mut self, key: String) -> Result<(), Error> {
        self.sent(key.len());
        Ok(self.sources.workqueue.add(&key)?)
    }

    fn add_after(&mut self, key: String, millis: u32) -> Result<(), Error> {
        self.sent(key.len());
        Ok(self.sources.workqueue.add_after(&key, Duration::from_millis(millis.into()))?)
    }

    fn add_rate_limited(&mut self, key: String) -> Result<(), Error> {
        self.sent(key.len());
        Ok(self.sources.workqueue.add_rate_limited(&key)?)
    }

    fn forget(&mut self, key: String) {
        self.sources.workqueue.forget(&key);
    }

    fn num_requeues(&mut self, key: String) -> u32 {
        self.sources.workqueue.num_requeues(&key)
    }

    fn length(&mut self) -> u32 {
        u32::try_from(self.sources.workqueue.waiting()).unwrap_or(u32::MAX)
    }
}

impl From<AddError> for Error {
    fn from(error: AddError) -> Self {
        let code = match error {
            AddError::Full { .. } => ErrorCode::LimitExceeded,
            AddError::TooLong { .. } => ErrorCode::Invalid,
        };
        Self::new(code, error.to_string())
    }
}
