//! A store of key-values in memory, which checks that its caller is the plugin.

use std::collections::BTreeMap;

use futures::future::ready;
use informer_runtime::capabilities::{Kept, KeyValueError, KeyValueSource, Place, Quota};
use parking_lot::Mutex;

use super::plugin::{PLUGIN, QUOTA};

/// The values by bucket and key.
#[derive(Default)]
pub(super) struct KeyValues(Mutex<BTreeMap<(String, String), Vec<u8>>>);

fn at(place: &Place, key: &str) -> (String, String) {
    assert_eq!(&*place.plugin, PLUGIN);
    (place.bucket.to_string(), key.to_owned())
}

impl KeyValueSource for KeyValues {
    fn get(&self, place: Place, keys: Vec<String>, most_bytes: usize) -> Kept<'_, Vec<Option<Vec<u8>>>> {
        let kept = self.0.lock();
        let values: Vec<_> = keys.iter().map(|key| kept.get(&at(&place, key)).cloned()).collect();
        let bytes: usize = values.iter().flatten().map(Vec::len).sum();
        let fits =
            if bytes > most_bytes { Err(KeyValueError::TooLarge { limit: most_bytes }) } else { Ok(values) };
        Box::pin(ready(fits))
    }

    fn exists(&self, place: Place, key: String) -> Kept<'_, bool> {
        Box::pin(ready(Ok(self.0.lock().contains_key(&at(&place, &key)))))
    }

    fn keys(&self, place: Place, after: Option<String>, most: usize) -> Kept<'_, Vec<String>> {
        let kept = self.0.lock();
        let first = at(&place, "");
        let keys = kept.keys().filter(|(bucket, _)| *bucket == first.0).map(|(_, key)| key);
        let later = keys.filter(|key| after.as_ref().is_none_or(|after| *key > after));
        Box::pin(ready(Ok(later.take(most).cloned().collect())))
    }

    fn change(&self, place: Place, changes: Vec<(String, Option<Vec<u8>>)>, quota: Quota) -> Kept<'_, ()> {
        assert_eq!(quota, Quota(QUOTA));
        let mut kept = self.0.lock();
        for (key, value) in changes {
            let key = at(&place, &key);
            match value {
                Some(value) => drop(kept.insert(key, value)),
                None => drop(kept.remove(&key)),
            }
        }
        Box::pin(ready(Ok(())))
    }

    fn increment(&self, place: Place, key: String, delta: u64, quota: Quota) -> Kept<'_, u64> {
        assert_eq!(quota, Quota(QUOTA));
        let mut kept = self.0.lock();
        let value = kept.entry(at(&place, &key)).or_insert_with(|| b"0".to_vec());
        let number: Option<u64> = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
        let sum =
            number.and_then(|number| number.checked_add(delta)).ok_or(KeyValueError::NotANumber { key });
        if let Ok(sum) = &sum {
            *value = sum.to_string().into_bytes();
        }
        Box::pin(ready(sum))
    }
}
