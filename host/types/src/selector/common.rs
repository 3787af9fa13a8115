//! Combines selectors.

use super::{
    LabelSelector,
    requirement::{Operator, Requirement},
};

impl LabelSelector {
    /// The requirements that both selectors share. The result selects everything that either selector selects, and as
    /// little else as label requirements can express. `app in (a)` and `app in (b)` give `app in (a, b)`; `app=a` and
    /// `app` give `app`.
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

    /// The requirements of both selectors.
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
    /// The narrowest form of this requirement that every object selected by `other` also meets. Returns `None` if there
    /// is none but "anything".
    fn weakened(&self, other: &LabelSelector) -> Option<Self> {
        let same_key = other.0.iter().filter(|requirement| requirement.key == self.key);
        let operators = same_key.filter_map(|theirs| self.operator.either(&theirs.operator));
        let operator = operators.min_by_key(Operator::width)?;
        Some(Self { key: self.key.clone(), operator })
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
    fn the_common_selector_is_as_narrow_as_labels_can_express() {
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
    fn joining_two_selectors_repeats_no_requirement() {
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
        /// A narrowed watch is sound: it leaves out no object that a subscription selects.
        #[test]
        fn the_common_selector_selects_whatever_one_of_them_selects(
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
