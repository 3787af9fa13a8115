//! Compresses the bodies of objects with a dictionary that is trained on the watch's own objects, if the watch is configured for
//! it.
//!
//! Objects of one resource are very similar: with a dictionary trained on the first ones, zstd makes each of them 3 to
//! 10 times smaller. Without a dictionary, short texts hardly shrink. The same objects give a vocabulary of the strings
//! that headers have in common.
//!
//! An object is not compressed when it arrives but when newer objects of [`RECENT_BYTES`] have arrived. Listeners read
//! a new object's text uncompressed, and an object that changes again soon is never compressed at all. Another thread
//! compresses, beside the reflector, unless it falls behind or memory is tight.

mod codec;

use std::{
    collections::VecDeque,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
};

use informer_types::{Body, Object, Vocabulary};
use parking_lot::Mutex;

use codec::Dictionary;

/// The number of objects that a dictionary is trained on.
const SAMPLES: usize = 300;

/// Training reads each sample several times. If the objects are large, fewer of them are samples.
const MAX_SAMPLE_BYTES: usize = 4 << 20;

/// The fewest samples, however large the objects are. Training fails with less than five.
const FEWEST_SAMPLES: usize = 16;

/// The newest bodies of an informer stay uncompressed, up to this number of bytes.
const RECENT_BYTES: usize = 512 << 10;

/// Compressing begins once objects of this number of bytes are overdue, so that a thread wakes for many objects.
const BATCH_BYTES: usize = 256 << 10;

/// If more bytes than this are overdue, the reflector compresses too, so that memory is bounded however fast objects
/// arrive.
const OVERDUE_BYTES: usize = 2 << 20;

/// Held while a dictionary is trained. Training takes 10 MiB of memory, so the informers of a process take turns: otherwise
/// their first lists would decide the peak.
static TRAINING: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// The size in bytes below which a body saves less than the frame around it costs.
const MIN_BODY: usize = 256;

/// How the bodies of a watch's objects are kept in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// Uncompressed, as the server sent them.
    #[default]
    Off,
    /// Each body is compressed on its own with zstd and a dictionary trained on the watch's first objects. The newest
    /// 512 KiB of an informer stay uncompressed, and so does a body that does not shrink.
    Zstd,
}

/// Compresses the bodies of one informer.
#[derive(Default)]
pub(crate) struct Packer {
    state: Mutex<State>,
    recent: Mutex<Recent>,
    /// True while a thread compresses beside the reflector.
    packing: AtomicBool,
}

/// Objects to compress beside the reflector. A packer has at most one `Packing` at a time.
pub(crate) struct Packing(Arc<Packer>);

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
    Ready(Arc<Dictionary>, Arc<Vocabulary>),
    /// The samples gave no dictionary, or training panicked: bodies stay uncompressed.
    Useless,
}

// === impl Packer ===

impl Packer {
    /// The strings that the headers of new objects may refer to. Returns `None` until the dictionary is trained.
    pub(crate) fn vocabulary(&self) -> Option<Arc<Vocabulary>> {
        match &*self.state.lock() {
            State::Ready(_, vocabulary) => Some(Arc::clone(vocabulary)),
            State::Sampling(_) | State::Training | State::Useless => None,
        }
    }

    /// Registers an object that has just arrived. Once there is a dictionary, compresses objects that are no longer
    /// among the newest if too many of them are overdue, or if memory is tight.
    pub(crate) fn admit(&self, object: &Arc<Object>, tight: bool) {
        if matches!(&*self.state.lock(), State::Useless) {
            return;
        }
        self.recent.lock().push(object);
        self.pack_down_to(if tight { RECENT_BYTES } else { RECENT_BYTES + OVERDUE_BYTES });
    }

    /// Compresses the objects that are no longer among the newest [`RECENT_BYTES`], if that saves enough.
    pub(crate) fn pack(&self) {
        self.pack_down_to(RECENT_BYTES);
    }

    /// Returns the objects to compress on another thread, if there are enough of them and no thread compresses already.
    pub(crate) fn begin(self: &Arc<Self>) -> Option<Packing> {
        let due = self.recent.lock().bytes > RECENT_BYTES + BATCH_BYTES;
        let begins = due && self.dictionary().is_some() && !self.packing.swap(true, Ordering::Relaxed);
        begins.then(|| Packing(Arc::clone(self)))
    }

    fn pack_down_to(&self, bytes: usize) {
        if self.recent.lock().bytes <= bytes {
            return;
        }
        let Some(dictionary) = self.dictionary() else { return };
        loop {
            // The lock is released before the object is compressed and dropped: this may be the last reference to the object.
            let overtaken = self.recent.lock().pop_beyond(bytes);
            match overtaken {
                None => return,
                Some(object) => object.pack(MIN_BODY, |text, len| packed(text, len, &dictionary)),
            }
        }
    }

    fn dictionary(&self) -> Option<Arc<Dictionary>> {
        match &*self.state.lock() {
            State::Ready(dictionary, _) => Some(Arc::clone(dictionary)),
            State::Sampling(_) | State::Training | State::Useless => None,
        }
    }

    /// Trains the dictionary outside the executor once there are enough samples, which happens once in an informer's life. If
    /// training panics, objects stay uncompressed, which is safe.
    pub(crate) async fn learn(self: &Arc<Self>) {
        self.learn_with(Self::train).await;
    }

    async fn learn_with(self: &Arc<Self>, train: fn(&Self, &[Arc<Object>])) {
        if let Some(samples) = self.take_samples() {
            let _turn = TRAINING.lock().await;
            let packer = Arc::clone(self);
            if tokio::task::spawn_blocking(move || train(&packer, &samples)).await.is_err() {
                self.give_up();
            }
        }
    }

    /// Returns the samples once there are enough of them. The caller must then call [`train`](Self::train).
    fn take_samples(&self) -> Option<Vec<Arc<Object>>> {
        let mut state = self.state.lock();
        let State::Sampling(at) = &mut *state else {
            return None;
        };
        let mut recent = self.recent.lock();
        if !recent.is_enough(*at) {
            return None;
        }
        // Many may be earlier states of the same few objects.
        recent.forget_dead();
        if !recent.is_enough(SAMPLES) {
            *at = SAMPLES.max(recent.objects.len() * 2);
            return None;
        }
        *state = State::Training;
        Some(recent.samples())
    }

    /// Trains the dictionary: a tenth of a second of work, for a thread that may block.
    fn train(&self, samples: &[Arc<Object>]) {
        let texts: Vec<String> = samples.iter().filter_map(|object| object.packable()).collect();
        let Some(dictionary) = Dictionary::train(&texts) else { return self.give_up() };
        let vocabulary = Vocabulary::of(samples.iter().flat_map(|object| object.header_texts()));
        *self.state.lock() = State::Ready(Arc::new(dictionary), Arc::new(vocabulary));
        self.pack();
    }

    /// Objects stay uncompressed from now on, so the newest ones are not tracked any more.
    fn give_up(&self) {
        *self.state.lock() = State::Useless;
        *self.recent.lock() = Recent::default();
    }
}

// === impl Packing ===

impl Packing {
    /// Compresses until only the newest objects are left: some milliseconds of work, for a thread that may block.
    pub(crate) fn run(self) {
        self.0.pack();
    }
}

impl Drop for Packing {
    fn drop(&mut self) {
        self.0.packing.store(false, Ordering::Relaxed);
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

    /// Returns true if there are this number of objects, or fewer large ones.
    fn is_enough(&self, objects: usize) -> bool {
        let are_large = self.bytes >= MAX_SAMPLE_BYTES && self.objects.len() >= FEWEST_SAMPLES;
        self.objects.len() >= objects || are_large
    }

    /// The oldest objects: [`FEWEST_SAMPLES`], and more up to the one that reaches [`MAX_SAMPLE_BYTES`]. When memory becomes tight, the
    /// list has every object of the cache, and training copies its samples.
    fn samples(&self) -> Vec<Arc<Object>> {
        let mut bytes = 0;
        let has_room = |(at, object): &(usize, Arc<Object>)| {
            let before = bytes;
            bytes += object.memory_bytes();
            *at < FEWEST_SAMPLES || before < MAX_SAMPLE_BYTES
        };
        self.alive().enumerate().take_while(has_room).map(|(_, object)| object).collect()
    }

    fn alive(&self) -> impl Iterator<Item = Arc<Object>> {
        self.objects.iter().filter_map(|(object, _)| object.upgrade())
    }
}

/// Compresses the text of a body that has this size in bytes. Returns `None` if that saves too little.
fn packed(text: &str, body: usize, dictionary: &Dictionary) -> Option<Body> {
    let bytes = dictionary.pack(text)?;
    // Unpacking is worth it if at least an eighth is saved. Base64 of random bytes shrinks by a quarter.
    let pays = bytes.len() < body / 8 * 7;
    pays.then(|| Body::Packed { bytes, codec: dictionary.codec() })
}

#[cfg(test)]
mod tests;
