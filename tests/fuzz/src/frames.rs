//! The frame splitter: however a stream is cut into chunks, its frames are its lines, without white space around them
//! and without empty ones.

use bytes::Bytes;
use informer_cache::offline;

/// A frame of the stream may have this many bytes.
const LONGEST: usize = 64;

/// The first byte decides where the rest is cut.
pub(crate) fn run(input: &[u8]) {
    let Some((seed, stream)) = input.split_first() else { return };
    let lines: Vec<&[u8]> = stream.split(|byte| *byte == b'\n').collect();
    let wanted: Vec<&[u8]> =
        lines.iter().map(|line| line.trim_ascii()).filter(|line| !line.is_empty()).collect();
    for seed in [*seed, 0, u8::MAX] {
        let (frames, end) = offline::frames(cut(seed, stream), LONGEST);
        match end {
            Ok(()) => {
                assert_eq!(frames, wanted, "seed {seed}");
                let too_long = frames.iter().find(|frame| frame.len() > LONGEST);
                assert_eq!(too_long, None, "seed {seed}");
            }
            // White space around a frame counts as well, if it arrives before the end of the line.
            Err(_) => {
                assert!(lines.iter().any(|line| line.len() > LONGEST), "seed {seed}");
                assert_eq!(frames, wanted[..frames.len()], "seed {seed}");
            }
        }
    }
}

/// Cuts a stream into chunks of sizes that follow from the seed: 0 does not cut, the largest cuts at each byte.
fn cut(seed: u8, mut stream: &[u8]) -> Vec<Bytes> {
    let mut state = u32::from(seed);
    let mut chunks = Vec::new();
    while !stream.is_empty() {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let length = match seed {
            0 => stream.len(),
            u8::MAX => 1,
            _ => 1 + (state >> 24) as usize % (1 + usize::from(seed)),
        };
        let (chunk, rest) = stream.split_at(length.min(stream.len()));
        chunks.push(Bytes::copy_from_slice(chunk));
        stream = rest;
    }
    chunks
}
