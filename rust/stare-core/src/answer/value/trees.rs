//! Short names for making trees in tests.

use dashu_ratio::RBig;

use crate::answer::tree::{Bound, BoundOperator, Constant, Decimal, Expr, Function, Number};

pub(super) type E = Expr;

pub(super) fn n(value: i64) -> E {
    let number = E::Number(Number {
        value: RBig::from(value.unsigned_abs()),
        decimal: None,
    });
    if value < 0 {
        neg(number)
    } else {
        number
    }
}

pub(super) fn q(over: i64, under: i64) -> E {
    div(n(over), n(under))
}

/// A literal decimal from its digits.
pub(super) fn dec(text: &str) -> E {
    let (text, negative) = match text.strip_prefix('-') {
        Some(rest) => (rest, true),
        None => (text, false),
    };
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = format!("{whole}{fraction}");
    let places = i32::try_from(fraction.len()).unwrap();
    let value = RBig::from_parts(
        digits.parse().unwrap(),
        dashu_int::UBig::from(10_u8).pow(fraction.len()),
    );
    let significant = digits.trim_start_matches('0').len();
    let number = E::Number(Number {
        value,
        decimal: Some(Decimal {
            significant: u32::try_from(significant).unwrap(),
            places,
        }),
    });
    if negative {
        neg(number)
    } else {
        number
    }
}

pub(super) fn x() -> E {
    var("x")
}

pub(super) fn var(name: &str) -> E {
    E::Symbol(name.into())
}

pub(super) fn neg(a: E) -> E {
    E::Negate(Box::new(a))
}

pub(super) fn add<const N: usize>(parts: [E; N]) -> E {
    E::Sum(parts.into())
}

pub(super) fn sub(a: E, b: E) -> E {
    add([a, neg(b)])
}

pub(super) fn mul<const N: usize>(parts: [E; N]) -> E {
    E::Product(parts.into())
}

pub(super) fn div(a: E, b: E) -> E {
    E::Quotient(Box::new(a), Box::new(b))
}

pub(super) fn pow(a: E, b: E) -> E {
    E::Power(Box::new(a), Box::new(b))
}

pub(super) fn f<const N: usize>(function: Function, arguments: [E; N]) -> E {
    E::Call(function, arguments.into())
}

pub(super) fn sqrt(a: E) -> E {
    f(Function::Root, [a, n(2)])
}

pub(super) fn root(a: E, degree: i64) -> E {
    f(Function::Root, [a, n(degree)])
}

pub(super) fn c(constant: Constant) -> E {
    E::Constant(constant)
}

pub(super) fn pi() -> E {
    c(Constant::Pi)
}

pub(super) fn e() -> E {
    c(Constant::E)
}

pub(super) fn i() -> E {
    c(Constant::I)
}

pub(super) fn sin(a: E) -> E {
    f(Function::Sin, [a])
}

pub(super) fn cos(a: E) -> E {
    f(Function::Cos, [a])
}

pub(super) fn ln(a: E) -> E {
    f(Function::Ln, [a])
}

pub(super) fn sum(variable: &str, lower: E, upper: E, body: E) -> E {
    E::Bound(Box::new(Bound {
        operator: BoundOperator::Sum,
        variable: variable.into(),
        lower: Some(lower),
        upper: Some(upper),
        body,
    }))
}
