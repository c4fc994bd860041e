//! What occurs in an expression, and rewriting of it.

use crate::answer::tree::{Bound, BoundOperator, Expr, Function, Number, Symbol};

/// Call `visit` with every node, until it says stop (`true`).
fn any<'a>(expr: &'a Expr, visit: &mut impl FnMut(&'a Expr) -> bool) -> bool {
    visit(expr)
        || match expr {
            Expr::Number(_) | Expr::Constant(_) | Expr::Symbol(_) => false,
            Expr::Sum(parts)
            | Expr::Product(parts)
            | Expr::Call(_, parts)
            | Expr::Apply(_, parts) => parts.iter().any(|part| any(part, visit)),
            Expr::Negate(inner) | Expr::PlusMinus { term: inner, .. } => any(inner, visit),
            Expr::Quotient(left, right) | Expr::Power(left, right) => {
                any(left, visit) || any(right, visit)
            }
            Expr::Bound(bound) => {
                let ends = [&bound.lower, &bound.upper];
                ends.into_iter().flatten().any(|end| any(end, visit)) || any(&bound.body, visit)
            }
        }
}

/// Whether a node of some kind occurs.
pub(super) fn contains(expr: &Expr, mut kind: impl FnMut(&Expr) -> bool) -> bool {
    any(expr, &mut |node| kind(node))
}

/// Whether a logarithm of an unknown base occurs.
pub(super) fn has_any_log(expr: &Expr) -> bool {
    contains(expr, |node| matches!(node, Expr::Call(Function::LogAny, _)))
}

/// Whether a function known by its name only occurs.
pub(super) fn has_application(expr: &Expr) -> bool {
    contains(expr, |node| matches!(node, Expr::Apply(..)))
}

/// Whether an expression is a rational function of the functions known by their name only in it.
pub(super) fn is_rational_in_applications(expr: &Expr) -> bool {
    match expr {
        Expr::Sum(parts) | Expr::Product(parts) => parts.iter().all(is_rational_in_applications),
        Expr::Negate(inner) => is_rational_in_applications(inner),
        Expr::Quotient(over, under) => {
            is_rational_in_applications(over) && is_rational_in_applications(under)
        }
        Expr::Power(base, exponent) if matches!(**exponent, Expr::Number(_)) => {
            is_rational_in_applications(base)
                && matches!(&**exponent, Expr::Number(count) if count.value.is_int())
        }
        Expr::Apply(..) => true,
        other => !has_application(other),
    }
}

/// Whether an expression is a product of powers and roots of numbers.
pub(super) fn is_monomial(expr: &Expr) -> bool {
    match expr {
        Expr::Number(_) | Expr::Constant(_) => true,
        Expr::Product(parts) | Expr::Call(Function::Root, parts) => parts.iter().all(is_monomial),
        Expr::Negate(inner) => is_monomial(inner),
        Expr::Quotient(left, right) | Expr::Power(left, right) => {
            is_monomial(left) && is_monomial(right)
        }
        _ => false,
    }
}

/// Whether an expression without variables is an integer by how it is written.
pub(super) fn is_integer(expr: &Expr) -> bool {
    match expr {
        Expr::Number(number) => number.value.is_int(),
        Expr::Negate(inner) => is_integer(inner),
        Expr::Power(base, exponent) => is_integer(base) && is_integer(exponent),
        Expr::Sum(parts)
        | Expr::Product(parts)
        | Expr::Call(
            Function::Factorial
            | Function::DoubleFactorial
            | Function::Binomial
            | Function::Permutations
            | Function::Gcd
            | Function::Lcm
            | Function::Abs,
            parts,
        ) => parts.iter().all(is_integer),
        Expr::Call(Function::Floor | Function::Ceil, _) => true,
        _ => false,
    }
}

/// The names of the free variables, sorted, each once.
pub(super) fn free<'a>(expr: &'a Expr, names: &mut Vec<&'a str>) {
    collect(expr, &mut Vec::new(), names);
    names.sort_unstable();
    names.dedup();
}

fn collect<'a>(expr: &'a Expr, bound: &mut Vec<&'a str>, names: &mut Vec<&'a str>) {
    match expr {
        Expr::Number(_) | Expr::Constant(_) => {}
        Expr::Symbol(name) => {
            if !bound.contains(&&**name) {
                names.push(name);
            }
        }
        Expr::Sum(parts) | Expr::Product(parts) | Expr::Call(_, parts) | Expr::Apply(_, parts) => {
            for part in parts {
                collect(part, bound, names);
            }
        }
        Expr::Negate(inner) | Expr::PlusMinus { term: inner, .. } => collect(inner, bound, names),
        Expr::Quotient(left, right) | Expr::Power(left, right) => {
            collect(left, bound, names);
            collect(right, bound, names);
        }
        Expr::Bound(node) => {
            for end in [&node.lower, &node.upper].into_iter().flatten() {
                collect(end, bound, names);
            }
            let binds = binds(node);
            if binds {
                bound.push(&node.variable);
            }
            collect(&node.body, bound, names);
            if binds {
                bound.pop();
            }
        }
    }
}

/// Whether the variable is bound: a derivative and an indefinite integral are functions of it.
pub(super) const fn binds(bound: &Bound) -> bool {
    match bound.operator {
        BoundOperator::Derivative => false,
        BoundOperator::Integral => bound.lower.is_some(),
        BoundOperator::Sum | BoundOperator::Product | BoundOperator::Limit => true,
    }
}

/// How a tree is rewritten.
pub(super) trait Rewrite {
    /// The function for a logarithm of unknown base.
    fn any_log(&self, argument: Expr) -> Expr {
        Expr::Call(Function::LogAny, vec![argument])
    }

    /// The name for a variable.
    fn name(&self, name: &Symbol) -> Symbol {
        name.clone()
    }

    /// What stands for a variable.
    fn symbol(&self, name: &Symbol) -> Expr {
        Expr::Symbol(self.name(name))
    }
}

/// Rewrite a tree.
pub(super) fn rewrite(expr: &Expr, rule: &impl Rewrite) -> Expr {
    let each = |parts: &[Expr]| parts.iter().map(|part| rewrite(part, rule)).collect();
    let one = |inner: &Expr| Box::new(rewrite(inner, rule));
    match expr {
        Expr::Number(_) | Expr::Constant(_) => expr.clone(),
        Expr::Symbol(name) => rule.symbol(name),
        Expr::Sum(parts) => Expr::Sum(each(parts)),
        Expr::Product(parts) => Expr::Product(each(parts)),
        Expr::Negate(inner) => Expr::Negate(one(inner)),
        Expr::Quotient(left, right) => Expr::Quotient(one(left), one(right)),
        Expr::Power(left, right) => Expr::Power(one(left), one(right)),
        Expr::Call(Function::LogAny, arguments) => match arguments.as_slice() {
            [argument] => rule.any_log(rewrite(argument, rule)),
            _ => expr.clone(),
        },
        Expr::Call(function, parts) => Expr::Call(*function, each(parts)),
        Expr::Apply(name, parts) => Expr::Apply(name.clone(), each(parts)),
        Expr::PlusMinus { plus_first, term } => Expr::PlusMinus {
            plus_first: *plus_first,
            term: one(term),
        },
        Expr::Bound(node) => {
            let end = |end: &Option<Expr>| end.as_ref().map(|end| rewrite(end, rule));
            Expr::Bound(Box::new(Bound {
                operator: node.operator,
                variable: rule.name(&node.variable),
                lower: end(&node.lower),
                upper: end(&node.upper),
                body: rewrite(&node.body, rule),
            }))
        }
    }
}

/// Reads a logarithm of unknown base as natural.
pub(super) struct NaturalLog;

impl Rewrite for NaturalLog {
    fn any_log(&self, argument: Expr) -> Expr {
        Expr::Call(Function::Ln, vec![argument])
    }
}

/// Reads a logarithm of unknown base as decimal.
pub(super) struct DecimalLog;

impl Rewrite for DecimalLog {
    fn any_log(&self, argument: Expr) -> Expr {
        let ten = Number {
            value: 10_u8.into(),
            decimal: None,
        };
        Expr::Call(Function::Log, vec![argument, Expr::Number(ten)])
    }
}

/// Folds the case of variables.
pub(super) struct LowerCase;

impl Rewrite for LowerCase {
    fn name(&self, name: &Symbol) -> Symbol {
        name.to_lowercase().into()
    }
}
