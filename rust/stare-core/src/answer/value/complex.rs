//! Complex balls: a ball for the real and one for the imaginary part.
//!
//! A real number has an imaginary part that is exactly zero, and real operations keep it so: that
//! is how the branches of roots and logarithms are told apart.

use std::cmp::Ordering;

use dashu_int::IBig;

use super::ball::Ball;
use super::elementary::{arctan, exp, ln, pi_ball, sin_cos};

/// A complex number, known to lie in the product of two balls.
#[derive(Clone, Debug)]
pub(super) struct Complex {
    /// Real part.
    pub(super) re: Ball,
    /// Imaginary part.
    pub(super) im: Ball,
}

impl Complex {
    /// A real number.
    pub(super) const fn real(re: Ball) -> Self {
        Self {
            re,
            im: Ball::zero(),
        }
    }

    /// A small integer.
    pub(super) fn integer(value: i64) -> Self {
        Self::real(Ball::integer(IBig::from(value), 64))
    }

    /// The real part, if the number is certainly real.
    pub(super) fn as_real(&self) -> Option<&Ball> {
        self.im.is_zero().then_some(&self.re)
    }

    /// Whether it is zero and nothing else.
    pub(super) fn is_zero(&self) -> bool {
        self.re.is_zero() && self.im.is_zero()
    }

    /// Whether it may be zero.
    pub(super) fn contains_zero(&self) -> bool {
        self.re.contains_zero() && self.im.contains_zero()
    }

    /// The negative.
    pub(super) fn negated(self) -> Self {
        Self {
            re: self.re.negated(),
            im: self.im.negated(),
        }
    }

    /// The complex conjugate.
    pub(super) fn conjugate(self) -> Self {
        Self {
            re: self.re,
            im: self.im.negated(),
        }
    }

    /// The sum.
    pub(super) fn plus(&self, other: &Self, bits: usize) -> Self {
        Self {
            re: self.re.plus(&other.re, bits),
            im: self.im.plus(&other.im, bits),
        }
    }

    /// The difference.
    pub(super) fn minus(&self, other: &Self, bits: usize) -> Self {
        self.plus(&other.clone().negated(), bits)
    }

    /// The product.
    pub(super) fn times(&self, other: &Self, bits: usize) -> Option<Self> {
        let re = self.re.times(&other.re, bits)?;
        if self.im.is_zero() && other.im.is_zero() {
            return Some(Self::real(re));
        }
        let im = self
            .re
            .times(&other.im, bits)?
            .plus(&self.im.times(&other.re, bits)?, bits);
        Some(Self {
            re: re.minus(&self.im.times(&other.im, bits)?, bits),
            im,
        })
    }

    /// `self * i`.
    fn times_i(self) -> Self {
        Self {
            re: self.im.negated(),
            im: self.re,
        }
    }

    /// The quotient; `None` if the divisor may be zero.
    pub(super) fn over(&self, other: &Self, bits: usize) -> Option<Self> {
        if let Some(divisor) = other.as_real() {
            return Some(Self {
                re: self.re.over(divisor, bits)?,
                im: self.im.over(divisor, bits)?,
            });
        }
        let product = self.times(&other.clone().conjugate(), bits)?;
        let norm = other.norm(bits)?;
        Some(Self {
            re: product.re.over(&norm, bits)?,
            im: product.im.over(&norm, bits)?,
        })
    }

    /// The squared modulus.
    fn norm(&self, bits: usize) -> Option<Ball> {
        let square = self.re.times(&self.re, bits)?;
        Some(square.plus(&self.im.times(&self.im, bits)?, bits))
    }

    /// The modulus.
    pub(super) fn modulus(&self, bits: usize) -> Option<Ball> {
        if let Some(real) = self.as_real() {
            return Some(real.magnitude());
        }
        if self.re.is_zero() {
            return Some(self.im.magnitude());
        }
        let norm = self.norm(bits)?;
        match norm.root(bits) {
            Some(root) => Some(root),
            None => Some(norm.root_bound()),
        }
    }

    /// An integer power by repeated squaring.
    pub(super) fn power(&self, exponent: u64, bits: usize) -> Option<Self> {
        let mut result: Option<Self> = None;
        for bit in (0..64 - exponent.leading_zeros()).rev() {
            if let Some(value) = result.as_mut() {
                *value = value.times(value, bits)?;
            }
            if exponent >> bit & 1 == 1 {
                result = Some(match result {
                    Some(value) => value.times(self, bits)?,
                    None => self.clone(),
                });
            }
        }
        result.or_else(|| Some(Self::integer(1)))
    }

    /// The argument in (-pi, pi]; `None` at zero and where it may jump.
    pub(super) fn argument(&self, bits: usize) -> Option<Ball> {
        if let Some(real) = self.as_real() {
            return match real.sign()? {
                Ordering::Greater => Some(Ball::zero()),
                Ordering::Less => Some(pi_ball(bits)),
                Ordering::Equal => None,
            };
        }
        match (self.re.sign(), self.im.sign()) {
            (Some(Ordering::Greater), _) => arctan(&self.im.over(&self.re, bits)?, bits),
            (_, Some(side @ (Ordering::Greater | Ordering::Less))) => {
                // pi/2 - arctan(x/y) above the axis, -pi/2 - arctan(x/y) below
                let half = pi_ball(bits).shifted(-1);
                let half = if side == Ordering::Less {
                    half.negated()
                } else {
                    half
                };
                let rest = arctan(&self.re.over(&self.im, bits)?, bits)?;
                Some(half.minus(&rest, bits))
            }
            _ => None,
        }
    }

    /// The principal square root.
    pub(super) fn root(&self, bits: usize) -> Option<Self> {
        if let Some(real) = self.as_real() {
            return Some(match real.sign() {
                Some(Ordering::Less) => Self {
                    re: Ball::zero(),
                    im: real.clone().negated().root(bits)?,
                },
                Some(_) => Self::real(real.root(bits)?),
                // Around zero: real or imaginary, and small.
                None => Self {
                    re: real.root_bound(),
                    im: real.root_bound(),
                },
            });
        }
        let modulus = self.modulus(bits)?;
        match (self.re.sign(), self.im.sign()) {
            (Some(Ordering::Greater), _) => {
                let re = modulus.plus(&self.re, bits).shifted(-1).root(bits)?;
                let im = self.im.over(&re.clone().shifted(1), bits)?;
                Some(Self { re, im })
            }
            (_, Some(side @ (Ordering::Greater | Ordering::Less))) => {
                let im = modulus.minus(&self.re, bits).shifted(-1).root(bits)?;
                let im = if side == Ordering::Less {
                    im.negated()
                } else {
                    im
                };
                let re = self.im.over(&im.clone().shifted(1), bits)?;
                Some(Self { re, im })
            }
            _ => None,
        }
    }

    /// e to its power.
    pub(super) fn exp(&self, bits: usize) -> Option<Self> {
        let growth = exp(&self.re, bits)?;
        if self.im.is_zero() {
            return Some(Self::real(growth));
        }
        let (sine, cosine) = sin_cos(&self.im, bits)?;
        Some(Self {
            re: growth.times(&cosine, bits)?,
            im: growth.times(&sine, bits)?,
        })
    }

    /// The principal logarithm.
    pub(super) fn ln(&self, bits: usize) -> Option<Self> {
        let argument = self.argument(bits)?;
        Some(Self {
            re: ln(&self.modulus(bits)?, bits)?,
            im: argument,
        })
    }

    /// Sine and cosine.
    pub(super) fn sin_cos(&self, bits: usize) -> Option<(Self, Self)> {
        if let Some(real) = self.as_real() {
            let (sine, cosine) = sin_cos(real, bits)?;
            return Some((Self::real(sine), Self::real(cosine)));
        }
        // e^(iz) = c + i s, e^(-iz) = c - i s
        let up = self.clone().times_i().exp(bits)?;
        let down = self.clone().times_i().negated().exp(bits)?;
        Some((
            up.minus(&down, bits).halved().times_i().negated(),
            up.plus(&down, bits).halved(),
        ))
    }

    /// Hyperbolic sine and cosine.
    pub(super) fn sinh_cosh(&self, bits: usize) -> Option<(Self, Self)> {
        let up = self.exp(bits)?;
        let down = self.clone().negated().exp(bits)?;
        Some((
            up.minus(&down, bits).halved(),
            up.plus(&down, bits).halved(),
        ))
    }

    fn halved(self) -> Self {
        Self {
            re: self.re.shifted(-1),
            im: self.im.shifted(-1),
        }
    }
}
