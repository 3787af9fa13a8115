//! The layout of the messages, read from a table made by `tools/protobuf-schema`.

use std::{collections::HashMap, sync::LazyLock};

const TABLE: &str = include_str!("schema.txt");

static SCHEMA: LazyLock<Schema> = LazyLock::new(|| Schema::read(TABLE));

/// Every message that can occur in a request.
#[derive(Debug, Default)]
pub(super) struct Schema {
    roots: HashMap<(String, String), String>,
    messages: HashMap<String, Message>,
}

/// The fields of a message, by number.
#[derive(Debug, Default)]
pub(super) struct Message {
    fields: HashMap<u32, Field>,
}

/// How a field reads in JSON.
#[derive(Debug)]
pub(super) struct Field {
    /// Empty when the fields of the message stand in its parent.
    pub(super) json: String,
    pub(super) shape: Shape,
    pub(super) kind: Type,
    pub(super) zero: Zero,
}

/// How many values a field has.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Shape {
    One,
    List,
    Map,
}

/// Whether JSON shows a zero value.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Zero {
    Shown,
    Omitted,
}

/// The type of a value.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Type {
    Text,
    Integer,
    Boolean,
    Float,
    Bytes,
    Time,
    MicroTime,
    Duration,
    Quantity,
    IntOrString,
    RawJson,
    Message(String),
}

// === impl Schema ===

impl Schema {
    pub(super) fn get() -> &'static Self {
        &SCHEMA
    }

    /// The message of a kind. Every group has the options of meta.
    pub(super) fn root(&self, api_version: &str, kind: &str) -> Option<&Message> {
        let api_version = if kind == "DeleteOptions" { "v1" } else { api_version };
        self.message(self.roots.get(&(api_version.to_owned(), kind.to_owned()))?)
    }

    pub(super) fn message(&self, name: &str) -> Option<&Message> {
        self.messages.get(name)
    }

    /// Lines that are not of the table's form are left out; a test says that there are none.
    fn read(table: &str) -> Self {
        let mut schema = Self::default();
        for line in table.lines().filter(|line| !line.starts_with('#')) {
            let mut words = line.split(' ');
            match words.next() {
                Some("=") => {
                    if let (Some(version), Some(kind), Some(name)) =
                        (words.next(), words.next(), words.next())
                    {
                        schema.roots.insert((version.to_owned(), kind.to_owned()), name.to_owned());
                    }
                }
                Some(name) => {
                    let fields = words.filter_map(field).collect();
                    schema.messages.insert(name.to_owned(), Message { fields });
                }
                None => {}
            }
        }
        schema
    }
}

// === impl Message ===

impl Message {
    pub(super) fn field(&self, number: u32) -> Option<&Field> {
        self.fields.get(&number)
    }
}

/// Reads `3:name:[]s?`.
fn field(text: &str) -> Option<(u32, Field)> {
    let mut parts = text.splitn(3, ':');
    let (number, json, kind) = (parts.next()?.parse().ok()?, parts.next()?, parts.next()?);
    let (shape, kind) = match (kind.strip_prefix("[]"), kind.strip_prefix("{}")) {
        (Some(kind), _) => (Shape::List, kind),
        (_, Some(kind)) => (Shape::Map, kind),
        _ => (Shape::One, kind),
    };
    let (kind, zero) = match kind.strip_suffix('?') {
        Some(kind) => (kind, Zero::Omitted),
        None => (kind.strip_suffix('*').unwrap_or(kind), Zero::Shown),
    };
    let kind = match kind {
        "s" => Type::Text,
        "i" => Type::Integer,
        "b" => Type::Boolean,
        "f" => Type::Float,
        "y" => Type::Bytes,
        "T" => Type::Time,
        "U" => Type::MicroTime,
        "D" => Type::Duration,
        "Q" => Type::Quantity,
        "I" => Type::IntOrString,
        "R" | "F" => Type::RawJson,
        name => Type::Message(name.to_owned()),
    };
    Some((number, Field { json: json.to_owned(), shape, kind, zero }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_understood_and_every_name_is_defined() {
        let schema = Schema::get();
        for name in schema.roots.values() {
            assert!(schema.message(name).is_some(), "{name}");
        }
        for line in TABLE.lines().filter(|line| !line.starts_with(['#', '='])) {
            let mut words = line.split(' ');
            let name = words.next().unwrap();
            for word in words {
                let (_, field) = field(word).unwrap_or_else(|| panic!("{word} in {name}"));
                if let Type::Message(inner) = &field.kind {
                    assert!(schema.message(inner).is_some(), "{inner} in {name}");
                }
            }
        }
    }
}
