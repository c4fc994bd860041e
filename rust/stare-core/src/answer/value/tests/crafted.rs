//! Answers made to fool the methods, which are public.

use dashu_ratio::RBig;

use super::super::combinatorics::NEAR;
use super::super::field::{hash, PRIMES};
use super::super::points::{Point, POINTS};
use super::super::trees::*;
use super::super::{key, order, proportion, Proportion};
use super::{decide, different, equal, undecided};
use crate::answer::limits::Budget;
use crate::answer::tree::{Constant, Function, Number};
use crate::answer::verdict::Verdict;

fn big(value: RBig) -> E {
    E::Number(Number {
        value,
        decimal: None,
    })
}

/// The product of all primes that are known beforehand, less one each if so wanted.
fn known_primes(less: u64) -> E {
    let primes = PRIMES.iter().map(|prime| RBig::from(prime.modulus - less));
    big(primes.fold(RBig::ONE, |product, prime| product * prime))
}

fn never_equal(left: &E, right: &E) {
    let reason = decide(left, right);
    assert_ne!(
        reason.verdict(),
        Verdict::Correct,
        "{reason:?}: {left:?} {right:?}"
    );
}

#[test]
fn multiples_of_known_primes() {
    let zero = known_primes(0);
    let huge = || pow(n(7), n(100_000));
    for start in [
        x(),
        sqrt(x()),
        pow(n(2), var("n")),
        mul([pi(), x()]),
        huge(),
        sqrt(n(2)),
    ] {
        different(add([start.clone(), zero.clone()]), start.clone());
        different(
            add([start.clone(), mul([zero.clone(), x()])]),
            start.clone(),
        );
        different(add([start.clone(), mul([zero.clone(), huge()])]), start);
    }
    // Exponents that vanish modulo p - 1.
    let turn = || pow(n(3), known_primes(1));
    never_equal(&turn(), &n(1));
    never_equal(&add([x(), turn()]), &add([x(), n(1)]));
    never_equal(&pow(x(), known_primes(1)), &n(1));
    never_equal(&pow(n(3), mul([known_primes(1), var("n")])), &n(1));
    let of = |left: &E, right: &E| proportion(left, right, &mut Budget::new());
    assert_eq!(of(&add([x(), zero.clone()]), &x()), Proportion::Not);
    assert_eq!(
        of(&add([x(), mul([zero, var("y")])]), &x()),
        Proportion::Not
    );
}

#[test]
fn undefined_parts_that_cancel_out() {
    let zero = || n(0);
    let undefined = [
        ln(zero()),
        div(n(1), zero()),
        f(Function::Arcsin, [n(2)]),
        f(Function::Tan, [div(pi(), n(2))]),
        f(Function::Factorial, [n(-1)]),
        f(Function::Log, [n(2), n(1)]),
        pow(zero(), zero()),
        c(Constant::Infinity),
        ln(sub(x(), x())),
        div(n(1), sub(x(), x())),
    ];
    for part in undefined {
        undecided(add([n(42), mul([zero(), part.clone()])]), n(42));
        undecided(add([x(), mul([zero(), part.clone()])]), x());
        undecided(add([n(42), part.clone(), neg(part.clone())]), n(42));
        undecided(mul([zero(), part.clone()]), zero());
        undecided(pow(part, zero()), n(1));
    }
    equal(add([n(42), mul([zero(), ln(n(2))])]), n(42));
    undecided(
        div(
            f(Function::Factorial, [n(-1)]),
            f(Function::Factorial, [n(-2)]),
        ),
        n(-1),
    );
}

#[test]
fn functions_known_by_name_may_be_anything() {
    let g = |a: E| E::Apply("g".into(), vec![a]);
    let h = |a: E| E::Apply("h".into(), vec![a]);
    undecided(g(n(1)), n(3));
    undecided(g(q(1, 2)), sqrt(pi()));
    undecided(g(x()), pow(x(), n(2)));
    undecided(g(x()), h(x()));
    undecided(g(x()), mul([n(2), g(x())]));
    undecided(mul([sqrt(n(2)), g(n(1))]), mul([sqrt(n(2)), g(n(3))]));
    undecided(add([g(n(1)), g(n(2))]), g(n(3)));
    undecided(sqrt(pow(g(n(1)), n(2))), g(n(1)));
    undecided(f(Function::Max, [g(n(1)), n(1000)]), n(3));
    undecided(g(n(1)), c(Constant::Infinity));
    different(add([g(x()), n(1)]), add([g(x()), n(2)]));
    different(add([g(n(1)), sqrt(n(2))]), add([sqrt(n(3)), g(n(1))]));
    different(add([g(x()), x()]), add([g(x()), mul([n(2), x()])]));
    different(
        div(pow(add([g(x()), n(1)]), n(2)), add([g(x()), n(1)])),
        add([g(x()), n(2)]),
    );
    assert_eq!(order(&g(n(1)), &n(3), &mut Budget::new()), None);
    let of = |left: &E, right: &E| proportion(left, right, &mut Budget::new());
    assert_eq!(
        of(&sub(g(x()), n(3)), &sub(x(), n(3))),
        Proportion::Unproved
    );
    assert_eq!(of(&g(x()), &mul([n(-2), g(x())])), Proportion::Negative);
    assert!(key(&g(n(1)), &mut Budget::new()) != key(&n(3), &mut Budget::new()));
}

#[test]
fn factorials_of_variables() {
    let fact = |a: E| f(Function::Factorial, [a]);
    let choose = |a: E, b: E| f(Function::Binomial, [a, b]);
    let (m, k) = (|| var("n"), || var("k"));
    let less = |by: i64| sub(m(), n(by));
    equal(fact(m()), mul([m(), fact(less(1))]));
    equal(div(fact(add([m(), n(1)])), fact(m())), add([m(), n(1)]));
    equal(choose(m(), n(2)), div(mul([m(), less(1)]), n(2)));
    equal(choose(m(), k()), choose(m(), sub(m(), k())));
    equal(
        choose(m(), k()),
        div(fact(m()), mul([fact(k()), fact(sub(m(), k()))])),
    );
    equal(
        add([choose(m(), k()), choose(m(), sub(k(), n(1)))]),
        choose(add([m(), n(1)]), k()),
    );
    equal(
        f(Function::Permutations, [m(), n(3)]),
        mul([m(), less(1), less(2)]),
    );
    equal(div(fact(n(10_000_000)), fact(n(9_999_999))), n(10_000_000));
    different(fact(m()), mul([m(), m()]));
    different(choose(m(), n(2)), div(mul([m(), m()]), n(2)));
    different(fact(mul([n(2), m()])), mul([n(2), fact(m())]));
    // Zero at the first many natural numbers.
    for far in [13, 59, 1000, 100_000] {
        never_equal(&add([fact(m()), choose(less(2), n(far))]), &fact(m()));
    }
    let near = i64::try_from(NEAR).unwrap();
    never_equal(&div(fact(m()), fact(less(near + 1))), &n(0));
}

#[test]
fn beyond_the_usual_points() {
    // Zero at all points that are the same for all pairs.
    let zeros = (0..POINTS).map(|number| {
        let value = Point::new(number, 0).coordinate(hash("x"));
        sub(x(), big(value.as_rational().unwrap().clone()))
    });
    let zero = E::Product(zeros.collect());
    let root = || sqrt(add([pow(x(), n(2)), n(1)]));
    different(add([root(), zero.clone()]), root());
    different(mul([sin(x()), add([n(1), zero])]), sin(x()));
    let far = || pow(n(10), n(100));
    different(f(Function::Max, [x(), neg(far())]), x());
    different(f(Function::Abs, [add([x(), far()])]), add([x(), far()]));
    different(f(Function::Abs, [sub(x(), far())]), sub(far(), x()));
    never_equal(&sqrt(pow(add([x(), far()]), n(2))), &add([x(), far()]));
    equal(
        f(Function::Max, [x(), neg(x())]),
        f(Function::Abs, [neg(x())]),
    );
}

#[test]
fn pieces_need_a_proof() {
    let abs = |e| f(Function::Abs, [e]);
    let bump = || f(Function::Max, [n(0), sub(n(100), abs(sub(x(), n(500))))]);
    never_equal(&add([pow(x(), n(2)), bump()]), &pow(x(), n(2)));
    // The same bump by squares under roots and in logarithms.
    let root_of_square = |e: E| sqrt(pow(e, n(2)));
    let expanded = || add([pow(x(), n(2)), mul([n(-1000), x()]), n(250_000)]);
    for size in [
        root_of_square(sub(x(), n(500))),
        sqrt(expanded()),
        pow(pow(sub(x(), n(500)), n(2)), q(1, 2)),
        pow(e(), div(ln(pow(sub(x(), n(500)), n(2))), n(2))),
    ] {
        let inside = sub(n(100), size);
        let positive = add([inside.clone(), root_of_square(inside)]);
        never_equal(&add([pow(x(), n(2)), positive]), &pow(x(), n(2)));
    }
    equal(abs(sub(x(), n(1))), abs(sub(n(1), x())));
    equal(root_of_square(x()), abs(x()));
    equal(pow(abs(x()), n(2)), pow(x(), n(2)));
    equal(abs(mul([n(-3), x()])), mul([n(3), abs(x())]));
    equal(
        f(Function::Max, [x(), n(1)]),
        div(add([x(), n(1), abs(sub(x(), n(1)))]), n(2)),
    );
    equal(ln(pow(x(), n(2))), mul([n(2), ln(abs(x()))]));
    equal(
        mul([n(2), f(Function::Floor, [add([x(), x()])])]),
        mul([f(Function::Floor, [mul([n(2), x()])]), n(2)]),
    );
    equal(
        sqrt(mul([n(18), pow(x(), n(2)), pow(e(), var("y"))])),
        mul([n(3), abs(x()), sqrt(mul([n(2), pow(e(), var("y"))]))]),
    );
}

#[test]
fn saturation_is_no_equality() {
    for k in [10, 100, 300, 1000, 100_000] {
        for function in [Function::Tanh, Function::Coth] {
            never_equal(&f(function, [n(k)]), &n(1));
            never_equal(&mul([x(), f(function, [n(k)])]), &x());
        }
        let tiny = || pow(n(10), n(-k));
        never_equal(&sin(tiny()), &tiny());
        never_equal(&cos(tiny()), &n(1));
        never_equal(&cos(tiny()), &sub(n(1), div(pow(tiny(), n(2)), n(2))));
        never_equal(&sub(n(1), tiny()), &n(1));
        never_equal(&add([n(1), pow(e(), n(-k))]), &n(1));
        never_equal(&f(Function::Arctan, [pow(n(10), n(k))]), &div(pi(), n(2)));
        let tan = |e| f(Function::Tan, [e]);
        never_equal(
            &add([n(1), sin(tan(tiny()))]),
            &add([n(1), tan(sin(tiny()))]),
        );
    }
}
