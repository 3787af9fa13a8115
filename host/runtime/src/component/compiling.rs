//! Compilations: how many at a time, and how long each may take.

use std::{sync::Arc, thread, time::Duration};

use parking_lot::Mutex;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, oneshot},
    time::timeout,
};

use super::LoadError;

/// Compiling a Python component takes 300 MiB and ten CPU-seconds: one at a time.
const AT_ONCE: usize = 1;

/// Nothing stops a compilation that takes too long but its end. So many may go on for nobody; while they do, one more
/// keeps the others waiting.
const ABANDONED: usize = 2;

/// Runs compilations on threads of their own: the process does not wait for them when it ends.
pub(crate) struct Compiling {
    limit: Duration,
    turns: Arc<Semaphore>,
    abandoned: Arc<Semaphore>,
}

/// Kept until the compilation has ended: that of the turn, or, once nobody waits for it any more, that of an
/// abandoned one.
type Permit = Arc<Mutex<Option<OwnedSemaphorePermit>>>;

/// Somebody waits for a compilation.
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

    /// Runs one, first come first served; the time it waits for its turn does not count.
    ///
    /// # Errors
    /// [`LoadError::TooLong`]: it goes on, for nobody. [`LoadError::Compile`] where it panics, or there is no thread
    /// for it.
    ///
    /// # Cancel safety
    /// A dropped future lets it go on for nobody, as one that takes too long.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        compile: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, LoadError> {
        // The semaphore is never closed.
        let turn = Arc::clone(&self.turns).acquire_owned().await.ok();
        let permit: Permit = Arc::new(Mutex::new(turn));
        let (sender, done) = oneshot::channel();
        let held = Arc::clone(&permit);
        let thread = thread::Builder::new().name("compile".to_owned()).spawn(move || {
            let compiled = compile();
            drop(held.lock().take());
            // Nobody may wait any more.
            sender.send(compiled).ok();
        });
        thread.map_err(|error| LoadError::Compile(format!("there is no thread for it: {error}")))?;
        let _waited_for = Waiting { compiling: self, permit };
        match timeout(self.limit, done).await {
            Ok(Ok(compiled)) => Ok(compiled),
            Ok(Err(_)) => Err(LoadError::Compile("the compiler panicked".to_owned())),
            Err(_) => Err(LoadError::TooLong { limit: self.limit }),
        }
    }

    /// Others may have their turn, if not too many go on for nobody already.
    fn abandon(&self, permit: &Permit) {
        let mut permit = permit.lock();
        // None: it has just ended.
        if permit.is_some()
            && let Ok(abandoned) = Arc::clone(&self.abandoned).try_acquire_owned()
        {
            *permit = Some(abandoned);
        }
    }
}

// === impl Waiting ===

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.compiling.abandon(&self.permit);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use futures::poll;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(60);

    /// One that ends when it is told to; nobody waits for it.
    async fn endless(compiling: &mut Compiling) -> (String, mpsc::Sender<()>) {
        let (end, ended) = mpsc::channel::<()>();
        compiling.limit = Duration::ZERO;
        let refused = compiling.run(move || ended.recv().unwrap_or_default()).await.unwrap_err();
        compiling.limit = LIMIT;
        (refused.to_string(), end)
    }

    #[tokio::test]
    async fn what_takes_too_long_is_given_up_by_name_of_its_limit_and_others_have_their_turn() {
        let mut compiling = Compiling::new(LIMIT);

        let (refused, _end) = endless(&mut compiling).await;

        assert!(refused.contains("longer than 0ns") && refused.contains("`compile-timeout`"), "{refused}");
        assert_eq!(compiling.run(|| 7).await.unwrap(), 7);
    }

    #[tokio::test]
    async fn so_many_go_on_for_nobody_and_the_next_waits_until_one_ends() {
        let mut compiling = Compiling::new(LIMIT);
        let mut ends = Vec::new();
        for _ in 0..=ABANDONED {
            ends.push(endless(&mut compiling).await.1);
        }
        assert_eq!(compiling.turns.available_permits(), 0, "one more than may go on has kept its turn");

        drop(ends.pop());

        assert_eq!(compiling.run(|| 7).await.unwrap(), 7);
        assert_eq!(compiling.abandoned.available_permits(), 0);
    }

    #[tokio::test]
    async fn whoever_does_not_wait_any_more_keeps_nobody_from_his_turn() {
        let compiling = Compiling::new(LIMIT);
        let (_end, ended) = mpsc::channel::<()>();
        let mut gone = Box::pin(compiling.run(move || ended.recv().unwrap_or_default()));
        assert!(poll!(&mut gone).is_pending());

        drop(gone);

        assert_eq!(timeout(LIMIT, compiling.run(|| 7)).await.unwrap().unwrap(), 7);
        assert_eq!(compiling.abandoned.available_permits(), ABANDONED - 1, "it goes on");
    }

    #[tokio::test]
    async fn a_compiler_that_panics_is_a_refusal() {
        let compiling = Compiling::new(LIMIT);

        let refused = compiling.run::<()>(|| panic!("no such instruction")).await.unwrap_err();

        assert!(refused.to_string().contains("the compiler panicked"), "{refused}");
        assert_eq!(compiling.run(|| 7).await.unwrap(), 7);
    }
}
