//! What several selectors have in common.

use std::collections::BTreeSet;

use super::{LabelSelector, Operator, Requirement};

impl LabelSelector {
    /// What both demand: a selector that selects whatever either of the two does, and as little else as can be said
    /// label by label. `app in (a)` and `app in (b)` have `app in (a, b)` in common; `app=a` and `app` have `app`.
    #[must_use]
    pub fn common(&self, other: &Self) -> Self {
        let mut common = Self::default();
        for requirement in &self.0 {
            common.add(requirement.weakened(other));
        }
        for requirement in &other.0 {
            common.add(requirement.weakened(self));
        }
        common
    }

    /// What satisfies both.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        for requirement in &other.0 {
            self.add(Some(requirement.clone()));
        }
        self
    }

    fn add(&mut self, requirement: Option<Requirement>) {
        self.0.extend(requirement.filter(|requirement| !self.0.contains(requirement)));
    }
}

impl Requirement {
    /// The narrowest form of this requirement that whatever `other` selects satisfies too; none: there is none but
    /// "anything".
    fn weakened(&self, other: &LabelSelector) -> Option<Self> {
        let same_key = other.0.iter().filter(|requirement| requirement.key == self.key);
        let operators = same_key.filter_map(|theirs| self.operator.either(&theirs.operator));
        let operator = operators.min_by_key(Operator::width)?;
        Some(Self { key: self.key.clone(), operator })
    }
}

impl Operator {
    /// What holds wherever one of the two does.
    fn either(&self, other: &Self) -> Option<Self> {
        match (self, other) {
            (Self::In(one), Self::In(two)) => Some(Self::In(one | two)),
            (Self::In(_) | Self::Exists, Self::In(_) | Self::Exists) => Some(Self::Exists),
            (Self::In(values), Self::NotIn(not)) | (Self::NotIn(not), Self::In(values)) => {
                Self::none_of(not - values)
            }
            (Self::NotIn(one), Self::NotIn(two)) => Self::none_of(one & two),
            (Self::DoesNotExist, Self::DoesNotExist) => Some(Self::DoesNotExist),
            (Self::NotIn(not), Self::DoesNotExist) | (Self::DoesNotExist, Self::NotIn(not)) => {
                Self::none_of(not.clone())
            }
            // One is where the label is there, the other where it is not; or there with any value.
            (Self::Exists | Self::In(_), Self::DoesNotExist)
            | (Self::DoesNotExist, Self::Exists | Self::In(_))
            | (Self::Exists, Self::NotIn(_))
            | (Self::NotIn(_), Self::Exists) => None,
        }
    }

    fn none_of(values: BTreeSet<String>) -> Option<Self> {
        (!values.is_empty()).then_some(Self::NotIn(values))
    }

    /// The lower, the less it lets through.
    fn width(&self) -> (u8, usize) {
        match self {
            Self::DoesNotExist => (0, 0),
            Self::In(values) => (0, values.len()),
            Self::Exists => (1, 0),
            Self::NotIn(values) => (2, usize::MAX - values.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*, sample::select};

    use super::*;

    fn common(selectors: &[&str]) -> String {
        let mut selectors = selectors.iter().map(|text| text.parse::<LabelSelector>().unwrap());
        let first = selectors.next().unwrap();
        selectors.fold(first, |common, selector| common.common(&selector)).to_string()
    }

    #[test]
    fn what_both_demand_is_as_narrow_as_it_can_be_said() {
        for (selectors, expected) in [
            (&["app=web", "app=web"][..], "app in (web)"),
            (&["app=web,tier=front", "app=web,tier=back"], "app in (web),tier in (back,front)"),
            (&["app=web,tier=front", "app=web"], "app in (web)"),
            (&["app=web", "tier=front"], ""),
            (&["app=web", ""], ""),
            (&["app=web", "app"], "app"),
            (&["app", "!app"], ""),
            (&["!app", "app notin (a,b)"], "app notin (a,b)"),
            (&["app notin (a,b)", "app=b"], "app notin (a)"),
            (&["app notin (a,b)", "app notin (b,c)"], "app notin (b)"),
            (&["app!=a", "app"], ""),
            (&["app=a", "app=b", "app=c,x"], "app in (a,b,c)"),
            (&["app=a,x", "app in (a,b),x", "x,y"], "x"),
            (&["app notin (a,b)", "!app", "app=c"], "app notin (a,b)"),
        ] {
            assert_eq!(common(selectors), expected, "{selectors:?}");
        }
    }

    #[test]
    fn both_together_say_nothing_twice() {
        let (one, two): (LabelSelector, LabelSelector) =
            ("a,b=c".parse().unwrap(), "b=c,!d".parse().unwrap());
        assert_eq!(one.and(&two).to_string(), "a,b in (c),!d");
    }

    fn selectors() -> impl Strategy<Value = LabelSelector> {
        let values = vec(select(vec!["x", "y", "z"]), 1..3).prop_map(|values| values.join(","));
        let term = (select(vec!["a", "b"]), 0..4, values).prop_map(|(key, kind, values)| match kind {
            0 => key.to_owned(),
            1 => format!("!{key}"),
            2 => format!("{key} in ({values})"),
            _ => format!("{key} notin ({values})"),
        });
        vec(term, 0..4).prop_map(|terms| terms.join(",").parse().unwrap())
    }

    proptest! {
        /// The soundness of a narrowed watch: nothing that a subscription wants is left out.
        #[test]
        fn whatever_one_selects_their_common_part_selects(
            selectors in vec(selectors(), 1..4),
            a in select(vec![None, Some("x"), Some("y"), Some("w")]),
            b in select(vec![None, Some("x"), Some("z")]),
        ) {
            let labels = |key: &str| if key == "a" { a } else { b };
            let first = selectors[0].clone();
            let common = selectors.iter().fold(first, |common, selector| common.common(selector));
            if selectors.iter().any(|selector| selector.matches(labels)) {
                prop_assert!(common.matches(labels), "{common}");
            }
            if selectors.len() == 1 {
                prop_assert_eq!(common.matches(labels), selectors[0].matches(labels));
            }
        }
    }
}
