//! Reads one table of the file, and notes everything that is wrong with its keys and values.

use std::{collections::BTreeMap, fmt};

use informer_types::is_namespace;
use serde_json::json;
use toml::de::{DeTable, DeValue};

use super::{
    nearest::nearest,
    problem::{Fault, Located, Problems},
    value::{self, Name, Scalar},
};

/// The elements of a list or of a table of names: their texts and places. A single value has none.
pub(super) type Items = Vec<Located<String>>;

/// A type that the value of a key can be read as.
pub(super) trait Value: Sized + Send + Sync + 'static {
    /// Reads the value of this key. What is wrong with it is noted, and the key then counts as missing.
    fn get(table: &mut Table<'_, '_, '_>, key: &str) -> Option<(Self, Located<Items>)>;

    /// This value, as it is written in the file.
    fn shown(&self) -> String;

    /// The JSON Schema of a value.
    fn schema() -> serde_json::Value;
}

/// The header of a table: `[plugin.queue]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Header {
    /// `plugin.queue`; empty for the top level.
    dotted: String,
    /// The table is an element of an array of tables.
    is_element: bool,
}

/// The keys of every table that a file may have, in the order of the annotated file.
#[derive(Debug)]
pub(super) struct Known(pub(super) Vec<(Header, Vec<&'static str>)>);

/// A table being read. A value that cannot be read is noted, and then counts as missing.
pub(super) struct Table<'d, 't, 'p> {
    entries: &'d DeTable<'d>,
    header: Header,
    known: &'p Known,
    at: usize,
    path: String,
    pub(super) problems: &'p mut Problems<'t>,
}

// === impl Header ===

impl Header {
    pub(super) fn below(&self, key: &str, is_element: bool) -> Self {
        let dotted = if self.dotted.is_empty() { key.to_owned() } else { format!("{}.{key}", self.dotted) };
        Self { dotted, is_element }
    }

    /// The tables of `[defaults]` and `[tenancy]` repeat those of `[[plugin]]`, and a key of one is no key of the others.
    fn family(&self) -> &str {
        let first = self.dotted.split('.').next().unwrap_or_default();
        if matches!(first, "defaults" | "tenancy") { first } else { "" }
    }
}

impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { dotted, is_element } = self;
        match (dotted.as_str(), is_element) {
            ("", _) => f.write_str("the top level"),
            (_, true) => write!(f, "[[{dotted}]]"),
            (_, false) => write!(f, "[{dotted}]"),
        }
    }
}

// === impl Known ===

impl Known {
    /// The fault of a key that the table does not have.
    fn fault(&self, key: &str, header: &Header, own: &[&'static str]) -> Fault {
        let message = "unknown key";
        let mut homes = Vec::new();
        for (other, keys) in &self.0 {
            if keys.contains(&key) && other.family() == header.family() {
                homes.push(other.to_string());
            }
        }
        // The classic mistake in TOML: a key below the header of a sub-table belongs to the sub-table.
        if !homes.is_empty() {
            return Fault::new(message, format!("it belongs to {}", homes.join(" or ")));
        }
        let remedy = match nearest(&key.replace('_', "-"), own.iter().copied()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("known are `{}`", own.join("`, `")),
        };
        Fault::new(message, remedy)
    }
}

// === impl Table ===

impl<'d, 't, 'p> Table<'d, 't, 'p> {
    /// The top level of a file.
    pub(super) fn root(
        entries: &'d DeTable<'d>,
        keys: &[&'static str],
        known: &'p Known,
        problems: &'p mut Problems<'t>,
    ) -> Self {
        Self { entries, header: Header::default(), known, at: 0, path: String::new(), problems }.checked(keys)
    }

    /// A document that is one table of this name.
    pub(super) fn alone(
        name: &str,
        entries: &'d DeTable<'d>,
        keys: &[&'static str],
        known: &'p Known,
        problems: &'p mut Problems<'t>,
    ) -> Self {
        let header = Header::default().below(name, false);
        Self { entries, header, known, at: 0, path: name.to_owned(), problems }.checked(keys)
    }

    /// Notes all other keys as unknown.
    fn checked(self, keys: &[&'static str]) -> Self {
        for key in self.entries.keys() {
            let name: &str = key.get_ref();
            if !keys.contains(&name) {
                let fault = self.known.fault(name, &self.header, keys);
                let at = self.problems.place(key.span());
                self.problems.add(at, &self.path_of(name), fault);
            }
        }
        self
    }

    fn inner<'a>(
        &'a mut self,
        entries: &'d DeTable<'d>,
        header: Header,
        (path, at): (String, usize),
        keys: &[&'static str],
    ) -> Table<'d, 't, 'a> {
        Table { entries, header, known: self.known, at, path, problems: &mut *self.problems }.checked(keys)
    }

    /// The place of the table itself.
    pub(super) fn place(&self) -> Located<()> {
        Located { value: (), at: self.at, key: self.path.clone() }
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.entries.contains_key(key)
    }

    /// Notes that a required key is missing.
    pub(super) fn missing(&mut self, key: &str, example: &str) {
        let remedy = format!("write for example {key} = {example}");
        let fault = Fault::new(format!("it is missing in {}", self.header), remedy);
        self.problems.add(self.at, &self.path_of(key), fault);
    }

    /// A sub-table. Returns `None` if there is none, or another value, which is noted.
    pub(super) fn table(&mut self, key: &str, keys: &[&'static str]) -> Option<Table<'d, 't, '_>> {
        let (at, value) = self.value(key)?;
        let (path, header) = (self.path_of(key), self.header.below(key, false));
        let Some(entries) = value.as_table() else {
            let fault = value::mismatch("a table", value, format!("write {header}"));
            self.problems.add(at, &path, fault);
            return None;
        };
        Some(self.inner(entries, header, (path, at), keys))
    }

    /// Calls `read` with each table of an array of tables. Returns false if the key is something else, which is noted.
    pub(super) fn tables(
        &mut self,
        key: &str,
        keys: &[&'static str],
        mut read: impl FnMut(Table<'d, 't, '_>),
    ) -> bool {
        let Some((at, value)) = self.value(key) else { return true };
        let (path, header) = (self.path_of(key), self.header.below(key, true));
        let remedy = format!("write {header}");
        let Some(items) = value.as_array() else {
            self.problems.add(at, &path, value::mismatch("an array of tables", value, remedy));
            return false;
        };
        for (index, item) in items.iter().enumerate() {
            let at = self.problems.place(item.span());
            match item.get_ref().as_table() {
                Some(entries) => {
                    let path = element_path(&path, index, entries);
                    read(self.inner(entries, header.clone(), (path, at), keys));
                }
                None => {
                    let fault = value::mismatch("a table", item.get_ref(), remedy.clone());
                    self.problems.add(at, &format!("{path}[{index}]"), fault);
                }
            }
        }
        true
    }

    /// A free table, as JSON text.
    pub(super) fn json(&mut self, key: &str) -> Option<String> {
        let (at, value) = self.value(key)?;
        let path = self.path_of(key);
        if value.as_table().is_none() {
            let fault = value::mismatch("a table", value, format!("write {}", self.header.below(key, false)));
            self.problems.add(at, &path, fault);
            return None;
        }
        value::json_text((value, at), &path, self.problems)
    }

    fn value(&self, key: &str) -> Option<(usize, &'d DeValue<'d>)> {
        self.entries.get(key).map(|value| (self.problems.place(value.span()), value.get_ref()))
    }

    fn read<T: Scalar>(&mut self, value: &DeValue<'_>, at: usize, key: &str) -> Option<T> {
        T::read(value).map_err(|fault| self.problems.add(at, key, fault)).ok()
    }

    fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }
}

// === impl Value ===

impl<V: Scalar> Value for V {
    fn get(table: &mut Table<'_, '_, '_>, key: &str) -> Option<(Self, Located<Items>)> {
        let (at, value) = table.value(key)?;
        let key = table.path_of(key);
        Some((table.read(value, at, &key)?, Located { value: Items::new(), at, key }))
    }

    fn shown(&self) -> String {
        Scalar::shown(self)
    }

    fn schema() -> serde_json::Value {
        V::schema(None)
    }
}

/// Elements that cannot be read are left out. If no element is left, the key counts as missing, because only a list that is
/// written as `[]` is empty.
impl<V: Scalar> Value for Vec<V> {
    fn get(table: &mut Table<'_, '_, '_>, key: &str) -> Option<(Self, Located<Items>)> {
        let (at, value) = table.value(key)?;
        let path = table.path_of(key);
        let Some(elements) = value.as_array() else {
            if V::ALONE && value.is_str() {
                let only: V = table.read(value, at, &path)?;
                let item = Located { value: only.plain(), at, key: path.clone() };
                return Some((vec![only], Located { value: vec![item], at, key: path }));
            }
            let only = value.as_str().and_then(|text| V::parse(text).ok());
            let remedy = match only {
                Some(only) => format!("write {key} = [{}]", Scalar::shown(&only)),
                None => format!("write for example {key} = [{}]", V::elements()),
            };
            table.problems.add(at, &path, value::mismatch("an array", value, remedy));
            return None;
        };
        let (mut values, mut items) = (Self::new(), Items::new());
        for (index, element) in elements.iter().enumerate() {
            let (at, key) = (table.problems.place(element.span()), format!("{path}[{index}]"));
            if let Some(value) = table.read::<V>(element.get_ref(), at, &key) {
                items.push(Located { value: value.plain(), at, key });
                values.push(value);
            }
        }
        let unreadable = values.is_empty() && !elements.is_empty();
        (!unreadable).then_some((values, Located { value: items, at, key: path }))
    }

    fn shown(&self) -> String {
        format!("[{}]", self.iter().map(Scalar::shown).collect::<Vec<String>>().join(", "))
    }

    fn schema() -> serde_json::Value {
        let list = json!({"type": "array", "items": V::schema(None)});
        if V::ALONE { json!({"anyOf": [V::schema(None), list]}) } else { list }
    }
}

/// A table of names and values of one kind.
impl<V: Scalar> Value for BTreeMap<String, V> {
    fn get(table: &mut Table<'_, '_, '_>, key: &str) -> Option<(Self, Located<Items>)> {
        let (at, value) = table.value(key)?;
        let path = table.path_of(key);
        let Some(entries) = value.as_table() else {
            let remedy = format!("write for example {key} = {{ by-node = {} }}", V::example());
            table.problems.add(at, &path, value::mismatch("a table", value, remedy));
            return None;
        };
        let (mut values, mut items) = (Self::new(), Items::new());
        for (name, value) in entries {
            let name = match Name::parse(name.get_ref()) {
                Ok(Name(name)) => name,
                Err(fault) => {
                    let at = table.problems.place(name.span());
                    table.problems.add(at, &path, fault);
                    continue;
                }
            };
            let (at, key) = (table.problems.place(value.span()), format!("{path}.{name}"));
            if let Some(value) = table.read(value.get_ref(), at, &key) {
                items.push(Located { value: name.clone(), at, key });
                values.insert(name, value);
            }
        }
        Some((values, Located { value: items, at, key: path }))
    }

    fn shown(&self) -> String {
        let entries = self.iter().map(|(name, value)| format!("{name} = {}", Scalar::shown(value)));
        format!("{{{}}}", entries.collect::<Vec<String>>().join(", "))
    }

    fn schema() -> serde_json::Value {
        json!({"type": "object", "additionalProperties": V::schema(None)})
    }
}

/// `plugin.deployment-logger` if the element has a valid name, else `plugin[0]`.
fn element_path(path: &str, index: usize, element: &DeTable<'_>) -> String {
    match element.get("name").and_then(|name| name.get_ref().as_str()).filter(|name| is_namespace(name)) {
        Some(name) => format!("{path}.{name}"),
        None => format!("{path}[{index}]"),
    }
}
