//! The elements of `reads`.

use informer_types::Part;

use super::scalar::Scalar;
use crate::config::{problem::Fault, watch::whole_object};

/// What a plugin reads of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::config) enum ReadPart {
    /// Everything.
    All,
    /// This part.
    Only(Part),
}

const ALL: &str = "all";

// === impl ReadPart ===

impl ReadPart {
    /// The fault of a pointer to the whole object.
    pub(in crate::config) fn whole_object(&self) -> Option<Fault> {
        match self {
            Self::All => None,
            Self::Only(part) => whole_object(part.pointer(), "write \"all\""),
        }
    }
}

impl Scalar for ReadPart {
    const KIND: &'static str = "a JSON pointer, a digest like \"sha256:/data\", or \"all\"";

    const ALONE: bool = true;

    fn example() -> String {
        "\"/spec\"".to_owned()
    }

    fn elements() -> String {
        "\"/spec/replicas\", \"sha256:/data\"".to_owned()
    }

    fn parse(text: &str) -> Result<Self, Fault> {
        if text == ALL {
            return Ok(Self::All);
        }
        text.parse().map(Self::Only).map_err(|_| {
            let remedy =
                "write \"all\", or a list of JSON pointers like \"/spec\" and digests like \"sha256:/data\"";
            Fault::new(
                format!("`{text}` is neither \"all\" nor a JSON pointer nor the digest of one"),
                remedy,
            )
        })
    }

    fn plain(&self) -> String {
        match self {
            Self::All => ALL.to_owned(),
            Self::Only(part) => part.to_string(),
        }
    }
}
