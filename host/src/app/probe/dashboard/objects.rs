//! Cached objects by a part of their key.

use std::collections::BinaryHeap;

use informer_cache::SharedInformer;

use crate::admin::dashboard::{Objects, ObjectsQuery};

/// The most keys of an answer.
const KEYS: usize = 50;

pub(super) fn find(informers: &[SharedInformer], query: &ObjectsQuery) -> Result<Objects, String> {
    let ObjectsQuery { gvr, text } = query;
    let informer = informers.iter().find(|informer| informer.key().gvr.to_string() == *gvr);
    let informer = informer.ok_or_else(|| format!("`{gvr}` is not watched for any plugin"))?;
    let cached = informer.cached();
    let found =
        cached.iter().map(|object| (object.namespace(), object.name())).filter(|key| fits(*key, text));
    let (matching, first) = count_and_first(found);
    let shown = |(namespace, name): (&str, &str)| match namespace {
        "" => name.to_owned(),
        namespace => format!("{namespace}/{name}"),
    };
    Ok(Objects { matching, keys: first.into_iter().map(shown).collect() })
}

/// Returns true if `namespace/name` contains the text. Neither part has a slash of its own.
fn fits((namespace, name): (&str, &str), text: &str) -> bool {
    match text.split_once('/') {
        None => name.contains(text) || namespace.contains(text),
        Some((end, start)) => !namespace.is_empty() && namespace.ends_with(end) && name.starts_with(start),
    }
}

/// The number of all keys, and the first of them in their order. Only those are kept while it looks.
fn count_and_first<T: Ord>(keys: impl Iterator<Item = T>) -> (usize, Vec<T>) {
    let (mut count, mut first) = (0, BinaryHeap::with_capacity(KEYS));
    for key in keys {
        count += 1;
        if first.len() < KEYS {
            first.push(key);
        } else if let Some(mut last) = first.peek_mut()
            && key < *last
        {
            *last = key;
        }
    }
    (count, first.into_sorted_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_key_may_span_the_slash() {
        for text in ["", "we", "web", "sho", "op/we", "shop/web", "/web", "/", "shop/"] {
            assert!(fits(("shop", "web"), text), "{text}");
        }
        for text in ["x", "shopw", "op/eb", "pay/web", "shop/web/", "shop/webs"] {
            assert!(!fits(("shop", "web"), text), "{text}");
        }
        // The key of an object without a namespace has no slash.
        assert!(fits(("", "node-1"), "node") && !fits(("", "node-1"), "/node"));
    }

    #[test]
    fn the_first_keys_are_in_order_and_all_are_counted() {
        let numbers = (0..1_000).map(|number| number * 7 % 1_000);
        assert_eq!(count_and_first(numbers), (1_000, (0..50).collect()));
        assert_eq!(count_and_first([3, 1, 2].into_iter()), (3, vec![1, 2, 3]));
    }
}
