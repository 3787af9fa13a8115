//! One trained dictionary and the zstd contexts that use it.

use std::{ops::RangeInclusive, sync::Arc};

use informer_types::{BodyCodec, CodecError};
use parking_lot::Mutex;
use zstd::{
    bulk::{Compressor, Decompressor},
    zstd_safe::{CParameter, compress_bound, get_frame_content_size},
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

/// The buffer of an idle decompressor shrinks to this size after a larger object.
const KEPT_SCRATCH: usize = 64 << 10;

/// The compressor and its output buffer, which grows to the bound of the longest text so far.
struct Packing {
    compressor: Compressor<'static>,
    scratch: Vec<u8>,
}

/// Compresses with one dictionary.
pub(super) struct Dictionary {
    /// The reflectors of one informer, and the thread that compresses beside them, take turns.
    compressor: Mutex<Packing>,
    codec: Arc<Box<dyn BodyCodec>>,
}

/// Decompresses with one dictionary. Every object that was compressed with the dictionary holds a reference to this unpacker.
struct Unpacker {
    dictionary: Vec<u8>,
    /// Idle decompressors. Their number is at most the highest number of readers that decompressed at the same time.
    idle: Mutex<Vec<Unpacking>>,
}

/// A decompressor and the buffer that it writes to.
struct Unpacking {
    decompressor: Decompressor<'static>,
    scratch: Vec<u8>,
}

// === impl Dictionary ===

impl Dictionary {
    /// Returns `None` if there are too few samples or they have too little in common.
    pub(super) fn train(samples: &[String]) -> Option<Self> {
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
        let codec = Box::new(Unpacker { dictionary: bytes, idle: Mutex::default() });
        Some(Self { compressor, codec: Arc::new(codec) })
    }

    /// The codec that decompresses the bytes of [`pack`](Self::pack).
    pub(super) fn codec(&self) -> Arc<Box<dyn BodyCodec>> {
        Arc::clone(&self.codec)
    }

    pub(super) fn pack(&self, text: &str) -> Option<Box<[u8]>> {
        let Packing { compressor, scratch } = &mut *self.compressor.lock();
        scratch.clear();
        scratch.reserve(compress_bound(text.len()));
        compressor.compress_to_buffer(text.as_bytes(), scratch).ok()?;
        // The object keeps this allocation, so it has no spare capacity.
        Some(Box::from(scratch.as_slice()))
    }
}

fn sample(text: &str) -> &[u8] {
    text.as_bytes().get(..MAX_SAMPLE).unwrap_or(text.as_bytes())
}

// === impl Unpacker ===

impl BodyCodec for Unpacker {
    fn unpack(&self, bytes: &[u8], read: &mut dyn FnMut(&str)) -> Result<(), CodecError> {
        let error = |error: std::io::Error| CodecError(error.to_string());
        let len = get_frame_content_size(bytes).ok().flatten().and_then(|len| usize::try_from(len).ok());
        let len = len.ok_or_else(|| CodecError("the size of its text is not known".to_owned()))?;
        let idle = self.idle.lock().pop();
        let Unpacking { mut decompressor, mut scratch } = match idle {
            Some(idle) => idle,
            None => {
                let decompressor = Decompressor::with_dictionary(&self.dictionary).map_err(error)?;
                Unpacking { decompressor, scratch: Vec::new() }
            }
        };
        scratch.reserve(len);
        let text = match decompressor.decompress_to_buffer(bytes, &mut scratch) {
            Ok(_) => std::str::from_utf8(&scratch).map_err(|error| CodecError(error.to_string())),
            Err(failure) => Err(error(failure)),
        };
        let result = text.map(read);
        // A buffer shrinks to its content at most.
        scratch.clear();
        scratch.shrink_to(KEPT_SCRATCH);
        self.idle.lock().push(Unpacking { decompressor, scratch });
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_buffer_of_an_idle_decompressor_is_small_after_a_large_text() {
        let samples: Vec<String> =
            (0..100).map(|number| format!("{number} {}", "text ".repeat(100))).collect();
        let dictionary = samples.concat().into_bytes();
        let mut compressor = Compressor::with_dictionary(LEVEL, &dictionary).unwrap();
        let unpacker = Unpacker { dictionary, idle: Mutex::default() };
        for size in [16 * KEPT_SCRATCH, 10] {
            let text = "x".repeat(size);
            let bytes = compressor.compress(text.as_bytes()).unwrap();
            let mut read = String::new();

            unpacker.unpack(&bytes, &mut |text| read.push_str(text)).unwrap();

            assert_eq!(read, text);
            let idle = unpacker.idle.lock();
            assert!(idle.len() == 1 && idle[0].scratch.capacity() <= KEPT_SCRATCH);
        }
    }
}
