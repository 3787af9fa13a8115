//! Packs the bodies of objects with a dictionary of their own kind, if the watch asks for it.
//!
//! Objects of one resource are very much alike: with a dictionary trained on the first of them, zstd makes
//! each 3 to 10 times smaller. Without a dictionary small texts hardly shrink.
//!
//! An object is not packed when it comes but when it has been overtaken by so many others: whoever is told of it reads
//! its text as it came, and what changes again at once is never packed at all.

mod codec;
mod recent;

use std::sync::Arc;

use informer_types::{Body, BodyCodec, Object};
use parking_lot::Mutex;

use codec::Dictionary;
use recent::Recent;

/// How many objects a dictionary is trained on.
const SAMPLES: usize = 400;

/// Training reads all of it several times; of larger objects fewer do.
const MAX_SAMPLE_BYTES: usize = 4 << 20;

/// The newest bodies of an informer stay as they came, up to so many bytes of them.
const RECENT_BYTES: usize = 512 << 10;

/// Shorter texts gain less than the frame around them costs.
const MIN_TEXT: usize = 256;

/// How the bodies of a watch's objects are kept in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// As they came.
    #[default]
    Off,
    /// Each by itself with zstd, level -5, and a dictionary trained on the watch's first objects; the newest 512 KiB of
    /// an informer stay as they came. An object that does not shrink stays as it came.
    Zstd,
}

/// Packs the bodies of one informer.
#[derive(Default)]
pub(crate) struct Packer {
    state: Mutex<State>,
    recent: Mutex<Recent>,
}

/// The first bodies, to train on.
pub(crate) struct Samples(Vec<Arc<str>>);

enum State {
    /// The first objects are all recent; there may be enough of them once there are so many.
    Sampling(usize),
    Training,
    Ready(Arc<Dictionary>),
    /// Nothing could be learned from the samples.
    Useless,
}

// === impl Packer ===

impl Packer {
    /// Takes in an object that has just come, and packs those it overtakes, where that is possible by now and pays.
    pub(crate) fn admit(&self, object: &Arc<Object>) {
        let dictionary = match &*self.state.lock() {
            State::Ready(dictionary) => Some(Arc::clone(dictionary)),
            State::Sampling(_) | State::Training => None,
            State::Useless => return,
        };
        self.recent.lock().push(object);
        if let Some(dictionary) = dictionary {
            self.pack_down_to(RECENT_BYTES, &dictionary);
        }
    }

    fn pack_down_to(&self, bytes: usize, dictionary: &Arc<Dictionary>) {
        loop {
            // Not under the lock: the last holder of an object may be us.
            let overtaken = self.recent.lock().pop_beyond(bytes);
            match overtaken {
                None => return,
                Some(object) => object.pack(|text| packed(text, dictionary)),
            }
        }
    }

    /// What to train on, once there is enough of it; whoever takes it has to train.
    pub(crate) fn take_samples(&self) -> Option<Samples> {
        let mut state = self.state.lock();
        let State::Sampling(at) = &mut *state else {
            return None;
        };
        let mut recent = self.recent.lock();
        if recent.len() < *at && recent.bytes() < MAX_SAMPLE_BYTES {
            return None;
        }
        // Many may be older states of the same few objects.
        recent.forget_dead();
        if recent.len() < SAMPLES && recent.bytes() < MAX_SAMPLE_BYTES {
            *at = SAMPLES.max(recent.len() * 2);
            return None;
        }
        *state = State::Training;
        Some(Samples(recent.texts().collect()))
    }

    /// Learns from the samples: a tenth of a second of work for a thread that may block.
    pub(crate) fn train(&self, samples: &Samples) {
        let dictionary = Dictionary::train(&samples.0).map(Arc::new);
        *self.state.lock() = dictionary.clone().map_or(State::Useless, State::Ready);
        match dictionary {
            Some(dictionary) => self.pack_down_to(RECENT_BYTES, &dictionary),
            None => *self.recent.lock() = Recent::default(),
        }
    }
}

impl Default for State {
    fn default() -> Self {
        Self::Sampling(SAMPLES)
    }
}

/// None where it is not worth it.
fn packed(text: &str, dictionary: &Arc<Dictionary>) -> Option<Body> {
    let text_len = u32::try_from(text.len()).ok()?;
    let bytes = (text.len() >= MIN_TEXT).then(|| dictionary.pack(text)).flatten()?;
    // A quarter is the least that is worth unpacking for.
    let pays = bytes.len() < text.len() / 4 * 3;
    let codec = Arc::clone(dictionary) as Arc<dyn BodyCodec>;
    pays.then_some(Body::Packed { bytes, text_len, codec })
}

#[cfg(test)]
mod tests;
