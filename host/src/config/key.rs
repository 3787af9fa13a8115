//! The declaration of a key of the file. Reading, the annotated file and the JSON Schema follow from it.
//!
//! A [`Section`] is one table of the file: a list of [`Key`]s, [`free`] tables and sub-sections ([`sub`], [`subs`]). Each
//! knows its name, its documentation and the field of the type that the section fills. The default of a key is the value
//! that this field has in `T::default()`.

use std::{collections::BTreeMap, sync::LazyLock};

use serde_json::json;

use super::{
    problem::{Fault, Located, Problems},
    table::{Items, Table, Value},
    value::{Holds, Scalar, inside, outside},
};

/// One table of the file, which fills a `T`.
pub(super) struct Section<T: 'static> {
    /// Stands above the table in the annotated file.
    pub(super) doc: &'static str,
    /// In the order of the annotated file. They are read in this order, too.
    pub(super) keys: Vec<Field<T>>,
}

/// The contents of one table of the file, together with the places of its keys.
#[derive(Clone, Debug, Default)]
pub(super) struct Draft<T> {
    pub(super) value: T,
    /// The start of the table; `None` if it is not written.
    pub(super) place: Option<Located<()>>,
    written: BTreeMap<&'static str, Located<Items>>,
    /// Keys that are written with a value that cannot be used. The problem is noted.
    refused: Vec<&'static str>,
}

/// A key of a section.
pub(super) struct Field<T> {
    entry: Entry,
    read: Box<Read<T>>,
}

/// Sets a field, if its key is written. Notes what is wrong with its value.
type Read<T> = dyn Fn(&mut Table<'_, '_, '_>, &mut Draft<T>) + Send + Sync;

/// A key with a value. [`Key::doc`] completes it.
pub(super) struct Key<T: 'static, V> {
    name: &'static str,
    described: Described,
    /// An example of the value, if the key must be written.
    required: Option<fn() -> String>,
    checks: Vec<Box<Check<V>>>,
    put: Box<Put<T, V>>,
}

/// Sets a field.
type Put<T, V> = dyn Fn(&mut T, V) + Send + Sync;

/// Notes the problems of a value. Returns false if it cannot be used.
type Check<V> = dyn Fn(&mut V, &mut Located<Items>, &mut Problems<'_>) -> bool + Send + Sync;

/// A key without its types.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Value(Described),
    Table(Vec<Entry>, &'static str),
    Tables(Vec<Entry>, &'static str),
}

/// A key whose value is not a table of further declared keys.
#[derive(Clone, Debug, Default)]
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
    pub(super) schema: serde_json::Value,
    /// True if the key is a table of its own in the annotated file.
    pub(super) is_table: bool,
}

// === impl Section ===

impl<T: 'static> Section<T> {
    pub(super) fn names(&self) -> Vec<&'static str> {
        self.keys.iter().map(|key| key.entry.name).collect()
    }

    pub(super) fn read(&self, mut table: Table<'_, '_, '_>, into: &mut Draft<T>) {
        into.place = Some(table.place());
        for key in &self.keys {
            (key.read)(&mut table, into);
        }
    }

    pub(super) fn entries(&self) -> Vec<Entry> {
        self.keys.iter().map(|key| key.entry.clone()).collect()
    }
}

// === impl Field ===

impl<T> Field<T> {
    pub(super) fn name(&self) -> &'static str {
        self.entry.name
    }
}

// === impl Draft ===

impl<T> Draft<T> {
    /// A table before its keys are read.
    pub(super) fn new(value: T) -> Self {
        Self { value, place: None, written: BTreeMap::new(), refused: Vec::new() }
    }

    /// The place of this key; `None` if it has its default.
    pub(super) fn written(&self, key: &str) -> Option<&Located<Items>> {
        self.written.get(key)
    }

    /// Adds the place of a key of another table, from which this table takes the value.
    pub(super) fn adopt(&mut self, key: &'static str, place: &Located<Items>) {
        self.written.insert(key, place.clone());
    }

    /// The elements of the list of this key, with their texts, in the order of the file.
    pub(super) fn items(&self, key: &str) -> &[Located<String>] {
        self.written(key).map_or(&[], |list| &list.value)
    }

    /// Returns true if the key has a value that cannot be used.
    pub(super) fn is_refused(&self, key: &str) -> bool {
        self.refused.contains(&key)
    }
}

// === impl Key ===

impl<T: Default + 'static, V: Value> Key<T, V> {
    pub(super) fn new<S: Holds<V> + 'static>(name: &'static str, field: fn(&mut T) -> &mut S) -> Self {
        let default = field(&mut T::default()).get().map(|value| value.shown());
        let described = Described { default, schema: V::schema(), ..Described::default() };
        let put = Box::new(move |into: &mut T, value| field(into).put(value));
        Self { name, described, required: None, checks: Vec::new(), put }
    }

    /// Sets the default that is shown, in place of the value of the field.
    pub(super) fn default(mut self, shown: &str) -> Self {
        self.described.default = Some(shown.to_owned());
        self
    }

    /// Sets an example that is shown besides the default.
    pub(super) fn also(mut self, shown: &'static str) -> Self {
        self.described.example = Some(shown);
        self
    }

    /// Sets an example that is shown in place of a default, because the key has none. Further lines of the example are keys that go
    /// with it.
    pub(super) fn example(mut self, shown: &'static str) -> Self {
        self.described.default = None;
        self.also(shown)
    }

    /// Writes this value in the annotated file, instead of a default.
    pub(super) fn written(mut self, value: &'static str) -> Self {
        self.described = Described { default: None, written: Some(value), ..self.described };
        self
    }

    /// Notes the fault of a value, which is used nevertheless.
    pub(super) fn check(self, fault: fn(&V) -> Option<Fault>) -> Self {
        self.checked(move |value, written, problems| {
            if let Some(fault) = fault(value) {
                problems.refuse(written, fault);
            }
            true
        })
    }

    fn checked(
        mut self,
        check: impl Fn(&mut V, &mut Located<Items>, &mut Problems<'_>) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.checks.push(Box::new(check));
        self
    }

    pub(super) fn doc(self, doc: &'static str) -> Field<T> {
        let Self { name, described, required, checks, put } = self;
        let kind = Kind::Value(Described { doc, required: required.is_some(), ..described });
        let read = move |table: &mut Table<'_, '_, '_>, into: &mut Draft<T>| {
            let is_written = table.has(name);
            if let Some(example) = required.filter(|_| !is_written) {
                table.missing(name, &example());
            }
            if let Some((mut value, mut written)) = V::get(table, name)
                && checks.iter().all(|check| check(&mut value, &mut written, table.problems))
            {
                into.written.insert(name, written);
                put(&mut into.value, value);
            } else if is_written {
                into.refused.push(name);
            }
        };
        Field { entry: Entry { name, kind }, read: Box::new(read) }
    }
}

impl<T: Default + 'static, V: Scalar> Key<T, V> {
    /// The key must be written; this is its value in the annotated file.
    pub(super) fn required(self, value: &'static str) -> Self {
        Self { required: Some(V::example), ..self.written(value) }
    }

    /// The least and the most, both included.
    pub(super) fn within(mut self, bounds: (V, V)) -> Self
    where
        V: PartialOrd,
    {
        self.described.bounds = Some(inside(&bounds));
        self.described.schema = V::schema(Some(&bounds));
        self.checked(move |value, written, problems| {
            let fault = outside(value, &bounds);
            let fits = fault.is_none();
            fault.into_iter().for_each(|fault| problems.refuse(written, fault));
            fits
        })
    }
}

impl<T: Default + 'static, V: Scalar + PartialEq> Key<T, Vec<V>> {
    /// Notes repetitions, and keeps the first of each value.
    pub(super) fn distinct(self) -> Self {
        self.checked(|values, written, problems| {
            let (mut kept, mut places) = (Vec::new(), Vec::new());
            for (value, place) in values.drain(..).zip(written.value.drain(..)) {
                if kept.contains(&value) {
                    let message = format!("`{}` is listed twice", place.value);
                    problems.refuse(&place, Fault::new(message, "remove one"));
                } else {
                    kept.push(value);
                    places.push(place);
                }
            }
            (*values, written.value) = (kept, places);
            true
        })
    }

    /// As [`distinct`](Self::distinct). An empty list is noted as well, because it could mean all or none. `unlisted` is
    /// what the key means if it is left out.
    pub(super) fn some_distinct(self, unlisted: &'static str) -> Self {
        self.distinct().checked(move |values, written, problems| {
            if values.is_empty() {
                let remedy = format!("leave the key out for {unlisted}");
                problems.refuse(written, Fault::new("the list is empty", remedy));
            }
            true
        })
    }

    /// Notes the faults of elements, which are used nevertheless.
    pub(super) fn each(self, fault: fn(&V) -> Option<Fault>) -> Self {
        self.checked(move |values, written, problems| {
            for (value, place) in values.iter().zip(&written.value) {
                fault(value).into_iter().for_each(|fault| problems.refuse(place, fault));
            }
            true
        })
    }
}

/// A table whose keys belong to the plugin and not to the host. It is read as JSON text.
pub(super) fn free<T: 'static>(
    name: &'static str,
    field: fn(&mut T) -> &mut String,
    doc: &'static str,
) -> Field<T> {
    let schema = json!({"type": "object"});
    let kind = Kind::Value(Described { doc, schema, is_table: true, ..Described::default() });
    let read = move |table: &mut Table<'_, '_, '_>, into: &mut Draft<T>| {
        if let Some(json) = table.json(name) {
            *field(&mut into.value) = json;
        }
    };
    Field { entry: Entry { name, kind }, read: Box::new(read) }
}

/// A table within the table.
pub(super) fn sub<T: 'static, U>(
    name: &'static str,
    section: &'static LazyLock<Section<U>>,
    field: fn(&mut T) -> &mut Draft<U>,
) -> Field<T> {
    let read = move |table: &mut Table<'_, '_, '_>, into: &mut Draft<T>| {
        if let Some(inner) = table.table(name, &section.names()) {
            section.read(inner, field(&mut into.value));
        }
    };
    let kind = Kind::Table(section.entries(), section.doc);
    Field { entry: Entry { name, kind }, read: Box::new(read) }
}

/// An array of tables within the table. `new` is an element before its keys are read.
pub(super) fn subs<T: 'static, U: Default>(
    name: &'static str,
    section: &'static LazyLock<Section<U>>,
    new: fn(&T) -> U,
    field: fn(&mut T) -> &mut Vec<Draft<U>>,
) -> Field<T> {
    let read = move |table: &mut Table<'_, '_, '_>, into: &mut Draft<T>| {
        let is_array = table.tables(name, &section.names(), |inner| {
            let mut draft = Draft::new(new(&into.value));
            section.read(inner, &mut draft);
            field(&mut into.value).push(draft);
        });
        if !is_array {
            into.refused.push(name);
        }
    };
    let kind = Kind::Tables(section.entries(), section.doc);
    Field { entry: Entry { name, kind }, read: Box::new(read) }
}
