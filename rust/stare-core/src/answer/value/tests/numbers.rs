//! Numbers.

use super::super::trees::*;
use super::{decide, different, equal, undecided};
use crate::answer::tree::Function;
use crate::answer::verdict::Reason;

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
