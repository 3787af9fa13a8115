//! Compresses the bodies of objects with a dictionary that is trained on the watch's own objects, if the watch asks for
//! it.
//!
//! Objects of one resource are very similar: with a dictionary trained on the first ones, zstd makes each of them 3 to
//! 10 times smaller. Without a dictionary, short texts hardly shrink.
//!
//! An object is not compressed when it arrives but when newer objects of [`RECENT_BYTES`] have arrived. Listeners read
//! a new object's text uncompressed, and an object that changes again soon is never compressed at all.

mod codec;

use std::{
    collections::VecDeque,
    sync::{Arc, Weak},
};

use informer_types::{Body, BodyCodec, Object};
use parking_lot::Mutex;

use codec::Dictionary;

/// The number of objects that a dictionary is trained on.
const SAMPLES: usize = 400;

/// Training reads each sample several times. If the objects are large, fewer of them are samples.
const MAX_SAMPLE_BYTES: usize = 4 << 20;

/// The newest bodies of an informer stay uncompressed, up to this number of bytes.
const RECENT_BYTES: usize = 512 << 10;

/// The size in bytes below which a text saves less than the frame around it costs.
const MIN_TEXT: usize = 256;

/// How the bodies of a watch's objects are kept in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// Uncompressed, as the server sent them.
    #[default]
    Off,
    /// Each body is compressed on its own with zstd, level -5, and a dictionary trained on the watch's first objects.
    /// The newest 512 KiB of an informer stay uncompressed, and so does a body that does not shrink.
    Zstd,
}

/// Compresses the bodies of one informer.
#[derive(Default)]
pub(crate) struct Packer {
    state: Mutex<State>,
    recent: Mutex<Recent>,
}

/// The newest objects, in the order of their arrival. The list keeps no object alive.
#[derive(Default)]
struct Recent {
    objects: VecDeque<(Weak<Object>, usize)>,
    /// The size of all objects when they arrived; some of them may be gone.
    bytes: usize,
}

enum State {
    /// No dictionary yet. The value is the number of recent objects at which to check whether there are enough samples.
    Sampling(usize),
    Training,
    Ready(Arc<Dictionary>),
    /// The samples gave no dictionary: bodies stay uncompressed.
    Useless,
}

// === impl Packer ===

impl Packer {
    /// Registers an object that has just arrived. Once there is a dictionary, compresses the objects that are no longer
    /// among the newest [`RECENT_BYTES`], if that saves enough.
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
            // Without the lock: this may be the last reference to the object.
            let overtaken = self.recent.lock().pop_beyond(bytes);
            match overtaken {
                None => return,
                Some(object) => object.pack(|text| packed(text, dictionary)),
            }
        }
    }

    /// Returns the samples once there are enough of them. The caller must then call [`train`](Self::train).
    pub(crate) fn take_samples(&self) -> Option<Vec<Arc<str>>> {
        let mut state = self.state.lock();
        let State::Sampling(at) = &mut *state else {
            return None;
        };
        let mut recent = self.recent.lock();
        if recent.objects.len() < *at && recent.bytes < MAX_SAMPLE_BYTES {
            return None;
        }
        // Many may be earlier states of the same few objects.
        recent.forget_dead();
        if recent.objects.len() < SAMPLES && recent.bytes < MAX_SAMPLE_BYTES {
            *at = SAMPLES.max(recent.objects.len() * 2);
            return None;
        }
        *state = State::Training;
        Some(recent.texts().collect())
    }

    /// Trains the dictionary: a tenth of a second of work, for a thread that may block.
    pub(crate) fn train(&self, samples: &[Arc<str>]) {
        let dictionary = Dictionary::train(samples).map(Arc::new);
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

// === impl Recent ===

impl Recent {
    fn push(&mut self, object: &Arc<Object>) {
        let bytes = object.memory_bytes();
        self.objects.push_back((Arc::downgrade(object), bytes));
        self.bytes += bytes;
    }

    /// Removes and returns the oldest object that is still alive while all objects together have more than `bytes`
    /// bytes.
    fn pop_beyond(&mut self, bytes: usize) -> Option<Arc<Object>> {
        while self.bytes > bytes {
            let (object, held) = self.objects.pop_front()?;
            self.bytes -= held;
            if let Some(object) = object.upgrade() {
                return Some(object);
            }
        }
        None
    }

    fn forget_dead(&mut self) {
        self.objects.retain(|(object, held)| {
            let alive = object.strong_count() > 0;
            self.bytes -= if alive { 0 } else { *held };
            alive
        });
    }

    fn texts(&self) -> impl Iterator<Item = Arc<str>> {
        self.objects.iter().filter_map(|(object, _)| object.upgrade()?.raw())
    }
}

/// Returns `None` if compression saves too little.
fn packed(text: &str, dictionary: &Arc<Dictionary>) -> Option<Body> {
    let text_len = u32::try_from(text.len()).ok()?;
    let bytes = (text.len() >= MIN_TEXT).then(|| dictionary.pack(text)).flatten()?;
    // Unpacking is worth it if at least a quarter is saved.
    let pays = bytes.len() < text.len() / 4 * 3;
    let codec = Arc::clone(dictionary) as Arc<dyn BodyCodec>;
    pays.then_some(Body::Packed { bytes, text_len, codec })
}

#[cfg(test)]
mod tests;
