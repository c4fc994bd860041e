//! Properties: no text panics, a rendered tree reads back.

use dashu_ratio::RBig;
use proptest::prelude::*;

use super::super::super::tree::{
    Answer, Brackets, Constant, Expr, Function, Interval, Number, Operator, Unit,
};
use super::super::{measure, parse};
use super::pieces::texts;

fn number() -> impl Strategy<Value = Expr> {
    (0_u32..2000).prop_map(|value| {
        Expr::Number(Number {
            value: RBig::from(value),
            decimal: None,
        })
    })
}

fn leaf() -> impl Strategy<Value = Expr> {
    prop_oneof![
        number(),
        prop::sample::select(vec!["x", "y", "alpha", "x_1", "n"])
            .prop_map(|name| Expr::Symbol(name.into())),
        prop::sample::select(vec![Constant::Pi, Constant::E, Constant::I]).prop_map(Expr::Constant),
    ]
}

fn expressions() -> impl Strategy<Value = Expr> {
    leaf().prop_recursive(4, 24, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 2..4).prop_map(Expr::Sum),
            prop::collection::vec(inner.clone(), 2..4).prop_map(Expr::Product),
            inner.clone().prop_map(|e| Expr::Negate(Box::new(e))),
            (inner.clone(), inner.clone())
                .prop_map(|(a, b)| Expr::Quotient(Box::new(a), Box::new(b))),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| Expr::Power(Box::new(a), Box::new(b))),
            (inner.clone(), inner.clone())
                .prop_map(|(a, b)| Expr::Call(Function::Root, vec![a, b])),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| Expr::Call(Function::Log, vec![a, b])),
            inner
                .clone()
                .prop_map(|e| Expr::Call(Function::Sin, vec![e])),
            inner
                .clone()
                .prop_map(|e| Expr::Call(Function::Abs, vec![e])),
            inner
                .clone()
                .prop_map(|e| Expr::Call(Function::Floor, vec![e])),
            inner
                .clone()
                .prop_map(|e| Expr::Call(Function::Factorial, vec![e])),
            inner.prop_map(|e| Expr::PlusMinus {
                plus_first: true,
                term: Box::new(e)
            }),
        ]
    })
}

/// Units and one spelling of each.
fn unit_text(unit: &Unit) -> &str {
    match unit {
        Unit::Percent => r"\%",
        Unit::Degree => r"^{\circ}",
        Unit::Known(name) => match &**name {
            "kJ/mol" => r" \mathrm{kJ} \mathrm{~mol}^{-1}",
            "m*N" => r" \mathrm{N} \cdot \mathrm{m}",
            "m/s^2" => r" \text{ m/s}^2",
            _ => r" \text{ square feet}",
        },
        Unit::Words(_) => r" \text{ apples}",
    }
}

fn units() -> impl Strategy<Value = Unit> {
    let known = ["kJ/mol", "m*N", "m/s^2", "ft^2"].map(|name| Unit::Known(name.into()));
    let others = [Unit::Percent, Unit::Degree, Unit::Words("apples".into())];
    prop::sample::select(known.into_iter().chain(others).collect::<Vec<_>>())
}

fn operator_text(operator: Operator) -> &'static str {
    match operator {
        Operator::Less => "<",
        Operator::GreaterEqual => r"\ge ",
        Operator::NotEqual => r"\ne ",
        _ => "=",
    }
}

/// `x = a`, `x < a < b` and others.
fn relations() -> impl Strategy<Value = Answer> {
    let operators = vec![
        Operator::Equal,
        Operator::Less,
        Operator::GreaterEqual,
        Operator::NotEqual,
    ];
    (
        prop::collection::vec(expressions(), 1..3),
        prop::sample::select(operators),
    )
        .prop_map(|(others, operator)| {
            let operators = vec![operator; others.len()];
            let first = Answer::Expr(Expr::Symbol("x".into()));
            let sides = std::iter::once(first)
                .chain(others.into_iter().map(Answer::Expr))
                .collect();
            Answer::Relation { sides, operators }
        })
}

fn answers() -> impl Strategy<Value = Answer> {
    let item = || expressions().prop_map(Answer::Expr);
    let items = || prop::collection::vec(item(), 2..4);
    prop_oneof![
        item(),
        items().prop_map(|items| Answer::List {
            items,
            braces: true
        }),
        items().prop_map(|items| Answer::List {
            items,
            braces: false
        }),
        items().prop_map(|items| Answer::Tuple {
            items,
            brackets: Brackets::Round
        }),
        (expressions(), expressions()).prop_map(|(lower, upper)| Answer::Interval(Interval {
            lower,
            upper,
            lower_closed: true,
            upper_closed: false
        })),
        prop::collection::vec(expressions(), 4).prop_map(|cells| Answer::Matrix {
            rows: 2,
            columns: 2,
            cells
        }),
        (expressions(), units())
            .prop_map(|(value, unit)| Answer::Quantity(Box::new(Answer::Expr(value)), unit)),
        relations(),
        (expressions(), prop::collection::vec(relations(), 1..3)).prop_map(|(body, conditions)| {
            Answer::Where {
                body: Box::new(Answer::Expr(body)),
                conditions,
            }
        }),
    ]
}

/// One bracketed LaTeX spelling.
fn latex(expr: &Expr) -> String {
    match expr {
        Expr::Number(number) => number.value.to_string(),
        Expr::Constant(Constant::Pi) => r"\pi ".to_owned(),
        Expr::Constant(Constant::E) => "e".to_owned(),
        Expr::Constant(Constant::I) => "i".to_owned(),
        Expr::Constant(Constant::Infinity) => r"\infty ".to_owned(),
        Expr::Symbol(name) if &**name == "alpha" => r"\alpha ".to_owned(),
        Expr::Symbol(name) => name.to_string(),
        Expr::Sum(terms) => terms
            .iter()
            .map(|term| format!("({})", latex(term)))
            .collect::<Vec<_>>()
            .join("+"),
        Expr::Product(factors) => factors
            .iter()
            .map(|factor| format!("({})", latex(factor)))
            .collect::<Vec<_>>()
            .join(r"\cdot "),
        Expr::Negate(inner) => format!("-({})", latex(inner)),
        Expr::Quotient(above, below) => format!(r"\frac{{{}}}{{{}}}", latex(above), latex(below)),
        Expr::Power(base, exponent) => format!("({})^{{{}}}", latex(base), latex(exponent)),
        Expr::Call(Function::Root, arguments) => {
            format!(
                r"\sqrt[{}]{{{}}}",
                latex(&arguments[1]),
                latex(&arguments[0])
            )
        }
        Expr::Call(Function::Log, arguments) => {
            format!(
                r"\log_{{{}}}({})",
                latex(&arguments[1]),
                latex(&arguments[0])
            )
        }
        Expr::Call(Function::Abs, arguments) => format!(r"\lvert {}\rvert ", latex(&arguments[0])),
        Expr::Call(Function::Floor, arguments) => {
            format!(r"\lfloor {}\rfloor ", latex(&arguments[0]))
        }
        Expr::Call(Function::Factorial, arguments) => format!("({})!", latex(&arguments[0])),
        Expr::Call(function, arguments) => {
            format!(
                r"\{}({})",
                format!("{function:?}").to_lowercase(),
                latex(&arguments[0])
            )
        }
        Expr::PlusMinus { term, .. } => format!(r"\pm ({})", latex(term)),
        other => other.to_string(),
    }
}

fn joined(items: &[Answer]) -> String {
    items.iter().map(text).collect::<Vec<_>>().join(", ")
}

fn text(answer: &Answer) -> String {
    match answer {
        Answer::Expr(expr) => latex(expr),
        Answer::List {
            items,
            braces: true,
        } => format!(r"\{{{}\}}", joined(items)),
        Answer::List { items, .. } => joined(items),
        Answer::Tuple { items, .. } => format!("({})", joined(items)),
        Answer::Interval(interval) => {
            format!("[{}, {})", latex(&interval.lower), latex(&interval.upper))
        }
        Answer::Matrix { cells, .. } => {
            let cells: Vec<_> = cells.iter().map(latex).collect();
            format!(
                r"\begin{{pmatrix}}{}&{}\\{}&{}\end{{pmatrix}}",
                cells[0], cells[1], cells[2], cells[3]
            )
        }
        Answer::Quantity(value, unit) => format!("({}){}", text(value), unit_text(unit)),
        // In brackets, or an `i` beside the sign would be an index.
        Answer::Relation { sides, operators } => {
            let sign = operators.first().map_or("", |o| operator_text(*o));
            sides
                .iter()
                .map(|side| match side {
                    Answer::Expr(Expr::Symbol(name)) => name.to_string(),
                    other => format!("({})", text(other)),
                })
                .collect::<Vec<_>>()
                .join(sign)
        }
        Answer::Where { body, conditions } => {
            format!(r"{} \text{{ for }} {}", text(body), joined(conditions))
        }
        other => other.to_string(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_text_panics(text in texts()) {
        if let Ok(answer) = parse(&text) {
            prop_assert!(measure::check(&answer).is_ok());
            prop_assert!(!answer.to_string().is_empty());
        }
    }

    #[test]
    fn no_bytes_panic(text in "\\PC{0,60}") {
        let _ = parse(&text);
    }

    #[test]
    fn a_rendered_tree_reads_back(answer in answers()) {
        let text = text(&answer);
        prop_assert_eq!(parse(&text), Ok(answer), "{}", text);
    }

    #[test]
    fn wrappers_change_nothing(answer in answers()) {
        let text = text(&answer);
        for wrapped in [format!("${text}$"), format!(r"\boxed{{{text}}}."), format!(r"\[ {text} \]"), format!(r"\({text}\),")] {
            prop_assert_eq!(parse(&wrapped), parse(&text), "{}", wrapped);
        }
    }
}
