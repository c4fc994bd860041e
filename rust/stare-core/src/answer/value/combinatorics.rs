//! Factorials and binomials modulo a prime.

use super::evaluate::{exact, Evaluator, Value};
use super::field::{add, hash, invert, mix, multiply, negate, reduce_rational};
use super::modular::{NoResidue, Residue, Residues};
use crate::answer::tree::{Expr, Function};

/// Factorials of more are not multiplied out.
const FACTORS: u64 = 1 << 13;

/// Factorials whose arguments differ by no more than this are multiples of each other.
pub(super) const NEAR: u64 = 64;

impl<'a> Residues<'a, '_> {
    /// A function of numbers that is a rational number, or a factorial too long to write out.
    pub(super) fn closed(
        &mut self,
        function: Function,
        arguments: &'a [Expr],
    ) -> Result<Option<u64>, NoResidue> {
        let m = self.prime.modulus;
        let mut values = Vec::with_capacity(arguments.len());
        for argument in arguments {
            match exact(argument, self.budget) {
                Ok(value) => values.push(value),
                Err(_) => return self.alive().map(|()| None),
            }
        }
        let values: Vec<_> = values.into_iter().map(Value::Exact).collect();
        let mut run = Evaluator::new(0, self.budget);
        if let Ok(Value::Exact(value)) = super::functions::call(&mut run, function, &values) {
            let re = reduce_rational(&value.re, m).ok_or(NoResidue::Point)?;
            let im = reduce_rational(&value.im, m).ok_or(NoResidue::Point)?;
            return Ok(Some(add(re, multiply(im, self.prime.imaginary, m), m)));
        }
        self.alive()?;
        let mut naturals = Vec::with_capacity(values.len());
        for value in &values {
            let natural = value
                .as_integer()
                .and_then(|value| u64::try_from(value).ok());
            let Some(natural) = natural.filter(|natural| *natural <= FACTORS) else {
                return Ok(None);
            };
            naturals.push(natural);
        }
        self.factorials(function, &naturals)
    }

    fn factorials(&mut self, function: Function, n: &[u64]) -> Result<Option<u64>, NoResidue> {
        let m = self.prime.modulus;
        Ok(match (function, n) {
            (Function::Factorial, [n]) => Some(self.product(1, *n, 1)?),
            (Function::DoubleFactorial, [n]) => Some(self.product(2 - n % 2, *n, 2)?),
            (Function::Permutations, [n, k]) if k <= n => Some(self.product(n - k + 1, *n, 1)?),
            (Function::Binomial, [n, k]) if k <= n => {
                let over = self.product(n - k + 1, *n, 1)?;
                let under = self.product(1, *k, 1)?;
                invert(under, m).map(|under| multiply(over, under, m))
            }
            _ => None,
        })
    }

    /// Factorials, and quotients of them, of what is not known to be a number.
    pub(super) fn combinatorial(
        &mut self,
        function: Function,
        arguments: &'a [Expr],
    ) -> Result<Option<u64>, NoResidue> {
        let m = self.prime.modulus;
        let (n, k) = match (function, arguments) {
            (Function::Factorial, [n]) => (n, None),
            (Function::Binomial | Function::Permutations, [n, k]) => (n, Some(k)),
            _ => return Ok(None),
        };
        let n = self.value(n)?;
        let over = self.factorial(n)?;
        let Some(k) = k else {
            return Ok(Some(over));
        };
        let written = match function {
            Function::Binomial => self.closed(Function::Factorial, std::slice::from_ref(k))?,
            _ => Some(1),
        };
        let k = self.value(k)?;
        let mut under = self.factorial(add(n, negate(k, m), m))?;
        under = multiply(under, written.map_or_else(|| self.factorial(k), Ok)?, m);
        let under = invert(under, m).ok_or(NoResidue::Point)?;
        Ok(Some(multiply(over, under, m)))
    }

    /// `n!`: drawn, but so that `(n + 1)! = (n + 1) n!` with the factorials before it.
    fn factorial(&mut self, n: u64) -> Residue {
        let m = self.prime.modulus;
        self.budget
            .charge(1 + self.factorials.len() as u64)
            .map_err(|_| NoResidue::Limit)?;
        let near = self.factorials.iter().copied().find_map(|known| {
            let (up, down) = (add(n, negate(known, m), m), add(known, negate(n, m), m));
            if up <= NEAR {
                Some((known, up, true))
            } else if down <= NEAR {
                Some((known, down, false))
            } else {
                None
            }
        });
        let (known, steps, up) = near.unwrap_or((n, 0, true));
        if near.is_none() {
            self.factorials.push(n);
        }
        self.budget
            .charge(steps / 8)
            .map_err(|_| NoResidue::Limit)?;
        let drawn = self.drawn(mix(hash("!"), known));
        let first = if up { known } else { n };
        let factors =
            (1..=steps).fold(1, |product, step| multiply(product, add(first, step, m), m));
        if up {
            return Ok(multiply(drawn, factors, m));
        }
        let inverse = invert(factors, m).ok_or(NoResidue::Point)?;
        Ok(multiply(drawn, inverse, m))
    }

    fn product(&mut self, from: u64, to: u64, step: usize) -> Residue {
        let work = to.saturating_sub(from) / 12;
        self.budget.charge(work).map_err(|_| NoResidue::Limit)?;
        let m = self.prime.modulus;
        Ok((from..=to)
            .step_by(step)
            .fold(1, |product, factor| multiply(product, factor % m, m)))
    }
}
