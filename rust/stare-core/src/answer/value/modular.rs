//! Expressions modulo a prime, at a pseudo-random point.
//!
//! Numbers, variables, `i`, `pi` and `e`, the four operations and powers map to residues so that
//! equal expressions have equal residues (a ring homomorphism): different residues prove a
//! difference, and equal ones at a few points and primes of 61 bits an identity of polynomials.
//!
//! - A variable is an integer: its residue modulo p where it is a base, an independent one modulo
//!   p - 1 where it is an exponent. By the Chinese remainder theorem some integer has both.
//! - `pi`, and `e` with it, have residues as variables do. Either is transcendental, so that a
//!   difference is proved, but nobody knows about both together.
//! - Everything else (roots, functions, integrals) gets a residue drawn from its name and from the
//!   residues of its arguments. Equal residues still prove equality; different ones prove nothing:
//!   [`Residues::is_opaque`]. Factorials keep `(n + 1)! = (n + 1) n!`.

use dashu_base::BitTest;
use dashu_int::IBig;

use super::evaluate::{exact, Trouble};
use super::field::{
    add, hash, invert, mix, multiply, negate, power, reduce, reduce_rational, Prime,
};
use crate::answer::limits::Budget;
use crate::answer::tree::{Bound, BoundOperator, Constant, Expr, Function};

/// Why there is no residue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoResidue {
    /// A division by zero, or zero to the power of zero, at this point.
    Point,
    /// Infinities.
    Unsupported,
    /// Too much work.
    Limit,
}

/// Evaluates at one point modulo one prime.
pub(super) struct Residues<'a, 'b> {
    pub(super) prime: Prime,
    point: u64,
    /// Bound variables, by depth.
    bound: Vec<&'a str>,
    pub(super) budget: &'b mut Budget,
    /// What occurred on the way.
    seen: u8,
    /// What was drawn since last asked.
    atoms: Vec<u64>,
    /// Arguments of factorials.
    pub(super) factorials: Vec<u64>,
}

/// Something was drawn that no proof of a difference may use.
const OPAQUE: u8 = 1;
const PI: u8 = 2;
const E: u8 = 4;
/// A variable in an exponent of something like -1.
const ROOT_OF_UNITY: u8 = 8;
/// An exponent of more than [`EXPONENT_BITS`].
const HUGE: u8 = 16;
const EXPONENT_BITS: usize = 24;

/// Powers with larger exponents count as huge where they are exponents themselves.
const SMALL_COUNT: u64 = 4;

/// A multiple of all numbers up to 16.
const SMALL_ORDERS: u64 = 720_720;

/// A residue, or why there is none.
pub(super) type Residue = Result<u64, NoResidue>;

impl<'a, 'b> Residues<'a, 'b> {
    /// At the point of this number.
    pub(super) const fn new(prime: Prime, point: u64, budget: &'b mut Budget) -> Self {
        Self {
            prime,
            point,
            bound: Vec::new(),
            budget,
            seen: 0,
            atoms: Vec::new(),
            factorials: Vec::new(),
        }
    }

    /// Whether equal residues prove equality, and different ones prove nothing.
    pub(super) const fn is_opaque(&self) -> bool {
        self.seen & OPAQUE != 0 || self.seen & (PI | E) == PI | E
    }

    /// Whether something was not looked into.
    pub(super) const fn has_unknowns(&self) -> bool {
        self.seen & OPAQUE != 0
    }

    /// Whether a variable occurred in an exponent of a root of unity: such powers often agree by
    /// chance.
    pub(super) const fn has_root_of_unity(&self) -> bool {
        self.seen & ROOT_OF_UNITY != 0
    }

    /// Whether an exponent was so large that it may be a multiple of the order of its base.
    pub(super) const fn has_huge_exponent(&self) -> bool {
        self.seen & HUGE != 0
    }

    /// What was drawn since the last call, sorted, each once.
    pub(super) fn take_atoms(&mut self) -> Vec<u64> {
        let mut atoms = std::mem::take(&mut self.atoms);
        atoms.sort_unstable();
        atoms.dedup();
        atoms
    }

    /// The residue of an expression.
    pub(super) fn value(&mut self, expr: &'a Expr) -> Residue {
        self.budget.charge(1).map_err(|_| NoResidue::Limit)?;
        let m = self.prime.modulus;
        match expr {
            Expr::Number(number) => reduce_rational(&number.value, m).ok_or(NoResidue::Point),
            Expr::Constant(constant) => self.constant(*constant),
            Expr::Symbol(name) => Ok(self.symbol(name, m)),
            Expr::Sum(terms) => self.fold(terms, add),
            Expr::Product(factors) => self.fold(factors, multiply),
            Expr::Negate(inner) => Ok(negate(self.value(inner)?, m)),
            Expr::Quotient(over, under) => {
                let over = self.value(over)?;
                let under = invert(self.value(under)?, m).ok_or(NoResidue::Point)?;
                Ok(multiply(over, under, m))
            }
            Expr::Power(base, exponent) => {
                let base = self.value(base)?;
                self.power(base, exponent)
            }
            Expr::Call(function, arguments) => self.call(*function, arguments),
            Expr::Apply(name, arguments) => self.draw(hash(name), arguments),
            Expr::PlusMinus { plus_first, term } => {
                let term = self.value(term)?;
                Ok(self.drawn(mix(hash("\\pm") ^ u64::from(*plus_first), term)))
            }
            Expr::Bound(bound) => self.bound(bound),
        }
    }

    fn fold(&mut self, parts: &'a [Expr], combine: fn(u64, u64, u64) -> u64) -> Residue {
        let (first, rest) = parts.split_first().ok_or(NoResidue::Unsupported)?;
        let mut result = self.value(first)?;
        for part in rest {
            result = combine(result, self.value(part)?, self.prime.modulus);
        }
        Ok(result)
    }

    /// A residue modulo `m` that depends on a word and on the point.
    fn residue(&self, word: u64, m: u64) -> u64 {
        mix(mix(self.point, word), m) % m
    }

    fn symbol(&self, name: &str, m: u64) -> u64 {
        match self.bound.iter().rposition(|known| *known == name) {
            Some(depth) => self.residue(mix(hash("bound variable"), depth as u64), m),
            None => self.residue(hash(name), m),
        }
    }

    fn constant(&mut self, constant: Constant) -> Residue {
        let m = self.prime.modulus;
        match constant {
            Constant::I => Ok(self.prime.imaginary),
            Constant::Pi => {
                self.seen |= PI;
                // The same at all points: it is no variable.
                Ok(mix(hash("\\pi"), m) % m)
            }
            Constant::E => {
                self.seen |= E;
                Ok(mix(hash("\\e"), m) % m)
            }
            Constant::Infinity => Err(NoResidue::Unsupported),
        }
    }

    fn power(&mut self, base: u64, exponent: &'a Expr) -> Residue {
        let m = self.prime.modulus;
        let written = match exponent {
            Expr::Number(number) if number.value.is_int() => Some(number.value.numerator().clone()),
            _ => self.integer(exponent)?,
        };
        if let Some(exponent) = written {
            if base == 0 {
                return if exponent > IBig::ZERO {
                    Ok(0)
                } else {
                    Err(NoResidue::Point)
                };
            }
            return Ok(power(base, self.reduced(&exponent), m));
        }
        if let Some(exponent) = self.exponent(exponent)? {
            if base == 0 {
                return Err(NoResidue::Point);
            }
            if power(base, SMALL_ORDERS, m) == 1 {
                self.seen |= ROOT_OF_UNITY;
            }
            return Ok(power(base, exponent, m));
        }
        let exponent = self.value(exponent)?;
        Ok(self.drawn(mix(mix(hash("^"), base), exponent)))
    }

    /// A written exponent modulo p - 1.
    fn reduced(&mut self, exponent: &IBig) -> u64 {
        if exponent.bit_len() > EXPONENT_BITS {
            self.seen |= HUGE;
        }
        reduce(exponent, self.prime.modulus - 1)
    }

    /// An integer, if that is its exact value.
    fn integer(&mut self, expr: &Expr) -> Result<Option<IBig>, NoResidue> {
        match exact(expr, self.budget) {
            Ok(value) => Ok(value.as_integer().cloned()),
            Err(Trouble::Unknown) => Ok(None),
            Err(Trouble::Limit) => self.alive().map(|()| None),
        }
    }

    /// Whether there is work left.
    pub(super) fn alive(&mut self) -> Result<(), NoResidue> {
        self.budget.charge(1).map_err(|_| NoResidue::Limit)
    }

    /// An exponent modulo p - 1: a polynomial with integer coefficients, and powers of integers.
    fn exponent(&mut self, expr: &'a Expr) -> Result<Option<u64>, NoResidue> {
        self.budget.charge(1).map_err(|_| NoResidue::Limit)?;
        let m = self.prime.modulus - 1;
        Ok(match expr {
            Expr::Number(number) => number
                .value
                .is_int()
                .then(|| self.reduced(number.value.numerator())),
            Expr::Symbol(name) => Some(self.symbol(name, m)),
            Expr::Sum(parts) | Expr::Product(parts) => {
                let sum = matches!(expr, Expr::Sum(_));
                let mut result = u64::from(!sum);
                for part in parts {
                    let Some(part) = self.exponent(part)? else {
                        return Ok(None);
                    };
                    result = if sum {
                        add(result, part, m)
                    } else {
                        multiply(result, part, m)
                    };
                }
                Some(result)
            }
            Expr::Negate(inner) => self.exponent(inner)?.map(|inner| negate(inner, m)),
            Expr::Power(base, count) => {
                let Some(base) = self.exponent(base)? else {
                    return Ok(None);
                };
                let count = self.integer(count)?;
                let count = count.and_then(|count| u64::try_from(&count).ok());
                if count.is_some_and(|count| count > SMALL_COUNT) {
                    self.seen |= HUGE;
                }
                count.map(|count| power(base, count, m))
            }
            Expr::Call(..) => self.integer(expr)?.map(|value| self.reduced(&value)),
            _ => None,
        })
    }

    fn call(&mut self, function: Function, arguments: &'a [Expr]) -> Residue {
        let m = self.prime.modulus;
        match (function, arguments) {
            (Function::Exp, [x]) => {
                let e = self.constant(Constant::E)?;
                return self.power(e, x);
            }
            (Function::Percent, [x]) => return self.divided(x, 100),
            (Function::Degrees, [x]) => {
                let pi = self.constant(Constant::Pi)?;
                return Ok(multiply(self.divided(x, 180)?, pi, m));
            }
            _ => {}
        }
        if let Some(value) = self.closed(function, arguments)? {
            return Ok(value);
        }
        if let Some(value) = self.combinatorial(function, arguments)? {
            return Ok(value);
        }
        let name = mix(hash("\\operatorname"), function as u64);
        self.draw(name, arguments)
    }

    fn divided(&mut self, x: &'a Expr, by: u64) -> Residue {
        let m = self.prime.modulus;
        let inverse = invert(by, m).ok_or(NoResidue::Point)?;
        Ok(multiply(self.value(x)?, inverse, m))
    }

    /// The residue of an unknown function of its arguments.
    fn draw(&mut self, name: u64, arguments: &'a [Expr]) -> Residue {
        let mut word = mix(name, arguments.len() as u64);
        for argument in arguments {
            word = mix(word, self.value(argument)?);
        }
        Ok(self.drawn(word))
    }

    /// The residue for a word: the same at all points, unless the word depends on the point.
    pub(super) fn drawn(&mut self, word: u64) -> u64 {
        self.seen |= OPAQUE;
        self.atoms.push(word);
        mix(word, self.prime.modulus) % self.prime.modulus
    }

    fn bound(&mut self, bound: &'a Bound) -> Residue {
        let mut word = mix(hash("\\bound"), bound.operator as u64);
        for end in [&bound.lower, &bound.upper] {
            word = mix(word, self.end(end.as_ref())?);
        }
        let open = match bound.operator {
            BoundOperator::Derivative => true,
            BoundOperator::Integral => bound.lower.is_none(),
            _ => false,
        };
        if open {
            // A function of its variable, which therefore is not bound.
            word = mix(word, hash(&bound.variable));
            word = mix(word, self.value(&bound.body)?);
            return Ok(self.drawn(word));
        }
        self.bound.push(&bound.variable);
        let body = self.value(&bound.body);
        self.bound.pop();
        Ok(self.drawn(mix(word, body?)))
    }

    /// A bound, which may be infinite or absent.
    fn end(&mut self, end: Option<&'a Expr>) -> Residue {
        match end {
            None => Ok(hash("none")),
            Some(Expr::Constant(Constant::Infinity)) => Ok(hash("\\infty")),
            Some(Expr::Negate(inner)) if **inner == Expr::Constant(Constant::Infinity) => {
                Ok(hash("-\\infty"))
            }
            Some(end) => self.value(end),
        }
    }
}
