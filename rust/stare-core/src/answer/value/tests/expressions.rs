//! Expressions with variables, and whatever else is no number.

use super::super::trees::*;
use super::{different, equal, undecided};
use crate::answer::tree::{Constant, Function};

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
