//! tokio as it is, but before each use of a notification shuttle may let another thread go on.
//!
//! Without that nothing could happen between a look at a lock and the wait that follows it, and a wake-up that
//! is lost there would not be found.
#![forbid(unsafe_code)]

pub use tokio::*;

/// tokio's, with its own [`Notify`](sync::Notify).
pub mod sync {
    pub use tokio::sync::*;

    /// tokio's, with a step of shuttle's before each use.
    #[derive(Debug, Default)]
    pub struct Notify(tokio::sync::Notify);

    impl Notify {
        /// See tokio.
        pub fn new() -> Self {
            Self::default()
        }

        /// See tokio.
        pub fn notified(&self) -> futures::Notified<'_> {
            shuttle::thread::yield_now();
            self.0.notified()
        }

        /// See tokio.
        pub fn notify_one(&self) {
            shuttle::thread::yield_now();
            self.0.notify_one();
        }

        /// See tokio.
        pub fn notify_waiters(&self) {
            shuttle::thread::yield_now();
            self.0.notify_waiters();
        }
    }
}
