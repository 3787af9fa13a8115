//! Lines a plugin wrote.

use super::state::with_state;

pub(crate) use crate::bindings::informer::plugin::log::Level;

/// One line of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Line {
    /// How much it matters.
    pub level: crate::log::Level,
    /// The message.
    pub message: String,
    /// Keys and values.
    pub fields: Vec<(String, String)>,
}

/// `info message key=value`
impl std::fmt::Display for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.level, self.message)?;
        self.fields.iter().try_for_each(|(key, value)| write!(f, " {key}={value}"))
    }
}

pub(crate) fn enabled(_level: Level) -> bool {
    true
}

pub(crate) fn write(level: Level, message: &str, fields: &[(&str, &str)]) {
    let fields = fields.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let line = Line { level: level.into(), message: message.to_owned(), fields };
    with_state(|state| state.log.push(line));
}
