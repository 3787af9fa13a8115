//! Which version serves: loads, other configurations, and the way back.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::{
    select,
    time::{timeout, timeout_at},
};

use super::{LONGEST_DEADLINE, Plugin, Rejected, Shared, Version, VersionInfo, trial::LastGood};
use crate::{Component, LoadError, PluginConfig};

/// How long all idle instances of a version may take to stop, waits for their turn and their share included.
const STOPPED_WITHIN: Duration = Duration::from_secs(5);

/// What has taken over, and from what.
type Swap = (VersionInfo, Option<Arc<Version>>);

// === impl Plugin ===

impl Plugin {
    /// Puts a component into service: checks and links it, makes a first instance, asks it who it is and starts it,
    /// and then swaps. The idle instances of the version before are stopped. Where the plugin is configured anew
    /// meanwhile, it is started anew.
    ///
    /// # Errors
    /// [`LoadError`]; the version that served before goes on.
    ///
    /// # Cancel safety
    /// A dropped future has either swapped or changed nothing.
    pub async fn load(&self, component: &Component) -> Result<VersionInfo, LoadError> {
        let _one_at_a_time = self.loading.lock().await;
        loop {
            let shared = self.shared.load_full();
            if let Some(swap) = self.put_into_service(component, &shared).await? {
                return Ok(self.swapped(swap).await);
            }
        }
    }

    /// Changes everything about the plugin but its name, its code and what the process lends to it. Where an instance
    /// could tell the difference, the component in service is started aside with the new configuration, and swapped
    /// as [`load`](Self::load) does: its version is returned. Else the change takes effect at once.
    ///
    /// What the new grants do not allow any more may be used until the swap, and by calls in hand: for as long as the new
    /// deadline says, whatever they wait for, and by no code of the guest afterwards. What runs on then is ended, with
    /// [`FailureKind::Deadline`](informer_types::FailureKind::Deadline). A call that waits in the host by then, for an answer or a
    /// sleep, is not woken: it ends as it hears of it, at its own deadline at the latest, and has its worker until then.
    ///
    /// # Errors
    /// [`LoadError`]; the version that served before goes on as it was configured, and the next [`load`](Self::load)
    /// uses the new configuration. Where that version may do what the new grants do not allow any more, it is taken
    /// out of service instead: what was revoked is revoked.
    ///
    /// # Cancel safety
    /// A dropped future has changed nothing, or what the next load uses, or everything. Calls that use what was revoked
    /// end all the same.
    pub async fn configure(&self, mut config: PluginConfig) -> Result<Option<VersionInfo>, LoadError> {
        config.limits.deadline = config.limits.deadline.min(LONGEST_DEADLINE);
        config.name = Arc::clone(&self.name);
        let at = Instant::now() + config.limits.deadline;
        let (shared, revokes) = self.take_on(config, at);
        let started =
            if revokes { self.start_in_time(&shared, at).await } else { self.start_anew(&shared).await };
        match started {
            Ok(Some(swap)) => Ok(Some(self.swapped(swap).await)),
            Ok(None) => Ok(None),
            Err(error) => match self.take_out_revoked() {
                Some(revoked) => {
                    self.stop_idle(&revoked).await;
                    Err(error)
                }
                // A load in hand got there at the last moment.
                None if matches!(error, LoadError::Overdue { .. }) => Ok(None),
                None => Err(error),
            },
        }
    }

    /// What is started from now on is started with this. True where something that lives may do what it does not allow: that
    /// ends at this time.
    fn take_on(&self, config: PluginConfig, at: Instant) -> (Arc<Shared>, bool) {
        let _one_at_a_time = self.configuring.lock();
        let before = self.shared.load_full();
        before.slots.resize(config.instances.get());
        before.lane.limit(config.limits.cpu);
        let revokes = self.grantees.narrow(&config.grants, at);
        let revocation = self.grantees.grant(&config.grants);
        let shared = Arc::new(Shared { config: Arc::new(config), revocation, ..Shared::clone(&before) });
        self.shared.store(Arc::clone(&shared));
        self.configured.notify_waiters();
        (shared, revokes)
    }

    /// Ready once an instance that is made with this is not what was configured last.
    async fn outdated(&self, shared: &Shared) {
        loop {
            let configured = self.configured.notified();
            if shared.revocation.is_set() || !shared.config.serves(&self.shared.load().config) {
                return;
            }
            configured.await;
        }
    }

    /// Starts the component in service with another configuration; none where it serves that as it is.
    async fn start_anew(&self, shared: &Arc<Shared>) -> Result<Option<Swap>, LoadError> {
        let _one_at_a_time = self.loading.lock().await;
        match self.version.load_full().filter(|version| !version.serves(&shared.config)) {
            Some(version) => self.put_into_service(version.component(), shared).await,
            None => Ok(None),
        }
    }

    /// As [`start_anew`](Self::start_anew), and no longer than until this time if the version in service may do what is revoked.
    async fn start_in_time(&self, shared: &Arc<Shared>, at: Instant) -> Result<Option<Swap>, LoadError> {
        let mut start = Box::pin(self.start_anew(shared));
        if let Ok(started) = timeout_at(at.into(), &mut start).await {
            return started;
        }
        if self.version.load().as_ref().is_some_and(|version| version.is_revoked()) {
            return Err(LoadError::Overdue { limit: shared.config.limits.deadline });
        }
        // Only calls in hand may, and they end by themselves: there is time. Else a load in hand is under way to it, or has got there.
        if self.is_outdated() { start.await } else { Ok(None) }
    }

    /// None where it was configured anew meanwhile.
    async fn put_into_service(
        &self,
        component: &Component,
        shared: &Arc<Shared>,
    ) -> Result<Option<Swap>, LoadError> {
        component.check(&self.engine, &shared.config.grants)?;
        let last_good = self.version.load().as_ref().map(|version| version.last_good());
        let last_good = last_good.filter(|good| good.differs(component, &shared.config));
        // Boxed: it is rare, and would make every future that loads as large.
        let start = Box::pin(Version::start(&self.engine, component, shared, last_good));
        let version = select! {
            biased;
            () = self.outdated(shared) => return Ok(None),
            version = self.by_turns(start) => version?,
        };
        let info = version.info().clone();
        self.rejected.lock().take();
        let old = self.version.swap(Some(Arc::new(version)));
        self.swaps.send_modify(|swaps| *swaps += 1);
        Ok(Some((info, old)))
    }

    async fn swapped(&self, (info, old): Swap) -> VersionInfo {
        if let Some(old) = old {
            self.stop_idle(&old).await;
        }
        info
    }

    /// Stops the idle instances of a version that does not serve any more, as far as there is time; the others are dropped.
    async fn stop_idle(&self, old: &Version) {
        if timeout(STOPPED_WITHIN, self.by_turns(old.retire())).await.is_err() {
            let plugin = self.name();
            tracing::warn!(plugin, "not every idle instance was stopped in time; the others were dropped");
        }
    }

    /// Takes a version out of service that failed its trial, and puts the last good one in its place.
    pub(super) async fn go_back(&self, failed: &Arc<Version>, last_good: LastGood, why: String) {
        let _one_at_a_time = self.loading.lock().await;
        let in_service = self.version.load_full();
        if !in_service.is_some_and(|version| Arc::ptr_eq(&version, failed)) {
            return;
        }
        let plugin = self.name();
        match self.start_last_good(&last_good).await {
            Ok(version) => {
                let digest = Arc::clone(&failed.info().digest);
                tracing::error!(plugin, refused = %digest, in_service = %version.info().digest, why, "the new version fails; the last good one is back");
                self.shared.load().counters.went_back();
                *self.rejected.lock() = Some(Rejected { digest, why });
                self.version.store(Some(Arc::new(version)));
                self.swaps.send_modify(|swaps| *swaps += 1);
                timeout(STOPPED_WITHIN, failed.retire()).await.ok();
            }
            Err(error) => {
                tracing::error!(plugin, why, %error, "the new version fails, and the one before does not start any more; the new one goes on");
            }
        }
    }

    /// As it was, within what is configured now: what was revoked or limited since stays so.
    async fn start_last_good(&self, last_good: &LastGood) -> Result<Version, LoadError> {
        let LastGood { component, config_json } = last_good;
        loop {
            let now = self.shared.load_full();
            let config =
                PluginConfig { config_json: config_json.clone(), ..PluginConfig::clone(&now.config) };
            let shared = Arc::new(Shared { config: Arc::new(config), ..Shared::clone(&now) });
            component.check(&self.engine, &shared.config.grants)?;
            select! {
                biased;
                () = self.outdated(&now) => {}
                version = Version::start(&self.engine, component, &shared, None) => return version,
            }
        }
    }

    /// Takes the plugin out of service: every idle instance is stopped, and one with a call in hand after it.
    ///
    /// # Cancel safety
    /// A dropped future has taken it out of service, or has not begun; instances that were not stopped yet are dropped.
    pub async fn unload(&self) {
        let _one_at_a_time = self.loading.lock().await;
        if let Some(old) = self.version.swap(None) {
            self.by_turns(old.retire()).await;
        }
    }

    /// Takes the version out of service if it may do what was revoked.
    fn take_out_revoked(&self) -> Option<Arc<Version>> {
        let revoked = self.version.load_full().filter(|version| version.is_revoked());
        let before = self.version.compare_and_swap(&revoked, None);
        // Else another one has taken over this moment.
        revoked.filter(|revoked| before.as_ref().is_some_and(|before| Arc::ptr_eq(before, revoked)))
    }
}
