//! Tests of the engine on trees made by hand.

use std::cmp::Ordering;

use dashu_ratio::RBig;

use super::trees::{
    add, c, cos, dec, div, e, f, i, ln, mul, n, neg, pi, pow, q, root, sin, sqrt, sub, sum, var, x,
    E,
};
use super::{compare, exact, key, order, proportion, within, Proportion, Tolerance};
use crate::answer::limits::Budget;
use crate::answer::tree::{Constant, Function};
use crate::answer::verdict::{Reason, Verdict};

pub(super) fn decide(left: &E, right: &E) -> Reason {
    let reason = compare(left, right, &mut Budget::new());
    let back = compare(right, left, &mut Budget::new());
    assert_eq!(reason, back, "not symmetric: {left:?} {right:?}");
    if reason.verdict() == Verdict::Correct && reason != Reason::RoundedDecimal {
        let keys = [left, right].map(|side| key(side, &mut Budget::new()));
        if keys.iter().all(Option::is_some) {
            assert_eq!(keys[0], keys[1], "{left:?} {right:?}");
        }
    }
    reason
}

#[track_caller]
#[allow(clippy::needless_pass_by_value, reason = "reads better in tables")]
fn equal(left: E, right: E) {
    let reason = decide(&left, &right);
    assert_eq!(
        reason.verdict(),
        Verdict::Correct,
        "{reason:?}: {left:?} {right:?}"
    );
}

#[track_caller]
#[allow(clippy::needless_pass_by_value, reason = "reads better in tables")]
fn different(left: E, right: E) {
    let reason = decide(&left, &right);
    assert_eq!(
        reason.verdict(),
        Verdict::Incorrect,
        "{reason:?}: {left:?} {right:?}"
    );
}

#[track_caller]
#[allow(clippy::needless_pass_by_value, reason = "reads better in tables")]
fn undecided(left: E, right: E) {
    let reason = decide(&left, &right);
    assert_eq!(
        reason.verdict(),
        Verdict::Undecided,
        "{reason:?}: {left:?} {right:?}"
    );
}

#[test]
fn exact_numbers() {
    equal(q(1, 2), dec("0.50"));
    equal(pow(add([n(1), i()]), n(2)), mul([n(2), i()]));
    equal(pow(i(), n(2)), n(-1));
    equal(pow(i(), n(1_000_000_001)), i());
    equal(f(Function::Abs, [add([n(3), mul([n(4), i()])])]), n(5));
    equal(sqrt(q(9, 4)), dec("1.5"));
    equal(root(n(-8), 3), n(-2));
    equal(pow(n(8), q(2, 3)), n(4));
    equal(f(Function::Factorial, [n(5)]), n(120));
    equal(f(Function::DoubleFactorial, [n(5)]), n(15));
    equal(f(Function::Binomial, [n(10), n(3)]), n(120));
    equal(f(Function::Gcd, [n(12), n(18)]), n(6));
    equal(f(Function::Mod, [n(-7), n(3)]), n(2));
    equal(f(Function::Floor, [q(-7, 2)]), n(-4));
    equal(f(Function::Percent, [n(50)]), q(1, 2));
    equal(sum("k", n(1), n(100), var("k")), n(5050));
    equal(f(Function::Determinant, [n(1), n(2), n(3), n(4)]), n(-2));
    equal(f(Function::Log, [q(1, 8), n(2)]), n(-3));
    different(q(1, 3), q(1, 2));
    different(pow(n(2), n(-99)), pow(n(2), n(-98)));
    different(mul([n(2), i()]), n(2));
    undecided(div(n(1), n(0)), n(0));
    undecided(pow(n(0), n(0)), n(1));
}

#[test]
fn constants() {
    equal(
        sqrt(add([n(3), mul([n(2), sqrt(n(2))])])),
        add([n(1), sqrt(n(2))]),
    );
    equal(pow(e(), mul([i(), pi()])), n(-1));
    equal(f(Function::Exp, [mul([i(), pi()])]), n(-1));
    equal(ln(div(n(1), sqrt(e()))), q(-1, 2));
    equal(f(Function::Arctan, [n(1)]), div(pi(), n(4)));
    equal(f(Function::Arcsin, [n(1)]), div(pi(), n(2)));
    equal(f(Function::Arccos, [q(-1, 2)]), mul([q(2, 3), pi()]));
    equal(sin(f(Function::Degrees, [n(30)])), q(1, 2));
    equal(cos(div(pi(), n(5))), div(add([n(1), sqrt(n(5))]), n(4)));
    equal(mul([sqrt(n(2)), sqrt(n(3))]), sqrt(n(6)));
    equal(div(n(1), sqrt(n(2))), div(sqrt(n(2)), n(2)));
    equal(sqrt(mul([n(2), i()])), add([n(1), i()]));
    equal(sqrt(n(-4)), mul([n(2), i()]));
    equal(f(Function::Sinh, [ln(n(2))]), q(3, 4));
    equal(f(Function::Artanh, [q(1, 2)]), div(ln(n(3)), n(2)));
    equal(f(Function::Arsinh, [q(3, 4)]), ln(n(2)));
    equal(f(Function::Arcosh, [q(5, 4)]), ln(n(2)));
    equal(f(Function::Log, [n(8), n(4)]), q(3, 2));
    equal(f(Function::Floor, [mul([n(100), pi()])]), n(314));
    equal(sub(sqrt(n(2)), sqrt(n(2))), n(0));
    equal(cos(div(pi(), n(2))), n(0));
    equal(
        root(add([n(7), mul([n(5), sqrt(n(2))])]), 3),
        add([n(1), sqrt(n(2))]),
    );
    equal(
        root(sub(n(7), mul([n(5), sqrt(n(2))])), 3),
        sub(n(1), sqrt(n(2))),
    );
    equal(f(Function::Max, [sqrt(n(2)), n(1)]), sqrt(n(2)));
    equal(f(Function::Arg, [add([n(-1), i()])]), mul([q(3, 4), pi()]));
    different(mul([n(2), sqrt(n(13))]), mul([n(3), sqrt(n(13))]));
    different(div(pi(), n(4)), mul([q(3, 4), pi()]));
    different(sub(n(1), div(n(1), e())), add([n(1), div(n(1), e())]));
    different(add([pi(), e()]), mul([pi(), e()]));
    different(pow(e(), pi()), pow(pi(), e()));
    undecided(f(Function::Arcsin, [n(2)]), n(0));
    undecided(pow(n(-8), q(1, 3)), n(-2));
    undecided(f(Function::Tan, [div(pi(), n(2))]), n(0));
}

#[test]
fn close_and_tiny() {
    let ten = |k| pow(n(10), n(k));
    different(sqrt(add([ten(20), n(1)])), ten(10));
    different(sqrt(add([ten(300), n(1)])), ten(150));
    different(sub(sqrt(add([ten(300), n(1)])), ten(150)), n(0));
    different(add([n(1), pow(e(), n(-300))]), n(1));
    different(pow(e(), n(-300)), n(0));
    different(sqrt(add([n(1), ten(-80)])), n(1));
    different(
        mul([sqrt(n(2)), pow(n(2), n(-999))]),
        mul([sqrt(n(2)), pow(n(2), n(-998))]),
    );
    equal(
        mul([sqrt(n(8)), pow(n(2), n(-800))]),
        mul([sqrt(n(2)), pow(n(2), n(-799))]),
    );
    let factorial = |k| f(Function::Factorial, [n(k)]);
    different(div(n(1), factorial(2004)), div(n(1), factorial(2006)));
    equal(div(factorial(2004), factorial(2003)), n(2004));
}

#[test]
fn too_large_to_write_out() {
    let tower = |top| pow(n(9), pow(n(9), pow(n(9), top)));
    equal(pow(n(2), n(100_000_000)), pow(n(4), n(50_000_000)));
    different(
        pow(n(2), n(100_000_000)),
        add([pow(n(2), n(100_000_000)), n(1)]),
    );
    different(pow(n(3), n(300_000_000)), pow(n(3), n(300_000_001)));
    equal(tower(n(9)), tower(n(9)));
    different(tower(n(9)), add([tower(n(9)), n(1)]));
    let factorial = |k: E| f(Function::Factorial, [k]);
    different(factorial(n(10_000_000)), factorial(n(10_000_001)));
    equal(factorial(n(10_000_000)), factorial(n(10_000_000)));
    undecided(factorial(factorial(factorial(n(10)))), n(1));
    different(
        f(Function::Binomial, [n(1_000_000_000), n(500_000_000)]),
        f(Function::Binomial, [n(1_000_000_000), n(400_000_000)]),
    );
    undecided(f(Function::Gcd, [pow(n(2), n(100_000_000)), n(3)]), n(1));
    undecided(sum("k", n(1), n(1_000_000_000_000), var("k")), n(5));
}

#[test]
fn decimals() {
    let reason = |a: &E, b: &E| decide(a, b);
    assert_eq!(reason(&dec("0.333333"), &q(1, 3)), Reason::RoundedDecimal);
    assert_eq!(reason(&dec("-0.333333"), &q(-1, 3)), Reason::RoundedDecimal);
    assert_eq!(reason(&dec("0.333"), &q(1, 3)), Reason::DifferentNumbers);
    assert_eq!(reason(&dec("0.333334"), &q(1, 3)), Reason::DifferentNumbers);
    assert_eq!(
        reason(&dec("1.414214"), &sqrt(n(2))),
        Reason::RoundedDecimal
    );
    assert_eq!(
        reason(&dec("-1.414214"), &neg(sqrt(n(2)))),
        Reason::RoundedDecimal
    );
    assert_eq!(
        reason(&dec("1.414213"), &sqrt(n(2))),
        Reason::DifferentConstants
    );
    assert_eq!(reason(&dec("3.14159"), &pi()), Reason::RoundedDecimal);
    assert_eq!(reason(&dec("3.1416"), &pi()), Reason::DifferentConstants);
    assert_eq!(reason(&dec("3.14"), &pi()), Reason::DifferentConstants);
    assert_eq!(
        reason(&dec("0.333333"), &dec("0.3333333")),
        Reason::DifferentNumbers
    );
    equal(mul([dec("1.4"), pow(n(10), n(3))]), n(1400));
    let scaled = mul([dec("3.33333"), pow(n(10), n(-3))]);
    assert_eq!(reason(&scaled, &q(1, 300)), Reason::RoundedDecimal);
    assert_eq!(
        reason(&scaled, &dec("0.003333333")),
        Reason::DifferentNumbers
    );
}

#[test]
fn expressions() {
    equal(
        pow(add([x(), n(1)]), n(2)),
        add([pow(x(), n(2)), mul([n(2), x()]), n(1)]),
    );
    equal(
        div(sub(pow(x(), n(2)), n(1)), sub(x(), n(1))),
        add([x(), n(1)]),
    );
    equal(
        pow(n(2), add([var("n"), n(1)])),
        mul([n(2), pow(n(2), var("n"))]),
    );
    equal(pow(n(-1), mul([n(2), var("n")])), n(1));
    equal(add([sub(x(), x()), n(3)]), n(3));
    equal(mul([n(2), pi(), var("r")]), mul([var("r"), pi(), n(2)]));
    equal(pow(e(), add([x(), n(1)])), mul([e(), pow(e(), x())]));
    equal(add([pow(sin(x()), n(2)), pow(cos(x()), n(2))]), n(1));
    equal(sin(mul([n(2), x()])), mul([n(2), sin(x()), cos(x())]));
    equal(sqrt(pow(x(), n(2))), f(Function::Abs, [x()]));
    equal(sqrt(mul([n(4), x()])), mul([n(2), sqrt(x())]));
    equal(pow(x(), q(1, 2)), sqrt(x()));
    equal(add([x(), i()]), mul([i(), sub(n(1), mul([i(), x()]))]));
    equal(
        E::Apply("f".into(), vec![add([x(), x()])]),
        E::Apply("f".into(), vec![mul([n(2), x()])]),
    );
    equal(
        sum("k", n(1), var("n"), pow(var("k"), n(2))),
        sum("j", n(1), var("n"), mul([var("j"), var("j")])),
    );
    equal(
        sum("k", n(0), n(3), pow(x(), var("k"))),
        div(sub(pow(x(), n(4)), n(1)), sub(x(), n(1))),
    );
    different(x(), var("y"));
    different(x(), n(3));
    different(pow(n(-1), var("n")), n(1));
    different(pow(x(), n(2)), pow(x(), n(3)));
    different(x(), f(Function::Abs, [x()]));
    different(sqrt(x()), x());
    different(sin(x()), cos(x()));
    different(ln(x()), sqrt(x()));
    different(
        E::Apply("f".into(), vec![x()]),
        E::Apply("g".into(), vec![x()]),
    );
    different(add([sin(x()), pow(n(10), n(-60))]), sin(x()));
    undecided(ln(pow(x(), n(2))), mul([n(2), ln(x())]));
    undecided(var("X"), x());
    undecided(pow(sqrt(x()), n(2)), x());
    undecided(div(n(1), sub(x(), x())), n(0));
}

#[test]
fn variables_that_may_be_integers() {
    let turns = mul([var("n"), pi()]);
    undecided(sin(turns.clone()), n(0));
    undecided(cos(turns), pow(n(-1), var("n")));
    different(sin(x()), n(0));
    different(pow(n(-1), var("n")), n(1));
    different(pow(i(), mul([n(2), var("n")])), pow(i(), var("n")));
}

#[test]
fn functions_known_by_name() {
    let g = |a: E| E::Apply("g".into(), vec![a]);
    equal(sqrt(mul([n(4), g(n(1))])), mul([n(2), sqrt(g(n(1)))]));
    equal(
        mul([sin(x()), g(mul([n(2), x()]))]),
        mul([g(add([x(), x()])), sin(x())]),
    );
    different(mul([sqrt(n(2)), g(n(1))]), mul([sqrt(n(2)), g(n(3))]));
}

#[test]
fn logarithms_of_unknown_base() {
    let log = |a: E| f(Function::LogAny, [a]);
    equal(log(n(8)), mul([n(3), log(n(2))]));
    equal(div(log(n(8)), log(n(2))), n(3));
    equal(log(x()), log(x()));
    different(log(n(2)), log(n(3)));
    different(log(n(2)), n(7));
    undecided(log(n(100)), n(2));
    undecided(log(e()), n(1));
}

#[test]
fn infinities_and_double_signs() {
    let infinity = || c(Constant::Infinity);
    let double = |a: E| E::PlusMinus {
        plus_first: true,
        term: Box::new(a),
    };
    equal(infinity(), infinity());
    different(infinity(), neg(infinity()));
    different(infinity(), n(5));
    different(neg(infinity()), sqrt(n(2)));
    undecided(infinity(), add([infinity(), n(1)]));
    undecided(sub(infinity(), infinity()), n(0));
    equal(add([n(1), double(n(2))]), add([double(n(2)), n(1)]));
    undecided(add([n(1), double(n(2))]), add([n(1), double(n(-2))]));
}

#[test]
fn proportions() {
    let of = |a: &E, b: &E| proportion(a, b, &mut Budget::new());
    let line = add([x(), mul([n(2), var("y")]), n(3)]);
    assert_eq!(of(&line, &mul([n(2), line.clone()])), Proportion::Positive);
    assert_eq!(of(&line, &neg(line.clone())), Proportion::Negative);
    assert_eq!(of(&line, &add([line.clone(), n(1)])), Proportion::Not);
    assert_eq!(of(&line, &mul([pi(), line.clone()])), Proportion::Positive);
    assert_eq!(
        of(&mul([sqrt(n(2)), x()]), &mul([n(2), x()])),
        Proportion::Positive
    );
    assert_eq!(
        of(&sin(x()), &mul([q(-1, 2), sin(x())])),
        Proportion::Negative
    );
    assert_eq!(of(&sin(x()), &cos(x())), Proportion::Not);
    assert_eq!(of(&x(), &pow(x(), n(2))), Proportion::Not);
    assert_eq!(of(&sub(x(), x()), &x()), Proportion::Not);
    assert_eq!(of(&sub(x(), x()), &sub(x(), x())), Proportion::Unproved);
    assert_eq!(
        of(&add([pow(x(), n(2)), n(1)]), &add([pow(x(), n(2)), n(2)])),
        Proportion::Not
    );
}

#[test]
fn orders_and_tolerances() {
    let less = |a: &E, b: &E| order(a, b, &mut Budget::new());
    assert_eq!(less(&sqrt(n(2)), &q(3, 2)), Some(Ordering::Less));
    assert_eq!(less(&pi(), &q(22, 7)), Some(Ordering::Less));
    assert_eq!(
        less(&sqrt(n(8)), &mul([n(2), sqrt(n(2))])),
        Some(Ordering::Equal)
    );
    assert_eq!(
        less(&neg(c(Constant::Infinity)), &n(-5)),
        Some(Ordering::Less)
    );
    assert_eq!(less(&n(5), &c(Constant::Infinity)), Some(Ordering::Less));
    assert_eq!(less(&i(), &n(0)), None);
    assert_eq!(less(&x(), &n(0)), None);
    let near = |a: &E, b: &E, t| within(a, b, t, &mut Budget::new());
    assert_eq!(near(&pi(), &dec("3.14"), Tolerance::GoldDigits), Some(true));
    assert_eq!(
        near(&dec("3.144"), &dec("3.14"), Tolerance::GoldDigits),
        Some(true)
    );
    assert_eq!(
        near(&dec("3.15"), &dec("3.14"), Tolerance::GoldDigits),
        Some(false)
    );
    assert_eq!(near(&dec("3.14"), &pi(), Tolerance::GoldDigits), None);
    assert_eq!(
        near(&dec("3.14"), &pi(), Tolerance::Relative(1e-2)),
        Some(true)
    );
    assert_eq!(
        near(&dec("-3.14"), &neg(pi()), Tolerance::Relative(1e-2)),
        Some(true)
    );
    assert_eq!(
        near(&dec("3.14"), &pi(), Tolerance::Relative(1e-6)),
        Some(false)
    );
    assert_eq!(near(&n(0), &n(0), Tolerance::Relative(1e-6)), Some(true));
    assert_eq!(
        near(&dec("0.001"), &n(0), Tolerance::Relative(1e-2)),
        Some(false)
    );
    assert_eq!(near(&n(5), &n(5), Tolerance::Relative(f64::NAN)), None);
    assert_eq!(near(&i(), &n(1), Tolerance::Relative(1e-2)), Some(false));
}

#[test]
fn keys() {
    let key = |a: E| key(&a, &mut Budget::new());
    assert_eq!(key(sqrt(n(4))).as_deref(), Some("2"));
    assert_eq!(key(dec("-0.50")).as_deref(), Some("-1/2"));
    let golden = mul([add([n(1), sqrt(n(5))]), sub(n(1), sqrt(n(5)))]);
    assert_eq!(key(golden).as_deref(), Some("-4"));
    assert_eq!(key(add([sub(x(), x()), n(3)])).as_deref(), Some("3"));
    assert_eq!(
        key(sin(f(Function::Degrees, [n(30)]))).as_deref(),
        Some("1/2")
    );
    assert_ne!(key(pi()), key(sqrt(n(10))));
    assert_ne!(key(x()), key(var("y")));
    assert_ne!(key(x()), key(pow(x(), n(2))));
    assert_eq!(
        exact(&q(4, 8), &mut Budget::new()),
        Some(RBig::from_parts(1.into(), 2_u8.into()))
    );
}
