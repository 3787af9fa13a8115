//! Observes the calls and requests of plugins, and answers requests in place of the API server, for `informer test`.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use futures::future::BoxFuture;
use informer_runtime::capabilities::{ApiAnswer, ApiClient, ApiFailure, ApiRequest};
use informer_types::{Delivery, Failure, Outcome, Reconciled, Request, SignalCall};

use crate::connect::KubeClient;

/// Receives each call and request of the plugins. Its methods must return at once.
pub trait Witness: Send + Sync + 'static {
    /// A handler was called.
    fn handled(&self, plugin: &str, delivery: &Delivery, outcome: &Outcome);

    /// A call for several notifications failed as a whole. Each of them is delivered alone afterwards.
    fn batch_failed(&self, _plugin: &str, _failure: &Failure) {}

    /// A reconciler was called.
    fn reconciled(&self, plugin: &str, request: &Request, outcome: &Reconciled);

    /// A signal was delivered.
    fn signalled(&self, plugin: &str, call: &SignalCall, outcome: &Reconciled);

    /// Answers a request in place of the API server; `None` leaves the answer to the server.
    fn answer(&self, _request: &ApiRequest) -> Option<ApiAnswer> {
        None
    }

    /// A request that a plugin may send was answered, or failed.
    fn requested(&self, request: &ApiRequest, answer: &Result<ApiAnswer, ApiFailure>);
}

/// The place of the witness, which is empty most of the time. Clones are the same place.
#[derive(Clone, Default)]
pub(crate) struct WitnessStand(Arc<ArcSwapOption<Box<dyn Witness>>>);

/// The right of a witness to its place. Dropping it removes the witness.
pub(crate) struct TakenStand(WitnessStand);

/// The client of one plugin, with the witness beside it.
pub(crate) struct WitnessedClient {
    pub(crate) client: KubeClient,
    pub(crate) stand: WitnessStand,
}

// === impl WitnessStand ===

impl WitnessStand {
    /// A place with this witness.
    pub(crate) fn with(witness: Box<dyn Witness>) -> Self {
        Self(Arc::new(ArcSwapOption::from_pointee(witness)))
    }

    /// Puts a witness there until the result is dropped. Returns `None` if there is a witness already.
    pub(crate) fn take(&self, witness: Box<dyn Witness>) -> Option<TakenStand> {
        let before = self.0.compare_and_swap(&None::<Arc<Box<dyn Witness>>>, Some(Arc::new(witness)));
        before.is_none().then(|| TakenStand(self.clone()))
    }

    /// Returns true if there is a witness.
    pub(crate) fn is_taken(&self) -> bool {
        self.0.load().is_some()
    }

    /// Calls the witness, if there is one.
    pub(crate) fn see(&self, call: impl FnOnce(&dyn Witness)) {
        if let Some(witness) = &*self.0.load() {
            call(&***witness);
        }
    }
}

impl Drop for TakenStand {
    fn drop(&mut self) {
        self.0.0.store(None);
    }
}

impl ApiClient for WitnessedClient {
    fn send(&self, request: ApiRequest) -> BoxFuture<'_, Result<ApiAnswer, ApiFailure>> {
        let witness = self.stand.0.load_full();
        let Some(witness) = witness else { return self.client.send(request) };
        Box::pin(async move {
            let answer = match witness.answer(&request) {
                Some(answer) => Ok(answer),
                None => self.client.send(request.clone()).await,
            };
            witness.requested(&request, &answer);
            answer
        })
    }
}
