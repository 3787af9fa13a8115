//! Changes of the version in service: loads, new configurations, and the return to the last good version.

use std::{
    pin::Pin,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::{
    select,
    time::{timeout, timeout_at},
};

use super::{
    LONGEST_DEADLINE, Plugin, Rejected, VersionInfo,
    trial::{LastGood, Verdict},
    version::{Shared, Version},
};
use crate::{Component, LoadError, PluginConfig};

/// How long all idle instances of a version may take to stop, including waits for turns and for the processor share.
const STOPPED_WITHIN: Duration = Duration::from_secs(5);

/// A version that was put into service.
struct Swap {
    info: VersionInfo,
    /// The version that it replaced.
    old: Option<Arc<Version>>,
}

// === impl Plugin ===

impl Plugin {
    /// Puts a component into service: checks and links it, makes a first instance, calls `describe` and `start`, and then
    /// replaces the version in service. The idle instances of the old version are stopped. If the plugin is configured
    /// meanwhile, the component starts again with the new configuration.
    ///
    /// # Errors
    /// [`LoadError`]; the old version stays in service.
    ///
    /// # Cancel safety
    /// A dropped future has either replaced the version or changed nothing.
    pub async fn load(&self, component: &Component) -> Result<VersionInfo, LoadError> {
        let _one_at_a_time = self.loading.lock().await;
        loop {
            let shared = self.shared.load_full();
            if let Some(swap) = self.put_into_service(component, &shared).await? {
                return Ok(self.swapped(swap).await);
            }
        }
    }

    /// Checks a component without putting it into service: its interfaces and grants, then a first instance that answers `describe`,
    /// within the limits of the plugin. `start` is not called.
    ///
    /// # Errors
    /// [`LoadError`].
    ///
    /// # Cancel safety
    /// A dropped future has changed nothing.
    pub async fn rehearse(&self, component: &Component) -> Result<VersionInfo, LoadError> {
        let shared = self.shared.load_full();
        component.check(&shared.config.grants)?;
        let described = Version::described(component, &shared, None);
        let (version, _) = Box::pin(self.by_turns(described)).await?;
        Ok(version.info)
    }

    /// Replaces the configuration of the plugin; its name, its code and its [`Sources`](crate::Sources) stay.
    ///
    /// If the change matters to an instance, the component in service is started with the new configuration and replaces
    /// the running version as in [`load`](Self::load); the new version is returned. If the change does not matter to an instance, the
    /// change takes effect at once and the result is `None`. Idle instances beyond a lower [`PluginConfig::instances`] are stopped.
    ///
    /// A revoked grant may be used until the version is replaced, and by calls in flight until the new deadline has passed,
    /// including their waits. After the new deadline no code of the guest runs and no request is sent with the grant: the call ends with
    /// [`FailureKind::Deadline`](informer_types::FailureKind::Deadline). A call that waits in the host at that time is not
    /// woken. The call ends when its wait ends, at its own deadline at the latest, and occupies its worker until then.
    ///
    /// # Errors
    /// [`LoadError`]; the old version stays in service with its old configuration, and the next [`load`](Self::load) uses the
    /// new one. If the old version has a grant that is revoked, it is taken out of service instead.
    ///
    /// # Cancel safety
    /// A dropped future has changed nothing, or only the configuration of the next load, or everything. Calls that use
    /// revoked grants end in any case.
    pub async fn configure(&self, mut config: PluginConfig) -> Result<Option<VersionInfo>, LoadError> {
        config.limits.deadline = config.limits.deadline.min(LONGEST_DEADLINE);
        config.name = Arc::clone(&self.name);
        let at = Instant::now() + config.limits.deadline;
        let (shared, revokes) = self.adopt(config, at);
        let started =
            if revokes { self.start_in_time(&shared, at).await } else { self.start_anew(&shared).await };
        match started {
            Ok(Some(swap)) => Ok(Some(self.swapped(swap).await)),
            Ok(None) => {
                self.stop_surplus().await;
                Ok(None)
            }
            Err(error) => match self.take_out_revoked() {
                Some(revoked) => {
                    self.stop_idle(&revoked).await;
                    Err(error)
                }
                // A concurrent load replaced the version at the last moment.
                None if matches!(error, LoadError::Overdue { .. }) => Ok(None),
                None => Err(error),
            },
        }
    }

    /// Uses this configuration for all versions started from now on. Returns true if a living instance has a grant that is
    /// revoked; such instances end at `at`.
    fn adopt(&self, config: PluginConfig, at: Instant) -> (Arc<Shared>, bool) {
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

    /// Completes once the configuration has changed so that an instance made with `shared` no longer fits it.
    async fn outdated(&self, shared: &Shared) {
        loop {
            let configured = self.configured.notified();
            if shared.revocation.is_set() || !shared.config.serves(&self.shared.load().config) {
                return;
            }
            configured.await;
        }
    }

    /// Starts the component in service with another configuration. Returns `None` if the running version fits it.
    async fn start_anew(&self, shared: &Arc<Shared>) -> Result<Option<Swap>, LoadError> {
        let _one_at_a_time = self.loading.lock().await;
        match self.version.load_full().filter(|version| !version.serves(&shared.config)) {
            Some(version) => self.put_into_service(&version.component, shared).await,
            None => Ok(None),
        }
    }

    /// Like [`start_anew`](Self::start_anew), but only until `at` if the version in service has a revoked grant.
    async fn start_in_time(&self, shared: &Arc<Shared>, at: Instant) -> Result<Option<Swap>, LoadError> {
        let mut start = Box::pin(self.start_anew(shared));
        if let Ok(started) = timeout_at(at.into(), &mut start).await {
            return started;
        }
        if self.version.load().as_ref().is_some_and(|version| version.is_revoked()) {
            return Err(LoadError::Overdue { limit: shared.config.limits.deadline });
        }
        // Only calls in flight have the revoked grant, and they end by themselves, so the start may take longer. If the
        // version is not outdated, a concurrent load has replaced it.
        if self.is_outdated() { start.await } else { Ok(None) }
    }

    /// Starts the component and replaces the version in service. Returns `None` if the plugin was configured meanwhile.
    async fn put_into_service(
        &self,
        component: &Component,
        shared: &Arc<Shared>,
    ) -> Result<Option<Swap>, LoadError> {
        component.check(&shared.config.grants)?;
        let last_good = self.version.load().as_ref().map(|version| version.last_good());
        let last_good = last_good.filter(|good| good.differs(component, &shared.config));
        // Boxed: it is rare, and would enlarge every future that loads.
        let start = Box::pin(Version::start(component, shared, last_good));
        let version = select! {
            biased;
            () = self.outdated(shared) => return Ok(None),
            version = self.by_turns(start) => version?,
        };
        let info = version.info.clone();
        self.rejected.lock().take();
        let old = self.version.swap(Some(Arc::new(version)));
        self.swaps.send_modify(|swaps| *swaps += 1);
        Ok(Some(Swap { info, old }))
    }

    async fn swapped(&self, Swap { info, old }: Swap) -> VersionInfo {
        if let Some(old) = old {
            self.stop_idle(&old).await;
        }
        info
    }

    /// Stops the idle instances of a version that is out of service.
    async fn stop_idle(&self, old: &Version) {
        self.stop_in_time(Box::pin(old.retire())).await;
    }

    /// Stops the idle instances beyond the limit, which the new configuration may have lowered.
    async fn stop_surplus(&self) {
        let surplus = self.version.load().as_ref().map(|version| version.surplus()).unwrap_or_default();
        // Without work, a plugin that used up its processor share need not wait for a turn.
        if !surplus.is_empty() {
            let stopping = async {
                for instance in surplus {
                    instance.stop().await;
                }
            };
            self.stop_in_time(Box::pin(stopping)).await;
        }
    }

    /// Stops idle instances. Instances that are not stopped in time are dropped. `stopping` is boxed, because each function that takes a
    /// future by value copies it.
    async fn stop_in_time(&self, stopping: Pin<Box<impl Future<Output = ()>>>) {
        if timeout(STOPPED_WITHIN, self.by_turns(stopping)).await.is_err() {
            let plugin = self.name();
            tracing::warn!(plugin, "some idle instances were not stopped in time and were dropped");
        }
    }

    /// Replaces a version that failed its trial by the last good version.
    pub(super) async fn go_back(&self, failed: &Arc<Version>, verdict: Verdict<'_>) {
        let _one_at_a_time = self.loading.lock().await;
        let in_service = self.version.load_full();
        if !in_service.is_some_and(|version| Arc::ptr_eq(&version, failed)) {
            return;
        }
        let plugin = self.name();
        let Verdict { last_good, why, .. } = &verdict;
        match self.start_last_good(last_good).await {
            Ok(version) => {
                let digest = Arc::clone(&failed.info.digest);
                tracing::error!(plugin, refused = %digest, in_service = %version.info.digest, why, "the new version failed its trial; the last good version is back in service");
                self.shared.load().calls.went_back();
                *self.rejected.lock() = Some(Rejected { digest, why: why.clone() });
                self.version.store(Some(Arc::new(version)));
                self.swaps.send_modify(|swaps| *swaps += 1);
                timeout(STOPPED_WITHIN, failed.retire()).await.ok();
            }
            Err(error) => {
                tracing::error!(plugin, why, %error, "the new version failed its trial, and the last good version does not start; the new version stays in service, and its trial begins anew after a pause");
            }
        }
    }

    /// Starts the last good version with its own `config` table. Grants and limits come from the current configuration.
    async fn start_last_good(&self, last_good: &LastGood) -> Result<Version, LoadError> {
        let LastGood { component, config_json } = last_good;
        loop {
            let now = self.shared.load_full();
            let config =
                PluginConfig { config_json: config_json.clone(), ..PluginConfig::clone(&now.config) };
            let shared = Arc::new(Shared { config: Arc::new(config), ..Shared::clone(&now) });
            component.check(&shared.config.grants)?;
            select! {
                biased;
                () = self.outdated(&now) => {}
                version = Version::start(component, &shared, None) => return version,
            }
        }
    }

    /// Takes the plugin out of service. Idle instances are stopped now, an instance with a call in flight after the call.
    ///
    /// # Cancel safety
    /// A dropped future has taken the plugin out of service, or has changed nothing. Instances that were not stopped yet
    /// are dropped.
    pub async fn unload(&self) {
        let _one_at_a_time = self.loading.lock().await;
        if let Some(old) = self.version.swap(None) {
            self.by_turns(old.retire()).await;
        }
    }

    /// Takes the version out of service if it has a revoked grant. Returns the version if it did.
    fn take_out_revoked(&self) -> Option<Arc<Version>> {
        let revoked = self.version.load_full().filter(|version| version.is_revoked());
        let before = self.version.compare_and_swap(&revoked, None);
        // If they differ, another version was put into service just now.
        revoked.filter(|revoked| before.as_ref().is_some_and(|before| Arc::ptr_eq(before, revoked)))
    }
}
