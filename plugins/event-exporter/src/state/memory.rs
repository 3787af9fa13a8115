//! A store of the tests, in memory.

use std::{cell::RefCell, collections::BTreeMap, rc::Rc};

use super::{StateError, Store};

/// Clones share their content.
#[derive(Debug, Clone, Default)]
pub(crate) struct Memory {
    pub(crate) entries: Rc<RefCell<BTreeMap<String, Vec<u8>>>>,
    pub(crate) is_full: Rc<RefCell<bool>>,
}

impl Memory {
    pub(crate) fn names(&self) -> Vec<String> {
        self.entries.borrow().keys().cloned().collect()
    }
}

impl Store for Memory {
    fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StateError> {
        Ok(self.entries.borrow().get(key).cloned())
    }

    fn set(&self, entries: &[(String, Vec<u8>)]) -> Result<(), StateError> {
        if *self.is_full.borrow() {
            return Err(StateError("quota exceeded".to_owned()));
        }
        self.entries.borrow_mut().extend(entries.iter().cloned());
        Ok(())
    }

    fn delete(&self, keys: &[String]) -> Result<(), StateError> {
        self.entries.borrow_mut().retain(|key, _| !keys.contains(key));
        Ok(())
    }

    /// Pages of two keys, so that tests cross their borders.
    fn keys(&self, cursor: Option<u64>) -> Result<(Vec<String>, Option<u64>), StateError> {
        let before = usize::try_from(cursor.unwrap_or_default()).unwrap();
        let names: Vec<String> = self.names().into_iter().skip(before).collect();
        let next = (names.len() > 2).then_some((before + 2) as u64);
        Ok((names.into_iter().take(2).collect(), next))
    }
}
