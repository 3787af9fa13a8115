//! `timer`: timers of the plugin that fire once.

mod source;

use std::time::Duration;

use wasmtime::component::HasSelf;

pub use source::{NoTimers, TimerError, TimerSource};

use super::interface::{Interface, Version};
use crate::{
    bindings::informer::plugin::{
        timer::{self, Host},
        types::{Error, ErrorCode},
    },
    guest::Guest,
};

pub(super) const INTERFACES: &[Interface] = &[Interface {
    version: Version::Ours(&["0.2.0"]),
    ..Interface::ours("informer:plugin/timer", |instance| {
        timer::add_to_linker_instance::<_, HasSelf<Guest>>(instance, Guest::called)
    })
}];

impl Host for Guest {
    fn after(&mut self, name: String, millis: u32) -> Result<(), Error> {
        self.sent(name.len());
        Ok(self.sources.timers.set(&name, Duration::from_millis(millis.into()))?)
    }

    fn cancel(&mut self, name: String) {
        self.sources.timers.cancel(&name);
    }
}

impl From<TimerError> for Error {
    fn from(error: TimerError) -> Self {
        let code = match error {
            TimerError::TooMany { .. } => ErrorCode::LimitExceeded,
            TimerError::Name(_) => ErrorCode::Invalid,
        };
        Self::new(code, error.to_string())
    }
}
