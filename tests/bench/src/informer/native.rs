//! The handler as a native function. The difference to the component is the cost of the sandbox.

use std::sync::LazyLock;

use informer_types::{Change, Delivery, EventHandler, Failure, FailureKind, Outcome, Pointer, locate};

/// The fields that each handler reads.
static TWO_FIELDS: LazyLock<Vec<Pointer>> = LazyLock::new(|| {
    ["/status/phase", "/spec/nodeName"].iter().filter_map(|text| text.parse().ok()).collect()
});

/// A handler that reads two fields in the host.
#[derive(Clone, Copy, Debug, Default)]
pub struct Native;

// === impl Native ===

impl EventHandler for Native {
    async fn handle(&self, delivery: Delivery) -> Option<Outcome> {
        Some(match read(&delivery) {
            Ok(()) => Outcome::Acknowledged,
            Err(message) => Outcome::Permanent { failure: Failure::new(FailureKind::Handler, message) },
        })
    }
}

fn read(delivery: &Delivery) -> Result<(), String> {
    let (Change::Added { object } | Change::Updated { new: object, .. } | Change::Deleted { object, .. }) =
        &delivery.notification.change;
    let json = object.json().map_err(|error| error.to_string())?;
    let found = locate(&json, &TWO_FIELDS).map_err(|error| error.to_string())?;
    match found.iter().all(Option::is_some) {
        true => Ok(()),
        false => Err(format!("{} lacks a field", object.key())),
    }
}
