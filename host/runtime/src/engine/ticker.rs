//! The clock that interrupts guests.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{JoinHandle, park, park_timeout},
};

use crate::schedule::{TURN, Turnstile};

/// Advances the epoch at the interval of turns while guests run. Dropping it stops the clock.
pub(super) struct Ticker {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

// === impl Ticker ===

impl Ticker {
    pub(super) fn start(engine: wasmtime::Engine, turnstile: &Arc<Turnstile>) -> std::io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, turns) = (Arc::clone(&stop), Arc::clone(turnstile));
        // A thread of its own: a busy executor must not delay the clock that interrupts its guests.
        let thread = std::thread::Builder::new().name("epoch".to_owned()).spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                park_timeout(TURN);
                engine.increment_epoch();
                // `drop` sets `stop` before it unparks this thread, so either the flag is seen here or the unpark is still to
                // come.
                if turns.may_rest() && !stopped.load(Ordering::Relaxed) {
                    park();
                }
            }
        })?;
        turnstile.set_clock(thread.thread().clone());
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // The thread cannot panic.
            drop(thread.join());
        }
    }
}
