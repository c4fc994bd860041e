//! Proportions, orders, tolerances and keys.

use std::cmp::Ordering;

use dashu_ratio::RBig;

use super::super::trees::*;
use super::super::{exact, key, order, proportion, within, Proportion, Tolerance};
use crate::answer::limits::Budget;
use crate::answer::tree::{Constant, Function};

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
    assert_eq!(near(&n(0), &dec("0.00"), Tolerance::GoldDigits), None);
    let relative = |answer: &E, gold: &str, tolerance| {
        near(answer, &dec(gold), Tolerance::Relative(tolerance))
    };
    assert_eq!(relative(&pi(), "3.14", 1e-2), Some(true));
    assert_eq!(relative(&neg(pi()), "-3.14", 1e-2), Some(true));
    assert_eq!(relative(&pi(), "3.14", 1e-6), Some(false));
    assert_eq!(relative(&n(0), "0.0", 1e-6), Some(true));
    assert_eq!(relative(&dec("0.001"), "0.0", 1e-2), Some(false));
    assert_eq!(relative(&n(5), "5.0", f64::NAN), None);
    assert_eq!(relative(&i(), "1.0", 1e-2), Some(false));
    for exact in [pi(), n(2024), q(1, 3)] {
        assert_eq!(near(&dec("2023"), &exact, Tolerance::Relative(0.5)), None);
    }
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
