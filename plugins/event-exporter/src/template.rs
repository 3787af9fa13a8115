//! Templates in the syntax of Go's `text/template`, with the functions of sprig that configurations of event exporters use.
//!
//! A template is bounded: each operation costs steps by the size of its result, and the steps and the output have limits. A
//! template that loops or doubles a value fails, and the next event is rendered.

mod error;
mod functions;
mod lex;
mod lists;
mod parse;
mod run;
mod strings;
mod values;

use serde_json::Value;

pub(crate) use error::TemplateError;
use parse::Node;
use run::Method;

/// A parsed template.
#[derive(Debug, Clone)]
pub(crate) struct Template {
    nodes: Vec<Node>,
}

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

#[cfg(test)]
mod tests;
