//! The value of an expression: exact as long as that is possible and small, else a ball.

use dashu_base::{BitTest, Signed};
use dashu_int::IBig;
use dashu_ratio::RBig;

use super::ball::{signed, Ball};
use super::complex::Complex;
use super::exact::{self, Gaussian};
use super::field::{hash, mix, reduce, PRIMES};
use super::points::Point;
use super::{functions, power};
use crate::answer::limits::Budget;
use crate::answer::tree::{Bound, BoundOperator, Constant, Expr, Function};

/// A number.
#[derive(Clone, Debug)]
pub(super) enum Value {
    /// Known exactly.
    Exact(Gaussian),
    /// Known to lie in a ball.
    Approx(Complex),
}

/// Why there is no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// Too much work or too large.
    Limit,
    /// Undefined, or not known to be defined, or not a number that can be computed.
    Unknown,
}

/// A value, or why there is none.
pub(super) type Evaluated = Result<Value, Trouble>;

impl Value {
    /// An integer.
    pub(super) fn integer(value: impl Into<IBig>) -> Self {
        Self::rational(RBig::from(value.into()))
    }

    /// A rational.
    pub(super) const fn rational(value: RBig) -> Self {
        Self::Exact(Gaussian::real(value))
    }

    /// The exact rational, if it is one.
    pub(super) fn as_rational(&self) -> Option<&RBig> {
        match self {
            Self::Exact(value) => value.as_real(),
            Self::Approx(_) => None,
        }
    }

    /// The exact integer, if it is one.
    pub(super) fn as_integer(&self) -> Option<&IBig> {
        match self {
            Self::Exact(value) => value.as_integer(),
            Self::Approx(_) => None,
        }
    }

    /// As a complex ball.
    pub(super) fn to_ball(&self, bits: usize) -> Complex {
        match self {
            Self::Exact(value) => Complex {
                re: Ball::rational(&value.re, bits),
                im: Ball::rational(&value.im, bits),
            },
            Self::Approx(value) => value.clone(),
        }
    }

    /// The negative.
    fn negated(self) -> Self {
        match self {
            Self::Exact(value) => Self::Exact(value.negated()),
            Self::Approx(value) => Self::Approx(value.negated()),
        }
    }
}

/// Evaluates expressions at one point, to one precision.
pub(super) struct Evaluator<'a, 'b> {
    /// Bits of the midpoints; none for exact values only.
    bits: usize,
    /// Values of the variables.
    variables: Vec<(&'a str, Value)>,
    /// So many of them are free; the rest are indices.
    free: usize,
    /// The point whose coordinates are the values of functions known by their name only; these are
    /// unknown without one.
    applications: Option<Point>,
    /// Work left.
    pub(super) budget: &'b mut Budget,
    /// Whether a root, power or logarithm was taken where the real one is not defined.
    pub(super) off_domain: bool,
    /// How far, in bits, the sizes of the numbers on the way were from 1.
    pub(super) spread: i64,
    /// The same of the numbers that depend on no variable.
    pub(super) fixed_spread: i64,
    /// Whether a root or a logarithm was taken of a perfect square that depends on a variable: that
    /// is an absolute value.
    pub(super) squares: bool,
    /// Variables read so far.
    reads: u64,
}

impl<'a, 'b> Evaluator<'a, 'b> {
    /// To `bits`, or exactly only for zero of them.
    pub(super) const fn new(bits: usize, budget: &'b mut Budget) -> Self {
        Self {
            bits,
            variables: Vec::new(),
            free: 0,
            applications: None,
            budget,
            off_domain: false,
            spread: 0,
            fixed_spread: 0,
            squares: false,
            reads: 0,
        }
    }

    /// Give the variables, and functions known by their name only, their values at a point.
    pub(super) fn go_to(&mut self, variables: &[&'a str], point: Point) {
        self.variables = variables
            .iter()
            .map(|name| (*name, point.coordinate(hash(name))))
            .collect();
        self.free = self.variables.len();
        self.applications = Some(point);
    }

    /// Give functions known by their name only the values that they have at another point.
    pub(super) fn apply_at(&mut self, point: Point) {
        self.applications = Some(point);
    }

    /// Whether it is at a point.
    pub(super) fn has_variables(&self) -> bool {
        !self.variables.is_empty()
    }

    /// Precision in bits; [`Trouble::Unknown`] if only exact values are wanted.
    pub(super) const fn bits(&self) -> Result<usize, Trouble> {
        if self.bits == 0 {
            return Err(Trouble::Unknown);
        }
        Ok(self.bits)
    }

    /// Take off what an operation on numbers of `bits` costs, `times` over.
    pub(super) fn charge(&mut self, bits: usize, times: u64) -> Result<(), Trouble> {
        let words = bits as u64 / 64;
        self.spend(times * (1 + words / 4 + words * words / 64))
    }

    /// Take off what some series of `bits` cost.
    pub(super) fn charge_series(&mut self, bits: usize, count: u64) -> Result<(), Trouble> {
        let bits = bits as u64;
        self.spend(count * (8 + bits / 5 + bits * bits / 1200))
    }

    /// Take off some steps.
    pub(super) fn spend(&mut self, steps: u64) -> Result<(), Trouble> {
        self.budget.charge(steps).map_err(|_| Trouble::Limit)
    }

    /// Take off what exact arithmetic costs.
    fn charge_exact(&mut self, left: &Gaussian, right: &Gaussian) -> Result<(), Trouble> {
        let size = left.size().max(right.size());
        let times = if left.im.is_zero() && right.im.is_zero() {
            1
        } else {
            6
        };
        let whole = |value: &Gaussian| value.re.is_int() && value.im.is_int();
        if whole(left) && whole(right) {
            // No common divisors.
            return self.charge(size / 4, times);
        }
        self.charge(size, 2 * times)
    }

    /// A ball of the evaluator's precision.
    pub(super) fn ball(&mut self, value: &Value) -> Result<Complex, Trouble> {
        let bits = self.bits()?;
        Ok(value.to_ball(bits))
    }

    /// The value of an expression.
    pub(super) fn value(&mut self, expr: &'a Expr) -> Evaluated {
        self.spend(1)?;
        let reads = self.reads;
        let value = match expr {
            Expr::Number(number) => Value::rational(number.value.clone()),
            Expr::Constant(constant) => self.constant(*constant)?,
            Expr::Symbol(name) => self.variable(name)?,
            Expr::Sum(terms) => self.fold(terms, Self::plus)?,
            Expr::Product(factors) => self.fold(factors, Self::times)?,
            Expr::Negate(inner) => return Ok(self.value(inner)?.negated()),
            Expr::Quotient(over, under) => {
                let over = self.value(over)?;
                let under = self.value(under)?;
                self.over(&over, &under)?
            }
            Expr::Power(base, exponent) => {
                let exponent = self.value(exponent)?;
                if **base == Expr::Constant(Constant::E) {
                    functions::exp(self, &exponent)?
                } else {
                    let before = self.reads;
                    let base = self.value(base)?;
                    if exponent.as_integer().is_none() && self.reads > before {
                        self.squares |= is_square(&base);
                    }
                    power::power(self, &base, &exponent)?
                }
            }
            Expr::Call(function, arguments) => {
                let mut values = Vec::with_capacity(arguments.len());
                for argument in arguments {
                    values.push(self.value(argument)?);
                }
                let rooted = matches!(function, Function::Root | Function::Ln | Function::Log);
                if rooted && self.reads > reads {
                    self.squares |= values.first().is_some_and(is_square);
                }
                functions::call(self, *function, &values)?
            }
            Expr::Bound(bound) => self.bound(bound)?,
            Expr::Apply(name, arguments) => self.apply(name, arguments)?,
            Expr::PlusMinus { .. } => return Err(Trouble::Unknown),
        };
        let literal = matches!(expr, Expr::Number(_));
        self.note(&value, literal, self.reads == reads);
        Ok(value)
    }

    /// The value of a variable, free or bound.
    fn variable(&mut self, name: &str) -> Evaluated {
        let at = self
            .variables
            .iter()
            .rposition(|(known, _)| *known == name)
            .ok_or(Trouble::Unknown)?;
        // An index takes values that are written down.
        self.reads += u64::from(at < self.free);
        let (_, value) = self.variables.get(at).ok_or(Trouble::Unknown)?;
        Ok(value.clone())
    }

    /// Remember the size of a value: differences as small as that may still be meant.
    pub(super) fn note(&mut self, value: &Value, literal: bool, fixed: bool) {
        let size = match value {
            Value::Exact(value) if literal => signed(value.size()),
            Value::Exact(value) => {
                let part = |part: &RBig| {
                    let over = signed(part.numerator().bit_len());
                    let under = signed(part.denominator().bit_len());
                    (over - under).abs()
                };
                part(&value.re).max(part(&value.im))
            }
            Value::Approx(value) => {
                let part = |ball: &Ball| ball.low().and(ball.top()).map_or(0, i64::abs);
                part(&value.re).max(part(&value.im))
            }
        };
        self.spread = self.spread.max(size);
        if fixed {
            self.fixed_spread = self.fixed_spread.max(size);
        }
    }

    fn constant(&mut self, constant: Constant) -> Evaluated {
        match constant {
            Constant::I => Ok(Value::Exact(Gaussian::i())),
            Constant::Pi => Ok(Value::Approx(Complex::real(super::elementary::pi_ball(
                self.bits()?,
            )))),
            Constant::E => functions::exp(self, &Value::integer(1)),
            Constant::Infinity => Err(Trouble::Unknown),
        }
    }

    fn fold(
        &mut self,
        parts: &'a [Expr],
        combine: fn(&mut Self, &Value, &Value) -> Evaluated,
    ) -> Evaluated {
        let (first, rest) = parts.split_first().ok_or(Trouble::Unknown)?;
        let mut result = self.value(first)?;
        for part in rest {
            let part = self.value(part)?;
            result = combine(self, &result, &part)?;
        }
        Ok(result)
    }

    /// The sum.
    pub(super) fn plus(&mut self, left: &Value, right: &Value) -> Evaluated {
        if let (Value::Exact(left), Value::Exact(right)) = (left, right) {
            self.charge_exact(left, right)?;
            if let Some(sum) = left.plus(right) {
                return Ok(Value::Exact(sum));
            }
        }
        let bits = self.bits()?;
        self.charge(bits, 1)?;
        let sum = left.to_ball(bits).plus(&right.to_ball(bits), bits);
        Ok(Value::Approx(sum))
    }

    /// The difference.
    pub(super) fn minus(&mut self, left: &Value, right: &Value) -> Evaluated {
        self.plus(left, &right.clone().negated())
    }

    /// The product.
    pub(super) fn times(&mut self, left: &Value, right: &Value) -> Evaluated {
        if let (Value::Exact(left), Value::Exact(right)) = (left, right) {
            self.charge_exact(left, right)?;
            if let Some(product) = left.times(right) {
                return Ok(Value::Exact(product));
            }
        }
        for value in [left, right] {
            if matches!(value, Value::Exact(value) if value.is_zero()) {
                return Ok(Value::integer(0));
            }
        }
        let bits = self.bits()?;
        self.charge(bits, 2)?;
        let product = left.to_ball(bits).times(&right.to_ball(bits), bits);
        product.map(Value::Approx).ok_or(Trouble::Limit)
    }

    /// The quotient.
    pub(super) fn over(&mut self, left: &Value, right: &Value) -> Evaluated {
        if let (Value::Exact(left), Value::Exact(right)) = (left, right) {
            self.charge_exact(left, right)?;
            if right.is_zero() {
                return Err(Trouble::Unknown);
            }
            if let Some(quotient) = right.inverse().and_then(|inverse| left.times(&inverse)) {
                return Ok(Value::Exact(quotient));
            }
        }
        let bits = self.bits()?;
        self.charge(bits, 4)?;
        let quotient = left.to_ball(bits).over(&right.to_ball(bits), bits);
        quotient.map(Value::Approx).ok_or(Trouble::Unknown)
    }

    /// A function known by its name only: a coordinate that depends on its arguments, where these
    /// are exact.
    fn apply(&mut self, name: &str, arguments: &'a [Expr]) -> Evaluated {
        let point = self.applications.ok_or(Trouble::Unknown)?;
        self.reads += 1;
        let mut word = hash(name);
        for argument in arguments {
            let Value::Exact(value) = self.value(argument)? else {
                return Err(Trouble::Unknown);
            };
            self.charge(value.size(), 1)?;
            for part in [&value.re, &value.im] {
                let (over, under) = (part.numerator(), part.denominator().as_ibig());
                for integer in [over, under] {
                    word = mix(word, reduce(integer, PRIMES[0].modulus));
                }
            }
        }
        Ok(point.coordinate(word))
    }

    /// Sums and products with few terms.
    fn bound(&mut self, bound: &'a Bound) -> Evaluated {
        let combine = match bound.operator {
            BoundOperator::Sum => Self::plus,
            BoundOperator::Product => Self::times,
            _ => return Err(Trouble::Unknown),
        };
        let mut end = |side: &'a Option<Expr>| {
            let value = self.value(side.as_ref().ok_or(Trouble::Unknown)?)?;
            let integer = value.as_integer().ok_or(Trouble::Unknown)?;
            i64::try_from(integer).map_err(|_| Trouble::Limit)
        };
        let (lower, upper) = (end(&bound.lower)?, end(&bound.upper)?);
        // One that runs backwards is read as empty by some and as reversed by others.
        let count = upper.checked_sub(lower).ok_or(Trouble::Limit)?;
        if count < -1 {
            return Err(Trouble::Unknown);
        }
        if count > super::TERMS {
            return Err(Trouble::Limit);
        }
        let empty = i64::from(bound.operator == BoundOperator::Product);
        let mut result = Value::integer(empty);
        for index in lower..=upper {
            self.variables
                .push((&bound.variable, Value::integer(index)));
            let term = self.value(&bound.body);
            self.variables.pop();
            result = combine(self, &result, &term?)?;
        }
        Ok(result)
    }
}

/// The exact value of an expression without variables, if it is rational and cheap.
pub(super) fn exact(expr: &Expr, budget: &mut Budget) -> Result<Gaussian, Trouble> {
    match Evaluator::new(0, budget).value(expr)? {
        Value::Exact(value) => Ok(value),
        Value::Approx(_) => Err(Trouble::Unknown),
    }
}

/// Whether a rational is small enough to be the value of a number.
pub(super) fn small(value: RBig) -> Option<Value> {
    (exact::size(&value) <= crate::answer::limits::INTEGER_BITS).then_some(Value::rational(value))
}

/// Whether a value is the square of a rational other than 0 and 1.
fn is_square(value: &Value) -> bool {
    value.as_rational().is_some_and(|value| {
        !value.is_zero()
            && !value.is_one()
            && !value.is_negative()
            && exact::root(value, 2).is_some()
    })
}
