//! Which parts of an object an expression reads.

use cel::common::ast::{CallExpr, Expr, IdedExpr, LiteralValue, operators};
use informer_types::Pointer;

use super::check::operands;

/// The variables that are objects. A leading dot skips loop variables.
const OBJECTS: [&str; 4] = ["object", "old", ".object", ".old"];

/// Returns pointers to all that the expression reads of `object` and `old`. Returns `None` if it reads one of them as a whole.
pub(super) fn reads(expression: &IdedExpr) -> Option<Vec<Pointer>> {
    let mut pointers = Vec::new();
    collect(expression, &mut pointers).then_some(pointers)
}

/// Returns false if the expression reads a whole object.
fn collect(expression: &IdedExpr, into: &mut Vec<Pointer>) -> bool {
    if let Expr::Call(call) = &expression.expr
        && compares_with_null(call)
    {
        return true;
    }
    match path(expression) {
        Some(tokens) if tokens.is_empty() => false,
        Some(tokens) => {
            into.push(Pointer::of(tokens));
            true
        }
        None => operands(expression).into_iter().all(|operand| collect(operand, into)),
    }
}

/// The fields that lead from an object to this expression. Returns `None` if it is something else.
fn path(expression: &IdedExpr) -> Option<Vec<&str>> {
    let (base, field) = match &expression.expr {
        Expr::Ident(name) => return OBJECTS.contains(&name.as_str()).then(Vec::new),
        Expr::Select(select) => (&*select.operand, select.field.as_str()),
        Expr::Call(CallExpr { func_name, args, .. })
            if [operators::INDEX, operators::OPT_INDEX, operators::OPT_SELECT]
                .contains(&func_name.as_str()) =>
        {
            let [base, field] = args.as_slice() else { return None };
            // The element of a list stays a part of the list.
            let Expr::Literal(LiteralValue::String(field)) = &field.expr else { return None };
            (base, field.inner())
        }
        _ => return None,
    };
    let mut tokens = path(base)?;
    tokens.push(field);
    Some(tokens)
}

/// Returns true for `old == null`, which reads nothing of the object.
fn compares_with_null(call: &CallExpr) -> bool {
    let is_null = |operand: &IdedExpr| matches!(operand.expr, Expr::Literal(LiteralValue::Null));
    let is_object = |operand: &IdedExpr| path(operand).is_some_and(|tokens| tokens.is_empty());
    [operators::EQUALS, operators::NOT_EQUALS].contains(&call.func_name.as_str())
        && call.args.iter().any(is_null)
        && call.args.iter().any(is_object)
}

#[cfg(test)]
mod tests {
    use super::super::When;

    fn reads(text: &str) -> Option<Vec<String>> {
        let when: When = text.parse().unwrap();
        when.reads().map(|pointers| pointers.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn an_expression_reads_the_fields_that_it_names() {
        for (text, pointers) in [
            ("object.spec.replicas > 2 && !has(object.spec.paused)", &["/spec/replicas", "/spec/paused"][..]),
            ("object.metadata.annotations['a/b'] == 'x'", &["/metadata/annotations/a~1b"]),
            ("object.?spec.?absent.orValue(7) == 7", &["/spec/absent"]),
            ("object.spec[?'absent'].orValue(7) == 7", &["/spec/absent"]),
            ("object.spec.containers[0].image == 'i'", &["/spec/containers"]),
            ("object.spec.containers.exists(c, c.ports.exists(p, p == 443))", &["/spec/containers"]),
            ("'a' in object.metadata.labels", &["/metadata/labels"]),
            ("old == null || old.data.a != object.data.a", &["/data/a", "/data/a"]),
            ("event == 'delete' || cause != 'initial'", &[]),
            ("true", &[]),
        ] {
            assert_eq!(reads(text).unwrap(), pointers, "{text}");
        }
    }

    #[test]
    fn an_expression_may_read_the_whole_object() {
        for text in ["object == old", "size(object) > 3", "object.exists(k, k == 'spec')", "'spec' in object"]
        {
            assert_eq!(reads(text), None, "{text}");
        }
        assert_eq!(reads("object[object.kind] == 1"), None, "the field is not written there");
    }
}
