//! Random real histories of several objects, delivered with random interruptions and failures: whatever happens,
//! what the handler sees of each object keeps the contract of handlers: eventual consistency, order, at-least-once delivery and merging.
//!
//! `by_hand` takes and settles itself, so that every interleaving of offers and settlements can occur;
//! `dispatched` lets a dispatcher with several workers do it.

#[cfg(test)]
mod by_hand;
#[cfg(test)]
mod contract;
#[cfg(test)]
mod dispatched;
#[cfg(test)]
mod history;
#[cfg(test)]
mod quiet;
#[cfg(test)]
mod races;
