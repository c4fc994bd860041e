//! Properties on random trees, each against a slow and obvious twin.

use dashu_float::round::mode::HalfEven;
use dashu_float::FBig;
use dashu_int::IBig;
use dashu_ratio::RBig;
use proptest::prelude::*;

use super::super::ball::{signed, Ball};
use super::super::mag::Mag;
use super::super::trees::*;
use super::super::{
    compare, elementary, exact, key, order, proportion, variables, within, Tolerance,
};
use super::decide;
use super::strategies::{rational_tree, rewritten, tree, wild_tree};
use crate::answer::limits::Budget;
use crate::answer::tree::Expr;
use crate::answer::verdict::{Reason, Verdict};

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
