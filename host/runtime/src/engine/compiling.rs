//! The limits on compilations: how many run at a time, and how long each may take.

use std::{io, sync::Arc, thread, time::Duration};

use parking_lot::Mutex;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, oneshot},
    time::timeout,
};

/// Compilations that run at a time. A Python component takes 300 MiB and ten CPU-seconds.
const AT_ONCE: usize = 1;

/// The most abandoned compilations: a compilation cannot be stopped, so one that takes too long goes on without a caller. One
/// more than this blocks further compilations until an abandoned one ends.
const ABANDONED: usize = 2;

/// Runs compilations on threads of their own. The process does not wait for these threads when it ends.
pub(crate) struct Compiling {
    limit: Duration,
    turns: Arc<Semaphore>,
    abandoned: Arc<Semaphore>,
}

/// Why there is no compiled code.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotCompiled {
    #[error("the compilation takes longer than {limit:?}")]
    TooLong { limit: Duration },
    #[error("the compiler panicked")]
    Panicked,
    #[error("there is no thread for the compilation: {0}")]
    NoThread(io::Error),
}

/// The permit of a compilation, kept until it ends: a turn, or the permit of an abandoned compilation once its caller is gone.
type Permit = Arc<Mutex<Option<OwnedSemaphorePermit>>>;

/// A caller that waits for a compilation. Dropping it abandons the compilation.
struct Waiting<'a> {
    compiling: &'a Compiling,
    permit: Permit,
}

// === impl Compiling ===

impl Compiling {
    pub(crate) fn new(limit: Duration) -> Self {
        let semaphore = |permits| Arc::new(Semaphore::new(permits));
        Self { limit, turns: semaphore(AT_ONCE), abandoned: semaphore(ABANDONED) }
    }

    /// Runs a compilation: first come, first served. The wait for its turn does not count against the time limit.
    ///
    /// # Errors
    /// [`NotCompiled`]. A compilation that takes too long goes on without a caller.
    ///
    /// # Cancel safety
    /// If the future is dropped, the compilation goes on without a caller.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        compile: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, NotCompiled> {
        // The semaphore is never closed.
        let turn = Arc::clone(&self.turns).acquire_owned().await.ok();
        let permit: Permit = Arc::new(Mutex::new(turn));
        let (sender, done) = oneshot::channel();
        let held = Arc::clone(&permit);
        let thread = thread::Builder::new().name("compile".to_owned()).spawn(move || {
            let compiled = compile();
            drop(held.lock().take());
            // The caller may be gone.
            sender.send(compiled).ok();
        });
        thread.map_err(NotCompiled::NoThread)?;
        let _caller = Waiting { compiling: self, permit };
        match timeout(self.limit, done).await {
            Ok(Ok(compiled)) => Ok(compiled),
            Ok(Err(_)) => Err(NotCompiled::Panicked),
            Err(_) => Err(NotCompiled::TooLong { limit: self.limit }),
        }
    }
}

// === impl Waiting ===

impl Drop for Waiting<'_> {
    /// Gives the turn of a compilation without a caller to the next one, unless too many are abandoned already.
    fn drop(&mut self) {
        let mut permit = self.permit.lock();
        // `None` means that it has just ended.
        if permit.is_some()
            && let Ok(abandoned) = Arc::clone(&self.compiling.abandoned).try_acquire_owned()
        {
            *permit = Some(abandoned);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use futures::poll;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(60);

    /// Starts a compilation that is abandoned at once and ends when the sender is dropped.
    async fn endless(compiling: &mut Compiling) -> (String, mpsc::Sender<()>) {
        let (end, ended) = mpsc::channel::<()>();
        compiling.limit = Duration::ZERO;
        let refused = compiling.run(move || ended.recv().unwrap_or_default()).await.unwrap_err();
        compiling.limit = LIMIT;
        (refused.to_string(), end)
    }

    #[tokio::test]
    async fn a_compilation_that_takes_too_long_is_abandoned_and_the_next_one_runs() {
        let mut compiling = Compiling::new(LIMIT);

        let (refused, _end) = endless(&mut compiling).await;

        assert!(refused.contains("longer than 0ns"), "{refused}");
        assert_eq!(compiling.run(|| 7).await.unwrap(), 7);
    }

    #[tokio::test]
    async fn with_too_many_abandoned_compilations_the_next_one_waits_until_one_ends() {
        let mut compiling = Compiling::new(LIMIT);
        let mut ends = Vec::new();
        for _ in 0..=ABANDONED {
            ends.push(endless(&mut compiling).await.1);
        }
        assert_eq!(compiling.turns.available_permits(), 0, "the last one kept its turn");

        drop(ends.pop());

        assert_eq!(compiling.run(|| 7).await.unwrap(), 7);
        assert_eq!(compiling.abandoned.available_permits(), 0);
    }

    #[tokio::test]
    async fn a_compilation_whose_caller_is_gone_does_not_block_the_next_one() {
        let compiling = Compiling::new(LIMIT);
        let (_end, ended) = mpsc::channel::<()>();
        let mut gone = Box::pin(compiling.run(move || ended.recv().unwrap_or_default()));
        assert!(poll!(&mut gone).is_pending());

        drop(gone);

        assert_eq!(timeout(LIMIT, compiling.run(|| 7)).await.unwrap().unwrap(), 7);
        assert_eq!(compiling.abandoned.available_permits(), ABANDONED - 1, "it still runs");
    }

    #[tokio::test]
    async fn a_compiler_that_panics_is_an_error() {
        let compiling = Compiling::new(LIMIT);

        let refused = compiling.run::<()>(|| panic!("no such instruction")).await.unwrap_err();

        assert!(refused.to_string().contains("the compiler panicked"), "{refused}");
        assert_eq!(compiling.run(|| 7).await.unwrap(), 7);
    }
}
