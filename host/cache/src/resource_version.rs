//! Resource versions that can be compared.

use std::{fmt, str::FromStr};

/// A resource version that can be compared with others of the same resource.
///
/// Since Kubernetes 1.35, a resource version is a decimal integer of any length without leading zeros, and of two
/// versions of one resource the greater is the newer (A-1, KEP-5504). Earlier servers do not promise that, although
/// versions from etcd have this form. Aggregated API servers may use any text, which does not parse as a
/// `ResourceVersion`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceVersion {
    /// Compared first: of two integers without leading zeros, the longer one is greater.
    digits: usize,
    text: String,
}

/// A resource version that has no order.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the resource version `{0}` is not a decimal integer without leading zeros, so it cannot be compared: only \
     servers since Kubernetes 1.35 promise that, and aggregated ones may not"
)]
pub struct IncomparableVersion(String);

// === impl ResourceVersion ===

impl ResourceVersion {
    /// The text as the server wrote it.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl FromStr for ResourceVersion {
    type Err = IncomparableVersion;

    /// "0" is refused: it is not a version of an object but a request for any version.
    fn from_str(text: &str) -> Result<Self, IncomparableVersion> {
        let decimal = text.bytes().all(|byte| byte.is_ascii_digit());
        if !decimal || text.is_empty() || text.starts_with('0') {
            return Err(IncomparableVersion(text.to_owned()));
        }
        Ok(Self { digits: text.len(), text: text.to_owned() })
    }
}

impl fmt::Display for ResourceVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use super::*;

    /// Resource versions are ordered as integers of any length.
    #[test]
    fn a_longer_version_is_newer_and_of_equal_length_the_greater_one_is() {
        let beyond_64_bits = "123456789012345678901234567890";
        let texts = ["1", "9", "10", "99", "100", "18446744073709551616", beyond_64_bits];
        let versions: Vec<ResourceVersion> = texts.iter().map(|text| text.parse().unwrap()).collect();

        assert!(versions.is_sorted());
        assert_eq!(versions[0].cmp(&versions[0]), Ordering::Equal);
        assert_eq!(versions[6].to_string(), beyond_64_bits);
    }

    /// A resource version that is not a decimal integer has no order.
    #[test]
    fn a_version_that_is_not_a_number_is_refused_rather_than_taken_for_an_old_one() {
        for text in ["", "0", "007", "-1", "1.5", "abc", "12a", " 1"] {
            let error = text.parse::<ResourceVersion>().unwrap_err();
            assert!(error.to_string().contains(&format!("`{text}`")), "{error}");
        }
    }
}
