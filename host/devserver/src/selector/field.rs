//! Field selectors: `status.phase!=Running,spec.nodeName=n1`.

use super::InvalidSelector;

/// A conjunction of equalities and inequalities over selectable fields.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FieldSelector {
    requirements: Vec<Requirement>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Requirement {
    path: String,
    equal: bool,
    value: String,
}

// === impl FieldSelector ===

impl FieldSelector {
    /// Parses `path=value`, `path==value` and `path!=value`, separated by commas. In a value, `\` escapes a comma, an
    /// equals sign or itself.
    ///
    /// # Errors
    /// [`InvalidSelector`] for any other form, and for a field that `selectable` does not contain.
    pub(crate) fn parse(text: &str, selectable: &[String]) -> Result<Self, InvalidSelector> {
        let mut requirements = Vec::new();
        for term in split_terms(text) {
            if term.trim().is_empty() {
                continue;
            }
            let requirement = Requirement::parse(&term)?;
            let known = ["metadata.name", "metadata.namespace"].contains(&requirement.path.as_str())
                || selectable.contains(&requirement.path);
            if !known {
                let path = &requirement.path;
                return Err(InvalidSelector(format!("field label not supported: {path}")));
            }
            requirements.push(requirement);
        }
        Ok(Self { requirements })
    }

    /// The same selector with other names of the fields.
    pub(crate) fn renamed(mut self, name: impl Fn(&str) -> String) -> Self {
        for requirement in &mut self.requirements {
            requirement.path = name(&requirement.path);
        }
        self
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    pub(crate) fn matches<'a>(&self, value_of: impl Fn(&str) -> &'a str) -> bool {
        self.requirements.iter().all(|one| (value_of(&one.path) == one.value) == one.equal)
    }
}

// === impl Requirement ===

impl Requirement {
    fn parse(term: &str) -> Result<Self, InvalidSelector> {
        // The first operator of the term counts; `!=` and `==` take precedence over `=`.
        let at = term.find('=').ok_or_else(|| {
            InvalidSelector(format!("invalid selector: '{term}'; can't understand '{term}'"))
        })?;
        let (left, right) = term.split_at(at);
        let right = right.strip_prefix("==").or_else(|| right.strip_prefix('=')).unwrap_or(right);
        let (path, equal) = match left.strip_suffix('!') {
            Some(path) => (path, false),
            None => (left, true),
        };
        Ok(Self { path: path.trim().to_owned(), equal, value: unescape(right)? })
    }
}

fn split_terms(text: &str) -> Vec<String> {
    let mut terms = vec![String::new()];
    let mut escaped = false;
    for c in text.chars() {
        if c == ',' && !escaped {
            terms.push(String::new());
            continue;
        }
        escaped = c == '\\' && !escaped;
        if let Some(term) = terms.last_mut() {
            term.push(c);
        }
    }
    terms
}

fn unescape(value: &str) -> Result<String, InvalidSelector> {
    let mut plain = String::new();
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(c @ ('\\' | ',' | '=')) => plain.push(c),
                _ => return Err(InvalidSelector(format!("invalid field selector value: '{value}'"))),
            },
            '=' => return Err(InvalidSelector(format!("invalid field selector value: '{value}'"))),
            c => plain.push(c),
        }
    }
    Ok(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<FieldSelector, InvalidSelector> {
        FieldSelector::parse(text, &["status.phase".to_owned()])
    }

    fn matches(text: &str, phase: &str) -> bool {
        let phase = phase.to_owned();
        parse(text).unwrap().matches(|path| if path == "status.phase" { &phase } else { "" })
    }

    #[test]
    fn every_field_operator_is_supported() {
        assert!(matches("status.phase=Running", "Running"));
        assert!(matches("status.phase==Running", "Running"));
        assert!(matches("status.phase!=Running", "Pending"));
        assert!(!matches("status.phase!=Running", "Running"));
        assert!(matches("metadata.name=,status.phase=Running", "Running"));
        assert!(matches("", "anything"));
    }

    #[test]
    fn an_escaped_comma_belongs_to_the_value() {
        assert!(matches(r"status.phase=a\,b", "a,b"));
        assert!(matches(r"status.phase=a\=b", "a=b"));
    }

    #[test]
    fn invalid_selectors_and_unknown_fields_are_refused() {
        assert!(parse("status.phase").is_err());
        assert!(parse("spec.color=red").unwrap_err().to_string().contains("field label not supported"));
        assert!(parse(r"status.phase=a\b").is_err());
        assert!(parse("status.phase=a=b").is_err());
    }
}
