//! A text per tree that does not depend on the order of commutative operands or on the names of
//! bound variables: equal texts are the same tree, written differently.

use std::fmt::Write;

use super::super::tree::{Answer, Expr, Unit};

/// The text of an expression.
pub(super) fn expression(expr: &Expr) -> String {
    let mut bound = Vec::new();
    write(expr, &mut bound)
}

/// Whether two expressions are the same tree but for the order of terms and factors.
pub(super) fn same(left: &Expr, right: &Expr) -> bool {
    left == right || expression(left) == expression(right)
}

/// Whether two answers are the same tree but for the order of terms, factors and set members.
pub(super) fn same_answer(left: &Answer, right: &Answer) -> bool {
    left == right || answer(left) == answer(right)
}

fn write<'a>(expr: &'a Expr, bound: &mut Vec<&'a str>) -> String {
    match expr {
        Expr::Number(number) => number.value.to_string(),
        Expr::Constant(constant) => format!("%{constant:?}"),
        Expr::Symbol(name) => match bound.iter().rposition(|known| **known == **name) {
            Some(depth) => format!("#{depth}"),
            None => quoted(name),
        },
        Expr::Sum(_) => {
            let mut terms = Vec::new();
            flatten(expr, false, bound, &mut terms);
            joined("+", terms)
        }
        Expr::Product(_) => {
            let mut factors = Vec::new();
            let negative = factors_of(expr, bound, &mut factors);
            let text = joined("*", factors);
            if negative {
                format!("-{text}")
            } else {
                text
            }
        }
        Expr::Negate(inner) => {
            let text = write(inner, bound);
            match text.strip_prefix('-') {
                Some(positive) => positive.to_owned(),
                None => format!("-{text}"),
            }
        }
        Expr::Quotient(left, right) => {
            let (over, under) = (write(left, bound), write(right, bound));
            match over.strip_prefix('-') {
                Some(positive) => format!("-({positive}/{under})"),
                None => format!("({over}/{under})"),
            }
        }
        Expr::Power(left, right) => {
            format!("({}^{})", write(left, bound), write(right, bound))
        }
        Expr::Call(function, items) => call(&format!("{function:?}"), items, bound),
        Expr::Apply(name, items) => call(&format!("@{}", quoted(name)), items, bound),
        Expr::PlusMinus { plus_first, term } => {
            format!(
                "{}{}",
                if *plus_first { "±" } else { "∓" },
                write(term, bound)
            )
        }
        Expr::Bound(node) => {
            let mut ends = String::new();
            for end in [&node.lower, &node.upper] {
                ends.push_str(&end.as_ref().map_or("_".to_owned(), |end| write(end, bound)));
                ends.push(';');
            }
            bound.push(&node.variable);
            let body = write(&node.body, bound);
            bound.pop();
            format!("{:?}[{ends}{body}]", node.operator)
        }
    }
}

fn call<'a>(name: &str, items: &'a [Expr], bound: &mut Vec<&'a str>) -> String {
    let items: Vec<_> = items.iter().map(|item| write(item, bound)).collect();
    format!("{name}({})", items.join(","))
}

/// A name as it is, or in quotes if it has characters that this format gives a meaning.
fn quoted(name: &str) -> String {
    if name.chars().all(|c| c.is_alphanumeric() || c == '_') {
        name.to_owned()
    } else {
        format!("{name:?}")
    }
}

fn joined(operator: &str, mut items: Vec<String>) -> String {
    items.sort_unstable();
    format!("({})", items.join(operator))
}

/// The terms of nested sums, signs worked in.
fn flatten<'a>(expr: &'a Expr, minus: bool, bound: &mut Vec<&'a str>, terms: &mut Vec<String>) {
    match expr {
        Expr::Sum(items) => items
            .iter()
            .for_each(|item| flatten(item, minus, bound, terms)),
        Expr::Negate(inner) => flatten(inner, !minus, bound, terms),
        _ => {
            let text = write(expr, bound);
            terms.push(match (minus, text.strip_prefix('-')) {
                (true, Some(positive)) => positive.to_owned(),
                (true, None) => format!("-{text}"),
                (false, _) => text,
            });
        }
    }
}

/// The factors of nested products; true if the signs make it negative.
fn factors_of<'a>(expr: &'a Expr, bound: &mut Vec<&'a str>, factors: &mut Vec<String>) -> bool {
    match expr {
        Expr::Product(items) => items.iter().fold(false, |minus, item| {
            minus ^ factors_of(item, bound, factors)
        }),
        Expr::Negate(inner) => !factors_of(inner, bound, factors),
        _ => {
            let text = write(expr, bound);
            let positive = text.strip_prefix('-').map(ToOwned::to_owned);
            let negative = positive.is_some();
            factors.push(positive.unwrap_or(text));
            negative
        }
    }
}

/// The text of an answer. Names of units are kept.
pub(super) fn answer(tree: &Answer) -> String {
    match tree {
        Answer::Expr(expr) => expression(expr),
        Answer::Quantity(value, unit) => format!("{} {}", answer(value), self::unit(unit)),
        Answer::Base { digits, base } => format!("{digits}_{base}"),
        Answer::Time(time) => format!("{time:?}"),
        Answer::Ratio(items) => each(items.iter().map(expression), ":"),
        Answer::Words(words) => format!("'{words}'"),
        Answer::Choice(letter) => letter.to_string(),
        Answer::List { items, .. } => {
            let mut items: Vec<_> = items.iter().map(answer).collect();
            items.sort_unstable();
            format!("{{{}}}", items.join(","))
        }
        Answer::Tuple { items, brackets } => {
            format!("{brackets:?}({})", each(items.iter().map(answer), ","))
        }
        Answer::Interval(interval) => format!(
            "{}{},{}{}",
            if interval.lower_closed { '[' } else { '(' },
            expression(&interval.lower),
            expression(&interval.upper),
            if interval.upper_closed { ']' } else { ')' },
        ),
        Answer::SetOperation(operator, items) => {
            format!("{operator:?}({})", each(items.iter().map(answer), ","))
        }
        Answer::IndexedUnion {
            index,
            lower,
            upper,
            body,
        } => {
            let end = |end: &Option<Expr>| end.as_ref().map_or("_".to_owned(), expression);
            format!(
                "Union[{index};{};{};{}]",
                end(lower),
                end(upper),
                answer(body)
            )
        }
        Answer::SetBuilder { element, condition } => {
            format!("{{{}|{}}}", answer(element), answer(condition))
        }
        Answer::NamedSet(set) => format!("{set:?}"),
        Answer::Matrix {
            rows,
            columns,
            cells,
        } => format!(
            "{rows}x{columns}[{}]",
            each(cells.iter().map(expression), ",")
        ),
        Answer::Relation { sides, operators } => {
            let mut text = sides.first().map(answer).unwrap_or_default();
            for (operator, side) in operators.iter().zip(sides.iter().skip(1)) {
                // Writing to a string does not fail.
                let _ = write!(text, " {operator:?} {}", answer(side));
            }
            text
        }
        Answer::Where { body, conditions } => {
            let mut conditions: Vec<_> = conditions.iter().map(answer).collect();
            conditions.sort_unstable();
            format!("{} where {}", answer(body), conditions.join("; "))
        }
        Answer::Piecewise(cases) => each(
            cases.iter().map(|(value, condition)| {
                let condition = condition.as_ref().map(answer).unwrap_or_default();
                format!("{} if {condition}", answer(value))
            }),
            "; ",
        ),
    }
}

fn each(items: impl Iterator<Item = String>, separator: &str) -> String {
    items.collect::<Vec<_>>().join(separator)
}

fn unit(unit: &Unit) -> &str {
    match unit {
        Unit::Percent => "%",
        Unit::Degree => "°",
        Unit::Known(name) | Unit::Words(name) => name,
    }
}

#[cfg(test)]
mod tests {
    use super::super::edit::{integer, negate};
    use super::*;

    fn symbol(name: &str) -> Expr {
        Expr::Symbol(name.into())
    }

    #[test]
    fn order_and_signs_do_not_matter() {
        let (x, y, two) = (symbol("x"), symbol("y"), integer(2));
        let left = Expr::Sum(vec![
            x.clone(),
            negate(Expr::Product(vec![two.clone(), y.clone()])),
        ]);
        let right = Expr::Sum(vec![Expr::Product(vec![y.clone(), negate(two)]), x.clone()]);
        assert_eq!(expression(&left), expression(&right));
        assert!(!same(&left, &Expr::Sum(vec![x, y])));
    }
}
