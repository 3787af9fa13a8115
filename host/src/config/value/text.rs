//! Texts with few rules.

use super::scalar::FromText;
use crate::{config::problem::Fault, logging};

/// A text that is not empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Text(pub(crate) String);

/// A path, or `~/` and a path below the home directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PathText(pub(crate) String);

/// A log filter in the syntax of `tracing-subscriber`: `info,informer_cache=debug`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LogFilter(pub(crate) String);

// === impl Text ===

impl FromText for Text {
    const KIND: &'static str = "a text";

    fn example() -> String {
        "\"dev\"".to_owned()
    }

    fn parse(text: &str) -> Result<Self, Fault> {
        if text.trim().is_empty() {
            return Err(Fault::new("the text is empty", "write something, or leave the key out"));
        }
        Ok(Self(text.to_owned()))
    }
}

// === impl PathText ===

impl FromText for PathText {
    const KIND: &'static str = "a path";

    fn example() -> String {
        "\"plugins/hello.wasm\"".to_owned()
    }

    fn parse(text: &str) -> Result<Self, Fault> {
        if text.is_empty() || text.contains('\0') {
            return Err(Fault::new("not a path", format!("write for example {}", Self::example())));
        }
        if let Some((scheme, _)) = text.split_once("://") {
            let problem = format!("`{text}`: `{scheme}://` is not supported by this version");
            return Err(Fault::new(problem, "write the path of a file on this machine"));
        }
        Ok(Self(text.to_owned()))
    }
}

// === impl LogFilter ===

impl FromText for LogFilter {
    const KIND: &'static str = "a log filter";

    fn example() -> String {
        "\"info\"".to_owned()
    }

    fn parse(text: &str) -> Result<Self, Fault> {
        match logging::check(text) {
            Ok(()) => Ok(Self(text.to_owned())),
            Err(error) => Err(Fault::new(
                format!("`{text}` is not a log filter: {}", error.reason()),
                "write for example \"info\" or \"info,informer_cache=debug\"",
            )),
        }
    }
}
