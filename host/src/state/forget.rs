//! Deletes all data of a plugin.

use std::{convert::Infallible, sync::Arc};

use informer_dispatch::{DeadLetter, workqueue::DroppedKey};

use super::{State, StateError, key_values, letters, receipts};

/// Deletes the key-values, the dead letters and the receipts of a plugin.
///
/// # Errors
/// [`StateError`] if the database does not work. Then nothing is deleted.
///
/// # Cancel safety
/// As [`State::write`].
pub async fn forget(state: &State, plugin: &str) -> Result<(), StateError> {
    let owner: Arc<str> = plugin.into();
    let name = Arc::clone(&owner);
    let forgotten = state.write(&owner, 0, move |transaction| {
        key_values::forget(transaction, &name)?;
        letters::forget::<DeadLetter>(transaction, &name)?;
        letters::forget::<DroppedKey>(transaction, &name)?;
        receipts::forget(transaction, &name)?;
        Ok(Ok::<(), Infallible>(()))
    });
    forgotten.await?.map_err(|never| match never {})
}

#[cfg(test)]
mod tests {
    use informer_runtime::capabilities::{KeyValueSource, Place, Quota};

    use super::*;
    use crate::state::KeyValues;

    const QUOTA: Quota = Quota(10);

    fn place(plugin: &str, bucket: &str) -> Place {
        Place { plugin: plugin.into(), bucket: bucket.into() }
    }

    async fn set(kept: &KeyValues, plugin: &str, bucket: &str, value: &[u8]) {
        let change = vec![("k".to_owned(), Some(value.to_vec()))];
        kept.change(place(plugin, bucket), change, QUOTA).await.unwrap();
    }

    async fn get(kept: &KeyValues, plugin: &str, bucket: &str) -> Option<Vec<u8>> {
        kept.get(place(plugin, bucket), vec!["k".to_owned()], usize::MAX).await.unwrap().remove(0)
    }

    #[tokio::test]
    async fn the_data_of_a_plugin_is_deleted_and_that_of_others_stays() {
        let state = State::open(None);
        let kept = KeyValues::new(state.clone());
        let plugins = ["shop/a", "shop/a-b", "shop/a\u{1}", "shop"];
        for plugin in plugins {
            set(&kept, plugin, "b", b"12345").await;
            set(&kept, plugin, "c", b"1").await;
        }

        forget(&state, "shop/a").await.unwrap();
        forget(&state, "never").await.unwrap();

        assert_eq!((get(&kept, "shop/a", "b").await, get(&kept, "shop/a", "c").await), (None, None));
        // The quota is free again.
        set(&kept, "shop/a", "b", b"12345678").await;
        for other in &plugins[1..] {
            assert_eq!(get(&kept, other, "b").await.unwrap(), b"12345");
        }
    }
}
