//! The model.

use std::collections::{BTreeMap, BTreeSet};

/// Distinct keys at most.
pub(crate) const CAPACITY: usize = 4;

/// The limiter's first and longest wait, in milliseconds.
pub(crate) const MIN: u64 = 5;
pub(crate) const MAX: u64 = 40;

#[derive(Default)]
pub(crate) struct Model {
    pub(crate) ready: Vec<u8>,
    pub(crate) dirty: BTreeSet<u8>,
    pub(crate) processing: BTreeSet<u8>,
    /// When, in the order in which the times were set, and which.
    pub(crate) delayed: Vec<(u64, u64, u8)>,
    failures: BTreeMap<u8, u32>,
    now: u64,
    next: u64,
}

impl Model {
    pub(crate) fn add(&mut self, key: u8) -> bool {
        if !self.room(key) {
            return false;
        }
        if self.dirty.insert(key) && !self.processing.contains(&key) {
            self.ready.push(key);
        }
        true
    }

    pub(crate) fn add_after(&mut self, key: u8, wait: u64) -> bool {
        if wait == 0 {
            return self.add(key);
        }
        if !self.room(key) {
            return false;
        }
        let at = self.now + wait;
        if let Some(earlier) = self.delayed.iter().position(|(_, _, delayed)| *delayed == key) {
            if self.delayed[earlier].0 <= at {
                return true;
            }
            self.delayed.remove(earlier);
        }
        self.delayed.push((at, self.next, key));
        self.next += 1;
        true
    }

    pub(crate) fn add_rate_limited(&mut self, key: u8) -> bool {
        if !self.room(key) {
            return false;
        }
        let failures = self.failures.entry(key).or_default();
        let wait = (MIN << (*failures).min(20)).min(MAX);
        *failures += 1;
        self.add_after(key, wait)
    }

    pub(crate) fn forget(&mut self, key: u8) {
        self.failures.remove(&key);
    }

    pub(crate) fn take(&mut self) -> Option<u8> {
        let key = (!self.ready.is_empty()).then(|| self.ready.remove(0))?;
        self.dirty.remove(&key);
        self.processing.insert(key);
        Some(key)
    }

    pub(crate) fn done(&mut self, key: u8) {
        self.processing.remove(&key);
        if self.dirty.contains(&key) {
            self.ready.push(key);
        }
    }

    pub(crate) fn advance(&mut self, wait: u64) {
        self.now += wait;
        self.delayed.sort_unstable();
        while self.delayed.first().is_some_and(|(at, _, _)| *at <= self.now) {
            let (_, _, key) = self.delayed.remove(0);
            self.add(key);
        }
    }

    pub(crate) fn failures(&self, key: u8) -> u32 {
        self.failures.get(&key).copied().unwrap_or_default()
    }

    pub(crate) fn distinct(&self) -> usize {
        self.keys().len()
    }

    fn room(&self, key: u8) -> bool {
        let keys = self.keys();
        keys.contains(&key) || keys.len() < CAPACITY
    }

    fn keys(&self) -> BTreeSet<u8> {
        let delayed = self.delayed.iter().map(|(_, _, key)| *key);
        self.dirty.iter().chain(&self.processing).copied().chain(delayed).collect()
    }
}
