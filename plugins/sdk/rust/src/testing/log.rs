//! The log: the test host keeps every line.

use super::state::{Line, with_state};
use crate::bindings::informer::plugin::log::Level;

pub(crate) fn enabled(_level: Level) -> bool {
    true
}

pub(crate) fn write(level: Level, message: &str, fields: &[(&str, &str)]) {
    let fields = fields.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let line = Line { level, message: message.to_owned(), fields };
    with_state(|state| state.log.push(line));
}
