//! Inequalities in any number of variables.

use super::super::tree::{Answer, Expr, Operator};
use super::super::value::Proportion;
use super::super::verdict::{Reason, Verdict};
use super::edit::{difference, names};
use super::equations::proportion;
use super::matching::{matching, Matching};
use super::polynomial::Polynomial;
use super::{samples, Context};

/// One link of a chain: `positive > 0`, or `>= 0` if not strict.
struct Link {
    positive: Expr,
    strict: bool,
}

struct Chain<'a> {
    sides: Vec<&'a Expr>,
    operators: &'a [Operator],
    links: Vec<Link>,
}

/// Read a chain of inequalities between expressions.
fn chain(answer: &Answer) -> Option<Chain<'_>> {
    let Answer::Relation { sides, operators } = answer else {
        return None;
    };
    let sides: Vec<_> = sides
        .iter()
        .map(|side| match side {
            Answer::Expr(expr) => Some(expr),
            _ => None,
        })
        .collect::<Option<_>>()?;
    let link = |(pair, operator): (&[&Expr], &Operator)| {
        let [left, right] = *pair else { return None };
        let (positive, strict) = match operator {
            Operator::Less => (difference(right, left), true),
            Operator::LessEqual => (difference(right, left), false),
            Operator::Greater => (difference(left, right), true),
            Operator::GreaterEqual => (difference(left, right), false),
            _ => return None,
        };
        Some(Link { positive, strict })
    };
    let links = sides
        .windows(2)
        .zip(operators)
        .map(link)
        .collect::<Option<_>>()?;
    Some(Chain {
        sides,
        operators,
        links,
    })
}

/// Decide two chains of inequalities.
pub(super) fn compare(context: &mut Context<'_>, answer: &Answer, gold: &Answer) -> Option<Reason> {
    let (left, right) = (chain(answer)?, chain(gold)?);
    let mut variables = names(answer);
    if variables.is_empty() {
        // About numbers: true or false, but no answer.
        return Some(Reason::Unproved);
    }
    variables.extend(names(gold));
    variables.sort_unstable();
    variables.dedup();
    let reason = links(context, &left.links, &right.links);
    if reason.verdict() == Verdict::Undecided && refuted(context, &left, &right, &variables) {
        return Some(Reason::DifferentRelations);
    }
    Some(reason)
}

fn links(context: &mut Context<'_>, left: &[Link], right: &[Link]) -> Reason {
    if let ([left], [right]) = (left, right) {
        return link(context, left, right);
    }
    if left.len() != right.len() {
        return Reason::Unproved;
    }
    let found = matching(left.len(), &mut |i, j| match (left.get(i), right.get(j)) {
        (Some(a), Some(b)) => link(context, a, b).verdict(),
        _ => Verdict::Incorrect,
    });
    match found {
        Matching::Perfect => Reason::EqualRelations,
        _ => Reason::Unproved,
    }
}

/// Two inequalities are the same if proportional by a positive factor. That linear ones are not
/// proves them different.
fn link(context: &mut Context<'_>, left: &Link, right: &Link) -> Reason {
    let found = proportion(&left.positive, &right.positive, context.budget);
    if found == Proportion::Positive && left.strict == right.strict {
        return Reason::EqualRelations;
    }
    let mut linear = |expr| Polynomial::of(expr, context.budget).is_some_and(|p| p.degree() == 1);
    if found != Proportion::Unproved && linear(&left.positive) && linear(&right.positive) {
        Reason::DifferentRelations
    } else {
        Reason::Unproved
    }
}

/// Whether one holds and the other does not at some point.
fn refuted(
    context: &mut Context<'_>,
    left: &Chain<'_>,
    right: &Chain<'_>,
    variables: &[&str],
) -> bool {
    samples::points(variables).iter().any(|point| {
        let first = samples::holds(context, &left.sides, left.operators, point);
        let second = first.and(samples::holds(
            context,
            &right.sides,
            right.operators,
            point,
        ));
        matches!((first, second), (Some(a), Some(b)) if a != b)
    })
}
