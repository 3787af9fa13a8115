//! The credentials that a command of the kubeconfig gives (`exec` of a user; in Kubernetes a credential plugin).
//!
//! kube runs such commands too, but without a bound on their time and their output. It runs a command for each change of a connection,
//! and never because the API server has refused a token. Its errors contain what the command prints.

mod answer;
mod last_words;
mod setting;

use std::{sync::Arc, time::Duration};

use futures::{
    FutureExt,
    future::{BoxFuture, Shared as SharedFuture, WeakShared},
};
use http::HeaderValue;
use informer_cache::NoCredentials;
use informer_system::{ProgramError, ProgramLimits, run_program};
use informer_types::TokenBucket;
use kube::config::AuthInfo;
use parking_lot::Mutex;
use tokio::time::Instant;

pub(super) use answer::Identity;
pub use setting::CredentialCommandError;

use answer::Answer;
use last_words::harmless;
use setting::Setting;

/// A program that requests a token from a service of a cloud needs seconds. A request to the API server waits for the program; the time
/// limit of the request is longer.
const LIMITS: ProgramLimits =
    ProgramLimits { time: Duration::from_secs(60), output: 1 << 20, last_words: 1000 };

/// Starts at once after a pause, and starts a second. Without a limit, a command that fails or gives credentials that the API
/// server refuses would be started for each attempt of each informer.
const STARTS: (f64, f64) = (5.0, 0.2);

/// Credentials are renewed this long before they expire, but never in the first nine tenths of their life.
const EARLY: Duration = Duration::from_secs(10);

/// Gives the credentials of the command, which runs at most once at a time. Cheap to clone.
#[derive(Clone)]
pub(super) struct CredentialCommand(Arc<Inner>);

struct Inner {
    setting: Setting,
    limits: ProgramLimits,
    state: Mutex<State>,
}

struct State {
    current: Option<Arc<Credentials>>,
    /// The API server has refused the current credentials.
    refused: bool,
    /// `None` if the last run succeeded.
    failure: Option<Failure>,
    running: Option<WeakShared<Run>>,
    starts: TokenBucket,
}

/// The credentials of a request.
pub(super) struct Credentials {
    /// The value of `Authorization`.
    pub(super) header: Option<HeaderValue>,
    /// The client certificate.
    pub(super) identity: Option<Arc<Identity>>,
    life: Life,
}

/// When credentials end. `None` means never.
#[derive(Clone, Copy, Default)]
struct Life {
    renew: Option<Instant>,
    end: Option<Instant>,
}

type Outcome = Result<Arc<Credentials>, Failure>;
type Run = BoxFuture<'static, Outcome>;

/// Why a run gave no credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Failure(Arc<str>);

// === impl CredentialCommand ===

impl CredentialCommand {
    /// Takes the command out of these credentials. Returns `None` if there is none, or if kube would use other credentials.
    ///
    /// # Errors
    /// The command cannot be run by this host, or the credentials are those of a provider that client-go has removed.
    pub(super) fn take(
        credentials: &mut AuthInfo,
        user: &str,
    ) -> Result<Option<Self>, CredentialCommandError> {
        if let Some(provider) = &credentials.auth_provider {
            Setting::check_provider(provider, user)?;
        }
        let Some(exec) = credentials.exec.take() else { return Ok(None) };
        let AuthInfo { auth_provider, username, password, token, token_file, .. } = &*credentials;
        let basic = username.is_some() && password.is_some();
        if auth_provider.is_some() || basic || token.is_some() || token_file.is_some() {
            return Ok(None);
        }
        let setting = Setting::read(exec, user)?;
        setting.find()?;
        Ok(Some(Self::new(setting, LIMITS)))
    }

    fn new(setting: Setting, limits: ProgramLimits) -> Self {
        let (burst, per_second) = STARTS;
        let state = State {
            current: None,
            refused: false,
            failure: None,
            running: None,
            starts: TokenBucket::new(per_second, burst),
        };
        Self(Arc::new(Inner { setting, limits, state: Mutex::new(state) }))
    }

    /// Returns the credentials, after a run of the command if they have expired or the API server has refused them.
    ///
    /// # Errors
    /// The command failed.
    ///
    /// # Cancel safety
    /// The command goes on if another caller waits for it. Otherwise it is killed.
    pub(super) async fn credentials(&self) -> Result<Arc<Credentials>, NoCredentials> {
        let run = {
            let mut state = self.0.state.lock();
            if let Some(valid) = state.valid() {
                return Ok(valid);
            }
            match state.running.as_ref().and_then(WeakShared::upgrade) {
                Some(run) => run,
                None if state.starts.take(Instant::now().into_std()) => self.start(&mut state),
                None => return state.last().map_err(|failure| self.0.error(&failure)),
            }
        };
        run.await.map_err(|failure| self.0.error(&failure))
    }

    /// The API server refused these credentials. If they are the current ones, the next request runs the command again.
    pub(super) fn refused(&self, sent: &Arc<Credentials>) {
        let mut state = self.0.state.lock();
        if state.current.as_ref().is_some_and(|current| Arc::ptr_eq(current, sent)) {
            state.refused = true;
        }
    }

    /// The client certificate of these credentials cannot be used. The next request runs the command again.
    pub(super) fn unusable(&self, given: &Arc<Credentials>, error: &kube::Error) -> NoCredentials {
        self.refused(given);
        self.0.error(&Failure::new(format!("gives a client certificate that cannot be used: {error}")))
    }

    fn start(&self, state: &mut State) -> SharedFuture<Run> {
        let inner = Arc::clone(&self.0);
        let run = async move { inner.run().await }.boxed().shared();
        state.running = run.downgrade();
        run
    }
}

// === impl Inner ===

impl Inner {
    async fn run(&self) -> Outcome {
        let (outcome, words) = match self.setting.find() {
            Ok(program) => {
                let ended = run_program(self.setting.command(&program), self.limits).await;
                (self.read(ended.output), harmless(&ended.last_words, self.limits.last_words))
            }
            Err(error) => (Err(Failure::new(error.to_string())), String::new()),
        };
        let mut state = self.state.lock();
        state.running = None;
        self.report(&outcome, state.failure.as_ref(), &words);
        match outcome {
            Ok(fresh) => {
                let fresh = Arc::new(fresh);
                state.current = Some(Arc::clone(&fresh));
                state.refused = false;
                state.failure = None;
                Ok(fresh)
            }
            Err(failure) => {
                state.failure = Some(failure);
                state.last()
            }
        }
    }

    fn read(&self, output: Result<Vec<u8>, ProgramError>) -> Result<Credentials, Failure> {
        let output = output.map_err(|error| Failure::new(error.to_string()))?;
        let answer = Answer::read(&output, self.setting.version());
        let answer = answer.map_err(|error| Failure::new(error.to_string()))?;
        Ok(Credentials {
            header: answer.header,
            identity: answer.identity.map(Arc::new),
            life: answer.lifetime.map_or_else(Life::default, Life::from_now),
        })
    }

    /// Logs the outcome of a run. A repeated failure is logged at the level DEBUG only.
    fn report(&self, outcome: &Result<Credentials, Failure>, before: Option<&Failure>, words: &str) {
        let command = self.setting.name();
        match (outcome, before) {
            (Ok(_), None) => tracing::debug!(command, words, "the command gave credentials"),
            (Ok(_), Some(_)) => tracing::info!(command, words, "the command gives credentials again"),
            (Err(failure), Some(before)) if failure == before => {
                tracing::debug!(command, words, error = %failure.0, "the command still gives no credentials");
            }
            (Err(failure), _) => {
                tracing::warn!(command, words, error = %failure.0, "the command gives no credentials");
            }
        }
    }

    fn error(&self, failure: &Failure) -> NoCredentials {
        NoCredentials(format!(
            "{} {}; the log has the end of what it printed to standard error",
            self.setting.description(),
            failure.0
        ))
    }
}

// === impl State ===

impl State {
    /// The current credentials, if the command has nothing to do.
    fn valid(&self) -> Option<Arc<Credentials>> {
        let current = self.current.as_ref().filter(|_| !self.refused)?;
        let fresh = current.life.renew.is_none_or(|renew| Instant::now() < renew);
        fresh.then(|| Arc::clone(current))
    }

    /// The result without another run. If the last run succeeded, its credentials are sent even if they have expired or were
    /// refused, so that the API server decides: its clock may be another. If the last run failed, earlier credentials are sent
    /// while they are valid.
    fn last(&self) -> Outcome {
        let usable = |current: &&Arc<Credentials>| {
            let ended = current.life.end.is_some_and(|end| Instant::now() >= end);
            self.failure.is_none() || (!self.refused && !ended)
        };
        match (self.current.as_ref().filter(usable), &self.failure) {
            (Some(current), _) => Ok(Arc::clone(current)),
            (None, Some(failure)) => Err(failure.clone()),
            (None, None) => {
                Err(Failure::new("was started again and again, and no request waited for its end"))
            }
        }
    }
}

// === impl Life ===

impl Life {
    fn from_now(lifetime: Duration) -> Self {
        let end = Instant::now().checked_add(lifetime);
        Self { renew: end.and_then(|end| end.checked_sub(EARLY.min(lifetime / 10))), end }
    }
}

// === impl Failure ===

impl Failure {
    fn new(text: impl Into<String>) -> Self {
        Self(text.into().into())
    }
}

#[cfg(test)]
mod tests;
