//! Canonical texts: equal answers have equal ones, where that is known.

use super::super::limits::Budget;
use super::super::tree::{Answer, Brackets, Expr, NamedSet, Operator};
use super::super::value::{self, Tolerance};
use super::boolean::{Cut, Reals};
use super::edit::{difference, infinity, is_numeric, substitute_answer};
use super::lists::assignments;
use super::names::{named, symbol_of};
use super::numerals::{base_value, reduced};
use super::polynomial::Polynomial;
use super::quantities::plain_value;
use super::{intervals, normal, text, vocabulary, Context};

/// A text that is the same for equal answers and, where decidable, only for them. Always there: an
/// answer without a canonical form gets its normalised tree.
///
/// The name and the unit of a value are not part of it, for `x = 5`, `5` and `5 cm` are equal; nor
/// are the braces of lists. So `5 cm` and `5 m` share a key: within one problem the unit is given.
/// Equal for a reason that does not carry over from pair to pair leaves keys different: a decimal
/// and what it rounds, `28` and `28\%`, values with names and a bare list of them.
#[must_use]
pub fn key(answer: &Answer) -> String {
    let mut budget = Budget::new();
    let mut context = Context {
        tolerance: Tolerance::None,
        budget: &mut budget,
    };
    write(&mut context, &normal::answer(answer))
}

fn write(context: &mut Context<'_>, answer: &Answer) -> String {
    if let Some(named) = named(answer) {
        return write(context, &named.value);
    }
    if let Some(set) = intervals::certain(context, answer) {
        return reals(context, &set);
    }
    match answer {
        Answer::Expr(expr) => expression(context, expr),
        Answer::Quantity(value, unit) => write(context, &plain_value(value, unit)),
        Answer::Base { digits, base } => match base_value(digits, *base) {
            Some(value) => format!("base {value}"),
            None => text::answer(answer),
        },
        Answer::Ratio(parts) => match reduced(context, parts) {
            Some(parts) => text::answer(&Answer::Ratio(parts)),
            None => text::answer(answer),
        },
        Answer::Words(words) => format!("'{}'", vocabulary::bare(words)),
        // As the symbol that a bare letter is read as.
        Answer::Choice(letter) => expression(context, &Expr::Symbol(letter.to_string().into())),
        Answer::List { items, .. } => list(context, items),
        Answer::Tuple { items, brackets } => {
            let keys: Vec<_> = items.iter().map(|item| write(context, item)).collect();
            // Only a pair in square brackets may be a closed interval.
            let (open, close) = match (brackets, items.len()) {
                (Brackets::Square, 2) => ('[', ']'),
                _ => ('(', ')'),
            };
            format!("{open}{}{close}", keys.join(", "))
        }
        Answer::Matrix {
            rows,
            columns,
            cells,
        } => {
            let keys: Vec<_> = cells.iter().map(|cell| expression(context, cell)).collect();
            format!("{rows}x{columns} [{}]", keys.join(", "))
        }
        Answer::Interval(interval) => {
            let open = if interval.lower_closed { '[' } else { '(' };
            let close = if interval.upper_closed { ']' } else { ')' };
            let lower = expression(context, &interval.lower);
            let upper = expression(context, &interval.upper);
            format!("{open}{lower}, {upper}{close}")
        }
        Answer::Relation { .. } => relation(context, answer),
        Answer::Where { .. } | Answer::IndexedUnion { .. } => family(answer),
        Answer::SetOperation(..)
        | Answer::SetBuilder { .. }
        | Answer::NamedSet(_)
        | Answer::Piecewise(_)
        | Answer::Time(_) => text::answer(answer),
    }
}

/// Sorted; values with names by their names, as the tuple of the values.
fn list(context: &mut Context<'_>, items: &[Answer]) -> String {
    if let Some(mut values) = assignments(items) {
        values.sort_by_key(|(name, _)| *name);
        let keys: Vec<_> = values
            .iter()
            .map(|(_, value)| write(context, value))
            .collect();
        return format!("({})", keys.join(", "));
    }
    let mut keys: Vec<_> = items.iter().map(|item| write(context, item)).collect();
    keys.sort_unstable();
    format!("{{{}}}", keys.join(", "))
}

fn expression(context: &mut Context<'_>, expr: &Expr) -> String {
    match infinity(expr) {
        Some(true) => "inf".to_owned(),
        Some(false) => "-inf".to_owned(),
        None => value::key(expr, context.budget).unwrap_or_else(|| text::expression(expr)),
    }
}

/// The pieces of a set: as a pair in brackets if there is one, as a list if all are points.
fn reals(context: &mut Context<'_>, set: &Reals) -> String {
    let mut points = true;
    let mut pieces = Vec::new();
    let mut members = Vec::new();
    for piece in set.cuts.chunks(2) {
        let [from, to] = piece else { continue };
        let (lower, upper) = (place(context, from), place(context, to));
        points &= from.place == to.place;
        let open = if from.after { '(' } else { '[' };
        let close = if to.after { ']' } else { ')' };
        members.push(lower.clone());
        pieces.push(format!("{open}{lower}, {upper}{close}"));
    }
    match (pieces.is_empty(), points) {
        (true, _) => text::answer(&Answer::NamedSet(NamedSet::Empty)),
        (false, true) => {
            members.sort_unstable();
            match members.as_slice() {
                [only] => only.clone(),
                _ => format!("{{{}}}", members.join(", ")),
            }
        }
        (false, false) => pieces.join(" u "),
    }
}

fn place(context: &mut Context<'_>, cut: &Cut) -> String {
    expression(context, &cut.place)
}

/// Equations and inequalities between polynomials up to a factor, chains of numbers by their last
/// side, others as written.
fn relation(context: &mut Context<'_>, answer: &Answer) -> String {
    let Answer::Relation { sides, operators } = answer else {
        return text::answer(answer);
    };
    if let Some(last) = sides.last() {
        if is_numeric(answer) && operators.iter().all(|o| *o == Operator::Equal) {
            return write(context, last);
        }
    }
    if let ([Answer::Expr(left), Answer::Expr(right)], [operator]) =
        (sides.as_slice(), operators.as_slice())
    {
        let monic = Polynomial::of(&difference(left, right), context.budget)
            .filter(|polynomial| polynomial.degree() > 0)
            .and_then(|polynomial| polynomial.monic());
        if let Some((polynomial, negative)) = monic {
            let operator = if negative {
                normal::flipped(*operator)
            } else {
                *operator
            };
            return format!("{} {operator:?} 0", polynomial.text());
        }
    }
    text::answer(answer)
}

/// With its parameters called by their number.
fn family(answer: &Answer) -> String {
    let parameters: Vec<String> = match answer {
        Answer::Where { conditions, .. } => conditions
            .iter()
            .filter_map(|condition| match condition {
                Answer::Relation { sides, operators } if operators == &[Operator::In] => {
                    sides.first().and_then(symbol_of).map(ToString::to_string)
                }
                _ => None,
            })
            .collect(),
        Answer::IndexedUnion { index, .. } => vec![index.to_string()],
        _ => Vec::new(),
    };
    let values: Vec<_> = parameters
        .iter()
        .enumerate()
        .map(|(at, name)| {
            (
                name.as_str(),
                Expr::Symbol(format!("parameter_{at}").into()),
            )
        })
        .collect();
    let body = match answer {
        Answer::IndexedUnion {
            lower, upper, body, ..
        } => Answer::IndexedUnion {
            index: "parameter_0".into(),
            lower: lower.clone(),
            upper: upper.clone(),
            body: body.clone(),
        },
        Answer::Where { body, conditions } => Answer::Where {
            body: Box::new(match named(body) {
                Some(named) => named.value.into_owned(),
                None => (**body).clone(),
            }),
            conditions: conditions.clone(),
        },
        other => other.clone(),
    };
    text::answer(&substitute_answer(&body, &values))
}
