//! The interface of receivers.

use jiff::Timestamp;

use crate::{
    http::{Answer, Request, Verdict},
    record::Record,
};

/// A receiver that gets HTTP requests.
pub(crate) trait Sink {
    /// The most Events of one request.
    fn batch(&self) -> usize {
        1
    }

    /// Makes the request for at least one Event and at most [`batch`](Self::batch). `attempt` begins with 1.
    ///
    /// # Errors
    /// Returns what is wrong with a template for these Events.
    fn request(&self, records: &[Record], attempt: u32) -> Result<Request, String>;

    /// The verdict on each of `count` Events of a request.
    fn judge(&self, answer: &Answer, count: usize, now: Timestamp) -> Vec<Verdict> {
        vec![answer.verdict(now); count]
    }

    /// If false, an Event whose count rises is not sent again.
    fn takes_updates(&self) -> bool;
}
