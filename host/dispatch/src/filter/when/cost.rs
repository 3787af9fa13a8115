//! What one call costs in a loop.

use cel::common::ast::{CallExpr, EntryExpr, Expr, IdedExpr, operators};

/// What they cost is the length of the shorter of two.
const SHORTER: [&str; 8] = [
    operators::EQUALS,
    operators::NOT_EQUALS,
    operators::GREATER,
    operators::GREATER_EQUALS,
    operators::LESS,
    operators::LESS_EQUALS,
    "startsWith",
    "endsWith",
];

/// What they cost is the length of all they are given.
const WHOLE: [&str; 9] =
    [operators::ADD, "contains", "size", "string", "bytes", "int", "uint", "double", "bool"];

/// True where a call costs as much as one more loop: it looks at all of something that is the same in each round of the
/// loop whose variables these are. What is another part of the object in each round costs no more than the object in all.
pub(super) fn repeats(call: &CallExpr, of_the_loop: &[&str]) -> bool {
    let fixed = |operand: &IdedExpr| {
        let mut names = Vec::new();
        variables(operand, &mut names);
        let varies = names.iter().any(|name| of_the_loop.contains(name));
        // Nobody makes these long.
        names.retain(|name| !["event", "cause"].contains(name));
        !names.is_empty() && !varies
    };
    let mut operands = call.target.as_deref().into_iter().chain(&call.args);
    match call.func_name.as_str() {
        // It walks through its text by a machine, of which the pattern says how slow it is.
        "matches" => true,
        operators::IN => operands.nth(1).is_some_and(fixed),
        name if SHORTER.contains(&name) => operands.all(fixed),
        name if WHOLE.contains(&name) => operands.any(fixed),
        _ => false,
    }
}

fn variables<'e>(expression: &'e IdedExpr, into: &mut Vec<&'e str>) {
    match &expression.expr {
        Expr::Unspecified | Expr::Literal(_) => {}
        Expr::Ident(name) => into.push(name),
        Expr::Select(select) => variables(&select.operand, into),
        Expr::List(list) => list.elements.iter().for_each(|element| variables(element, into)),
        Expr::Call(call) => {
            call.target.as_deref().into_iter().chain(&call.args).for_each(|operand| variables(operand, into));
        }
        Expr::Comprehension(of) => {
            for part in [&of.iter_range, &of.accu_init, &of.loop_cond, &of.loop_step, &of.result] {
                variables(part, into);
            }
        }
        Expr::Map(map) => entries(map.entries.iter().map(|entry| &entry.expr), into),
        Expr::Struct(message) => entries(message.entries.iter().map(|entry| &entry.expr), into),
    }
}

fn entries<'e>(entries: impl Iterator<Item = &'e EntryExpr>, into: &mut Vec<&'e str>) {
    for entry in entries {
        match entry {
            EntryExpr::StructField(field) => variables(&field.value, into),
            EntryExpr::MapEntry(entry) => {
                [&entry.key, &entry.value].into_iter().for_each(|part| variables(part, into));
            }
        }
    }
}
