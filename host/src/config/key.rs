//! What is declared of a key of the file. Reading, the annotated file and the JSON Schema follow from it.
//!
//! A [`Section`] is one table of the file: a list of [`Key`]s (one value), [`List`]s, [`Map`]s, [`Free`] tables and
//! sub-sections ([`Sub`], [`Subs`]). Each knows its name, its documentation and how to set a field of the type that the
//! section fills. The default of a key is the value that this field has in `T::default()`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    table::{Located, Named, Table},
    value::{Scalar, inside, outside},
};

/// One table of the file, which fills a `T`.
pub(super) struct Section<T: 'static> {
    /// Stands above the table in the annotated file.
    pub(super) doc: &'static str,
    /// In the order of the annotated file. They are read in this order, too.
    pub(super) keys: &'static [&'static dyn Field<T>],
}

/// What one table of the file says, together with the places of its keys.
#[derive(Clone, Debug)]
pub(super) struct Draft<T> {
    pub(super) value: T,
    /// The start of the table; `None` if it is not written.
    pub(super) place: Option<Located<()>>,
    /// The place of each key that set its field.
    written: BTreeMap<&'static str, Located<()>>,
    /// Keys that are written with a value that cannot be used. The problem is noted.
    refused: Vec<&'static str>,
}

/// A key of a section.
pub(super) trait Field<T>: Sync {
    fn name(&self) -> &'static str;

    /// Sets its field, if the key is written. Notes what is wrong with its value.
    fn read(&self, table: &mut Table<'_, '_, '_>, into: &mut Draft<T>);

    /// Describes the key for people and editors.
    fn describe(&self, defaults: &T) -> Entry;
}

/// What the annotated file shows of a key.
pub(super) enum Shown<T: 'static> {
    /// Its default, as TOML.
    ByDefault(fn(&T) -> String),
    /// Its default, and another value.
    ByDefaultAnd(fn(&T) -> String, &'static str),
    /// A value, because the key has no default. Further lines are keys that go with it.
    Example(&'static str),
    /// The key must be written; this is its value in the annotated file.
    Required(&'static str),
    /// The annotated file needs this value; the second one is an example.
    Written(&'static str, &'static str),
}

/// A key with one value.
pub(super) struct Key<T: 'static, V: Scalar> {
    pub(super) name: &'static str,
    pub(super) doc: &'static str,
    pub(super) shown: Shown<T>,
    /// The least and the most, both included.
    pub(super) bounds: Option<(V, V)>,
    pub(super) set: fn(&mut T, Located<V>),
}

/// A key with an array of values of one kind.
pub(super) struct List<T: 'static, V: Scalar> {
    pub(super) name: &'static str,
    pub(super) doc: &'static str,
    pub(super) shown: Shown<T>,
    pub(super) set: fn(&mut T, Located<Vec<Located<V>>>),
}

/// A key with a table of names and values of one kind.
pub(super) struct Map<T: 'static, V: Scalar> {
    pub(super) name: &'static str,
    pub(super) doc: &'static str,
    pub(super) shown: Shown<T>,
    pub(super) set: fn(&mut T, Vec<Named<V>>),
}

/// A table whose content is not the host's. It is read as JSON text.
pub(super) struct Free<T> {
    pub(super) name: &'static str,
    pub(super) doc: &'static str,
    pub(super) set: fn(&mut T, String),
}

/// A table within the table.
pub(super) struct Sub<T, U: 'static> {
    pub(super) name: &'static str,
    pub(super) section: &'static Section<U>,
    pub(super) get: fn(&mut T) -> &mut Draft<U>,
}

/// An array of tables within the table.
pub(super) struct Subs<T, U: 'static> {
    pub(super) name: &'static str,
    pub(super) section: &'static Section<U>,
    /// What an element is before its keys are read.
    pub(super) new: fn(&T) -> U,
    pub(super) push: fn(&mut T, Draft<U>),
}

/// A key without its types.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
}

#[derive(Debug)]
pub(super) enum Kind {
    Value(Described),
    Table(Vec<Entry>, &'static str),
    Tables(Vec<Entry>, &'static str),
}

/// A key that is no table of the host's.
#[derive(Debug)]
pub(super) struct Described {
    pub(super) doc: &'static str,
    /// The default in TOML notation.
    pub(super) default: Option<String>,
    pub(super) example: Option<&'static str>,
    /// The value that the annotated file itself has.
    pub(super) written: Option<&'static str>,
    pub(super) required: bool,
    /// `1s to 1h`
    pub(super) bounds: Option<String>,
    /// The JSON Schema of the value.
    pub(super) schema: Value,
    /// It is a table of its own in the annotated file.
    pub(super) is_table: bool,
}

// === impl Section ===

impl<T: 'static> Section<T> {
    pub(super) fn names(&self) -> Vec<&'static str> {
        self.keys.iter().map(|key| key.name()).collect()
    }

    pub(super) fn read(&self, mut table: Table<'_, '_, '_>, into: &mut Draft<T>) {
        into.place = Some(table.place());
        for key in self.keys {
            key.read(&mut table, into);
        }
    }

    pub(super) fn describe(&self, defaults: &T) -> Vec<Entry> {
        self.keys.iter().map(|key| key.describe(defaults)).collect()
    }
}

// === impl Draft ===

impl<T: Default> Default for Draft<T> {
    fn default() -> Self {
        Self::of(T::default())
    }
}

impl<T> Draft<T> {
    /// A table before its keys are read.
    pub(super) fn of(value: T) -> Self {
        Self { value, place: None, written: BTreeMap::new(), refused: Vec::new() }
    }

    /// The place of this key; `None` if it has its default.
    pub(super) fn written(&self, key: &str) -> Option<&Located<()>> {
        self.written.get(key)
    }

    /// Returns true if the key has a value that cannot be used.
    pub(super) fn is_refused(&self, key: &str) -> bool {
        self.refused.contains(&key)
    }

    fn set(&mut self, key: &'static str, place: Located<()>) {
        self.written.insert(key, place);
    }
}

// === impl Key, List, Map, Free ===

impl<T: 'static, V: Scalar + Sync> Field<T> for Key<T, V> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn read(&self, table: &mut Table<'_, '_, '_>, into: &mut Draft<T>) {
        if matches!(self.shown, Shown::Required(_)) && !table.has(self.name) {
            table.missing(self.name, &V::example());
        }
        let Some(value) = table.get::<V>(self.name) else { return };
        match self.bounds.as_ref().and_then(|bounds| outside(&value.value, bounds)) {
            Some(fault) => table.refuse(&value, fault),
            None => {
                into.set(self.name, value.with(()));
                (self.set)(&mut into.value, value);
            }
        }
    }

    fn describe(&self, defaults: &T) -> Entry {
        let (bounds, schema) = (self.bounds.as_ref().map(inside), V::schema(self.bounds.as_ref()));
        Entry::value(self.name, self.doc, &self.shown, defaults, bounds, schema)
    }
}

impl<T: 'static, V: Scalar> Field<T> for List<T, V> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn read(&self, table: &mut Table<'_, '_, '_>, into: &mut Draft<T>) {
        if let Some(list) = table.list(self.name) {
            into.set(self.name, list.with(()));
            (self.set)(&mut into.value, list);
        }
    }

    fn describe(&self, defaults: &T) -> Entry {
        let schema = serde_json::json!({"type": "array", "items": V::schema(None)});
        Entry::value(self.name, self.doc, &self.shown, defaults, None, schema)
    }
}

impl<T: 'static, V: Scalar> Field<T> for Map<T, V> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn read(&self, table: &mut Table<'_, '_, '_>, into: &mut Draft<T>) {
        (self.set)(&mut into.value, table.map(self.name));
    }

    fn describe(&self, defaults: &T) -> Entry {
        let schema = serde_json::json!({"type": "object", "additionalProperties": V::schema(None)});
        Entry::value(self.name, self.doc, &self.shown, defaults, None, schema)
    }
}

impl<T> Field<T> for Free<T> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn read(&self, table: &mut Table<'_, '_, '_>, into: &mut Draft<T>) {
        if let Some(json) = table.json(self.name) {
            (self.set)(&mut into.value, json);
        }
    }

    fn describe(&self, _: &T) -> Entry {
        let schema = serde_json::json!({"type": "object"});
        let described = Described {
            doc: self.doc,
            default: None,
            example: None,
            written: None,
            required: false,
            bounds: None,
            schema,
            is_table: true,
        };
        Entry { name: self.name, kind: Kind::Value(described) }
    }
}

// === impl Sub, Subs ===

impl<T, U: Default> Field<T> for Sub<T, U> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn read(&self, table: &mut Table<'_, '_, '_>, into: &mut Draft<T>) {
        if let Some(inner) = table.table(self.name, &self.section.names()) {
            self.section.read(inner, (self.get)(&mut into.value));
        }
    }

    fn describe(&self, _: &T) -> Entry {
        let entries = self.section.describe(&U::default());
        Entry { name: self.name, kind: Kind::Table(entries, self.section.doc) }
    }
}

impl<T, U: Default> Field<T> for Subs<T, U> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn read(&self, table: &mut Table<'_, '_, '_>, into: &mut Draft<T>) {
        let names = self.section.names();
        let read = table.tables(self.name, &names, |inner| {
            let mut draft = Draft::of((self.new)(&into.value));
            self.section.read(inner, &mut draft);
            (self.push)(&mut into.value, draft);
        });
        if !read {
            into.refused.push(self.name);
        }
    }

    fn describe(&self, _: &T) -> Entry {
        let entries = self.section.describe(&U::default());
        Entry { name: self.name, kind: Kind::Tables(entries, self.section.doc) }
    }
}

// === impl Entry ===

impl Entry {
    fn value<T: 'static>(
        name: &'static str,
        doc: &'static str,
        shown: &Shown<T>,
        defaults: &T,
        bounds: Option<String>,
        schema: Value,
    ) -> Self {
        let (mut default, mut example, mut written) = (None, None, None);
        match shown {
            Shown::ByDefault(of) => default = Some(of(defaults)),
            Shown::ByDefaultAnd(of, other) => (default, example) = (Some(of(defaults)), Some(*other)),
            Shown::Example(value) => example = Some(*value),
            Shown::Required(value) => written = Some(*value),
            Shown::Written(value, other) => (written, example) = (Some(*value), Some(*other)),
        }
        let required = matches!(shown, Shown::Required(_));
        let kind = Kind::Value(Described {
            doc,
            default,
            example,
            written,
            required,
            bounds,
            schema,
            is_table: false,
        });
        Self { name, kind }
    }
}
