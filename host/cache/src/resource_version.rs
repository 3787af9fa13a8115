//! The order of resource versions.

use std::{cmp::Ordering, fmt, str::FromStr};

/// A resource version that can be compared with others of the same resource.
///
/// Since Kubernetes 1.35 a resource version is a decimal integer without leading zeros, of any length, and of
/// two of one resource the greater is the newer (A-1, KEP-5504). Earlier servers promise nothing, though what
/// they keep in etcd is numbered in the same way; aggregated API servers may use any text, and that does not
/// parse as one of these.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ResourceVersion(String);

/// A resource version that says nothing about newer or older.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the resource version `{0}` is no decimal integer without leading zeros, so it cannot be compared: only \
     servers since Kubernetes 1.35 promise that, and aggregated ones may not"
)]
pub struct IncomparableVersion(String);

// === impl ResourceVersion ===

impl ResourceVersion {
    /// Verbatim, as the server wrote it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ResourceVersion {
    type Err = IncomparableVersion;

    /// "0" is no version of anything: it asks for any.
    fn from_str(text: &str) -> Result<Self, IncomparableVersion> {
        let decimal = text.bytes().all(|byte| byte.is_ascii_digit());
        if !decimal || text.is_empty() || text.starts_with('0') {
            return Err(IncomparableVersion(text.to_owned()));
        }
        Ok(Self(text.to_owned()))
    }
}

impl Ord for ResourceVersion {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.len().cmp(&other.0.len()).then_with(|| self.0.cmp(&other.0))
    }
}

impl PartialOrd for ResourceVersion {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for ResourceVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longer_is_the_newer_and_of_equal_length_the_greater_a1() {
        let beyond_64_bits = "123456789012345678901234567890";
        let texts = ["1", "9", "10", "99", "100", "18446744073709551616", beyond_64_bits];
        let versions: Vec<ResourceVersion> = texts.iter().map(|text| text.parse().unwrap()).collect();

        assert!(versions.is_sorted());
        assert_eq!(versions[0].cmp(&versions[0]), Ordering::Equal);
        assert_eq!(versions[6].to_string(), beyond_64_bits);
    }

    #[test]
    fn what_is_no_number_is_refused_and_not_taken_for_old_a1() {
        for text in ["", "0", "007", "-1", "1.5", "abc", "12a", " 1"] {
            let error = text.parse::<ResourceVersion>().unwrap_err();
            assert!(error.to_string().contains(&format!("`{text}`")), "{error}");
        }
    }
}
