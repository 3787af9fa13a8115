//! Parts of objects as a tree.

use std::collections::BTreeMap;

use super::{DigestForm, Part, Pointer, locate::MAX_DEPTH};

/// Parts of an object, for one pass over its text: each value is a part, or has members that lead to parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartTree {
    /// The value is a part: the whole value, or a digest of it.
    Part(Option<DigestForm>),
    /// These members of the value lead to parts. A value that is no JSON object, such as an array, has no members: a reader that needs
    /// its type, or the indexes of its elements, reads it whole.
    Members(BTreeMap<String, Self>),
}

// === impl PartTree ===

impl PartTree {
    /// The tree of the [union](Part::union) of these parts. The pointer to the whole object gives a tree without members. Without
    /// parts, no member leads to a part. A pointer of more than 256 tokens stands for the value at the 256th, because each level of the
    /// tree takes stack.
    pub fn new(parts: impl IntoIterator<Item = Part>) -> Self {
        let shortened = |part: Part| match part.pointer().tokens().get(..MAX_DEPTH) {
            Some(tokens) if tokens.len() < part.pointer().tokens().len() => Part::from(Pointer::of(tokens)),
            _ => part,
        };
        let mut tree = Self::Members(BTreeMap::new());
        for part in Part::union(parts.into_iter().map(shortened)) {
            tree.insert(part.pointer().tokens(), part.digest());
        }
        tree
    }

    fn insert(&mut self, tokens: &[String], digest: Option<DigestForm>) {
        match (self, tokens) {
            (tree, []) => *tree = Self::Part(digest),
            (Self::Members(members), [first, rest @ ..]) => {
                let below = members.entry(first.clone()).or_insert_with(|| Self::Members(BTreeMap::new()));
                below.insert(rest, digest);
            }
            // A union has no part of a part.
            (Self::Part(_), _) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(parts: &[&str]) -> PartTree {
        PartTree::new(parts.iter().map(|part| part.parse().unwrap()))
    }

    fn members<const N: usize>(members: [(&str, PartTree); N]) -> PartTree {
        PartTree::Members(members.into_iter().map(|(name, tree)| (name.to_owned(), tree)).collect())
    }

    #[test]
    fn each_member_is_a_part_or_leads_to_parts() {
        let value = || PartTree::Part(None);
        let digest = PartTree::Part(Some(DigestForm::Sha256));

        assert_eq!(tree(&[]), members([]));
        assert_eq!(tree(&["", "/a"]), value());
        assert_eq!(
            tree(&["/a/b", "/c", "/a/d~1e", "/c/f"]),
            members([("a", members([("b", value()), ("d/e", value())])), ("c", value())])
        );
        assert_eq!(tree(&["sha256:/a", "/b"]), members([("a", digest), ("b", value())]));
        assert_eq!(tree(&["sha256:/a", "/a/b"]), members([("a", value())]), "the union needs the value");
    }
    /// A component may declare a pointer of 32,000 tokens.
    #[test]
    fn a_pointer_of_many_tokens_stands_for_the_value_at_the_deepest_level() {
        let mut depth = 0;
        let mut tree = tree(&[&"/a".repeat(32_000), &format!("sha256:{}", "/a".repeat(MAX_DEPTH))]);
        while let PartTree::Members(mut members) = tree {
            depth += 1;
            tree = members.remove("a").unwrap();
        }

        assert_eq!((tree, depth), (PartTree::Part(None), MAX_DEPTH));
    }
}
