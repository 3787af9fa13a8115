//! The dead letter of a plugin's own key.

use std::sync::Arc;

use informer_dispatch::workqueue::DroppedKey;
use redb::{TableDefinition, Value};

use super::{GivenUp, Of, Written};

impl Written for DroppedKey {
    /// Plugin and key.
    type Place = (&'static str, &'static str);
    type Row = GivenUp;
    const TABLE: TableDefinition<'static, Self::Place, &'static [u8]> = TableDefinition::new("dropped-keys");

    fn place(of: Of<'_>) -> <Self::Place as Value>::SelfType<'_> {
        (of.plugin, of.key)
    }

    fn of((plugin, key): <Self::Place as Value>::SelfType<'_>) -> Of<'_> {
        Of { plugin, resource: "", key }
    }

    fn words(key: &Arc<str>) -> (String, String) {
        (String::new(), key.to_string())
    }

    fn row(&self) -> GivenUp {
        GivenUp::new(self.attempts, &self.failure, self.at)
    }

    fn read(row: GivenUp, of: Of<'_>) -> Option<Self> {
        Some(Self { key: of.key.into(), attempts: row.attempts, failure: row.failure()?, at: row.at()? })
    }
}
