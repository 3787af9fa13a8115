//! Checks an expression before its first evaluation: its names, depth, loops and patterns.

use cel::{
    Program,
    common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue, operators},
};
use regex::RegexBuilder;

use super::{
    cost::repeats,
    error::InvalidWhen,
    vocabulary::{FUNCTIONS, TYPES},
};

/// Nested operations. Each takes up to 60 KiB of stack in a build without optimisation, and a thread of the informers has 2 MiB.
/// The parser balances chains of `&&` and `||`.
const MAX_DEPTH: usize = 16;

/// Nested loops, including calls that cost as much as a loop. Each level multiplies the cost of the others.
const MAX_LOOPS: usize = 2;

/// The largest compiled pattern in bytes. Patterns are compiled at each evaluation.
const MAX_PATTERN_BYTES: usize = 256 << 10;

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
        Some(found) => Err(InvalidWhen::NotBool(found)),
        None => Ok(walk.names),
    }
}

// === impl Walk ===

impl<'p> Walk<'p> {
    fn expression(&mut self, expression: &'p IdedExpr) -> Result<(), InvalidWhen> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(InvalidWhen::TooDeep);
        }
        match &expression.expr {
            Expr::Unspecified | Expr::Literal(_) => {}
            Expr::Ident(name) => self.variable(name, expression.id)?,
            Expr::Select(select) => self.expression(&select.operand)?,
            Expr::List(list) => self.all(&list.elements)?,
            Expr::Call(call) => self.call(call, expression.id)?,
            Expr::Comprehension(comprehension) => self.comprehension(comprehension, expression.id)?,
            Expr::Map(map) => self.entries(map.entries.iter().map(|entry| &entry.expr))?,
            // A message literal. No message types exist here.
            Expr::Struct(message) => {
                let position = self.position(expression.id);
                return Err(InvalidWhen::UnknownVariable { name: message.type_name.clone(), position });
            }
        }
        self.depth -= 1;
        Ok(())
    }

    fn all(&mut self, expressions: impl IntoIterator<Item = &'p IdedExpr>) -> Result<(), InvalidWhen> {
        expressions.into_iter().try_for_each(|expression| self.expression(expression))
    }

    fn entries(&mut self, entries: impl Iterator<Item = &'p EntryExpr>) -> Result<(), InvalidWhen> {
        for entry in entries {
            match entry {
                EntryExpr::StructField(field) => self.expression(&field.value)?,
                EntryExpr::MapEntry(entry) => self.all([&entry.key, &entry.value])?,
            }
        }
        Ok(())
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
            name => {
                let (name, position) = (name.to_owned(), self.position(id));
                return Err(InvalidWhen::UnknownVariable { name, position });
            }
        }
        Ok(())
    }

    fn call(&mut self, call: &'p CallExpr, id: u64) -> Result<(), InvalidWhen> {
        let name = call.func_name.as_str();
        let written = name.starts_with(|first: char| first.is_ascii_alphabetic());
        if written && !FUNCTIONS.contains(&name) {
            let (name, position) = (name.to_owned(), self.position(id));
            return Err(InvalidWhen::UnknownFunction { name, position });
        }
        if name == "matches" {
            self.pattern(call, id)?;
        }
        if self.loops > 0 && repeats(call, self.bound.get(self.outer..).unwrap_or_default()) {
            self.enter_loop(id)?;
            self.loops -= 1;
        }
        self.all(call.target.as_deref())?;
        self.all(&call.args)
    }

    fn enter_loop(&mut self, id: u64) -> Result<(), InvalidWhen> {
        self.loops += 1;
        if self.loops > MAX_LOOPS {
            return Err(InvalidWhen::TooManyLoops { position: self.position(id) });
        }
        self.names.nested_loops |= self.loops > 1;
        Ok(())
    }

    /// A pattern is compiled at each evaluation. A pattern from the object would let its author decide the cost.
    fn pattern(&self, call: &CallExpr, id: u64) -> Result<(), InvalidWhen> {
        let refused = |problem: String, remedy| {
            Err(InvalidWhen::Pattern { position: self.position(id), problem, remedy })
        };
        let example = "write for example `matches(\"^web-\")`";
        let Some(pattern) = call.args.last() else { return refused("is missing".to_owned(), example) };
        let Expr::Literal(LiteralValue::String(pattern)) = &pattern.expr else {
            let remedy = "write it as a text, like `matches(\"^web-\")`";
            return refused("is not written there".to_owned(), remedy);
        };
        match RegexBuilder::new(pattern.inner()).size_limit(MAX_PATTERN_BYTES).build() {
            Ok(_) => Ok(()),
            Err(regex::Error::CompiledTooBig(_)) => {
                let remedy = "repeat less in it, or decide it in the plugin";
                refused("is too large once it is compiled".to_owned(), remedy)
            }
            // The last line of the error of the regular expression contains the reason.
            Err(error) => {
                let error = error.to_string();
                let found = error.lines().last().unwrap_or_default().trim_start_matches("error: ");
                refused(format!("is no regular expression: {found}"), example)
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
