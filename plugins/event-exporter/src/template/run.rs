//! Renders a template, within bounds.

use std::borrow::Cow;

use serde_json::Value;

use super::{
    error::TemplateError,
    functions,
    parse::{Base, Block, Command, Node, Operand, Pipeline},
    values::{LARGEST, json_name, print, size, sorted, truth},
};

/// The value of a name that an object has by its type, such as a method of Go. The first argument is the object.
pub(crate) type Method = fn(&Value, &str) -> Option<Value>;

/// The steps of one rendering. A step is an operation, or 64 bytes of its result.
const STEPS: usize = 100_000;

/// How a list of nodes ended.
#[derive(PartialEq)]
enum Flow {
    Next,
    Break,
    Continue,
}

struct Run<'a> {
    root: &'a Value,
    method: Method,
    output: String,
    steps: usize,
    /// The variables in scope, the innermost last.
    variables: Vec<(String, Value)>,
}

pub(super) fn render(nodes: &[Node], root: &Value, method: Method) -> Result<String, TemplateError> {
    let mut run = Run { root, method, output: String::new(), steps: STEPS, variables: Vec::new() };
    run.nodes(nodes, root)?;
    Ok(run.output)
}

// === impl Run ===

impl Run<'_> {
    fn nodes(&mut self, nodes: &[Node], dot: &Value) -> Result<Flow, TemplateError> {
        for node in nodes {
            self.spend(1)?;
            let flow = match node {
                Node::Text(text) => self.write(text)?,
                Node::Print(pipeline) => self.print(pipeline, dot)?,
                Node::If(block) => self.condition(block, dot)?,
                Node::With(block) => self.with(block, dot)?,
                Node::Range(block) => self.range(block, dot)?,
                Node::Break => Flow::Break,
                Node::Continue => Flow::Continue,
            };
            if flow != Flow::Next {
                return Ok(flow);
            }
        }
        Ok(Flow::Next)
    }

    fn spend(&mut self, steps: usize) -> Result<(), TemplateError> {
        let left = self.steps.checked_sub(steps);
        self.steps = left.ok_or_else(|| TemplateError::new("the template takes too many steps"))?;
        Ok(())
    }

    fn write(&mut self, text: &str) -> Result<Flow, TemplateError> {
        if self.output.len() + text.len() > LARGEST {
            return Err(TemplateError::new(format!("the output has more than {LARGEST} bytes")));
        }
        self.output.push_str(text);
        Ok(Flow::Next)
    }

    /// Prints the result of an action, unless it sets a variable.
    fn print(&mut self, pipeline: &Pipeline, dot: &Value) -> Result<Flow, TemplateError> {
        let value = self.pipeline(pipeline, dot)?;
        if pipeline.variables.is_empty() { self.write(&print(&value)) } else { Ok(Flow::Next) }
    }

    fn condition(&mut self, block: &Block, dot: &Value) -> Result<Flow, TemplateError> {
        self.scoped(|run| {
            let holds = truth(&run.pipeline(&block.pipeline, dot)?);
            run.nodes(if holds { &block.body } else { &block.otherwise }, dot)
        })
    }

    fn with(&mut self, block: &Block, dot: &Value) -> Result<Flow, TemplateError> {
        self.scoped(|run| {
            let value = run.pipeline(&block.pipeline, dot)?;
            if truth(&value) { run.nodes(&block.body, &value) } else { run.nodes(&block.otherwise, dot) }
        })
    }

    /// Calls `inner`, and forgets the variables that it declares.
    fn scoped(
        &mut self,
        inner: impl FnOnce(&mut Self) -> Result<Flow, TemplateError>,
    ) -> Result<Flow, TemplateError> {
        let outer = self.variables.len();
        let flow = inner(self);
        self.variables.truncate(outer);
        flow
    }

    fn range(&mut self, block: &Block, dot: &Value) -> Result<Flow, TemplateError> {
        let over = self.commands(&block.pipeline, dot)?;
        let items = items(over)?;
        if items.is_empty() {
            return self.scoped(|run| run.nodes(&block.otherwise, dot));
        }
        for (key, item) in items {
            let flow = self.scoped(|run| {
                let names: Vec<&String> = block.pipeline.variables.iter().collect();
                match names.as_slice() {
                    [one] => run.set(one, item.clone(), block.pipeline.declares)?,
                    [one, two] => {
                        run.set(one, key, true)?;
                        run.set(two, item.clone(), true)?;
                    }
                    _ => {}
                }
                run.nodes(&block.body, &item)
            })?;
            if flow == Flow::Break {
                break;
            }
        }
        Ok(Flow::Next)
    }

    /// The result of a pipeline. Its variable gets the result.
    fn pipeline(&mut self, pipeline: &Pipeline, dot: &Value) -> Result<Value, TemplateError> {
        let value = self.commands(pipeline, dot)?;
        if let Some(name) = pipeline.variables.first() {
            self.set(name, value.clone(), pipeline.declares)?;
        }
        Ok(value)
    }

    fn set(&mut self, name: &str, value: Value, declares: bool) -> Result<(), TemplateError> {
        if declares {
            self.variables.push((name.to_owned(), value));
            return Ok(());
        }
        let known = self.variables.iter_mut().rev().find(|(known, _)| known == name);
        let (_, kept) = known.ok_or_else(|| undefined(name))?;
        *kept = value;
        Ok(())
    }

    fn commands(&mut self, pipeline: &Pipeline, dot: &Value) -> Result<Value, TemplateError> {
        let mut result = None;
        for command in &pipeline.commands {
            let value = match command {
                Command::Value(operand) => self.operand(operand, dot)?,
                Command::Call(name, arguments) if matches!(name.as_str(), "and" | "or") => {
                    self.decided(name, arguments, result.take(), dot)?
                }
                Command::Call(name, arguments) => {
                    let arguments: Result<Vec<Value>, _> =
                        arguments.iter().map(|argument| self.operand(argument, dot)).collect();
                    let mut arguments = arguments?;
                    arguments.extend(result.take());
                    self.call(name, &arguments)?
                }
            };
            result = Some(value);
        }
        Ok(result.unwrap_or_default())
    }

    /// The result of `and` or `or`: the first argument that decides it, or else the last one. As in Go, the arguments after the deciding
    /// one are not evaluated, because they may fail: `and (gt (len .a) 0) (index .a 0)`.
    fn decided(
        &mut self,
        name: &str,
        arguments: &[Operand],
        piped: Option<Value>,
        dot: &Value,
    ) -> Result<Value, TemplateError> {
        let mut last = None;
        for argument in arguments {
            let value = self.operand(argument, dot)?;
            if truth(&value) == (name == "or") {
                return Ok(value);
            }
            last = Some(value);
        }
        piped.or(last).ok_or_else(|| TemplateError::arguments(&[]).of(name))
    }

    /// Calls a function. The cost is known after the call, and no function makes more than a bounded number of bytes.
    fn call(&mut self, name: &str, arguments: &[Value]) -> Result<Value, TemplateError> {
        let value = functions::call(name, arguments).map_err(|error| error.of(name))?;
        self.paid(value)
    }

    /// Spends the steps that a value costs.
    fn paid(&mut self, value: Value) -> Result<Value, TemplateError> {
        let size = size(&value);
        if size > 2 * LARGEST {
            return Err(TemplateError::new(format!("a value has more than {} bytes", 2 * LARGEST)));
        }
        self.spend(1 + size / 64)?;
        Ok(value)
    }

    fn operand(&mut self, operand: &Operand, dot: &Value) -> Result<Value, TemplateError> {
        let (method, fields) = (self.method, operand.fields.as_slice());
        let value = match &operand.base {
            Base::Dot => path(dot, fields, method)?,
            Base::Literal(value) => path(value, fields, method)?,
            Base::Variable(name) if name.is_empty() => path(self.root, fields, method)?,
            Base::Variable(name) => {
                let known = self.variables.iter().rev().find(|(known, _)| known == name);
                let (_, value) = known.ok_or_else(|| undefined(name))?;
                path(value, fields, method)?
            }
            Base::Pipeline(pipeline) => path(&self.pipeline(pipeline, dot)?, fields, method)?,
            Base::Function(name) => path(&self.call(name, &[])?, fields, method)?,
        };
        self.paid(value)
    }
}

fn undefined(name: &str) -> TemplateError {
    TemplateError::new(format!("the variable ${name} is not defined"))
}

/// The keys and the items of a list or a map. A value that is absent has no items.
fn items(over: Value) -> Result<Vec<(Value, Value)>, TemplateError> {
    match over {
        Value::Null => Ok(Vec::new()),
        Value::Array(items) => {
            Ok(items.into_iter().enumerate().map(|(at, item)| (Value::from(at), item)).collect())
        }
        Value::Object(fields) => {
            Ok(sorted(&fields).map(|(name, value)| (Value::from(name.as_str()), value.clone())).collect())
        }
        other => Err(TemplateError::new(format!("range cannot iterate over `{}`", print(&other)))),
    }
}

/// The value at a path of fields. What is absent is null.
fn path(value: &Value, fields: &[String], method: Method) -> Result<Value, TemplateError> {
    let mut at = Cow::Borrowed(value);
    for name in fields {
        at = match at {
            Cow::Borrowed(of) => match field(of, name) {
                Some(found) => Cow::Borrowed(found),
                None => Cow::Owned(made(of, name, method)?),
            },
            Cow::Owned(of) => Cow::Owned(match field(&of, name) {
                Some(found) => found.clone(),
                None => made(&of, name, method)?,
            }),
        };
    }
    Ok(at.into_owned())
}

fn field<'a>(of: &'a Value, name: &str) -> Option<&'a Value> {
    let object = of.as_object()?;
    object.get(name).or_else(|| object.get(&json_name(name)))
}

/// The value that a name has by the type of the value before it.
fn made(of: &Value, name: &str, method: Method) -> Result<Value, TemplateError> {
    match of {
        Value::Null => Ok(functions::method_of_nothing(name)),
        Value::Object(_) => Ok(method(of, name).unwrap_or_default()),
        Value::String(text) => functions::method_of_time(text, name).ok_or_else(|| no_field(of, name)),
        _ => Err(no_field(of, name)),
    }
}

fn no_field(of: &Value, name: &str) -> TemplateError {
    TemplateError::new(format!("`{}` has no field {name}", print(of)))
}
