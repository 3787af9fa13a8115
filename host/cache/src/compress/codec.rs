//! One trained dictionary and the zstd contexts that use it.

use std::{ops::RangeInclusive, sync::Arc};

use informer_types::{BodyCodec, CodecError};
use parking_lot::Mutex;
use zstd::{
    bulk::{Compressor, Decompressor},
    zstd_safe::CParameter,
};

/// The size of a dictionary is the size of its samples divided by this number. Pods of 5,614 bytes take 456 bytes with a dictionary of
/// 64 KiB that is trained on 300 of them, 481 with one of 40 KiB, and 775 with one of 80 KiB: training fills only 47 KiB of the 80, and
/// a dictionary that is not full compresses badly. Objects of 500 to 1,500 bytes take the same with 4 and with 80 KiB.
const SAMPLE_BYTES_OF_A_BYTE: usize = 28;

/// The sizes of a dictionary, in bytes. Each informer keeps at least three copies of its dictionary.
const DICTIONARY_BYTES: RangeInclusive<usize> = 4 << 10..=80 << 10;

/// Training uses no more than this number of bytes of one object.
const MAX_SAMPLE: usize = 64 << 10;

/// The lowest level that codes literals, so that the base64 of Secrets shrinks by a quarter. Level 3 saves 25 bytes of a pod
/// more, for half a microsecond and 700 KiB of tables in each informer; level -5 takes 641 bytes for a pod.
const LEVEL: i32 = 1;

/// The base-2 logarithm of the number of entries in the hash table with which zstd finds matches. The value that zstd chooses for a
/// dictionary of this size compressed recorded pods a tenth worse in the same time.
const HASH_LOG: u32 = 14;

/// The compressor and its output buffer, which grows to the bound of the longest text so far.
struct Packing {
    compressor: Compressor<'static>,
    scratch: Vec<u8>,
}

/// Compresses and decompresses with one dictionary. Every object that it compressed holds a reference to it.
pub(super) struct Dictionary {
    bytes: Vec<u8>,
    /// The reflectors of one informer, and the thread that compresses beside them, take turns.
    compressor: Mutex<Packing>,
    /// Idle decompressors. Their number is at most the highest number of readers that decompressed at the same time.
    decompressors: Mutex<Vec<Decompressor<'static>>>,
}

// === impl Dictionary ===

impl Dictionary {
    /// Returns `None` if there are too few samples or they have too little in common.
    pub(super) fn train(samples: &[Arc<str>]) -> Option<Self> {
        let samples: Vec<&[u8]> = samples.iter().map(|text| sample(text)).collect();
        let bytes: usize = samples.iter().map(|sample| sample.len()).sum();
        let (least, most) = DICTIONARY_BYTES.into_inner();
        let mut size = (bytes / SAMPLE_BYTES_OF_A_BYTE).clamp(least, most);
        loop {
            let trained = zstd::dict::from_samples(&samples, size).ok()?;
            if trained.len() >= size || size / 2 < least {
                return Self::new(trained);
            }
            size /= 2;
        }
    }

    fn new(bytes: Vec<u8>) -> Option<Self> {
        let mut compressor = Compressor::with_dictionary(LEVEL, &bytes).ok()?;
        compressor.set_parameter(CParameter::HashLog(HASH_LOG)).ok()?;
        // Each object refers to its dictionary, so the compressed text need not name it.
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
