//! Reads one table of the file, and notes everything that is wrong with it on the way.

use toml::de::{DeTable, DeValue};

use super::{
    json,
    name::Name,
    scalar::{self, FromText, Scalar},
    schema::Section,
};
use crate::config::problem::{Fault, Problems};

/// A value, with where it stands and what it is called, for whoever finds fault with it later.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Located<T> {
    pub(crate) value: T,
    /// The byte of the text where it starts.
    pub(crate) at: usize,
    /// `plugin.deployment-logger.on[0].watch`
    pub(crate) key: String,
}

/// A table being read. What cannot be read is noted and then missing.
pub(crate) struct Table<'d, 't, 'p> {
    entries: &'d DeTable<'d>,
    section: &'static Section,
    at: usize,
    path: String,
    problems: &'p mut Problems<'t>,
}

// === impl Located ===

impl<T> Located<T> {
    pub(super) fn new(value: T, at: usize, key: String) -> Self {
        Self { value, at, key }
    }

    /// The same place with another value.
    pub(crate) fn with<U>(&self, value: U) -> Located<U> {
        Located::new(value, self.at, self.key.clone())
    }
}

// === impl Table ===

impl<'d, 't, 'p> Table<'d, 't, 'p> {
    /// Starts to read a table; unknown keys are noted at once.
    pub(super) fn new(
        entries: &'d DeTable<'d>,
        section: &'static Section,
        (path, at): (String, usize),
        problems: &'p mut Problems<'t>,
    ) -> Self {
        let table = Self { entries, section, at, path, problems };
        for key in entries.keys() {
            if let Some(fault) = section.fault(key.get_ref()) {
                table.problems.add(key.span().start, &table.path_of(key.get_ref()), fault);
            }
        }
        table
    }

    /// Where the table itself stands.
    pub(super) fn place(&self) -> Located<()> {
        Located::new((), self.at, self.path.clone())
    }

    /// A single value.
    pub(super) fn get<T: Scalar>(&mut self, key: &'static str) -> Option<Located<T>> {
        let (at, value) = self.value(key)?;
        self.read(value, at, self.path_of(key))
    }

    /// A single value that must be there.
    pub(super) fn required<T: Scalar>(&mut self, key: &'static str) -> Option<Located<T>> {
        if !self.entries.contains_key(key) {
            let remedy = format!("write for example {key} = {}", T::example());
            let fault = Fault::new(format!("it is missing in {}", self.section.header), remedy);
            self.problems.add(self.at, &self.path_of(key), fault);
        }
        self.get(key)
    }

    /// An array of values of one kind. An element that cannot be read is missing from it; none where that
    /// is all of them, so that an empty list is one that was written so.
    pub(super) fn list<T: Scalar>(&mut self, key: &'static str) -> Option<Located<Vec<Located<T>>>> {
        let (at, value) = self.value(key)?;
        let path = self.path_of(key);
        let Some(items) = value.as_array() else {
            let remedy = format!("write for example {key} = [{}]", T::elements());
            let fault = scalar::mismatch("an array", value, remedy);
            self.problems.add(at, &path, fault);
            return None;
        };
        let read = |(index, item): (usize, &'d toml::Spanned<DeValue<'d>>)| {
            self.read(item.get_ref(), item.span().start, format!("{path}[{index}]"))
        };
        let values: Vec<Located<T>> = items.iter().enumerate().filter_map(read).collect();
        let unreadable = values.is_empty() && !items.is_empty();
        (!unreadable).then(|| Located::new(values, at, path))
    }

    /// A table of names and values of one kind.
    pub(super) fn map<T: Scalar>(&mut self, key: &'static str) -> Vec<(Name, Located<T>)> {
        let Some((at, value)) = self.value(key) else { return Vec::new() };
        let path = self.path_of(key);
        let Some(entries) = value.as_table() else {
            let remedy = format!("write for example {key} = {{ by-node = {} }}", T::example());
            self.problems.add(at, &path, scalar::mismatch("a table", value, remedy));
            return Vec::new();
        };
        let mut read = Vec::new();
        for (name, value) in entries {
            match Name::parse(name.get_ref()) {
                Ok(named) => {
                    let path = format!("{path}.{}", named.0);
                    read.extend(
                        self.read(value.get_ref(), value.span().start, path).map(|value| (named, value)),
                    );
                }
                Err(fault) => self.problems.add(name.span().start, &path, fault),
            }
        }
        read
    }

    /// A sub-table, read by `read`; none where it is not there.
    pub(super) fn table<R>(
        &mut self,
        key: &'static str,
        section: &'static Section,
        read: impl FnOnce(Table<'d, 't, '_>) -> R,
    ) -> Option<R> {
        let (at, value) = self.value(key)?;
        let path = self.path_of(key);
        match value.as_table() {
            Some(entries) => Some(read(Table::new(entries, section, (path, at), self.problems))),
            None => {
                let fault = scalar::mismatch("a table", value, format!("write {}", section.header));
                self.problems.add(at, &path, fault);
                None
            }
        }
    }

    /// The tables of an array of tables, each read by `read`; no table where the key is not there. None: the
    /// key is something else, which is noted.
    pub(super) fn tables<R>(
        &mut self,
        key: &'static str,
        section: &'static Section,
        mut read: impl FnMut(Table<'d, 't, '_>) -> R,
    ) -> Option<Vec<R>> {
        let Some((at, value)) = self.value(key) else { return Some(Vec::new()) };
        let path = self.path_of(key);
        let remedy = format!("write {}", section.header);
        let Some(items) = value.as_array() else {
            self.problems.add(at, &path, scalar::mismatch("an array of tables", value, remedy));
            return None;
        };
        let mut all = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            let at = item.span().start;
            match item.get_ref().as_table() {
                Some(entries) => {
                    let path = element_path(&path, index, entries);
                    all.push(read(Table::new(entries, section, (path, at), self.problems)));
                }
                None => {
                    let fault = scalar::mismatch("a table", item.get_ref(), remedy.clone());
                    self.problems.add(at, &format!("{path}[{index}]"), fault);
                }
            }
        }
        Some(all)
    }

    /// A free table, as JSON text.
    pub(super) fn json(&mut self, key: &'static str) -> Option<String> {
        let (at, value) = self.value(key)?;
        let path = self.path_of(key);
        if value.as_table().is_none() {
            let fault = scalar::mismatch("a table", value, format!("write [plugin.{key}]"));
            self.problems.add(at, &path, fault);
            return None;
        }
        json::text((value, at), &path, self.problems)
    }

    fn value(&self, key: &'static str) -> Option<(usize, &'d DeValue<'d>)> {
        debug_assert!(
            self.section.keys.contains(&key),
            "{key} is not in the schema of {}",
            self.section.header
        );
        self.entries.get(key).map(|value| (value.span().start, value.get_ref()))
    }

    fn read<T: Scalar>(&mut self, value: &DeValue<'_>, at: usize, key: String) -> Option<Located<T>> {
        match scalar::read(value) {
            Ok(value) => Some(Located::new(value, at, key)),
            Err(fault) => {
                self.problems.add(at, &key, fault);
                None
            }
        }
    }

    fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }
}

/// `plugin.deployment-logger` where the element has a good name, else `plugin[0]`.
fn element_path(path: &str, index: usize, element: &DeTable<'_>) -> String {
    match element.get("name").and_then(|name| name.get_ref().as_str()).filter(|name| Name::fits(name)) {
        Some(name) => format!("{path}.{name}"),
        None => format!("{path}[{index}]"),
    }
}
