//! JSON pointers (RFC 6901).

use std::{fmt, str::FromStr};

/// A JSON pointer (RFC 6901): `/spec/replicas`, `/metadata/labels/app.kubernetes.io~1name`. The empty pointer is the
/// whole document.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pointer(Vec<String>);

/// The text is not a JSON pointer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPointer {
    /// The text does not start with `/`.
    #[error("`{0}` is not a JSON pointer: it must start with `/`, as in `/spec/replicas`")]
    NoSlash(String),
    /// A `~` is followed by neither `0` nor `1`.
    #[error("`{0}` is not a JSON pointer: write `~0` for `~` and `~1` for `/`")]
    Escape(String),
}

impl Pointer {
    /// Makes a pointer from unescaped tokens, outermost first.
    pub(crate) fn of<'a>(tokens: impl Iterator<Item = &'a str>) -> Self {
        Self(tokens.map(str::to_owned).collect())
    }

    /// The unescaped reference tokens, outermost first.
    pub fn tokens(&self) -> &[String] {
        &self.0
    }
}

// === impl Pointer ===

impl FromStr for Pointer {
    type Err = InvalidPointer;

    fn from_str(text: &str) -> Result<Self, InvalidPointer> {
        if text.is_empty() {
            return Ok(Self(Vec::new()));
        }
        let rest = text.strip_prefix('/').ok_or_else(|| InvalidPointer::NoSlash(text.to_owned()))?;
        let tokens: Option<Vec<String>> = rest.split('/').map(unescape).collect();
        tokens.map(Self).ok_or_else(|| InvalidPointer::Escape(text.to_owned()))
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|token| write!(f, "/{}", token.replace('~', "~0").replace('/', "~1")))
    }
}

fn unescape(token: &str) -> Option<String> {
    let mut parts = token.split('~');
    let mut text = parts.next()?.to_owned();
    for part in parts {
        let mut chars = part.chars();
        text.push(match chars.next()? {
            '0' => '~',
            '1' => '/',
            _ => return None,
        });
        text.push_str(chars.as_str());
    }
    Some(text)
}
