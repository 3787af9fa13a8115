//! Paths to the values of an index.

use std::{fmt, str::FromStr};

use informer_types::{InvalidPointer, Pointer};

/// Stands for every element of an array.
const EVERY: &str = "*";

/// The paths to the values of one index. The values of an object are those at all paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexPaths(Vec<IndexPath>);

/// A JSON pointer in which the token `*` stands for every element of an array: `/spec/volumes/*/configMap/name`. There is nothing
/// below `*` if the value there is no array. A member that is itself named `*` cannot be named.
///
/// The values at a path are the scalar there, or each scalar of the array there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexPath {
    first: Pointer,
    /// A `*` stands before each of them.
    below: Vec<Pointer>,
}

// === impl IndexPaths ===

impl IndexPaths {
    /// Each path, in the order in which they were given.
    pub fn iter(&self) -> impl Iterator<Item = &IndexPath> {
        self.0.iter()
    }
}

impl FromIterator<IndexPath> for IndexPaths {
    fn from_iter<I: IntoIterator<Item = IndexPath>>(paths: I) -> Self {
        Self(paths.into_iter().collect())
    }
}

/// One path.
impl FromStr for IndexPaths {
    type Err = InvalidPointer;

    fn from_str(text: &str) -> Result<Self, InvalidPointer> {
        Ok(Self(vec![text.parse()?]))
    }
}

// === impl IndexPath ===

impl IndexPath {
    /// The pointer up to the first `*`: all values are at it or below it.
    pub fn first(&self) -> &Pointer {
        &self.first
    }

    /// The pointers behind each `*`, outermost first.
    pub(super) fn below(&self) -> &[Pointer] {
        &self.below
    }
}

impl FromStr for IndexPath {
    type Err = InvalidPointer;

    fn from_str(text: &str) -> Result<Self, InvalidPointer> {
        let whole: Pointer = text.parse()?;
        let mut parts = whole.tokens().split(|token| token == EVERY);
        let first = Pointer::of(parts.next().unwrap_or_default());
        Ok(Self { first, below: parts.map(Pointer::of).collect() })
    }
}

impl fmt::Display for IndexPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.first)?;
        self.below.iter().try_for_each(|pointer| write!(f, "/{EVERY}{pointer}"))
    }
}
