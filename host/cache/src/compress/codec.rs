//! One trained dictionary and the zstd contexts that use it.

use std::sync::Arc;

use informer_types::{BodyCodec, CodecError};
use parking_lot::Mutex;
use zstd::{
    bulk::{Compressor, Decompressor},
    zstd_safe::CParameter,
};

/// The sizes of dictionary that are tried, in bytes. Recorded pods of 5,642 bytes take 424 bytes with 80 KiB, 455 with 64 KiB
/// and 508 with 32 KiB. Training sometimes fails to fill a large dictionary, which is then worse than a small one.
const DICTIONARY_BYTES: [usize; 2] = [80 << 10, 32 << 10];

/// One sample in this number is not trained on but compressed, to choose the best dictionary.
const JUDGED: usize = 4;

/// Training uses no more than this number of bytes of one object.
const MAX_SAMPLE: usize = 64 << 10;

/// The lowest level that codes literals, so that the base64 of Secrets shrinks by a quarter. Level 3 saves 25 bytes of a pod
/// more, for half a microsecond and 700 KiB of tables in each informer; level -5 takes 641 bytes for a pod.
const LEVEL: i32 = 1;

/// zstd finds matches with a hash table of two to this power entries. The value that zstd chooses for a dictionary of
/// this size compressed recorded pods a tenth worse in the same time.
const HASH_LOG: u32 = 14;

/// The compressor and its output buffer, which grows to the bound of the longest text so far.
struct Packing {
    compressor: Compressor<'static>,
    scratch: Vec<u8>,
}

/// Compresses and decompresses with one dictionary. Every object that it compressed holds a reference to it.
pub(super) struct Dictionary {
    bytes: Vec<u8>,
    /// Only the reflectors of one informer compress.
    compressor: Mutex<Packing>,
    /// As many as the readers that decompressed at the same time, at most.
    decompressors: Mutex<Vec<Decompressor<'static>>>,
}

// === impl Dictionary ===

impl Dictionary {
    /// Returns `None` if there are too few samples or they have too little in common.
    pub(super) fn train(samples: &[Arc<str>]) -> Option<Self> {
        let samples = samples.iter().enumerate();
        let (judged, learned): (Vec<_>, Vec<_>) = samples.partition(|(at, _)| at % JUDGED == 0);
        let learned: Vec<&[u8]> = learned.iter().map(|(_, text)| sample(text)).collect();
        let trained = |size| Self::new(zstd::dict::from_samples(&learned, size).ok()?);
        let cost = |dictionary: &Self| -> usize {
            let packed =
                judged.iter().map(|(_, text)| dictionary.pack(text).map_or(text.len(), |bytes| bytes.len()));
            packed.sum()
        };
        DICTIONARY_BYTES.into_iter().filter_map(trained).min_by_key(cost)
    }

    fn new(bytes: Vec<u8>) -> Option<Self> {
        let mut compressor = Compressor::with_dictionary(LEVEL, &bytes).ok()?;
        compressor.set_parameter(CParameter::HashLog(HASH_LOG)).ok()?;
        // Each object knows its dictionary.
        compressor.set_parameter(CParameter::DictIdFlag(false)).ok()?;
        let compressor = Mutex::new(Packing { compressor, scratch: Vec::new() });
        Some(Self { bytes, compressor, decompressors: Mutex::default() })
    }

    pub(super) fn pack(&self, text: &str) -> Option<Box<[u8]>> {
        let Packing { compressor, scratch } = &mut *self.compressor.lock();
        scratch.clear();
        scratch.reserve(zstd::zstd_safe::compress_bound(text.len()));
        compressor.compress_to_buffer(text.as_bytes(), scratch).ok()?;
        // The object keeps this allocation, so it has no spare capacity.
        Some(Box::from(scratch.as_slice()))
    }
}

fn sample(text: &str) -> &[u8] {
    text.as_bytes().get(..MAX_SAMPLE).unwrap_or(text.as_bytes())
}

impl BodyCodec for Dictionary {
    fn unpack(&self, bytes: &[u8], text_len: usize) -> Result<String, CodecError> {
        let error = |error: std::io::Error| CodecError(error.to_string());
        let idle = self.decompressors.lock().pop();
        let mut decompressor = match idle {
            Some(decompressor) => decompressor,
            None => Decompressor::with_dictionary(&self.bytes).map_err(error)?,
        };
        let text = decompressor.decompress(bytes, text_len).map_err(error);
        self.decompressors.lock().push(decompressor);
        String::from_utf8(text?).map_err(|error| CodecError(error.to_string()))
    }
}
