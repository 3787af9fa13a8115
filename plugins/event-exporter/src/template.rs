//! Templates in the syntax of Go's `text/template`, with the functions of sprig that configurations of event exporters use.
//!
//! A template is bounded: each operation costs steps by the size of its result, and the steps and the output have limits. A
//! template that loops or doubles a value fails, and the next event is rendered.

mod functions;
mod lex;
mod lists;
mod parse;
mod run;
mod strings;
mod values;

use serde_json::Value;

use parse::Node;

/// What is wrong with a template, for the operator.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct TemplateError(String);

/// A parsed template.
#[derive(Debug, Clone)]
pub(crate) struct Template {
    nodes: Vec<Node>,
}

/// The value of a name that an object has by its type, such as a method of Go. The first argument is the object.
pub(crate) type Method = fn(&Value, &str) -> Option<Value>;

// === impl Template ===

impl Template {
    pub(crate) fn parse(text: &str) -> Result<Self, TemplateError> {
        Ok(Self { nodes: parse::parse(lex::pieces(text)?)? })
    }

    /// Returns true if the template renders the same text for every value.
    pub(crate) fn is_constant(&self) -> bool {
        self.nodes.iter().all(|node| matches!(node, Node::Text(_)))
    }

    /// Renders the template with this value as `.` and `$`.
    pub(crate) fn render(&self, root: &Value, method: Method) -> Result<String, TemplateError> {
        run::render(&self.nodes, root, method)
    }
}

// === impl TemplateError ===

impl TemplateError {
    fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

#[cfg(test)]
mod tests;
