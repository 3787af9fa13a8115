//! One trained dictionary, and the contexts that use it.

use std::sync::Arc;

use informer_types::{BodyCodec, CodecError};
use parking_lot::Mutex;
use zstd::{
    bulk::{Compressor, Decompressor},
    zstd_safe::CParameter,
};

/// Half of this packs pods a sixth worse, twice as much hardly better.
const DICTIONARY_BYTES: usize = 32 << 10;

/// A dictionary of this kind cannot have use for more of one object.
const MAX_SAMPLE: usize = 64 << 10;

/// With a dictionary each further level costs more time than it saves memory: packing pods at level 1 took a seventh of
/// all CPU time of an event more than at -3, for 5 % less memory.
const LEVEL: i32 = -5;

/// zstd looks matches up in a table of two to this power entries. Its own choice, with a dictionary of this size, packed
/// recorded pods 8 % worse in the same time.
const HASH_LOG: u32 = 13;

/// The compressor, and where it writes to: as long as the longest text so far could become.
struct Packing {
    compressor: Compressor<'static>,
    scratch: Vec<u8>,
}

/// Packs and unpacks with one dictionary. Objects hold it for as long as they live.
pub(super) struct Dictionary {
    bytes: Vec<u8>,
    /// Only the reflectors of one informer pack.
    compressor: Mutex<Packing>,
    /// At most one for each reader that was ever at work at the same time.
    decompressors: Mutex<Vec<Decompressor<'static>>>,
}

// === impl Dictionary ===

impl Dictionary {
    /// None where the samples have too little in common or are too few.
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
        // Kept for as long as the object lives: no longer than it is.
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
