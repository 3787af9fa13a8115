//! One trained dictionary and the zstd contexts that use it.

use std::sync::Arc;

use informer_types::{BodyCodec, CodecError};
use parking_lot::Mutex;
use zstd::{
    bulk::{Compressor, Decompressor},
    zstd_safe::CParameter,
};

/// With half of this size pods are compressed a sixth worse, with twice the size hardly better.
const DICTIONARY_BYTES: usize = 32 << 10;

/// Training uses no more than this number of bytes of one object.
const MAX_SAMPLE: usize = 64 << 10;

/// With a dictionary, each higher level costs more time than it saves memory: at level 1, compressing pods took a
/// seventh more of the CPU time of an event than at -3, for 5 % less memory.
const LEVEL: i32 = -5;

/// zstd finds matches with a hash table of two to this power entries. The value that zstd chooses for a dictionary of
/// this size compressed recorded pods 8 % worse in the same time.
const HASH_LOG: u32 = 13;

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
    /// At most one for each reader that ever read at the same time.
    decompressors: Mutex<Vec<Decompressor<'static>>>,
}

// === impl Dictionary ===

impl Dictionary {
    /// Returns `None` if there are too few samples or they have too little in common.
    pub(super) fn train(samples: &[Arc<str>]) -> Option<Self> {
        let samples: Vec<&[u8]> = samples.iter().map(|text| sample(text)).collect();
        let bytes = zstd::dict::from_samples(&samples, DICTIONARY_BYTES).ok()?;
        let mut compressor = Compressor::with_dictionary(LEVEL, &bytes).ok()?;
        compressor.set_parameter(CParameter::HashLog(HASH_LOG)).ok()?;
        let compressor = Mutex::new(Packing { compressor, scratch: Vec::new() });
        Some(Self { bytes, compressor, decompressors: Mutex::default() })
    }

    pub(super) fn pack(&self, text: &str) -> Option<Box<[u8]>> {
        let Packing { compressor, scratch } = &mut *self.compressor.lock();
        scratch.clear();
        scratch.reserve(zstd::zstd_safe::compress_bound(text.len()));
        compressor.compress_to_buffer(text.as_bytes(), scratch).ok()?;
        // The object keeps it: no longer than needed.
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
