//! The current call: always a first attempt that did not wait.

use super::state::with_state;
use crate::bindings::informer::plugin::delivery::DeliveryInfo;
use crate::bindings::informer::plugin::types::Error;

pub(crate) fn current() -> DeliveryInfo {
    DeliveryInfo {
        attempt: 1,
        queued_ms: 0,
        plugin: "test".to_owned(),
        host_version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

/// Records the request. Nothing is called again in a test.
pub(crate) fn call_again(millis: u32) -> Result<(), Error> {
    with_state(|state| state.again.push(millis));
    Ok(())
}
