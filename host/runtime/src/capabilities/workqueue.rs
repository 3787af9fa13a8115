//! `workqueue`: the plugin's own queue of keys.

use std::time::Duration;

use informer_types::{AddError, Workqueue};
use wasmtime::component::HasData;

use super::interface::Interface;
use crate::bindings::informer::plugin::{
    types::{Error, ErrorCode},
    workqueue::{self, Host},
};

pub(super) const INTERFACES: &[Interface] = &[Interface::ours("informer:plugin/workqueue", |linker| {
    workqueue::add_to_linker::<_, Calls<'static>>(linker, |guest| Calls(&*guest.called().sources.workqueue))
})];

/// A call of the guest to this capability.
struct Calls<'a>(&'a dyn Workqueue);

impl HasData for Calls<'static> {
    type Data<'a> = Calls<'a>;
}

impl Host for Calls<'_> {
    fn add(&mut self, key: String) -> Result<(), Error> {
        Ok(self.0.add(&key)?)
    }

    fn add_after(&mut self, key: String, millis: u32) -> Result<(), Error> {
        Ok(self.0.add_after(&key, Duration::from_millis(millis.into()))?)
    }

    fn add_rate_limited(&mut self, key: String) -> Result<(), Error> {
        Ok(self.0.add_rate_limited(&key)?)
    }

    fn forget(&mut self, key: String) {
        self.0.forget(&key);
    }

    fn num_requeues(&mut self, key: String) -> u32 {
        self.0.num_requeues(&key)
    }

    fn length(&mut self) -> u32 {
        u32::try_from(self.0.waiting()).unwrap_or(u32::MAX)
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
