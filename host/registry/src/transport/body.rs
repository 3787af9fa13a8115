//! The bodies of answers, read up to a bound.

use reqwest::Response;

use super::{failure::unreachable, wanted::Wanted};
use crate::{Digest, RegistryError, digest::Hasher};

/// The most bytes that are allocated because an answer announces them.
const ANNOUNCED_BYTES: u64 = 1 << 20;

/// The body of an answer.
pub(super) struct Body<'a> {
    response: Response,
    wanted: &'a Wanted<'a>,
}

// === impl Body ===

impl<'a> Body<'a> {
    pub(super) fn new(response: Response, wanted: &'a Wanted<'a>) -> Self {
        Self { response, wanted }
    }

    /// Reads the whole body, and computes its digest meanwhile.
    pub(super) async fn read(
        mut self,
        limit: u64,
        remedy: &'static str,
    ) -> Result<(Vec<u8>, Digest), RegistryError> {
        let too_large = || RegistryError::TooLarge { what: self.wanted.what.clone(), limit, remedy };
        let announced = self.response.content_length().unwrap_or_default();
        if announced > limit {
            return Err(too_large());
        }
        let capacity = usize::try_from(announced.min(ANNOUNCED_BYTES)).unwrap_or_default();
        let (mut bytes, mut hasher) = (Vec::with_capacity(capacity), Hasher::default());
        loop {
            let piece = self
                .response
                .chunk()
                .await
                .map_err(|error| unreachable(self.wanted.reference.registry(), &error))?;
            let Some(piece) = piece else { return Ok((bytes, hasher.finish())) };
            if bytes.len() as u64 + piece.len() as u64 > limit {
                return Err(too_large());
            }
            hasher.update(&piece);
            bytes.extend_from_slice(&piece);
        }
    }
}
