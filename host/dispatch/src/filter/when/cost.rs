//! The cost of a call within a loop.

use cel::common::ast::{CallExpr, EntryExpr, Expr, IdedExpr, operators};

/// Operations whose cost is the length of their shorter operand.
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

/// Operations whose cost is the length of all their operands.
const WHOLE: [&str; 9] =
    [operators::ADD, "contains", "size", "string", "bytes", "int", "uint", "double", "bool"];

/// Returns true if a call costs as much as one more loop, because it reads all of a value that does not depend on the loop
/// variables `of_the_loop`. A value that is another part of the object in each round costs at most the object in total.
pub(super) fn repeats(call: &CallExpr, of_the_loop: &[&str]) -> bool {
    let fixed = |operand: &IdedExpr| {
        let mut names = Vec::new();
        variables(operand, &mut names);
        let varies = names.iter().any(|name| of_the_loop.contains(name));
        // These are always short.
        names.retain(|name| !["event", "cause"].contains(name));
        !names.is_empty() && !varies
    };
    let mut operands = call.target.as_deref().into_iter().chain(&call.args);
    match call.func_name.as_str() {
        // The cost for each character depends on the pattern.
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
