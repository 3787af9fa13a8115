//! Packs the bodies of objects with a dictionary of their own kind, if the watch asks for it.
//!
//! Objects of one resource are very much alike: with a dictionary trained on the first of them, zstd makes
//! each 3 to 10 times smaller, for a few microseconds an event and one a read. Without a dictionary small texts
//! hardly shrink. The objects the dictionary was trained on stay as they are until they change.

mod codec;

use std::sync::Arc;

use informer_types::{Body, BodyCodec};
use parking_lot::Mutex;

use codec::Dictionary;

/// How many objects a dictionary is trained on.
const SAMPLES: usize = 400;

/// Training reads all of it several times; of larger objects fewer do.
const MAX_SAMPLE_BYTES: usize = 4 << 20;

/// A dictionary of this kind cannot have use for more of one object.
const MAX_SAMPLE: usize = 64 << 10;

/// Shorter texts gain less than the frame around them costs.
const MIN_TEXT: usize = 256;

/// How the bodies of a watch's objects are kept in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// As they came.
    #[default]
    Off,
    /// Each by itself with zstd, level -3, and a dictionary trained on the watch's first objects. An object
    /// that does not shrink stays as it came.
    Zstd,
}

/// Packs the bodies of one informer.
#[derive(Default)]
pub(crate) struct Packer(Mutex<State>);

/// The first bodies, to train on.
#[derive(Default)]
pub(crate) struct Samples {
    texts: Vec<Vec<u8>>,
    bytes: usize,
}

enum State {
    Sampling(Samples),
    Training,
    Ready(Arc<Dictionary>),
    /// Nothing could be learned from the samples.
    Useless,
}

// === impl Packer ===

impl Packer {
    /// A body to keep: packed where that is possible by now and pays.
    pub(crate) fn pack(&self, text: Box<str>) -> Body {
        let dictionary = match &mut *self.0.lock() {
            State::Ready(dictionary) => Arc::clone(dictionary),
            State::Sampling(samples) => {
                samples.add(&text);
                return Body::Raw(text);
            }
            State::Training | State::Useless => return Body::Raw(text),
        };
        let packed = (text.len() >= MIN_TEXT).then(|| dictionary.pack(&text)).flatten();
        match (packed, u32::try_from(text.len())) {
            // A quarter is the least that is worth unpacking for.
            (Some(bytes), Ok(text_len)) if bytes.len() < text.len() / 4 * 3 => {
                Body::Packed { bytes, text_len, codec: dictionary as Arc<dyn BodyCodec> }
            }
            _ => Body::Raw(text),
        }
    }

    /// What to train on, once there is enough of it; whoever takes it has to train.
    pub(crate) fn take_samples(&self) -> Option<Samples> {
        let mut state = self.0.lock();
        match &*state {
            State::Sampling(samples) if samples.are_enough() => {}
            _ => return None,
        }
        match std::mem::replace(&mut *state, State::Training) {
            State::Sampling(samples) => Some(samples),
            _ => None,
        }
    }

    /// Learns from the samples: some ten milliseconds of work for a thread that may block.
    pub(crate) fn train(&self, samples: &Samples) {
        let dictionary = Dictionary::train(&samples.texts);
        *self.0.lock() = dictionary.map_or(State::Useless, |dictionary| State::Ready(Arc::new(dictionary)));
    }
}

impl Default for State {
    fn default() -> Self {
        Self::Sampling(Samples::default())
    }
}

// === impl Samples ===

impl Samples {
    fn add(&mut self, text: &str) {
        let text = text.as_bytes();
        if !self.are_enough() {
            let sample = text.get(..MAX_SAMPLE).unwrap_or(text);
            self.bytes += sample.len();
            self.texts.push(sample.to_vec());
        }
    }

    fn are_enough(&self) -> bool {
        self.texts.len() >= SAMPLES || self.bytes >= MAX_SAMPLE_BYTES
    }
}

#[cfg(test)]
mod tests;
