//! Checks an expression before its first evaluation: its names, depth, loops and patterns.

use cel::{
    Program,
    common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue, operators},
};
use regex::RegexBuilder;

use super::error::{FUNCTIONS, InvalidWhen, TOO_DEEP, TYPES, functions};

/// Nested operations. Each takes up to 60 KiB of stack in a build without optimisation, and a thread of the informers has 2 MiB.
/// The parser balances chains of `&&` and `||`.
const MAX_DEPTH: usize = 16;

/// Nested loops, including calls that cost as much as a loop. Each level multiplies the cost of the others.
const MAX_LOOPS: usize = 2;

/// The largest compiled pattern in bytes. Patterns are compiled at each evaluation.
const MAX_PATTERN_BYTES: usize = 256 << 10;

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

/// The variables that an expression names, and whether it has nested loops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Names {
    pub(super) object: bool,
    pub(super) old: bool,
    pub(super) event: bool,
    pub(super) cause: bool,
    /// There is a loop in a loop, or an operation that costs as much.
    pub(super) nested_loops: bool,
}

/// A walk through an expression.
struct Walk<'p> {
    program: &'p Program,
    names: Names,
    /// Variables of the enclosing loops.
    bound: Vec<&'p str>,
    /// The number of variables in `bound` that do not belong to the innermost loop.
    outer: usize,
    loops: usize,
    depth: usize,
}

/// Checks a program.
pub(super) fn check(program: &Program) -> Result<Names, InvalidWhen> {
    let mut walk = Walk { program, names: Names::default(), bound: Vec::new(), outer: 0, loops: 0, depth: 0 };
    walk.expression(program.expression())?;
    match not_bool(&program.expression().expr) {
        Some(found) => Err(InvalidWhen(format!(
            "the expression gives {found}, not true or false; compare it, as in `object.spec.replicas > 2`"
        ))),
        None => Ok(walk.names),
    }
}

// === impl Walk ===

impl<'p> Walk<'p> {
    fn expression(&mut self, expression: &'p IdedExpr) -> Result<(), InvalidWhen> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(InvalidWhen(TOO_DEEP.to_owned()));
        }
        match &expression.expr {
            Expr::Ident(name) => self.variable(name, expression.id)?,
            Expr::Comprehension(comprehension) => self.comprehension(comprehension, expression.id)?,
            // A message literal. No message types exist here.
            Expr::Struct(message) => return Err(self.unknown(&message.type_name, expression.id)),
            other => {
                if let Expr::Call(call) = other {
                    self.call(call, expression.id)?;
                }
                self.all(operands(expression))?;
            }
        }
        self.depth -= 1;
        Ok(())
    }

    fn all(&mut self, expressions: impl IntoIterator<Item = &'p IdedExpr>) -> Result<(), InvalidWhen> {
        expressions.into_iter().try_for_each(|expression| self.expression(expression))
    }

    fn variable(&mut self, name: &'p str, id: u64) -> Result<(), InvalidWhen> {
        // CEL's internal variables start with a character that cannot be written; a leading dot skips loop variables.
        if name.starts_with('@') || self.bound.contains(&name) || TYPES.contains(&name) {
            return Ok(());
        }
        match name.strip_prefix('.').unwrap_or(name) {
            "object" => self.names.object = true,
            "old" => self.names.old = true,
            "event" => self.names.event = true,
            "cause" => self.names.cause = true,
            name => return Err(self.unknown(name, id)),
        }
        Ok(())
    }

    fn unknown(&self, variable: &str, id: u64) -> InvalidWhen {
        InvalidWhen(format!(
            "unknown variable `{variable}`, at {} of the expression; known are `object`, `old`, `event` and `cause`",
            self.position(id)
        ))
    }

    fn call(&mut self, call: &'p CallExpr, id: u64) -> Result<(), InvalidWhen> {
        let name = call.func_name.as_str();
        let written = name.starts_with(|first: char| first.is_ascii_alphabetic());
        if written && !FUNCTIONS.contains(&name) {
            let (position, known) = (self.position(id), functions());
            return Err(InvalidWhen(format!(
                "unknown function `{name}`, at {position} of the expression; known are {known}"
            )));
        }
        if name == "matches" {
            self.pattern(call, id)?;
        }
        if self.loops > 0 && repeats(call, self.bound.get(self.outer..).unwrap_or_default()) {
            self.enter_loop(id)?;
            self.loops -= 1;
        }
        Ok(())
    }

    fn enter_loop(&mut self, id: u64) -> Result<(), InvalidWhen> {
        self.loops += 1;
        if self.loops > MAX_LOOPS {
            return Err(InvalidWhen(format!(
                "there are more than two nested loops, or calls that cost as much as a loop, at {} of the expression; decide it in the plugin",
                self.position(id)
            )));
        }
        self.names.nested_loops |= self.loops > 1;
        Ok(())
    }

    /// A pattern is compiled at each evaluation. A pattern from the object would let its author decide the cost.
    fn pattern(&self, call: &CallExpr, id: u64) -> Result<(), InvalidWhen> {
        let refused = |problem: &str, remedy| {
            let position = self.position(id);
            let text =
                format!("the pattern of `matches`, at {position} of the expression, {problem}; {remedy}");
            Err(InvalidWhen(text))
        };
        let example = "write for example `matches(\"^web-\")`";
        let Some(pattern) = call.args.last() else { return refused("is missing", example) };
        let Expr::Literal(LiteralValue::String(pattern)) = &pattern.expr else {
            let remedy = "write it as a text, like `matches(\"^web-\")`";
            return refused("is not written there", remedy);
        };
        match RegexBuilder::new(pattern.inner()).size_limit(MAX_PATTERN_BYTES).build() {
            Ok(_) => Ok(()),
            Err(regex::Error::CompiledTooBig(_)) => {
                let remedy = "repeat less in it, or decide it in the plugin";
                refused("is too large once it is compiled", remedy)
            }
            // The last line of the error of the regular expression contains the reason.
            Err(error) => {
                let error = error.to_string();
                let found = error.lines().last().unwrap_or_default().trim_start_matches("error: ");
                refused(&format!("is no regular expression: {found}"), example)
            }
        }
    }

    fn comprehension(&mut self, of: &'p ComprehensionExpr, id: u64) -> Result<(), InvalidWhen> {
        self.all([&of.iter_range, &of.accu_init])?;
        self.enter_loop(id)?;
        let (outside, outer) = (self.bound.len(), self.outer);
        self.outer = outside;
        self.bound.push(&of.accu_var);
        self.bound.push(&of.iter_var);
        self.bound.extend(of.iter_var2.as_deref());
        self.all([&of.loop_cond, &of.loop_step, &of.result])?;
        self.bound.truncate(outside);
        self.outer = outer;
        self.loops -= 1;
        Ok(())
    }

    /// `line:column`, from 1, in characters.
    fn position(&self, id: u64) -> String {
        let info = self.program.source_info();
        let start = info.offset_for(id).map_or(0, |(start, _)| start as usize);
        let before = info.source.get(..info.source.floor_char_boundary(start)).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|character| *character != '\n').count() + 1;
        format!("{line}:{column}")
    }
}

/// The type of the result if it is certainly not true or false, otherwise `None`.
fn not_bool(expression: &Expr) -> Option<&'static str> {
    const ARITHMETIC: [&str; 6] = [
        operators::ADD,
        operators::SUBSTRACT,
        operators::MULTIPLY,
        operators::DIVIDE,
        operators::MODULO,
        operators::NEGATE,
    ];
    match expression {
        Expr::Literal(LiteralValue::Boolean(_)) => None,
        Expr::Literal(_) => Some("a constant"),
        Expr::List(_) => Some("a list"),
        Expr::Map(_) => Some("a map"),
        Expr::Ident(name) if name == "object" || name == "old" => Some("an object"),
        Expr::Ident(name) if name == "event" || name == "cause" => Some("a text"),
        Expr::Call(call) if ARITHMETIC.contains(&call.func_name.as_str()) => Some("a number or a text"),
        Expr::Call(call) if call.func_name == "size" => Some("a number"),
        _ => None,
    }
}

/// Returns true if a call costs as much as one more loop, because it reads all of a value that does not depend on the loop
/// variables `of_the_loop`. A value that is another part of the object in each round costs at most the object in total.
fn repeats(call: &CallExpr, of_the_loop: &[&str]) -> bool {
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
    if let Expr::Ident(name) = &expression.expr {
        into.push(name);
    }
    operands(expression).into_iter().for_each(|operand| variables(operand, into));
}

/// The parts of an expression, in their order.
pub(super) fn operands<'e>(expression: &'e IdedExpr) -> Vec<&'e IdedExpr> {
    let entry = |entry: &'e EntryExpr| match entry {
        EntryExpr::StructField(field) => vec![&field.value],
        EntryExpr::MapEntry(entry) => vec![&entry.key, &entry.value],
    };
    match &expression.expr {
        Expr::Unspecified | Expr::Literal(_) | Expr::Ident(_) => Vec::new(),
        Expr::Select(select) => vec![&*select.operand],
        Expr::List(list) => list.elements.iter().collect(),
        Expr::Call(call) => call.target.as_deref().into_iter().chain(&call.args).collect(),
        Expr::Comprehension(of) => {
            vec![&of.iter_range, &of.accu_init, &of.loop_cond, &of.loop_step, &of.result]
        }
        Expr::Map(map) => map.entries.iter().flat_map(|of| entry(&of.expr)).collect(),
        Expr::Struct(message) => message.entries.iter().flat_map(|of| entry(&of.expr)).collect(),
    }
}
