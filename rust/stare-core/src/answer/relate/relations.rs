//! Equations, inequalities and other statements.

use super::super::tree::{Answer, Expr, Operator};
use super::super::value;
use super::super::verdict::{Reason, Verdict};
use super::edit::{any, is_constant, is_vague, substitute};
use super::names::named;
use super::{all, equations, inequalities, Context};

/// A statement against another, or against a value.
pub(super) fn rule(context: &mut Context<'_>, answer: &Answer, gold: &Answer) -> Option<Reason> {
    match (answer, gold) {
        (
            Answer::Relation {
                sides: left,
                operators: mine,
            },
            Answer::Relation {
                sides: right,
                operators: theirs,
            },
        ) => equations::compare(context, answer, gold)
            .or_else(|| inequalities::compare(context, answer, gold))
            .or_else(|| {
                if mine != theirs {
                    return None;
                }
                let pairs = left.iter().zip(right);
                let reasons: Vec<_> = pairs.map(|(a, b)| context.answers(a, b)).collect();
                let equal = if is_vague(gold) {
                    Reason::Ambiguous
                } else {
                    Reason::EqualRelations
                };
                Some(all(reasons, equal, Reason::Unproved))
            }),
        (Answer::Relation { .. }, Answer::Expr(value)) => against_value(context, answer, value),
        (Answer::Expr(value), Answer::Relation { .. }) => against_value(context, gold, value),
        _ => None,
    }
}

/// An equation that names no value, against a value. `2x + z = 1` is not 1; `a + b = 5` may have
/// been meant as 5, and `2x = 10` too.
fn against_value(context: &mut Context<'_>, equation: &Answer, value: &Expr) -> Option<Reason> {
    let Answer::Relation { sides, operators } = equation else {
        return None;
    };
    let ([Answer::Expr(left), Answer::Expr(right)], [Operator::Equal]) =
        (sides.as_slice(), operators.as_slice())
    else {
        return None;
    };
    if !is_constant(value) || named(equation).is_some() {
        return None;
    }
    let variables = super::edit::names(equation);
    if let [only] = variables.as_slice() {
        let at = |side: &Expr| substitute(side, &[(*only, value.clone())]);
        let solved = value::compare(&at(left), &at(right), context.budget);
        let as_side = [left, right]
            .map(|side| !is_constant(side) || context.equal(side, value) == Some(false));
        return Some(
            if solved.verdict() == Verdict::Incorrect && as_side == [true, true] {
                Reason::DifferentKinds
            } else {
                Reason::UnlikeKinds
            },
        );
    }
    let stated = [left, right]
        .iter()
        .any(|side| is_constant(side) && context.equal(side, value) != Some(false));
    Some(if stated && !is_curve(left) && !is_curve(right) {
        Reason::UnlikeKinds
    } else {
        Reason::DifferentKinds
    })
}

/// Whether a side has coefficients or powers of variables, as the equation of a line or curve has.
fn is_curve(side: &Expr) -> bool {
    any(side, &mut |node| match node {
        Expr::Product(factors) => {
            factors.iter().any(|f| matches!(f, Expr::Number(_)))
                && factors.iter().any(|f| !is_constant(f))
        }
        Expr::Power(base, _) => !is_constant(base),
        _ => false,
    })
}
