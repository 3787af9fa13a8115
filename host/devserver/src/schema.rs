//! The fields of the built-in kinds: names, types and protobuf numbers.
//!
//! `tools/schema` generates the table from `k8s.io/api`.

use std::{collections::HashMap, sync::LazyLock};

mod conformance;

pub(crate) use conformance::conform;

const TABLE: &str = include_str!("schema/table.txt");

static SCHEMA: LazyLock<Schema> = LazyLock::new(|| Schema::read(TABLE));

/// All messages that can occur in a request.
#[derive(Debug, Default)]
pub(crate) struct Schema {
    roots: HashMap<(String, String), String>,
    messages: HashMap<String, Message>,
}

/// The fields of a message.
#[derive(Debug)]
pub(crate) struct Message(Vec<Field>);

/// A field and its form in JSON.
#[derive(Debug)]
pub(crate) struct Field {
    number: u32,
    /// The JSON name; empty if the message is inlined in its parent.
    pub(crate) json: String,
    pub(crate) shape: Shape,
    pub(crate) kind: Type,
    /// If true, JSON leaves out a zero value.
    pub(crate) omits_zero: bool,
}

/// The number of values of a field.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    One,
    List,
    Map,
}

/// The type of a value.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Type {
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
    pub(crate) fn get() -> &'static Self {
        &SCHEMA
    }

    /// The message of a kind. Returns `None` for an unknown kind. `DeleteOptions` exist in every group.
    pub(crate) fn root(&self, api_version: &str, kind: &str) -> Option<&Message> {
        let api_version = if kind == "DeleteOptions" { "v1" } else { api_version };
        self.message(self.roots.get(&(api_version.to_owned(), kind.to_owned()))?)
    }

    pub(crate) fn message(&self, name: &str) -> Option<&Message> {
        self.messages.get(name)
    }

    /// Parses the table. Invalid lines are skipped; a test checks that there are none.
    fn read(table: &str) -> Self {
        let mut schema = Self::default();
        for line in table.lines().filter(|line| !line.starts_with('#')) {
            let mut words = line.split(' ').map(str::to_owned);
            match words.next() {
                Some(root) if root == "=" => {
                    let mut root = || Some(((words.next()?, words.next()?), words.next()?));
                    schema.roots.extend(root());
                }
                Some(name) => {
                    let fields = words.filter_map(|word| field(&word)).collect();
                    schema.messages.insert(name, Message(fields));
                }
                None => {}
            }
        }
        schema
    }
}

// === impl Message ===

impl Message {
    pub(crate) fn field(&self, number: u32) -> Option<&Field> {
        self.0.iter().find(|field| field.number == number)
    }

    /// The field with this JSON name, in this message or in an inlined message.
    pub(crate) fn named<'s>(&'s self, schema: &'s Schema, name: &str) -> Option<&'s Field> {
        let inlined = |field: &'s Field| match &field.kind {
            Type::Message(inner) if field.json.is_empty() => schema.message(inner)?.named(schema, name),
            _ => None,
        };
        let own = self.0.iter().find(|field| field.json == name && !name.is_empty());
        own.or_else(|| self.0.iter().find_map(inlined))
    }
}

/// Parses a field such as `3:name:[]s?`.
fn field(text: &str) -> Option<Field> {
    let mut parts = text.splitn(3, ':');
    let (number, json, kind) = (parts.next()?.parse().ok()?, parts.next()?, parts.next()?);
    let (shape, kind) = match (kind.strip_prefix("[]"), kind.strip_prefix("{}")) {
        (Some(kind), _) => (Shape::List, kind),
        (_, Some(kind)) => (Shape::Map, kind),
        _ => (Shape::One, kind),
    };
    let omits_zero = kind.ends_with('?');
    let kind = kind.strip_suffix(['?', '*']).unwrap_or(kind);
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
    Some(Field { number, json: json.to_owned(), shape, kind, omits_zero })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_valid_and_every_name_is_defined() {
        let schema = Schema::get();
        for name in schema.roots.values() {
            assert!(schema.message(name).is_some(), "{name}");
        }
        for line in TABLE.lines().filter(|line| !line.starts_with(['#', '='])) {
            let mut words = line.split(' ');
            let name = words.next().unwrap();
            for word in words {
                let field = field(word).unwrap_or_else(|| panic!("{word} in {name}"));
                if let Type::Message(inner) = &field.kind {
                    assert!(schema.message(inner).is_some(), "{inner} in {name}");
                }
            }
        }
    }
}
