//! One object in a cache, written as the controller writes it: the store first, then the listeners, all under
//! the informer's lock (C-5, C-10).

use std::{sync::Arc, time::Instant};

use informer_types::{Cause, Change, Object, Tracer};
use parking_lot::RwLock;

use crate::{
    objects::{object, source},
    processor::Processor,
};

/// The store and its processor.
pub(crate) struct Store {
    pub(crate) processor: Arc<Processor>,
    object: RwLock<Option<Arc<Object>>>,
}

impl Default for Store {
    fn default() -> Self {
        Self {
            processor: Arc::new(Processor::new(source(), None, Tracer::default())),
            object: RwLock::default(),
        }
    }
}

impl Store {
    pub(crate) fn objects(&self) -> Vec<Arc<Object>> {
        self.object.read().iter().cloned().collect()
    }

    pub(crate) fn write(&self, version: usize, cause: Cause) {
        let mut listeners = self.processor.lock();
        let new = object(0, version);
        let old = self.object.write().replace(Arc::clone(&new));
        let change = match old {
            None => Change::Added { object: new },
            Some(old) => Change::Updated { old, new },
        };
        listeners.distribute(&change, cause, &Instant::now().into());
    }
}
