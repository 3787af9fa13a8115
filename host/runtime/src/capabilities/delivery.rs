//! `delivery`: facts about the call in flight.

use std::time::Duration;

use wasmtime::component::HasSelf;

use super::interface::Interface;
use crate::{
    bindings::informer::plugin::{
        delivery::{self, DeliveryInfo, Host},
        types::Error,
    },
    guest::Guest,
};

pub(super) const INTERFACES: &[Interface] = &[Interface::ours("informer:plugin/delivery", |instance| {
    delivery::add_to_linker_instance::<_, HasSelf<Guest>>(instance, Guest::called)
})];

impl Host for Guest {
    fn current(&mut self) -> DeliveryInfo {
        let Guest { call, config, .. } = self;
        DeliveryInfo {
            attempt: call.attempt.number,
            queued_ms: u32::try_from(call.attempt.queued.as_millis()).unwrap_or(u32::MAX),
            plugin: config.name.to_string(),
            host_version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    fn call_again(&mut self, millis: u32) -> Result<(), Error> {
        if !self.call.handles {
            let problem = "only a call of `handler` is for an object that can be delivered again; a reconciler returns `requeue-after`, and a batch handler `again`";
            return Err(Error::invalid(&problem));
        }
        self.call.again = Some(Duration::from_millis(millis.into()));
        Ok(())
    }
}
