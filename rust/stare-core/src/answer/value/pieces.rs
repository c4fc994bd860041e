//! Functions made of pieces: agreement at points proves nothing about the places between.
//!
//! Two of them are equal if their smooth parts agree once the pieces are taken for variables, or
//! for both signs of every absolute value. Before that even roots of even powers and the larger of
//! two numbers are written as absolute values, and pieces of equal arguments are found.

use dashu_base::Signed;

use super::evaluate::{exact, Evaluator};
use super::identity::{self, Identity};
use super::numeric::{self, Outcome};
use super::points::Points;
use super::symbols::{self, Rewrite};
use crate::answer::limits::Budget;
use crate::answer::tree::{Constant, Expr, Function, Number, Symbol};

/// More pieces are not told apart.
const MAX_PIECES: usize = 6;

/// More signs are not tried.
const MAX_SIGNS: usize = 4;

/// Names that complex numbers are given: their absolute values are not made of two pieces.
const COMPLEX: &[&str] = &["z", "w"];

/// Whether an expression has parts that may hold in some places only.
pub(super) fn has_any(expr: &Expr) -> bool {
    symbols::contains(expr, |node| match node {
        Expr::Call(function, arguments) => match function {
            Function::Abs
            | Function::Floor
            | Function::Ceil
            | Function::Sign
            | Function::Max
            | Function::Min
            | Function::Mod
            | Function::Gcd
            | Function::Lcm
            | Function::Arg => true,
            Function::Root => {
                matches!(arguments.as_slice(), [base, degree] if is_even(degree) && has_square(base))
            }
            Function::Ln | Function::Log => arguments.first().is_some_and(has_square),
            // They jump where their argument does, or undo a function that is not monotone.
            Function::Arcsin
            | Function::Arccos
            | Function::Arctan
            | Function::Arccot
            | Function::Arcsec
            | Function::Arccsc => arguments.iter().any(|argument| {
                symbols::contains(argument, |inner| match inner {
                    Expr::Quotient(_, under) => varies(under),
                    Expr::Power(base, exponent) => {
                        varies(base) && matches!(**exponent, Expr::Negate(_))
                    }
                    Expr::Call(function, _) => is_trigonometric(*function) && varies(inner),
                    _ => false,
                })
            }),
            _ => false,
        },
        Expr::Power(base, exponent) => {
            !matches!(**exponent, Expr::Number(Number { ref value, .. }) if value.is_int())
                && has_square(base)
        }
        _ => false,
    })
}

const fn is_trigonometric(function: Function) -> bool {
    matches!(
        function,
        Function::Sin
            | Function::Cos
            | Function::Tan
            | Function::Cot
            | Function::Sec
            | Function::Csc
    )
}

fn varies(expr: &Expr) -> bool {
    !super::variables(expr).is_empty()
}

/// Whether an even power of something that varies is a factor.
fn has_square(expr: &Expr) -> bool {
    match expr {
        Expr::Power(base, exponent) => is_even(exponent) && varies(base) || has_square(base),
        Expr::Product(factors) => {
            let repeated = |factor: &Expr| factors.iter().filter(|other| *other == factor).count();
            let twice = |factor: &Expr| varies(factor) && repeated(factor) > 1;
            factors
                .iter()
                .any(|factor| has_square(factor) || twice(factor))
        }
        Expr::Quotient(over, under) => has_square(over) || has_square(under),
        Expr::Negate(inner) => has_square(inner),
        _ => false,
    }
}

fn is_even(expr: &Expr) -> bool {
    match expr {
        Expr::Negate(inner) => is_even(inner),
        _ => whole(expr).is_some_and(|n| n % 2 == 0),
    }
}

/// A literal positive integer.
fn whole(expr: &Expr) -> Option<u64> {
    match expr {
        Expr::Number(number) => u64::try_from(number.value.clone()).ok().filter(|n| *n > 0),
        _ => None,
    }
}

/// Whether two expressions, equal at all points tried, are proved equal.
pub(super) fn equal(left: &Expr, right: &Expr, budget: &mut Budget) -> bool {
    let complex = |expr: &Expr| {
        let names = super::variables(expr);
        let base = |name: &str| name.split('_').next().unwrap_or_default().to_owned();
        names.iter().any(|name| COMPLEX.contains(&&*base(name)))
    };
    if complex(left) || complex(right) {
        return false;
    }
    let mut pieces = Pieces {
        known: Vec::new(),
        budget,
    };
    let (Some(left), Some(right)) = (pieces.replace(left), pieces.replace(right)) else {
        return false;
    };
    smooth(&left, &right, pieces.budget) || pieces.under_all_signs(&left, &right)
}

/// Whether two expressions are proved equal that are made of no pieces.
fn smooth(left: &Expr, right: &Expr, budget: &mut Budget) -> bool {
    let names = super::compare::names(left, right);
    match identity::compare(left, right, &names, budget) {
        Identity::Equal | Identity::EqualOpaque => true,
        Identity::Different | Identity::Limit => false,
        Identity::Unknown => {
            !has_any(left)
                && !has_any(right)
                && numeric::at_points(left, right, &names, budget) == Outcome::Equal
        }
    }
}

/// A part that stands for itself from here on.
struct Piece {
    function: Function,
    arguments: Vec<Expr>,
    name: Symbol,
}

struct Pieces<'b> {
    known: Vec<Piece>,
    budget: &'b mut Budget,
}

impl Pieces<'_> {
    /// The same with names for the pieces; `None` if there are too many.
    fn replace(&mut self, expr: &Expr) -> Option<Expr> {
        Some(match expr {
            Expr::Number(_) | Expr::Constant(_) | Expr::Symbol(_) => expr.clone(),
            Expr::Sum(parts) => Expr::Sum(self.each(parts)?),
            Expr::Product(parts) => Expr::Product(self.each(parts)?),
            Expr::Negate(inner) => negative(self.replace(inner)?),
            Expr::Quotient(over, under) => quotient(self.replace(over)?, self.replace(under)?),
            Expr::Power(base, exponent) => {
                let (base, exponent) = (self.replace(base)?, self.replace(exponent)?);
                self.power(base, exponent)?
            }
            Expr::Call(function, arguments) => {
                let arguments = self.each(arguments)?;
                self.call(*function, arguments)?
            }
            Expr::Apply(name, arguments) => Expr::Apply(name.clone(), self.each(arguments)?),
            // Indices are no variables.
            Expr::Bound(_) | Expr::PlusMinus { .. } => return None,
        })
    }

    fn each(&mut self, parts: &[Expr]) -> Option<Vec<Expr>> {
        parts.iter().map(|part| self.replace(part)).collect()
    }

    fn call(&mut self, function: Function, mut arguments: Vec<Expr>) -> Option<Expr> {
        match (function, arguments.as_slice()) {
            (Function::Abs, [inner]) => return self.magnitude(inner),
            (Function::Root, [base, degree]) => {
                if let Some(degree) = whole(degree).filter(|degree| degree % 2 == 0) {
                    return self.root(base, degree);
                }
            }
            (Function::Ln | Function::Log, [inner, base @ ..]) if has_square(inner) => {
                return self.log(function, inner, base);
            }
            (Function::Max | Function::Min, _) => {
                let last = arguments.pop()?;
                return arguments.into_iter().rev().try_fold(last, |so_far, next| {
                    let apart = self.magnitude(&difference(&next, &so_far))?;
                    let apart = if function == Function::Min {
                        negative(apart)
                    } else {
                        apart
                    };
                    Some(quotient(Expr::Sum(vec![next, so_far, apart]), integer(2)))
                });
            }
            (Function::Ceil, [inner]) => {
                let floor = self.piece(Function::Floor, vec![negative(inner.clone())])?;
                return Some(negative(floor));
            }
            _ => {}
        }
        let call = Expr::Call(function, arguments);
        match call {
            Expr::Call(function, arguments) if has_any_at_top(function, &arguments) => {
                self.piece(function, arguments)
            }
            call => Some(call),
        }
    }

    /// A power; `(u^2)^{1/2}` is a root.
    fn power(&mut self, base: Expr, exponent: Expr) -> Option<Expr> {
        let value = exact(&exponent, self.budget).ok();
        let real = value.as_ref().and_then(|value| value.as_real());
        if let Some(real) = real.filter(|real| !real.is_int()) {
            if let Ok(degree) = u64::try_from(real.denominator()) {
                if degree % 2 == 0 {
                    let root = self.root(&base, degree)?;
                    let over = Number {
                        value: super::functions::absolute(&real.numerator().clone().into()),
                        decimal: None,
                    };
                    let power = Expr::Power(Box::new(root), Box::new(Expr::Number(over)));
                    return Some(if real.is_negative() {
                        quotient(integer(1), power)
                    } else {
                        power
                    });
                }
            }
        }
        Some(Expr::Power(Box::new(base), Box::new(exponent)))
    }

    /// An even root: even powers are taken out of it.
    fn root(&mut self, base: &Expr, degree: u64) -> Option<Expr> {
        Some(match base {
            Expr::Power(inner, exponent) => match whole(exponent) {
                Some(exponent) if exponent % degree == 0 => {
                    let inner = self.magnitude(inner)?;
                    Expr::Power(Box::new(inner), Box::new(integer(exponent / degree)))
                }
                _ => root(base.clone(), degree),
            },
            Expr::Product(factors) => {
                let (out, within): (Vec<_>, Vec<_>) = factors.iter().partition(|factor| {
                    matches!(factor, Expr::Power(_, exponent)
                        if whole(exponent).is_some_and(|n| n % degree == 0))
                });
                if out.is_empty() {
                    return Some(root(base.clone(), degree));
                }
                let mut factors = Vec::with_capacity(out.len() + 1);
                for factor in out {
                    factors.push(self.root(factor, degree)?);
                }
                factors.push(root(
                    Expr::Product(within.into_iter().cloned().chain([integer(1)]).collect()),
                    degree,
                ));
                Expr::Product(factors)
            }
            Expr::Quotient(over, under) => {
                quotient(self.root(over, degree)?, self.root(under, degree)?)
            }
            _ => root(base.clone(), degree),
        })
    }

    /// A logarithm: that of an even power is a multiple of that of an absolute value.
    fn log(&mut self, function: Function, of: &Expr, base: &[Expr]) -> Option<Expr> {
        let log = |of: Expr| {
            let arguments = std::iter::once(of).chain(base.iter().cloned());
            Expr::Call(function, arguments.collect())
        };
        let (over, under) = match of {
            Expr::Quotient(over, under) => (&**over, Some(&**under)),
            other => (other, None),
        };
        let mut terms = Vec::new();
        let mut rest = [integer(1), integer(1)];
        for ((side, left), minus) in [Some(over), under]
            .into_iter()
            .zip(&mut rest)
            .zip([false, true])
        {
            let factors = match side {
                Some(Expr::Product(factors)) => factors.as_slice(),
                Some(other) => std::slice::from_ref(other),
                None => &[],
            };
            let mut kept = vec![left.clone()];
            for factor in factors {
                match factor {
                    Expr::Power(inner, exponent)
                        if is_even(exponent) && whole(exponent).is_some() =>
                    {
                        let inner = log(self.magnitude(inner)?);
                        let term = Expr::Product(vec![(**exponent).clone(), inner]);
                        terms.push(if minus { negative(term) } else { term });
                    }
                    other => kept.push(other.clone()),
                }
            }
            *left = Expr::Product(kept);
        }
        let [over, under] = rest;
        terms.push(log(quotient(over, under)));
        Some(Expr::Sum(terms))
    }

    /// The absolute value, factor by factor.
    fn magnitude(&mut self, expr: &Expr) -> Option<Expr> {
        Some(match expr {
            Expr::Number(_) | Expr::Constant(Constant::Pi | Constant::E) => expr.clone(),
            Expr::Symbol(name) if self.is_magnitude(name) => expr.clone(),
            Expr::Negate(inner) => self.magnitude(inner)?,
            Expr::Product(factors) => {
                let factors = factors.iter().map(|factor| self.magnitude(factor));
                Expr::Product(factors.collect::<Option<_>>()?)
            }
            Expr::Quotient(over, under) => quotient(self.magnitude(over)?, self.magnitude(under)?),
            Expr::Power(base, exponent) if whole(exponent).is_some() => {
                let base = self.magnitude(base)?;
                Expr::Power(Box::new(base), exponent.clone())
            }
            _ => self.piece(Function::Abs, vec![expr.clone()])?,
        })
    }

    fn is_magnitude(&self, name: &str) -> bool {
        let mut known = self.known.iter();
        known.any(|piece| piece.function == Function::Abs && *piece.name == *name)
    }

    /// The name of a piece.
    fn piece(&mut self, function: Function, arguments: Vec<Expr>) -> Option<Expr> {
        for piece in &self.known {
            if piece.function != function || piece.arguments.len() != arguments.len() {
                continue;
            }
            if function == Function::Abs {
                if let Some(factor) = factor(&arguments, &piece.arguments, self.budget) {
                    let name = Expr::Symbol(piece.name.clone());
                    return Some(Expr::Product(vec![factor, name]));
                }
                continue;
            }
            let mut pairs = piece.arguments.iter().zip(&arguments);
            if pairs.all(|(a, b)| smooth(a, b, self.budget)) {
                return Some(Expr::Symbol(piece.name.clone()));
            }
        }
        let name: Symbol = format!("\u{1}{}", self.known.len()).into();
        self.known.push(Piece {
            function,
            arguments,
            name: name.clone(),
        });
        (self.known.len() <= MAX_PIECES).then_some(Expr::Symbol(name))
    }

    /// Whether two sides are equal whatever the signs of what is in the absolute values.
    fn under_all_signs(&mut self, left: &Expr, right: &Expr) -> bool {
        let magnitudes: Vec<&Piece> = self
            .known
            .iter()
            .filter(|piece| piece.function == Function::Abs)
            .collect();
        if magnitudes.is_empty() || magnitudes.len() > MAX_SIGNS {
            return false;
        }
        (0_u32..1 << magnitudes.len()).all(|signs| {
            let (mut left, mut right) = (left.clone(), right.clone());
            // What is in a piece was named before it.
            for (at, piece) in magnitudes.iter().enumerate().rev() {
                let Some(inner) = piece.arguments.first() else {
                    return false;
                };
                let value = if signs >> at & 1 == 1 {
                    negative(inner.clone())
                } else {
                    inner.clone()
                };
                let put = Put {
                    name: &piece.name,
                    value,
                };
                left = symbols::rewrite(&left, &put);
                right = symbols::rewrite(&right, &put);
            }
            smooth(&left, &right, self.budget)
        })
    }
}

/// The size of the rational factor between two expressions, if they are proportional.
fn factor(left: &[Expr], right: &[Expr], budget: &mut Budget) -> Option<Expr> {
    let ([left], [right]) = (left, right) else {
        return None;
    };
    let names = super::compare::names(left, right);
    let mut run = Evaluator::new(0, budget);
    run.go_to(&names, Points::of(left, right).at(0));
    let (over, under) = (run.value(left).ok()?, run.value(right).ok()?);
    let ratio = run.over(&over, &under).ok()?;
    let ratio = ratio.as_rational()?;
    let size = Expr::Number(Number {
        value: super::functions::absolute(ratio),
        decimal: None,
    });
    let factor = if ratio.is_negative() {
        negative(size.clone())
    } else {
        size.clone()
    };
    let multiple = Expr::Product(vec![factor, right.clone()]);
    smooth(left, &multiple, budget).then_some(size)
}

/// Whether a function of these arguments is a piece by itself.
fn has_any_at_top(function: Function, arguments: &[Expr]) -> bool {
    let inner = arguments.iter().any(has_any);
    !inner && has_any(&Expr::Call(function, arguments.to_vec()))
}

/// Puts a value for a name.
struct Put<'n> {
    name: &'n str,
    value: Expr,
}

impl Rewrite for Put<'_> {
    fn symbol(&self, name: &Symbol) -> Expr {
        if **name == *self.name {
            self.value.clone()
        } else {
            Expr::Symbol(name.clone())
        }
    }
}

fn integer(value: u64) -> Expr {
    Expr::Number(Number {
        value: value.into(),
        decimal: None,
    })
}

fn root(base: Expr, degree: u64) -> Expr {
    Expr::Call(Function::Root, vec![base, integer(degree)])
}

fn negative(expr: Expr) -> Expr {
    match expr {
        Expr::Negate(inner) => *inner,
        other => Expr::Negate(Box::new(other)),
    }
}

fn quotient(over: Expr, under: Expr) -> Expr {
    Expr::Quotient(Box::new(over), Box::new(under))
}

fn difference(left: &Expr, right: &Expr) -> Expr {
    Expr::Sum(vec![left.clone(), negative(right.clone())])
}
