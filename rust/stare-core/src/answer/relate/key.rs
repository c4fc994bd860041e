//! Canonical texts: equal answers have equal ones, where that is known.

use super::super::limits::Budget;
use super::super::tree::{Answer, Brackets, Expr, Function, NamedSet, Operator};
use super::super::value::{self, Tolerance};
use super::boolean::{Cut, Reals};
use super::edit::{any, difference, infinity, integer, is_numeric, substitute, substitute_answer};
use super::families::numbers;
use super::lists::assignments;
use super::names::{named, symbol_of};
use super::numerals::{base_value, moment, reduced, Moment};
use super::polynomial::Polynomial;
use super::quantities::canonical;
use super::scalars::varies;
use super::{chains, normal, regions, text, vocabulary, Context};

/// Points that are added for functions with few values.
const STEP_POINTS: i64 = 8;

/// The largest number at these points.
const STEP_TOP: i64 = 12;

/// A text that is the same for equal answers and, where decidable, only for them. Always there: an
/// answer without a canonical form gets its normalised tree.
///
/// Equality of answers does not always carry over: `5 cm` and `5 m` are equal to `5` and not to each
/// other. The key takes one side then:
///
/// - Units of measure are part of it, in base units: `5 cm` is `0.05 m` and neither `5 m` nor `5`.
///   Words behind a number, degrees, radians and dollars are not, percent are hundredths: a bare
///   number is meant as these and seldom as anything else.
/// - The name of a value is not part of it: `x = 5` is `5`, and so is `y = 5`. Within one problem
///   one name is asked for. Nor are the braces of lists.
/// - `12:15` is the ratio, not the time; `12:15 p.m.` is the time.
/// - A decimal and what it rounds, `28` and `28\%`, values with names and a bare list of them, the
///   equation `x + y = 0` and `y = -x` have keys of their own.
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
    if let Some(set) = regions::certain(context, answer) {
        return reals(context, &set);
    }
    match answer {
        Answer::Expr(expr) => expression(context, expr),
        Answer::Quantity(value, unit) => {
            let (value, unit) = canonical(value, unit);
            let value = write(context, &value);
            unit.map_or(value.clone(), |unit| format!("{value} unit {unit}"))
        }
        Answer::Base { digits, base } => match base_value(digits, *base) {
            Some(value) => format!("base {value}"),
            None => text::answer(answer),
        },
        Answer::Ratio(parts) => ratio(context, parts),
        Answer::Time(time) => match moment(*time) {
            Moment::Ratio(parts) => ratio(context, &parts),
            Moment::OfDay(seconds) => format!("time {seconds}"),
            Moment::Open => text::answer(answer),
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
        Answer::Where { .. } | Answer::IndexedUnion { .. } => match numbers(context, answer) {
            Some(lattices) => lattices.text(),
            None => family(context, answer),
        },
        Answer::Piecewise(cases) => {
            let mut keys: Vec<_> = cases
                .iter()
                .map(|(value, condition)| {
                    let condition = condition.as_ref().map(|c| write(context, c));
                    format!(
                        "{} if {}",
                        write(context, value),
                        condition.unwrap_or_default()
                    )
                })
                .collect();
            keys.sort_unstable();
            keys.join("; ")
        }
        Answer::SetOperation(..) | Answer::SetBuilder { .. } | Answer::NamedSet(_) => {
            text::answer(answer)
        }
    }
}

fn ratio(context: &mut Context<'_>, parts: &[Expr]) -> String {
    let parts = reduced(context, parts).unwrap_or_else(|| parts.to_vec());
    let keys: Vec<_> = parts.iter().map(|part| expression(context, part)).collect();
    keys.join(":")
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
        None => {
            let key = value::key(expr, context.budget)
                .filter(|key| key.starts_with('f') || !varies(context, expr))
                .unwrap_or_else(|| text::expression(expr));
            let free = value::variables(expr);
            if free.is_empty() || !any(expr, &mut has_steps) {
                return key;
            }
            let more = (0..STEP_POINTS).map(|point| at_whole(context, expr, &free, point));
            format!("{key} at {}", more.collect::<Vec<_>>().join(","))
        }
    }
}

/// Whether it is a function that has the same few values at many points.
fn has_steps(node: &Expr) -> bool {
    use Function::{Ceil, Floor, Gcd, Lcm, Max, Min, Mod};
    matches!(
        node,
        Expr::Call(Gcd | Lcm | Mod | Max | Min | Floor | Ceil, _)
    )
}

/// The key of the value at whole numbers up to [`STEP_TOP`].
fn at_whole(context: &mut Context<'_>, expr: &Expr, free: &[&str], point: i64) -> String {
    let values: Vec<_> = free
        .iter()
        .zip(0..)
        .map(|(name, at)| {
            (
                *name,
                integer(1 + (point * (5 + 2 * at) + 3 * at) % STEP_TOP),
            )
        })
        .collect();
    value::key(&substitute(expr, &values), context.budget).unwrap_or_default()
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
    let states =
        |operator: &Operator| matches!(operator, Operator::Equal | Operator::Approximately);
    if is_numeric(answer) && operators.iter().all(states) {
        if chains::is_void(context, answer) {
            return text::answer(answer);
        }
        // What is behind `\approx` is rounded.
        let exact = operators.iter().take_while(|o| **o == Operator::Equal);
        if let Some(last) = sides.get(exact.count()) {
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

/// With its parameters called by their number; an expression of them by its key.
fn family(context: &mut Context<'_>, answer: &Answer) -> String {
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
    match substitute_answer(&body, &values) {
        Answer::Where { body, conditions } if matches!(*body, Answer::Expr(_)) => {
            let conditions: Vec<_> = conditions.iter().map(text::answer).collect();
            let body = write(context, &body);
            format!("{body} where {}", conditions.join(", "))
        }
        other => text::answer(&other),
    }
}
