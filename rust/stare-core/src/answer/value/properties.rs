//! Properties on random trees, each against a slow and obvious twin.

use dashu_float::round::mode::HalfEven;
use dashu_float::FBig;
use dashu_int::IBig;
use dashu_ratio::RBig;
use proptest::prelude::*;

use super::ball::{signed, Ball};
use super::mag::Mag;
use super::tests::decide;
use super::trees::{add, c, cos, div, e, f, i, ln, mul, n, neg, pi, pow, sin, sqrt, sub, var};
use super::{compare, elementary, exact, key, order, proportion, variables, within, Tolerance};
use crate::answer::limits::Budget;
use crate::answer::tree::{Bound, BoundOperator, Constant, Expr, Function};
use crate::answer::verdict::{Reason, Verdict};

/// Small rationals and the operations on them.
fn rational_tree() -> impl Strategy<Value = Expr> {
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

/// The value of such a tree, by the book.
fn naive(expr: &Expr) -> Option<RBig> {
    Some(match expr {
        Expr::Number(number) => number.value.clone(),
        Expr::Sum(parts) => {
            let mut sum = RBig::ZERO;
            for part in parts {
                sum += naive(part)?;
            }
            sum
        }
        Expr::Product(parts) => {
            let mut product = RBig::ONE;
            for part in parts {
                product *= naive(part)?;
            }
            product
        }
        Expr::Negate(inner) => -naive(inner)?,
        Expr::Quotient(over, under) => {
            let under = naive(under)?;
            if under.is_zero() {
                return None;
            }
            naive(over)? / under
        }
        Expr::Power(base, exponent) => {
            let base = naive(base)?;
            let exponent = i64::try_from(naive(exponent)?.numerator()).ok()?;
            if base.is_zero() && exponent <= 0 {
                return None;
            }
            let mut power = RBig::ONE;
            for _ in 0..exponent.abs() {
                power *= &base;
            }
            if exponent < 0 {
                RBig::ONE / power
            } else {
                power
            }
        }
        _ => return None,
    })
}

/// Expressions of all kinds, none of them gigantic.
fn tree() -> impl Strategy<Value = Expr> {
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
fn rewritten(expr: &Expr, choices: &mut impl Iterator<Item = u8>) -> Expr {
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
fn wild_tree() -> impl Strategy<Value = Expr> {
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

fn close(ball: &Ball, reference: &FBig<HalfEven, 2>, bits: usize) -> bool {
    let repr = reference.repr();
    let exponent = i64::try_from(repr.exponent()).unwrap();
    let reference = Ball::new(repr.significand().clone(), exponent, Mag::ZERO, 1 << 20);
    let rest = ball.minus(&reference, 1 << 20);
    // Contains the reference, which is itself good to many more bits, and is not wide.
    let slack = Mag::new(1, -signed(bits) - 64);
    let wide = ball
        .radius()
        .top()
        .is_some_and(|top| top > ball.top().unwrap_or(0).max(0) + 40 - signed(bits));
    rest.widened(slack).contains_zero() && !wide
}

proptest! {
    #[test]
    fn rationals_are_those_of_the_book(a in rational_tree(), b in rational_tree()) {
        let expected = (naive(&a), naive(&b));
        prop_assert_eq!(&exact(&a, &mut Budget::new()), &expected.0);
        let reason = decide(&a, &b);
        match expected {
            (Some(left), Some(right)) if left == right => {
                prop_assert_eq!(reason, Reason::EqualNumbers);
            }
            (Some(_), Some(_)) => prop_assert_eq!(reason, Reason::DifferentNumbers),
            _ => prop_assert_ne!(reason.verdict(), Verdict::Incorrect),
        }
    }

    #[test]
    fn elementary_functions_contain_the_reference(
        over in -1_000_000_i64..1_000_000,
        under in 1_u64..10_000,
        shift in -70_i64..12,
        bits in prop_oneof![Just(64_usize), Just(192), Just(320), Just(700), Just(2048)],
    ) {
        let x = Ball::integer(over.into(), bits)
            .over(&Ball::integer(under.into(), 64), bits)
            .unwrap()
            .shifted(shift)
            .center();
        let (mid, exponent) = x.middle();
        let exponent = isize::try_from(exponent).unwrap();
        let argument = FBig::<HalfEven, 2>::from_parts(mid.clone(), exponent)
            .with_precision(bits + 100)
            .value();
        let (sine, cosine) = elementary::sin_cos(&x, bits).unwrap();
        prop_assert!(close(&sine, &argument.sin(), bits));
        prop_assert!(close(&cosine, &argument.cos(), bits));
        prop_assert!(close(&elementary::arctan(&x, bits).unwrap(), &argument.atan(), bits));
        if x.top().is_none_or(|top| top < 10) {
            prop_assert!(close(&elementary::exp(&x, bits).unwrap(), &argument.exp(), bits));
        }
        if *mid > IBig::ZERO {
            prop_assert!(close(&elementary::ln(&x, bits).unwrap(), &argument.ln(), bits));
            prop_assert!(close(&x.root(bits).unwrap(), &argument.sqrt(), bits));
        }
    }

    #[test]
    fn balls_are_inclusive(
        mid in -1000_i64..1000, radius in 0_u64..1000, other in -1000_i64..1000,
        wide in 0_u64..1000, at in 0..=10_i64, there in 0..=10_i64, bits in 4_usize..80,
    ) {
        // Any point of each ball: its result must lie in the ball of results.
        let ball = |mid: i64, radius| Ball::new(mid.into(), 0, Mag::new(radius, 0), 64);
        let inside = |mid: i64, radius: u64, at: i64| {
            let radius = i64::try_from(radius).unwrap();
            RBig::from_parts((mid * 5 + radius * (at - 5)).into(), 5_u8.into())
        };
        let (a, b) = (ball(mid, radius), ball(other, wide));
        let (p, q) = (inside(mid, radius, at), inside(other, wide, there));
        let holds = |ball: &Ball, value: &RBig| {
            ball.minus(&Ball::rational(value, 400), 1 << 12).contains_zero()
        };
        prop_assert!(holds(&a.plus(&b, bits), &(&p + &q)));
        prop_assert!(holds(&a.minus(&b, bits), &(&p - &q)));
        prop_assert!(holds(&a.times(&b, bits).unwrap(), &(&p * &q)));
        if let Some(quotient) = a.over(&b, bits) {
            prop_assert!(holds(&quotient, &(&p / &q)));
        }
        if let Some(root) = a.root(bits) {
            let exact = Ball::rational(&p, 400).root(400).unwrap();
            prop_assert!(root.minus(&exact, 1 << 12).contains_zero());
        }
        if let Some(floor) = a.floor() {
            prop_assert_eq!(floor, p.floor());
        }
        if let Some(log) = elementary::ln(&a, bits) {
            let exact = elementary::ln(&Ball::rational(&p, 400), 400).unwrap();
            prop_assert!(log.minus(&exact, 1 << 12).contains_zero());
        }
        let turn = elementary::arctan(&a, bits).unwrap();
        let exact = elementary::arctan(&Ball::rational(&p, 400), 400).unwrap();
        prop_assert!(turn.minus(&exact, 1 << 12).contains_zero());
        if let Some(power) = elementary::exp(&a.clone().shifted(-10), bits) {
            let exact = elementary::exp(&Ball::rational(&p, 400).shifted(-10), 400).unwrap();
            prop_assert!(power.minus(&exact, 1 << 12).contains_zero());
        }
    }

    #[test]
    fn rewriting_changes_nothing(a in tree(), choices in prop::collection::vec(0_u8..6, 32)) {
        let b = rewritten(&a, &mut choices.into_iter());
        let reason = decide(&a, &b);
        prop_assert_ne!(reason.verdict(), Verdict::Incorrect, "{:?} {:?}", reason, b);
    }

    #[test]
    fn what_was_changed_is_never_equal(a in tree(), over in 1_i64..9, under in 1_i64..1_000_000) {
        let more = add([a.clone(), div(n(over), n(under))]);
        prop_assert_ne!(decide(&a, &more).verdict(), Verdict::Correct);
        let times = mul([a.clone(), add([n(1), div(n(over), n(under))])]);
        if decide(&a, &n(0)).verdict() == Verdict::Incorrect {
            prop_assert_ne!(decide(&a, &times).verdict(), Verdict::Correct);
        }
    }

    #[test]
    fn everything_equals_itself(a in tree()) {
        let reason = decide(&a, &a.clone());
        prop_assert_ne!(reason.verdict(), Verdict::Incorrect, "{:?}", reason);
        prop_assert!(exact(&sub(a.clone(), a), &mut Budget::new()).is_none_or(|v| v.is_zero()));
    }

    #[test]
    fn nothing_panics(a in wild_tree(), b in wild_tree()) {
        let budget = &mut Budget::new();
        let reason = compare(&a, &b, budget);
        prop_assert_eq!(reason, compare(&a, &b, &mut Budget::new()));
        let same = compare(&a, &a.clone(), &mut Budget::new());
        prop_assert_ne!(same.verdict(), Verdict::Incorrect, "{:?}", same);
        let _ = proportion(&a, &b, &mut Budget::new());
        let _ = order(&a, &b, &mut Budget::new());
        let _ = within(&a, &b, Tolerance::GoldDigits, &mut Budget::new());
        let _ = within(&a, &b, Tolerance::Relative(0.1), &mut Budget::new());
        let _ = key(&a, &mut Budget::new());
        let _ = variables(&b);
    }
}
