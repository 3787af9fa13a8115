//! Looks up the places of frames in debug information, which is as hostile as its component: in the process that compiles.

use std::{sync::Arc, time::Duration};

use tokio::{sync::Semaphore, time::timeout};

use super::compiler::{CompileLimits, Compiler, NotCompiled};
use crate::debug_info::Place;

/// The limits of one look-up. It takes much less than a second of a processor, and may wait long for one on a busy machine.
const LIMITS: CompileLimits =
    CompileLimits { time: Duration::from_secs(60), cpu_seconds: Some(5), memory: 256 << 20 };

/// Runs one look-up at a time.
pub(crate) struct LookUp {
    compiler: Arc<Compiler>,
    turn: Semaphore,
}

// === impl LookUp ===

impl LookUp {
    pub(crate) fn new(compiler: Arc<Compiler>) -> Self {
        Self { compiler, turn: Semaphore::new(1) }
    }

    /// Answers a [`query`](crate::debug_info::query): the places of each of its frames. Returns `None` if the turn of this look-up does
    /// not come within a minute; a later look-up for the component may succeed. The query contains the debug information, so it is
    /// made when the turn has come: one copy of the information is in memory, however many look-ups wait.
    ///
    /// # Errors
    /// The limit that the look-up exceeded, or how its process failed. Another look-up for the component would fail again.
    ///
    /// # Cancel safety
    /// If the future is dropped, the look-up ends, or its result is lost.
    pub(crate) async fn places(
        &self,
        query: impl FnOnce() -> Vec<u8>,
    ) -> Result<Option<Vec<Vec<Place>>>, String> {
        // The semaphore is never closed.
        let Ok(Ok(_turn)) = timeout(LIMITS.time, self.turn.acquire()).await else { return Ok(None) };
        let answer = self.compiler.places(query().into(), LIMITS).await.map_err(|error| match error {
            NotCompiled::TooLong { limit } => format!("a look-up in it takes longer than {limit:?}"),
            NotCompiled::TooMuchMemory { limit } => {
                format!("a look-up in it needs more than {} MiB of memory", limit >> 20)
            }
            error => format!("a look-up in it failed: {error}"),
        })?;
        serde_json::from_slice(&answer).map(Some).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use futures::FutureExt;

    use super::*;

    #[tokio::test]
    async fn a_query_is_made_when_the_turn_of_its_look_up_has_come() {
        let look_up = LookUp::new(Arc::new(Compiler::InProcess));
        let turn = look_up.turn.acquire().await.unwrap();
        let made = AtomicBool::new(false);
        let query = || {
            made.store(true, Ordering::Relaxed);
            Vec::new()
        };
        let mut waits = Box::pin(look_up.places(query));

        assert!(waits.as_mut().now_or_never().is_none());
        assert!(!made.load(Ordering::Relaxed), "another look-up has the turn");

        drop(turn);
        assert!(waits.await.is_err(), "no bytes are no query");
        assert!(made.load(Ordering::Relaxed));
    }
}
