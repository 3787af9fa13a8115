//! Comparisons of fields with texts, such as `object.status.phase == "Failed"`, without values of CEL.
//!
//! Many conditions consist of such comparisons only. The interpreter would build values, maps and a context for them, which takes
//! longer than finding the fields.

use cel::common::ast::{CallExpr, Expr, IdedExpr, LiteralValue, operators};
use informer_types::{Pointer, locate};

/// An expression that compares fields of `object` with texts by `==` and `!=`, and connects the comparisons by `&&` and `||`.
pub(super) struct Comparisons {
    /// The field of each comparison.
    fields: Vec<Pointer>,
    root: Node,
}

enum Node {
    /// Compares the field at this index with a text. If `is_equal` is false, the field and the text have to differ.
    Compare {
        field: usize,
        text: String,
        is_equal: bool,
    },
    And(Box<[Self; 2]>),
    Or(Box<[Self; 2]>),
}

// === impl Comparisons ===

impl Comparisons {
    /// Returns `None` if the expression contains anything else.
    pub(super) fn new(expression: &IdedExpr) -> Option<Self> {
        let mut fields = Vec::new();
        let root = Node::new(expression, &mut fields)?;
        Some(Self { fields, root })
    }

    /// The answer of the interpreter for the object with this JSON text. Returns `None` if a field is absent, is no text, or has an
    /// escape: the interpreter has to answer then, possibly with an error.
    pub(super) fn holds(&self, json: &str) -> Option<bool> {
        let found = locate(json, &self.fields).ok()?;
        let texts: Option<Vec<&str>> = found.into_iter().map(|range| plain(json.get(range?)?)).collect();
        self.root.holds(&texts?)
    }
}

// === impl Node ===

impl Node {
    fn new(expression: &IdedExpr, fields: &mut Vec<Pointer>) -> Option<Self> {
        let Expr::Call(CallExpr { func_name, target: None, args }) = &expression.expr else { return None };
        let [left, right] = args.as_slice() else { return None };
        match func_name.as_str() {
            operators::LOGICAL_AND => {
                Some(Self::And(Box::new([Self::new(left, fields)?, Self::new(right, fields)?])))
            }
            operators::LOGICAL_OR => {
                Some(Self::Or(Box::new([Self::new(left, fields)?, Self::new(right, fields)?])))
            }
            name @ (operators::EQUALS | operators::NOT_EQUALS) => {
                let (pointer, text) = compared(left, right).or_else(|| compared(right, left))?;
                fields.push(pointer);
                Some(Self::Compare { field: fields.len() - 1, text, is_equal: name == operators::EQUALS })
            }
            _ => None,
        }
    }

    /// The answer for the texts of the fields.
    fn holds(&self, texts: &[&str]) -> Option<bool> {
        Some(match self {
            Self::Compare { field, text, is_equal } => {
                let is_same = *texts.get(*field)? == text.as_str();
                is_same == *is_equal
            }
            Self::And(both) => {
                let [left, right] = &**both;
                left.holds(texts)? && right.holds(texts)?
            }
            Self::Or(both) => {
                let [left, right] = &**both;
                left.holds(texts)? || right.holds(texts)?
            }
        })
    }
}

/// The content of a JSON string without escapes.
fn plain(json: &str) -> Option<&str> {
    let text = json.strip_prefix('"')?.strip_suffix('"')?;
    (!text.contains('\\')).then_some(text)
}

/// The field and the text that it is compared with.
fn compared(field: &IdedExpr, text: &IdedExpr) -> Option<(Pointer, String)> {
    let Expr::Literal(LiteralValue::String(text)) = &text.expr else { return None };
    Some((Pointer::of(path(field)?), text.inner().to_owned()))
}

/// The names of the fields that lead from `object` to this field.
fn path(expression: &IdedExpr) -> Option<Vec<&str>> {
    match &expression.expr {
        Expr::Ident(name) if name == "object" => Some(Vec::new()),
        Expr::Select(select) if !select.test => {
            let mut names = path(&select.operand)?;
            // A pointer finds an element of a list by digits, an expression does not.
            let is_index = select.field.starts_with(|first: char| first.is_ascii_digit());
            names.push(select.field.as_str());
            (!is_index).then_some(names)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use informer_types::Cause;
    use proptest::{collection::vec, prelude::*, sample::select};

    use super::super::{Compiled, When, WhenError};

    fn when(text: &str) -> When {
        text.parse().unwrap()
    }

    /// The answer without the interpreter.
    fn compared(text: &str, json: &str) -> Option<bool> {
        when(text).0.comparisons.as_ref().and_then(|comparisons| comparisons.holds(json))
    }

    fn interpreted(text: &str, json: &str) -> Result<bool, WhenError> {
        let compiled = Arc::into_inner(when(text).0).unwrap();
        let interpreted = When(Arc::new(Compiled { comparisons: None, ..compiled }));
        interpreted.evaluate_texts(Some(json), None, ("", Cause::Live))
    }

    #[test]
    fn fields_are_compared_with_texts() {
        let json = r#"{"a":[{"b":"y"}],"b":{"0":"z","c":"x"},"c":"x"}"#;
        for (text, holds) in [
            ("object.c == 'x'", true),
            ("'x' == object.b.c", true),
            ("object.b.c != 'x'", false),
            ("object.c == 'y' || object.b.c != \"y\"", true),
            ("object.c == 'x' && (object.c == 'y' || object.b.c == 'z')", false),
        ] {
            assert_eq!(compared(text, json), Some(holds), "{text}");
            assert_eq!(interpreted(text, json), Ok(holds), "{text}");
        }
    }

    #[test]
    fn the_interpreter_decides_everything_else() {
        for text in [
            "object.a == 1",
            "object.a == object.b",
            "object.a",
            "object['a'] == 'x'",
            "object.?a.orValue('x') == 'x'",
            "has(object.a)",
            "!(object.a == 'x')",
            "object.a == 'x' && has(object.b)",
            "object.a == 'x' ? true : false",
            "object.a.startsWith('x')",
            "old.a == 'x'",
            "event == 'add'",
            "object.l.exists(object, object.a == 'x')",
            "true",
        ] {
            assert!(when(text).0.comparisons.is_none(), "{text}");
        }
        for json in [
            "{}",
            r#"{"a":null}"#,
            r#"{"a":1}"#,
            r#"{"a":["x"]}"#,
            r#"{"a":"\u0078"}"#,
            r#"{"a":"x","a":{}}"#,
            r#"{"a":"x""#,
            r#"["x"]"#,
            "",
        ] {
            assert_eq!(compared("object.a == 'x'", json), None, "{json}");
        }
    }

    /// A JSON text with few names and values, so that expressions find them.
    fn json() -> impl Strategy<Value = String> {
        let scalars =
            [r#""x""#, r#""x""#, r#""y""#, r#""""#, r#""\u0078""#, "null", "true", "1", "[]", r#"["x"]"#];
        let value = select(scalars.to_vec()).prop_map(str::to_owned);
        value.prop_recursive(3, 24, 4, |value| {
            vec((select(vec!["a", "b", "\\u0061"]), value), 0..4).prop_map(|members| {
                let members: Vec<String> =
                    members.iter().map(|(name, value)| format!("\"{name}\": {value}")).collect();
                format!("{{{}}}", members.join(","))
            })
        })
    }

    fn expression() -> impl Strategy<Value = String> {
        let fields = vec!["object", "object.a", "object.b", "object.a.a", "object.a.b", "object.b.a.b"];
        let texts = vec!["'x'", "'y'", "''"];
        let comparison = (select(fields), select(vec!["==", "!="]), select(texts), any::<bool>());
        let comparison = comparison.prop_map(|(field, operator, text, is_first)| {
            if is_first { format!("{field} {operator} {text}") } else { format!("{text} {operator} {field}") }
        });
        comparison.prop_recursive(3, 8, 2, |operand| {
            (operand.clone(), select(vec!["&&", "||"]), operand)
                .prop_map(|(left, operator, right)| format!("({left}) {operator} ({right})"))
        })
    }

    proptest! {
        #[test]
        fn an_answer_is_the_answer_of_the_interpreter(
            text in expression(),
            body in json(),
            cut in prop::option::weighted(0.1, any::<prop::sample::Index>()),
        ) {
            let body = cut.map_or(body.as_str(), |cut| &body[..cut.index(body.len())]);
            let condition = when(&text);
            if let Some(answer) = condition.0.comparisons.as_ref().unwrap().holds(body) {
                prop_assert_eq!(interpreted(&text, body), Ok(answer), "{}: {}", text, body);
            }
        }
    }
}
