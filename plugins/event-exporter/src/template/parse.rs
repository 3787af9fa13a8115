//! The tree of a template.

use serde_json::Value;

use super::{
    error::TemplateError,
    functions::{self, FORMAT},
    lex::{Piece, Token},
};

/// The deepest nesting of blocks and of parentheses.
const DEEPEST: usize = 32;

#[derive(Debug, Clone)]
pub(super) enum Node {
    Text(String),
    Print(Pipeline),
    If(Block),
    With(Block),
    Range(Block),
    Break,
    Continue,
}

/// `if`, `with` or `range`, with the nodes between it and `end`. `else if` is an `If` in `otherwise`.
#[derive(Debug, Clone)]
pub(super) struct Block {
    pub(super) pipeline: Pipeline,
    pub(super) body: Vec<Node>,
    pub(super) otherwise: Vec<Node>,
}

/// Commands, each with the result of the previous one as its last argument.
#[derive(Debug, Clone)]
pub(super) struct Pipeline {
    /// The variables that get the result: two of a `range`, one otherwise.
    pub(super) variables: Vec<String>,
    /// True for `:=`, false for `=`.
    pub(super) declares: bool,
    pub(super) commands: Vec<Command>,
}

#[derive(Debug, Clone)]
pub(super) enum Command {
    Call(String, Vec<Operand>),
    Value(Operand),
}

/// A value, and the fields to look up in it.
#[derive(Debug, Clone)]
pub(super) struct Operand {
    pub(super) base: Base,
    pub(super) fields: Vec<String>,
}

#[derive(Debug, Clone)]
pub(super) enum Base {
    Dot,
    Variable(String),
    Literal(Value),
    Pipeline(Box<Pipeline>),
    /// A function without arguments.
    Function(String),
}

/// What ended a list of nodes.
enum Ended {
    /// The end of the template.
    Template,
    /// `end`
    Block,
    /// `else`, with the tokens that follow it.
    Else(Vec<Token>),
}

struct Parser {
    pieces: std::vec::IntoIter<Piece>,
    depth: usize,
    loops: usize,
}

/// The tokens of one action that are left.
struct Tokens {
    left: std::iter::Peekable<std::vec::IntoIter<Token>>,
    depth: usize,
}

pub(super) fn parse(pieces: Vec<Piece>) -> Result<Vec<Node>, TemplateError> {
    let mut parser = Parser { pieces: pieces.into_iter(), depth: 0, loops: 0 };
    match parser.nodes()? {
        (nodes, Ended::Template) => Ok(nodes),
        (_, Ended::Block) => Err(TemplateError::new("`{{ end }}` ends nothing")),
        (_, Ended::Else(_)) => Err(TemplateError::new("`{{ else }}` belongs to nothing")),
    }
}

// === impl Parser ===

impl Parser {
    fn nodes(&mut self) -> Result<(Vec<Node>, Ended), TemplateError> {
        let mut nodes = Vec::new();
        while let Some(piece) = self.pieces.next() {
            let mut tokens = match piece {
                Piece::Text(text) => {
                    nodes.push(Node::Text(text));
                    continue;
                }
                Piece::Action(tokens) if tokens.is_empty() => continue,
                Piece::Action(tokens) => tokens,
            };
            let keyword = match tokens.first() {
                Some(Token::Word(word)) => word.clone(),
                _ => String::new(),
            };
            match keyword.as_str() {
                "end" => return Ok((nodes, Ended::Block)),
                "else" => return Ok((nodes, Ended::Else(tokens.split_off(1)))),
                "if" | "with" | "range" => {
                    nodes.push(self.block(&keyword, tokens.split_off(1))?);
                }
                "break" | "continue" if self.loops == 0 => {
                    return Err(TemplateError::new(format!("`{keyword}` is outside a range")));
                }
                "break" => nodes.push(Node::Break),
                "continue" => nodes.push(Node::Continue),
                "define" | "template" | "block" => {
                    return Err(TemplateError::new(format!("`{keyword}` is not supported")));
                }
                _ => nodes.push(Node::Print(Tokens::new(tokens).whole(1)?)),
            }
        }
        Ok((nodes, Ended::Template))
    }

    fn block(&mut self, keyword: &str, tokens: Vec<Token>) -> Result<Node, TemplateError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(TemplateError::new(format!("blocks are nested deeper than {DEEPEST} levels")));
        }
        let ranges = keyword == "range";
        self.loops += usize::from(ranges);
        let pipeline = Tokens::new(tokens).whole(if ranges { 2 } else { 1 })?;
        let (body, end) = self.nodes()?;
        self.loops -= usize::from(ranges);
        let otherwise = self.otherwise(keyword, end)?;
        self.depth -= 1;
        let block = Block { pipeline, body, otherwise };
        Ok(match keyword {
            "if" => Node::If(block),
            "with" => Node::With(block),
            _ => Node::Range(block),
        })
    }

    fn otherwise(&mut self, keyword: &str, end: Ended) -> Result<Vec<Node>, TemplateError> {
        let open = || TemplateError::new(format!("`{{{{ {keyword} }}}}` has no `{{{{ end }}}}`"));
        let mut tokens = match end {
            Ended::Template => return Err(open()),
            Ended::Block => return Ok(Vec::new()),
            Ended::Else(tokens) => tokens,
        };
        match tokens.first() {
            // A block of `else if` has no `end` of its own: it ends with the `end` of the first `if`.
            Some(Token::Word(word)) if word == "if" || word == "with" => {
                let word = word.clone();
                Ok(vec![self.block(&word, tokens.split_off(1))?])
            }
            Some(_) => Err(TemplateError::new("only `if` or `with` may follow `else`")),
            None => match self.nodes()? {
                (nodes, Ended::Block) => Ok(nodes),
                (_, Ended::Template) => Err(open()),
                (_, Ended::Else(_)) => Err(TemplateError::new(format!("`{keyword}` has two `else`"))),
            },
        }
    }
}

// === impl Tokens ===

impl Tokens {
    fn new(tokens: Vec<Token>) -> Self {
        Self { left: tokens.into_iter().peekable(), depth: 0 }
    }

    /// The pipeline of a whole action, with at most this number of variables.
    fn whole(mut self, variables: usize) -> Result<Pipeline, TemplateError> {
        let declared = self.declared(variables)?;
        let pipeline = self.pipeline(declared)?;
        match self.left.next() {
            None => Ok(pipeline),
            Some(token) => Err(unexpected(&token)),
        }
    }

    /// `$a :=`, `$a, $b :=` or `$a =` at the start, if there is one.
    fn declared(&mut self, at_most: usize) -> Result<(Vec<String>, bool), TemplateError> {
        let ahead: Vec<Token> = self.left.clone().take(4).collect();
        let (names, declares) = match ahead.as_slice() {
            [Token::Variable(one), Token::Declare, ..] => (vec![one.clone()], true),
            [Token::Variable(one), Token::Assign, ..] => (vec![one.clone()], false),
            [Token::Variable(one), Token::Comma, Token::Variable(two), Token::Declare] => {
                (vec![one.clone(), two.clone()], true)
            }
            _ => return Ok((Vec::new(), true)),
        };
        if names.len() > at_most {
            return Err(TemplateError::new("only `range` has two variables"));
        }
        if names.iter().any(String::is_empty) {
            return Err(TemplateError::new("`$` cannot be set"));
        }
        for _ in 0..names.len() * 2 {
            self.left.next();
        }
        Ok((names, declares))
    }

    fn pipeline(&mut self, (variables, declares): (Vec<String>, bool)) -> Result<Pipeline, TemplateError> {
        let mut commands = vec![self.command(true)?];
        while self.left.next_if_eq(&Token::Pipe).is_some() {
            commands.push(self.command(false)?);
        }
        Ok(Pipeline { variables, declares, commands })
    }

    /// A function or a method with its arguments, or a value. `Format` of a time is the only method that has an argument.
    fn command(&mut self, first: bool) -> Result<Command, TemplateError> {
        if let Some(Token::Word(name)) = self.left.peek() {
            let name = name.clone();
            functions::known(&name)?;
            self.left.next();
            let mut arguments = Vec::new();
            while !matches!(self.left.peek(), None | Some(Token::Pipe | Token::Close)) {
                arguments.push(self.operand()?);
            }
            return Ok(Command::Call(name, arguments));
        }
        let mut operand = self.operand()?;
        match self.left.peek() {
            None | Some(Token::Pipe | Token::Close) if first => Ok(Command::Value(operand)),
            None | Some(Token::Pipe | Token::Close) => Err(TemplateError::new("a function must follow `|`")),
            Some(_) if operand.fields.pop_if(|name| name == FORMAT).is_some() => {
                Ok(Command::Call(FORMAT.to_owned(), vec![self.operand()?, operand]))
            }
            Some(token) => Err(unexpected(token)),
        }
    }

    fn operand(&mut self) -> Result<Operand, TemplateError> {
        let mut fields = Vec::new();
        let base = match self.left.next() {
            None => return Err(TemplateError::new("a value is missing")),
            Some(Token::Dot) => Base::Dot,
            Some(Token::Field { name, .. }) => {
                fields.push(name);
                Base::Dot
            }
            Some(Token::Variable(name)) => Base::Variable(name),
            Some(Token::Literal(value)) => Base::Literal(value),
            Some(Token::Word(name)) => {
                functions::known(&name)?;
                Base::Function(name)
            }
            Some(Token::Open) => Base::Pipeline(Box::new(self.inner()?)),
            Some(token) => return Err(unexpected(&token)),
        };
        let joined = |token: &Token| matches!(token, Token::Field { joined: true, .. });
        while let Some(Token::Field { name, .. }) = self.left.next_if(joined) {
            fields.push(name);
        }
        Ok(Operand { base, fields })
    }

    /// The pipeline in parentheses.
    fn inner(&mut self) -> Result<Pipeline, TemplateError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(TemplateError::new(format!("parentheses are nested deeper than {DEEPEST} levels")));
        }
        let pipeline = self.pipeline((Vec::new(), true))?;
        self.depth -= 1;
        match self.left.next() {
            Some(Token::Close) => Ok(pipeline),
            Some(token) => Err(unexpected(&token)),
            None => Err(TemplateError::new("`(` has no `)`")),
        }
    }
}

fn unexpected(token: &Token) -> TemplateError {
    let shown = match token {
        Token::Dot => ".".to_owned(),
        Token::Field { name, .. } => format!(".{name}"),
        Token::Variable(name) => format!("${name}"),
        Token::Word(word) => word.clone(),
        Token::Literal(value) => value.to_string(),
        Token::Pipe => "|".to_owned(),
        Token::Open => "(".to_owned(),
        Token::Close => ")".to_owned(),
        Token::Declare => ":=".to_owned(),
        Token::Assign => "=".to_owned(),
        Token::Comma => ",".to_owned(),
    };
    TemplateError::new(format!("`{shown}` is not expected here"))
}
