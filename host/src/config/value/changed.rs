//! The elements of `changed`.

use informer_types::Pointer;

use super::scalar::Scalar;
use crate::config::problem::Fault;

/// The part of an object that makes an update a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::config) enum ChangedPart {
    /// `metadata.generation`
    Generation,
    /// The value at this pointer.
    At(Pointer),
}

const GENERATION: &str = "generation";

// === impl ChangedPart ===

impl Scalar for ChangedPart {
    const KIND: &'static str = "a JSON pointer or \"generation\"";

    const ALONE: bool = true;

    fn example() -> String {
        "\"/spec\"".to_owned()
    }

    fn elements() -> String {
        "\"generation\", \"/metadata/labels\"".to_owned()
    }

    fn parse(text: &str) -> Result<Self, Fault> {
        if text == GENERATION {
            return Ok(Self::Generation);
        }
        text.parse().map(Self::At).map_err(|_| {
            let remedy = "write \"generation\", or a JSON pointer like \"/spec\"";
            Fault::new(format!("`{text}` is neither \"generation\" nor a JSON pointer"), remedy)
        })
    }

    fn plain(&self) -> String {
        match self {
            Self::Generation => GENERATION.to_owned(),
            Self::At(pointer) => pointer.to_string(),
        }
    }
}
