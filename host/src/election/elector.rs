//! The elector: it competes for a lease, renews it, and releases it.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta},
};
use kube::{Api, api::PostParams};
use tokio::{
    sync::watch,
    time::{Instant, sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{Failure, Leadership, LeaseName, Role, Timing};

/// The status of a write of an object that changed meanwhile.
const CONFLICT: u16 = 409;

/// Competes for one lease.
pub(crate) struct Elector {
    api: Api<Lease>,
    lease: LeaseName,
    /// What the lease names as its holder while this host leads. No other host has it.
    identity: String,
    timing: Timing,
    observed: Option<Observed>,
    role: watch::Sender<Role>,
    /// The failure of the last attempt, which is logged once.
    failure: Failure,
    /// True if this host may hold the lease without its notice: a write got no answer, and no later answer showed the holder.
    is_uncertain: bool,
}

/// The lease as this host has seen it last.
struct Observed {
    lease: Lease,
    /// When this host saw the record change last. Times in the record come from other clocks, and are never compared (E-3).
    changed: Instant,
}

/// The outcome of an attempt to acquire or to renew the lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Attempt {
    /// This host holds the lease.
    Held,
    /// Another host holds it.
    Taken,
    /// The API server did not answer, or refused.
    Failed,
}

// === impl Elector ===

impl Elector {
    /// An elector for this lease, and the role of this host. [`run`](Self::run) begins to compete.
    pub(crate) fn new(
        client: kube::Client,
        lease: LeaseName,
        timing: Timing,
        identity: String,
    ) -> (Self, Leadership) {
        let api = Api::namespaced(client, &lease.namespace);
        let role = watch::Sender::new(Role::StandsBy { leader: None });
        let (observed, failure, is_uncertain) = (None, Failure::default(), false);
        let leadership = Leadership::new(&role, lease.clone(), &failure);
        (Self { api, lease, identity, timing, observed, role, failure, is_uncertain }, leadership)
    }

    /// Competes for the lease until `stop` is cancelled. If this host holds the lease by then, renews it until it is lost or
    /// `ended` is cancelled, and releases it at last: cancel `ended` only after all work of a leader has ended (E-8).
    pub(crate) async fn run(mut self, stop: CancellationToken, ended: CancellationToken) {
        if !self.acquire(&stop).await {
            return self.release_unnoticed().await;
        }
        let has_ended = ended.run_until_cancelled(self.renew()).await.is_none();
        if has_ended {
            self.role.send_replace(Role::Released);
            self.release().await;
        } else {
            tracing::error!(lease = %self.lease, "the lease is lost: another host may lead now");
            self.role.send_replace(Role::Lost);
        }
    }

    /// The time until which this host leads without a renewal; `None` if it does not lead.
    fn leads_until(&self) -> Option<Instant> {
        match &*self.role.borrow() {
            Role::Leads { until } => *until,
            Role::StandsBy { .. } | Role::Released | Role::Lost => None,
        }
    }

    /// Returns true once this host holds the lease, and false once `stop` is cancelled. An attempt that has begun is finished: the
    /// lease could be this host's without its notice, and no other host would lead before it ends.
    async fn acquire(&mut self, stop: &CancellationToken) -> bool {
        tracing::info!(lease = %self.lease, identity = self.identity, "competing for the lease");
        while self.attempt().await != Attempt::Held {
            let leader = self.holder().filter(|_| self.is_valid()).map(str::to_owned);
            let role = Role::StandsBy { leader };
            let changed = self.role.send_if_modified(|now| {
                let changed = *now != role;
                now.clone_from(&role);
                changed
            });
            if let (true, Role::StandsBy { leader: Some(leader) }) = (changed, role) {
                tracing::info!(lease = %self.lease, leader, "another host leads: this one stands by");
            }
            let pause = sleep(self.timing.pause(fastrand::f64()));
            if stop.run_until_cancelled(pause).await.is_none() {
                return false;
            }
        }
        tracing::info!(lease = %self.lease, "this host leads");
        true
    }

    /// Renews the lease until it is lost (E-6).
    async fn renew(&mut self) {
        loop {
            sleep(self.timing.retry).await;
            if self.attempt().await == Attempt::Taken {
                return;
            }
            if self.leads_until().is_none_or(|until| until <= Instant::now() + self.timing.retry) {
                return;
            }
        }
    }

    /// One attempt to acquire or to renew. It ends in time for another one, and before this host loses the lease.
    async fn attempt(&mut self) -> Attempt {
        let begun = Instant::now();
        let left = self.leads_until().map(|until| until.saturating_duration_since(begun));
        let limit = left.unwrap_or(Duration::MAX).min(self.timing.renew_within / 2);
        let was_uncertain = self.is_uncertain;
        let outcome = match timeout(limit, self.acquire_or_renew()).await {
            Ok(Ok(attempt)) => {
                self.is_uncertain = false;
                attempt
            }
            Ok(Err(error)) => {
                // An answer decides about the write of this attempt. A write of an earlier attempt stays uncertain.
                self.is_uncertain &= was_uncertain || !is_answer(&error);
                self.failed(&reason(&error), is_conflict(&error))
            }
            Err(_) => self.failed(&format!("no answer within {limit:?}"), false),
        };
        if outcome != Attempt::Failed {
            self.recovered();
        }
        if outcome == Attempt::Held {
            let until = Some(begun + self.timing.renew_within);
            self.role.send_replace(Role::Leads { until });
        }
        outcome
    }

    /// Ends the failure of earlier attempts, because the API server has accepted or compared a write, or has shown the holder.
    fn recovered(&self) {
        let failed_before = self.failure.lock().take().is_some();
        if failed_before {
            tracing::info!(lease = %self.lease, "the lease can be read and written again");
        }
    }

    /// A conflict is no failure worth a line of the log: another host wrote first.
    fn failed(&mut self, why: &str, is_conflict: bool) -> Attempt {
        if is_conflict {
            self.recovered();
            tracing::debug!(lease = %self.lease, why, "another host wrote the lease first");
        } else {
            let before = self.failure.lock().replace(why.to_owned());
            if before.as_deref() != Some(why) {
                tracing::warn!(lease = %self.lease, why, "cannot acquire or renew the lease; trying again");
            }
        }
        Attempt::Failed
    }

    async fn acquire_or_renew(&mut self) -> Result<Attempt, kube::Error> {
        // A leader whose lease is valid writes without reading (E-5).
        if let Some(observed) = self.observed.as_ref().filter(|_| self.is_holder() && self.is_valid()) {
            let renewed = self.claimed(observed.lease.clone());
            if let Ok(lease) = self.replace(&renewed).await {
                self.observe(lease);
                return Ok(Attempt::Held);
            }
        }
        let written = match self.api.get_opt(&self.lease.name).await? {
            None => {
                self.is_uncertain = true;
                self.api.create(&PostParams::default(), &self.claimed(self.empty())).await?
            }
            Some(lease) => {
                self.observe(lease.clone());
                if !self.is_holder() && self.is_valid() {
                    return Ok(Attempt::Taken);
                }
                self.is_uncertain = true;
                self.replace(&self.claimed(lease)).await?
            }
        };
        self.observe(written);
        Ok(Attempt::Held)
    }

    async fn replace(&self, lease: &Lease) -> Result<Lease, kube::Error> {
        self.api.replace(&self.lease.name, &PostParams::default(), lease).await
    }

    fn observe(&mut self, lease: Lease) {
        let changed = match &self.observed {
            Some(before) if before.lease.spec == lease.spec => before.changed,
            _ => Instant::now(),
        };
        self.observed = Some(Observed { lease, changed });
    }

    /// The holder that the lease names; `None` if it is free.
    fn holder(&self) -> Option<&str> {
        let spec = self.observed.as_ref()?.lease.spec.as_ref()?;
        spec.holder_identity.as_deref().filter(|holder| !holder.is_empty())
    }

    fn is_holder(&self) -> bool {
        self.holder() == Some(&self.identity)
    }

    /// Returns true if the lease has a holder, and changed within the duration that the lease states (E-3).
    fn is_valid(&self) -> bool {
        let Some(Observed { lease, changed }) = &self.observed else { return false };
        let seconds = lease.spec.as_ref().and_then(|spec| spec.lease_duration_seconds).unwrap_or_default();
        let duration = Duration::from_secs(seconds.try_into().unwrap_or_default());
        self.holder().is_some() && changed.elapsed() < duration
    }

    fn empty(&self) -> Lease {
        let metadata = ObjectMeta {
            name: Some(self.lease.name.clone()),
            namespace: Some(self.lease.namespace.clone()),
            ..ObjectMeta::default()
        };
        Lease { metadata, spec: None }
    }

    /// The lease with this host as its holder. Renewing keeps the time of the acquisition and the number of transitions (E-4).
    fn claimed(&self, mut lease: Lease) -> Lease {
        let now = Some(MicroTime(Timestamp::now()));
        let is_new = lease.spec.is_none();
        let mut spec = lease.spec.take().unwrap_or_default();
        if spec.holder_identity.as_ref() != Some(&self.identity) {
            spec.acquire_time.clone_from(&now);
            let transitions = spec.lease_transitions.unwrap_or_default();
            spec.lease_transitions = Some(if is_new { 0 } else { transitions.saturating_add(1) });
        }
        let seconds = i32::try_from(self.timing.duration.as_secs()).unwrap_or(i32::MAX);
        lease.spec = Some(LeaseSpec {
            holder_identity: Some(self.identity.clone()),
            lease_duration_seconds: Some(seconds),
            renew_time: now,
            ..spec
        });
        lease
    }

    /// Frees the lease, so that another host leads at its next attempt. If that fails, the lease ends by itself.
    async fn release(&mut self) {
        let released = timeout(self.timing.renew_within, async {
            loop {
                match self.release_once().await {
                    Err(error) if is_conflict(&error) => {}
                    other => return other,
                }
            }
        });
        let why = match released.await {
            Ok(Ok(())) => return tracing::info!(lease = %self.lease, "the lease is released"),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "no answer in time".to_owned(),
        };
        tracing::warn!(lease = %self.lease, why, "the lease is not released; it ends by itself");
    }

    /// Frees the lease if an attempt acquired the lease without the notice of this host. The host stops and never leads, so no host
    /// would lead before the lease ends.
    async fn release_unnoticed(&self) {
        if !self.is_uncertain {
            return;
        }
        let why = match timeout(self.timing.retry, self.release_once()).await {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error.to_string(),
            Err(_) => "no answer in time".to_owned(),
        };
        tracing::debug!(lease = %self.lease, why, "if this host holds the lease, the lease ends by itself");
    }

    async fn release_once(&self) -> Result<(), kube::Error> {
        let Some(mut lease) = self.api.get_opt(&self.lease.name).await? else { return Ok(()) };
        let spec = lease.spec.take().unwrap_or_default();
        if spec.holder_identity.as_ref() != Some(&self.identity) {
            return Ok(());
        }
        let now = Some(MicroTime(Timestamp::now()));
        lease.spec = Some(LeaseSpec {
            holder_identity: None,
            // client-go writes the same: a record without a duration would be invalid.
            lease_duration_seconds: Some(1),
            acquire_time: now.clone(),
            renew_time: now,
            ..spec
        });
        self.replace(&lease).await.map(drop)
    }
}

/// Returns true if the API server refused the request. Any other error leaves open whether a write was executed.
fn is_answer(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code < 500)
}

/// Returns the message of the API server, or the text of another error. The text of a refusal also has the whole answer.
fn reason(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) if !status.message.is_empty() => status.message.clone(),
        other => other.to_string(),
    }
}

fn is_conflict(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == CONFLICT)
}

#[cfg(test)]
mod tests;
