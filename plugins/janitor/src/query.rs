//! The JMESPath expressions of rules, with the results that they have in kube-janitor.

use std::{fmt, sync::LazyLock};

use jmespath::{
    Context, Expression, Rcvar, Runtime, SearchResult, Variable,
    ast::{Ast, Comparator},
};
use serde::Deserialize;

/// A JMESPath expression.
#[derive(Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Query(Expression<'static>);

/// The comparators that need an order, and the names of the functions that replace them. An expression cannot call a function of
/// such a name itself.
const ORDERS: [(&str, Comparator); 4] = [
    ("<", Comparator::LessThan),
    ("<=", Comparator::LessThanEqual),
    (">", Comparator::GreaterThan),
    (">=", Comparator::GreaterThanEqual),
];

/// The field that kube-janitor adds to each object. It is missing here.
const CONTEXT: &str = "_context";

/// The functions of JMESPath, and those of [`ORDERS`].
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let mut runtime = Runtime::new();
    runtime.register_builtin_functions();
    for (name, comparator) in ORDERS {
        runtime.register_function(
            name,
            Box::new(move |arguments: &[Rcvar], _: &mut Context<'_>| -> SearchResult {
                Ok(order(&comparator, arguments))
            }),
        );
    }
    runtime
});

// === impl Query ===

impl Query {
    /// Returns true if the expression matches. kube-janitor judges the result as Python does, for which the number zero is false.
    /// In JMESPath every number is true.
    ///
    /// # Errors
    /// Returns the reason if the expression cannot be evaluated for this object.
    pub(crate) fn matches(&self, object: &Variable) -> Result<bool, String> {
        let result = self.0.search(object).map_err(|error| error.to_string())?;
        Ok(result.is_truthy() && result.as_number() != Some(0.0))
    }
}

impl TryFrom<String> for Query {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let mut ast = jmespath::parse(&text).map_err(|error| format!("`{text}` is not JMESPath: {error}"))?;
        adapt(&mut ast).map_err(|why| format!("`{text}`: {why}"))?;
        Ok(Self(Expression::new(text, ast, &RUNTIME)))
    }
}

impl fmt::Debug for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str())
    }
}

/// Replaces comparisons that need an order by calls of the functions of [`ORDERS`]. Refuses the field [`CONTEXT`]: a rule that reads
/// it would match no object, or with `!` every object.
fn adapt(ast: &mut Ast) -> Result<(), String> {
    match ast {
        Ast::Comparison { lhs, rhs, .. }
        | Ast::Projection { lhs, rhs, .. }
        | Ast::Subexpr { lhs, rhs, .. }
        | Ast::And { lhs, rhs, .. }
        | Ast::Or { lhs, rhs, .. } => {
            adapt(lhs)?;
            adapt(rhs)?;
        }
        Ast::Condition { predicate, then, .. } => {
            adapt(predicate)?;
            adapt(then)?;
        }
        Ast::Expref { ast: node, .. }
        | Ast::Flatten { node, .. }
        | Ast::Not { node, .. }
        | Ast::ObjectValues { node, .. } => adapt(node)?,
        Ast::Function { args: nodes, .. } | Ast::MultiList { elements: nodes, .. } => {
            nodes.iter_mut().try_for_each(adapt)?;
        }
        Ast::MultiHash { elements, .. } => {
            elements.iter_mut().try_for_each(|element| adapt(&mut element.value))?;
        }
        Ast::Field { name, .. } if name.as_str() == CONTEXT => {
            return Err(format!("the field `{CONTEXT}` of kube-janitor is not supported"));
        }
        Ast::Field { .. }
        | Ast::Identity { .. }
        | Ast::Index { .. }
        | Ast::Literal { .. }
        | Ast::Slice { .. } => {}
    }
    if let Ast::Comparison { offset, comparator, lhs, rhs } = ast
        && let Some((name, _)) = ORDERS.iter().find(|(_, own)| *own == *comparator)
    {
        let (offset, args) = (*offset, vec![(**lhs).clone(), (**rhs).clone()]);
        *ast = Ast::Function { offset, name: (*name).to_owned(), args };
    }
    Ok(())
}

/// Compares two numbers, or two texts, which the specification of JMESPath does not order. The Python library that kube-janitor
/// uses orders both, so rules compare times as texts. The result for other values is null.
fn order(comparator: &Comparator, arguments: &[Rcvar]) -> Rcvar {
    let holds = match arguments {
        [one, two] => match (one.as_string(), two.as_string()) {
            (Some(one), Some(two)) => Some(match comparator {
                Comparator::LessThan => one < two,
                Comparator::LessThanEqual => one <= two,
                Comparator::GreaterThan => one > two,
                Comparator::GreaterThanEqual => one >= two,
                Comparator::Equal => one == two,
                Comparator::NotEqual => one != two,
            }),
            _ => one.compare(comparator, two),
        },
        _ => None,
    };
    Rcvar::new(holds.map_or(Variable::Null, Variable::Bool))
}
