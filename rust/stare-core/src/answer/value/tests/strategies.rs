//! Random trees, and rewriting of them.

use dashu_ratio::RBig;
use proptest::prelude::*;

use super::super::trees::*;
use crate::answer::tree::{Bound, BoundOperator, Constant, Expr, Function};

/// Small rationals and the operations on them.
pub(super) fn rational_tree() -> impl Strategy<Value = Expr> {
    let leaf = prop_oneof![
        (-20_i64..20).prop_map(n),
        (1_i64..9).prop_map(|d| div(n(1), n(d)))
    ];
    leaf.prop_recursive(5, 24, 3, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| add([a, b])),
            (inner.clone(), inner.clone(), inner.clone()).prop_map(|(a, b, c)| mul([a, b, c])),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| div(a, b)),
            inner.clone().prop_map(neg),
            (inner, -3_i64..5).prop_map(|(a, k)| pow(a, n(k))),
        ]
    })
}

/// Expressions of all kinds, none of them gigantic.
pub(super) fn tree() -> impl Strategy<Value = Expr> {
    let leaf = prop_oneof![
        3 => (-9_i64..10).prop_map(n),
        3 => prop_oneof![Just("x"), Just("y"), Just("n")].prop_map(var),
        1 => Just(pi()),
        1 => Just(e()),
        1 => Just(i()),
    ];
    leaf.prop_recursive(4, 16, 2, |inner| {
        prop_oneof![
            3 => (inner.clone(), inner.clone()).prop_map(|(a, b)| add([a, b])),
            3 => (inner.clone(), inner.clone()).prop_map(|(a, b)| mul([a, b])),
            2 => (inner.clone(), inner.clone()).prop_map(|(a, b)| div(a, b)),
            1 => (inner.clone(), inner.clone()).prop_map(|(a, b)| pow(a, b)),
            2 => (inner.clone(), -3_i64..5).prop_map(|(a, k)| pow(a, n(k))),
            1 => inner.clone().prop_map(neg),
            1 => inner.clone().prop_map(sqrt),
            1 => inner.clone().prop_map(sin),
            1 => inner.clone().prop_map(cos),
            1 => inner.clone().prop_map(ln),
            1 => inner.prop_map(|a| f(Function::Exp, [a])),
        ]
    })
}

/// The same by the rules of algebra that hold wherever both sides are defined.
pub(super) fn rewritten(expr: &Expr, choices: &mut impl Iterator<Item = u8>) -> Expr {
    let choice = choices.next().unwrap_or(0);
    match expr {
        Expr::Sum(parts) => {
            let mut parts: Vec<Expr> = parts.iter().map(|part| rewritten(part, choices)).collect();
            if choice % 2 == 0 {
                parts.reverse();
            }
            match choice % 3 {
                0 => neg(Expr::Sum(parts.into_iter().map(neg).collect())),
                1 => add([Expr::Sum(parts), n(1), n(-1)]),
                _ => Expr::Sum(parts),
            }
        }
        Expr::Product(parts) => {
            let mut parts: Vec<Expr> = parts.iter().map(|part| rewritten(part, choices)).collect();
            if choice % 2 == 0 {
                parts.reverse();
            }
            match (choice % 3, parts.as_slice()) {
                // a (b + c) = a b + a c
                (0, [a, Expr::Sum(terms)]) => Expr::Sum(
                    terms
                        .iter()
                        .map(|term| mul([a.clone(), term.clone()]))
                        .collect(),
                ),
                (1, [a, b]) => neg(mul([neg(a.clone()), b.clone()])),
                _ => Expr::Product(parts),
            }
        }
        Expr::Quotient(over, under) => {
            let (over, under) = (rewritten(over, choices), rewritten(under, choices));
            if choice % 2 == 0 {
                mul([over, pow(under, n(-1))])
            } else {
                div(neg(over), neg(under))
            }
        }
        Expr::Negate(inner) => mul([n(-1), rewritten(inner, choices)]),
        Expr::Power(base, exponent) => {
            let base = rewritten(base, choices);
            match (&**exponent, choice % 2) {
                (Expr::Number(number), 0) if number.value == RBig::from(2) => {
                    mul([base.clone(), base])
                }
                (exponent, _) => pow(base, exponent.clone()),
            }
        }
        Expr::Call(function, arguments) => {
            let arguments: Vec<Expr> = arguments.iter().map(|a| rewritten(a, choices)).collect();
            match (function, arguments.as_slice(), choice % 2) {
                (Function::Sin, [a], 0) => neg(sin(neg(a.clone()))),
                (Function::Cos, [a], 0) => cos(neg(a.clone())),
                (Function::Exp, [a], 0) => div(n(1), f(Function::Exp, [neg(a.clone())])),
                _ => Expr::Call(*function, arguments),
            }
        }
        Expr::Number(number) if number.value.is_one() && choice % 2 == 0 => {
            add([pow(sin(var("x")), n(2)), pow(cos(var("x")), n(2))])
        }
        other => other.clone(),
    }
}

/// Anything that a tree can hold.
pub(super) fn wild_tree() -> impl Strategy<Value = Expr> {
    let leaf = prop_oneof![
        (-9_i64..10).prop_map(n),
        any::<i64>().prop_map(n),
        Just(c(Constant::Infinity)),
        Just(pow(n(10), n(1000))),
        Just(pow(n(9), pow(n(9), n(9)))),
        Just(pi()),
        Just(i()),
        prop_oneof![Just("x"), Just("X"), Just("k")].prop_map(var),
    ];
    leaf.prop_recursive(5, 32, 4, |inner| {
        let call = (
            0..FUNCTIONS.len(),
            prop::collection::vec(inner.clone(), 1..5),
        );
        prop_oneof![
            3 => call.prop_map(|(at, arguments)| {
                let function = FUNCTIONS[at];
                let count = function.arity().unwrap_or(arguments.len());
                let arguments = arguments.into_iter().cycle().take(count).collect();
                Expr::Call(function, arguments)
            }),
            1 => (inner.clone(), inner.clone()).prop_map(|(a, b)| add([a, b])),
            1 => (inner.clone(), inner.clone()).prop_map(|(a, b)| mul([a, b])),
            1 => (inner.clone(), inner.clone()).prop_map(|(a, b)| div(a, b)),
            2 => (inner.clone(), inner.clone()).prop_map(|(a, b)| pow(a, b)),
            1 => inner.clone().prop_map(|a| Expr::Apply("g".into(), vec![a])),
            1 => (any::<bool>(), inner.clone())
                .prop_map(|(plus_first, a)| Expr::PlusMinus { plus_first, term: Box::new(a) }),
            1 => (0..OPERATORS.len(), inner.clone(), inner.clone(), inner).prop_map(
                |(at, lower, upper, body)| {
                    Expr::Bound(Box::new(Bound {
                        operator: OPERATORS[at],
                        variable: "k".into(),
                        lower: Some(lower),
                        upper: Some(upper),
                        body,
                    }))
                }
            ),
        ]
    })
}

const OPERATORS: [BoundOperator; 5] = [
    BoundOperator::Sum,
    BoundOperator::Product,
    BoundOperator::Integral,
    BoundOperator::Limit,
    BoundOperator::Derivative,
];

const FUNCTIONS: [Function; 47] = {
    use Function::*;
    [
        Root,
        Exp,
        Ln,
        Log,
        LogAny,
        Sin,
        Cos,
        Tan,
        Cot,
        Sec,
        Csc,
        Arcsin,
        Arccos,
        Arctan,
        Arccot,
        Arcsec,
        Arccsc,
        Sinh,
        Cosh,
        Tanh,
        Coth,
        Sech,
        Csch,
        Arsinh,
        Arcosh,
        Artanh,
        Abs,
        Floor,
        Ceil,
        Sign,
        Factorial,
        DoubleFactorial,
        Binomial,
        Permutations,
        Gcd,
        Lcm,
        Max,
        Min,
        Mod,
        Re,
        Im,
        Arg,
        Conjugate,
        Degrees,
        Percent,
        Determinant,
        Root,
    ]
};
