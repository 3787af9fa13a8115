//! Digests of components and compiled code.

use sha2::{Digest, Sha256};

/// Lower-case hex of the SHA-256 of the bytes.
pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
