//! Looking through trees and rewriting them.

use super::super::tree::{Answer, Bound, Constant, Expr, Interval, Number, Operator};

/// A whole number as an expression.
pub(super) fn integer(value: i64) -> Expr {
    let literal = Expr::Number(Number {
        value: value.unsigned_abs().into(),
        decimal: None,
    });
    if value < 0 {
        negate(literal)
    } else {
        literal
    }
}

/// The negative, without a double one.
pub(super) fn negate(expr: Expr) -> Expr {
    match expr {
        Expr::Negate(inner) => *inner,
        other => Expr::Negate(Box::new(other)),
    }
}

/// `left - right`.
pub(super) fn difference(left: &Expr, right: &Expr) -> Expr {
    if is_zero(right) {
        return left.clone();
    }
    Expr::Sum(vec![left.clone(), negate(right.clone())])
}

/// `left / right`.
pub(super) fn quotient(left: &Expr, right: &Expr) -> Expr {
    Expr::Quotient(Box::new(left.clone()), Box::new(right.clone()))
}

/// `left * right`.
pub(super) fn product(left: &Expr, right: &Expr) -> Expr {
    Expr::Product(vec![left.clone(), right.clone()])
}

/// Whether it is the literal 0.
pub(super) fn is_zero(expr: &Expr) -> bool {
    matches!(expr, Expr::Number(number) if number.value.is_zero())
}

/// The sign of an infinity: true for the positive one.
pub(super) fn infinity(expr: &Expr) -> Option<bool> {
    match expr {
        Expr::Constant(Constant::Infinity) => Some(true),
        Expr::Negate(inner) => infinity(inner).map(|positive| !positive),
        _ => None,
    }
}

/// The operands, left to right.
pub(super) fn operands(expr: &Expr) -> Vec<&Expr> {
    match expr {
        Expr::Number(_) | Expr::Constant(_) | Expr::Symbol(_) => Vec::new(),
        Expr::Sum(items) | Expr::Product(items) | Expr::Call(_, items) | Expr::Apply(_, items) => {
            items.iter().collect()
        }
        Expr::Negate(item) | Expr::PlusMinus { term: item, .. } => vec![item],
        Expr::Quotient(left, right) | Expr::Power(left, right) => vec![left, right],
        Expr::Bound(bound) => {
            let ends = bound.lower.iter().chain(bound.upper.iter());
            ends.chain([&bound.body]).collect()
        }
    }
}

/// Whether any node of an expression is what is asked for.
pub(super) fn any(expr: &Expr, wanted: &mut dyn FnMut(&Expr) -> bool) -> bool {
    wanted(expr) || operands(expr).into_iter().any(|item| any(item, wanted))
}

/// Whether a name occurs, bound or free.
pub(super) fn mentions(expr: &Expr, name: &str) -> bool {
    any(expr, &mut |node| match node {
        Expr::Symbol(symbol) | Expr::Apply(symbol, _) => &**symbol == name,
        _ => false,
    })
}

/// Whether there are neither variables nor unknown functions.
pub(super) fn is_constant(expr: &Expr) -> bool {
    !any(expr, &mut |node| {
        matches!(node, Expr::Symbol(_) | Expr::Apply(..))
    })
}

/// Whether there is a `\pm` or `\mp`.
pub(super) fn has_plus_minus(expr: &Expr) -> bool {
    any(expr, &mut |node| matches!(node, Expr::PlusMinus { .. }))
}

/// Replace nodes from the top down: a node for which `replace` has something is not entered.
pub(super) fn map(expr: &Expr, replace: &mut dyn FnMut(&Expr) -> Option<Expr>) -> Expr {
    if let Some(other) = replace(expr) {
        return other;
    }
    let mut all = |items: &[Expr]| items.iter().map(|item| map(item, replace)).collect();
    match expr {
        Expr::Number(_) | Expr::Constant(_) | Expr::Symbol(_) => expr.clone(),
        Expr::Sum(items) => Expr::Sum(all(items)),
        Expr::Product(items) => Expr::Product(all(items)),
        Expr::Call(function, items) => Expr::Call(*function, all(items)),
        Expr::Apply(name, items) => Expr::Apply(name.clone(), all(items)),
        Expr::Negate(item) => Expr::Negate(Box::new(map(item, replace))),
        Expr::PlusMinus { plus_first, term } => Expr::PlusMinus {
            plus_first: *plus_first,
            term: Box::new(map(term, replace)),
        },
        Expr::Quotient(left, right) => {
            Expr::Quotient(Box::new(map(left, replace)), Box::new(map(right, replace)))
        }
        Expr::Power(left, right) => {
            Expr::Power(Box::new(map(left, replace)), Box::new(map(right, replace)))
        }
        Expr::Bound(bound) => Expr::Bound(Box::new(Bound {
            operator: bound.operator,
            variable: bound.variable.clone(),
            lower: bound.lower.as_ref().map(|end| map(end, replace)),
            upper: bound.upper.as_ref().map(|end| map(end, replace)),
            body: map(&bound.body, replace),
        })),
    }
}

/// Put values in for variables. An operator that binds one of them, or one of the variables of the
/// values, is left alone: its outside keeps the old names, so nothing is captured and at worst
/// nothing is proved.
pub(super) fn substitute(expr: &Expr, values: &[(&str, Expr)]) -> Expr {
    map(expr, &mut |node| match node {
        Expr::Symbol(symbol) => values
            .iter()
            .find(|(name, _)| **name == **symbol)
            .map(|(_, value)| value.clone()),
        Expr::Bound(bound) => {
            let clash = values
                .iter()
                .any(|(name, value)| **name == *bound.variable || mentions(value, &bound.variable));
            clash.then(|| node.clone())
        }
        _ => None,
    })
}

/// Rewrite every outermost expression of an answer.
pub(super) fn map_answer(answer: &Answer, change: &mut dyn FnMut(&Expr) -> Expr) -> Answer {
    let mut all = |items: &[Answer]| -> Vec<Answer> {
        items.iter().map(|item| map_answer(item, change)).collect()
    };
    match answer {
        Answer::List { items, braces } => Answer::List {
            items: all(items),
            braces: *braces,
        },
        Answer::Tuple { items, brackets } => Answer::Tuple {
            items: all(items),
            brackets: *brackets,
        },
        Answer::SetOperation(operator, items) => Answer::SetOperation(*operator, all(items)),
        Answer::Relation { sides, operators } => Answer::Relation {
            sides: all(sides),
            operators: operators.clone(),
        },
        Answer::Where { body, conditions } => Answer::Where {
            conditions: all(conditions),
            body: Box::new(map_answer(body, change)),
        },
        Answer::Expr(expr) => Answer::Expr(change(expr)),
        Answer::Quantity(value, unit) => {
            Answer::Quantity(Box::new(map_answer(value, change)), unit.clone())
        }
        Answer::Ratio(items) => Answer::Ratio(items.iter().map(change).collect()),
        Answer::Interval(interval) => Answer::Interval(Interval {
            lower: change(&interval.lower),
            upper: change(&interval.upper),
            ..interval.clone()
        }),
        Answer::IndexedUnion {
            index,
            lower,
            upper,
            body,
        } => Answer::IndexedUnion {
            index: index.clone(),
            lower: lower.as_ref().map(&mut *change),
            upper: upper.as_ref().map(&mut *change),
            body: Box::new(map_answer(body, change)),
        },
        Answer::SetBuilder { element, condition } => Answer::SetBuilder {
            element: Box::new(map_answer(element, change)),
            condition: Box::new(map_answer(condition, change)),
        },
        Answer::Matrix {
            rows,
            columns,
            cells,
        } => Answer::Matrix {
            rows: *rows,
            columns: *columns,
            cells: cells.iter().map(change).collect(),
        },
        Answer::Piecewise(cases) => Answer::Piecewise(
            cases
                .iter()
                .map(|(value, condition)| {
                    (
                        map_answer(value, change),
                        condition.as_ref().map(|c| map_answer(c, change)),
                    )
                })
                .collect(),
        ),
        Answer::Base { .. }
        | Answer::Time(_)
        | Answer::Words(_)
        | Answer::Choice(_)
        | Answer::NamedSet(_) => answer.clone(),
    }
}

/// Put values in for variables, everywhere in an answer.
pub(super) fn substitute_answer(answer: &Answer, values: &[(&str, Expr)]) -> Answer {
    map_answer(answer, &mut |expr| substitute(expr, values))
}

/// The parts of an answer that are answers.
pub(super) fn parts(answer: &Answer) -> Vec<&Answer> {
    match answer {
        Answer::List { items, .. }
        | Answer::Tuple { items, .. }
        | Answer::SetOperation(_, items)
        | Answer::Relation { sides: items, .. } => items.iter().collect(),
        Answer::Quantity(body, _) | Answer::IndexedUnion { body, .. } => vec![body],
        Answer::SetBuilder { element, condition } => vec![element, condition],
        Answer::Where { body, conditions } => std::iter::once(&**body).chain(conditions).collect(),
        Answer::Piecewise(cases) => cases
            .iter()
            .flat_map(|(value, condition)| std::iter::once(value).chain(condition))
            .collect(),
        _ => Vec::new(),
    }
}

/// Call `visit` with every outermost expression of an answer.
pub(super) fn visit<'a>(answer: &'a Answer, seen: &mut dyn FnMut(&'a Expr)) {
    match answer {
        Answer::Expr(expr) => seen(expr),
        Answer::Ratio(items) | Answer::Matrix { cells: items, .. } => items.iter().for_each(seen),
        Answer::Interval(interval) => {
            seen(&interval.lower);
            seen(&interval.upper);
        }
        _ => {
            if let Answer::IndexedUnion { lower, upper, .. } = answer {
                lower.iter().chain(upper).for_each(&mut *seen);
            }
            for part in parts(answer) {
                visit(part, seen);
            }
        }
    }
}

/// The names in an answer, sorted, each once.
pub(super) fn names(answer: &Answer) -> Vec<&str> {
    let mut names = Vec::new();
    visit(answer, &mut |expr| {
        names.extend(super::super::value::variables(expr));
    });
    names.sort_unstable();
    names.dedup();
    names
}

/// Whether all of an answer is numbers.
pub(super) fn is_numeric(answer: &Answer) -> bool {
    if matches!(
        answer,
        Answer::Words(_) | Answer::Choice(_) | Answer::NamedSet(_) | Answer::IndexedUnion { .. }
    ) {
        return false;
    }
    let mut constant = true;
    visit(answer, &mut |expr| constant &= is_constant(expr));
    constant && parts(answer).into_iter().all(is_numeric)
}

/// Whether two equal trees may stand for different things: operators known as [`Operator::Other`]
/// only, logarithms without a base aside (both were written alike).
pub(super) fn is_vague(answer: &Answer) -> bool {
    if let Answer::Relation { operators, .. } = answer {
        if operators.contains(&Operator::Other) {
            return true;
        }
    }
    parts(answer).into_iter().any(is_vague)
}
