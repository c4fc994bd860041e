//! One shape for answers that are written in several: `\pm` expanded, units moved to the numbers,
//! chains of `>` turned round, names moved to the left.

use super::super::tree::{Answer, Brackets, Expr, NamedSet, Operator, SetOperator, Symbol, Unit};
use super::edit::{infinity, mentions};
use super::intervals::as_interval;
use super::names::{is_name, symbol_of};
use super::signs::signs;

/// The word behind a list that makes it a tuple.
const RESPECTIVELY: &str = "respectively";

/// The normal form of an answer.
pub(super) fn answer(tree: &Answer) -> Answer {
    match tree {
        Answer::Expr(_) | Answer::Interval(_) | Answer::Matrix { .. } => signs(tree),
        Answer::Quantity(value, unit) => quantity(answer(value), unit),
        Answer::List { items, braces } => list(items, *braces),
        Answer::Tuple { items, brackets } => {
            let split = signs(tree);
            if matches!(split, Answer::List { .. }) {
                return answer(&split);
            }
            Answer::Tuple {
                items: items.iter().map(answer_inside).collect(),
                brackets: *brackets,
            }
        }
        Answer::SetOperation(operator, items) => operation(*operator, items),
        Answer::IndexedUnion {
            index,
            lower,
            upper,
            body,
        } => {
            let end = |end: &Option<Expr>| end.clone().filter(|end| infinity(end).is_none());
            Answer::IndexedUnion {
                index: index.clone(),
                lower: end(lower),
                upper: end(upper),
                body: Box::new(answer(body)),
            }
        }
        Answer::SetBuilder { element, condition } => set_builder(element, condition),
        Answer::Relation { sides, operators } => {
            relation(sides.iter().map(answer).collect(), operators.clone())
        }
        Answer::Where { body, conditions } => conditional(answer(body), conditions),
        Answer::Piecewise(cases) => Answer::Piecewise(
            cases
                .iter()
                .map(|(value, condition)| (answer(value), condition.as_ref().map(answer)))
                .collect(),
        ),
        Answer::Base { .. }
        | Answer::Time(_)
        | Answer::Ratio(_)
        | Answer::Words(_)
        | Answer::Choice(_)
        | Answer::NamedSet(_) => tree.clone(),
    }
}

/// The normal form of an item of a tuple: its signs belong to the whole tuple.
fn answer_inside(item: &Answer) -> Answer {
    match item {
        Answer::Expr(_) => item.clone(),
        other => answer(other),
    }
}

/// A unit behind several values belongs to each of them.
fn quantity(value: Answer, unit: &Unit) -> Answer {
    let each = |items: Vec<Answer>| -> Vec<Answer> {
        items.into_iter().map(|item| quantity(item, unit)).collect()
    };
    match value {
        Answer::List { items, braces } => Answer::List {
            items: each(items),
            braces,
        },
        Answer::Tuple { items, brackets } => Answer::Tuple {
            items: each(items),
            brackets,
        },
        Answer::Relation {
            mut sides,
            operators,
        } => {
            if let Some(last) = sides.pop() {
                sides.push(quantity(last, unit));
            }
            Answer::Relation { sides, operators }
        }
        Answer::Quantity(..) => value,
        other => Answer::Quantity(Box::new(other), unit.clone()),
    }
}

fn list(items: &[Answer], braces: bool) -> Answer {
    let mut flat = Vec::with_capacity(items.len());
    for item in items {
        match (item, answer(item)) {
            // The set of a set is not that set.
            (Answer::List { braces: true, .. }, inner)
                if braces && !matches!(inner, Answer::List { .. } | Answer::NamedSet(_)) =>
            {
                flat.push(Answer::List {
                    items: vec![inner],
                    braces,
                });
            }
            (
                _,
                Answer::List {
                    items,
                    braces: false,
                },
            ) => flat.extend(items),
            (_, other) => flat.push(other),
        }
    }
    if let ([Answer::NamedSet(_) | Answer::List { .. }], true) = (flat.as_slice(), braces) {
        return Answer::List {
            items: flat,
            braces,
        };
    }
    if in_order(&mut flat) {
        return Answer::Tuple {
            items: flat,
            brackets: Brackets::Round,
        };
    }
    if let Some(together) = same_name(&flat) {
        return together;
    }
    match (flat.pop(), flat.is_empty()) {
        (None, _) => Answer::NamedSet(NamedSet::Empty),
        (Some(only), true) => only,
        (Some(last), false) => {
            flat.push(last);
            Answer::List {
                items: flat,
                braces,
            }
        }
    }
}

/// Take "respectively" off the last item; whether it was there.
fn in_order(items: &mut [Answer]) -> bool {
    let size = items.len();
    let Some(last) = items.last_mut().filter(|_| size > 1) else {
        return false;
    };
    match last {
        Answer::Quantity(value, Unit::Words(words)) if &**words == RESPECTIVELY => {
            *last = (**value).clone();
            true
        }
        _ => false,
    }
}

/// `x = 1, x = 2` is `x = 1, 2`.
fn same_name(items: &[Answer]) -> Option<Answer> {
    let mut name: Option<&Answer> = None;
    let mut values = Vec::new();
    for item in items {
        let Answer::Relation { sides, operators } = item else {
            return None;
        };
        let ([left, value], [Operator::Equal]) = (sides.as_slice(), operators.as_slice()) else {
            return None;
        };
        symbol_of(left)?;
        if name.is_some_and(|name| name != left) {
            return None;
        }
        name = Some(left);
        match value {
            Answer::List {
                items,
                braces: false,
            } => values.extend(items.iter().cloned()),
            other => values.push(other.clone()),
        }
    }
    if values.len() < 2 {
        return None;
    }
    let values = Answer::List {
        items: values,
        braces: false,
    };
    Some(Answer::Relation {
        sides: vec![name?.clone(), values],
        operators: vec![Operator::Equal],
    })
}

fn operation(operator: SetOperator, items: &[Answer]) -> Answer {
    let mut flat = Vec::with_capacity(items.len());
    for (at, item) in items.iter().enumerate() {
        match answer(item) {
            // A difference is flat on its left only.
            Answer::SetOperation(inner, items)
                if inner == operator && (at == 0 || operator != SetOperator::Difference) =>
            {
                flat.extend(items);
            }
            other => flat.push(other),
        }
    }
    Answer::SetOperation(operator, flat)
}

/// `\{x \in S \mid ..\}` has `x \in S` among its conditions; `x \in \mathbb{R}` says nothing.
fn set_builder(element: &Answer, condition: &Answer) -> Answer {
    let mut conditions = match condition {
        Answer::List {
            items,
            braces: false,
        } => items.iter().map(answer).collect(),
        other => vec![answer(other)],
    };
    let mut element = answer(element);
    if let Answer::Relation { sides, operators } = &element {
        if let ([name, _], [Operator::In]) = (sides.as_slice(), operators.as_slice()) {
            let name = name.clone();
            conditions.push(element);
            element = name;
        }
    }
    if conditions.len() > 1 {
        conditions.retain(|condition| real_variable(condition).is_none());
    }
    let condition = match (conditions.pop(), conditions.is_empty()) {
        (Some(only), true) => only,
        (last, _) => {
            conditions.extend(last);
            Answer::List {
                items: conditions,
                braces: false,
            }
        }
    };
    Answer::SetBuilder {
        element: Box::new(element),
        condition: Box::new(condition),
    }
}

/// The variable of `x \in \mathbb{R}`.
fn real_variable(condition: &Answer) -> Option<&Symbol> {
    match condition {
        Answer::Relation { sides, operators } => match (sides.as_slice(), operators.as_slice()) {
            ([name, Answer::NamedSet(NamedSet::Reals)], [Operator::In]) => symbol_of(name),
            _ => None,
        },
        _ => None,
    }
}

/// A body with conditions: that the variable of a statement is real is left out, and an interval
/// for every integer is a union.
fn conditional(body: Answer, conditions: &[Answer]) -> Answer {
    let mut kept = Vec::new();
    for condition in conditions {
        let condition = answer(condition);
        let said = matches!(body, Answer::Relation { .. })
            && real_variable(&condition).is_some_and(|name| super::edit::names(&body) == [&**name]);
        match condition {
            _ if said => {}
            Answer::List {
                items,
                braces: false,
            } => kept.extend(items),
            other => kept.push(other),
        }
    }
    if kept.is_empty() {
        return body;
    }
    if let ([only], Some(interval)) = (kept.as_slice(), as_interval(&body)) {
        if let Some(index) = integer_variable(only) {
            if mentions(&interval.lower, index) && mentions(&interval.upper, index) {
                return Answer::IndexedUnion {
                    index: index.clone(),
                    lower: None,
                    upper: None,
                    body: Box::new(Answer::Interval(interval)),
                };
            }
        }
    }
    Answer::Where {
        body: Box::new(body),
        conditions: kept,
    }
}

fn integer_variable(condition: &Answer) -> Option<&Symbol> {
    match condition {
        Answer::Relation { sides, operators } => match (sides.as_slice(), operators.as_slice()) {
            ([name, Answer::NamedSet(NamedSet::Integers)], [Operator::In]) => symbol_of(name),
            _ => None,
        },
        _ => None,
    }
}

/// The operator read from right to left.
pub(super) const fn flipped(operator: Operator) -> Operator {
    match operator {
        Operator::Less => Operator::Greater,
        Operator::LessEqual => Operator::GreaterEqual,
        Operator::Greater => Operator::Less,
        Operator::GreaterEqual => Operator::LessEqual,
        other => other,
    }
}

fn relation(mut sides: Vec<Answer>, mut operators: Vec<Operator>) -> Answer {
    use Operator::{Equal, Greater, GreaterEqual, NotEqual};
    let descending = operators
        .iter()
        .any(|o| matches!(o, Greater | GreaterEqual))
        && operators
            .iter()
            .all(|o| matches!(o, Greater | GreaterEqual | Equal));
    let named_last = match (sides.as_slice(), operators.as_slice()) {
        ([left, right], [Equal | NotEqual]) => !is_name(left) && is_name(right),
        _ => false,
    };
    if descending || named_last {
        sides.reverse();
        operators = operators.into_iter().rev().map(flipped).collect();
    }
    match (sides.as_slice(), operators.as_slice()) {
        // (x, y) = (1, 2)
        ([Answer::Tuple { items: names, .. }, Answer::Tuple { items: values, .. }], [Equal])
            if names.len() == values.len() && names.iter().all(|n| symbol_of(n).is_some()) =>
        {
            let pairs = names.iter().zip(values);
            Answer::List {
                items: pairs.map(|(n, v)| assignment(n, v)).collect(),
                braces: false,
            }
        }
        // x = y = 3
        ([names @ .., value], [Equal, Equal, ..])
            if operators.iter().all(|operator| *operator == Equal)
                && names.iter().all(is_name)
                && !is_name(value) =>
        {
            Answer::List {
                items: names.iter().map(|name| assignment(name, value)).collect(),
                braces: false,
            }
        }
        _ => Answer::Relation { sides, operators },
    }
}

fn assignment(name: &Answer, value: &Answer) -> Answer {
    Answer::Relation {
        sides: vec![name.clone(), value.clone()],
        operators: vec![Operator::Equal],
    }
}
