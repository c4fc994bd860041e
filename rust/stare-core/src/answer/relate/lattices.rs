//! Unions of families `offset + slope * k` over the integers, decided exactly where all slopes and
//! offsets are rational, or all are rational multiples of pi.

use std::fmt::Write;

use dashu_ratio::RBig;

use super::super::tree::{Constant, Expr, Function};
use super::super::value;
use super::edit::{integer, is_constant, map, mentions, quotient, substitute};
use super::linear::linear;
use super::Context;

/// Most members of one period.
const MAX_RESIDUES: i64 = 1024;

/// Stands for pi where its coefficient is looked for; no name of the parser has this character.
const PI: &str = "%pi";

/// Letters that usually run over the integers where nothing is written about them.
pub(super) fn is_integer_letter(name: &str) -> bool {
    let base = name.split('_').next().unwrap_or_default();
    matches!(base, "k" | "n" | "m" | "l")
}

/// A periodic set of numbers. Equal sets are equal here.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Lattices {
    /// The smallest period.
    period: RBig,
    /// The members from 0 up to the period, ascending.
    members: Vec<RBig>,
    /// Whether all of it is times pi.
    of_pi: bool,
}

impl Lattices {
    /// The union of families in the parameter `name`; `None` if one of them is not of this form.
    pub(super) fn union(context: &mut Context<'_>, items: &[&Expr], name: &str) -> Option<Self> {
        let mut families = Vec::with_capacity(items.len());
        let mut all_pi = None;
        for item in items {
            let parts = linear(item, name)?;
            let (slope, of_pi) = coefficient(context, &parts.slope)?;
            let (offset, offset_of_pi) = coefficient(context, &parts.offset)?;
            let fits = offset.is_zero() || of_pi == offset_of_pi;
            if slope.is_zero() || !fits || *all_pi.get_or_insert(of_pi) != of_pi {
                return None;
            }
            families.push((slope, offset));
        }
        Self::of(context, &families, all_pi?)
    }

    fn of(context: &mut Context<'_>, families: &[(RBig, RBig)], of_pi: bool) -> Option<Self> {
        let mut scale = 1_i64;
        for number in families.iter().flat_map(|(slope, offset)| [slope, offset]) {
            scale = lcm(scale, i64::try_from(number.denominator().clone()).ok()?)?;
        }
        let whole = |number: &RBig| {
            let scaled = number * RBig::from(scale);
            i64::try_from(scaled.numerator().clone()).ok()
        };
        let mut steps = Vec::with_capacity(families.len());
        let (mut unit, mut period) = (0, 1);
        for (slope, offset) in families {
            let slope = whole(slope)?.checked_abs()?;
            let offset = whole(offset)?.checked_rem_euclid(slope)?;
            unit = gcd(gcd(unit, slope), offset);
            period = lcm(period, slope)?;
            steps.push((slope, offset));
        }
        let size = period.checked_div(unit).filter(|n| *n <= MAX_RESIDUES)?;
        let work = u64::try_from(size).ok()? / 4 * (steps.len() as u64 + 4);
        context.budget.charge(work).ok()?;
        let holds = |residue: i64| {
            let number = residue * unit;
            steps
                .iter()
                .any(|(slope, offset)| (number - offset).checked_rem_euclid(*slope) == Some(0))
        };
        let inside: Vec<bool> = (0..size).map(holds).collect();
        let repeats = |step: &i64| {
            let step = usize::try_from(*step).unwrap_or(0);
            size % (step as i64).max(1) == 0
                && inside
                    .iter()
                    .zip(inside.iter().cycle().skip(step))
                    .all(|(a, b)| a == b)
        };
        let smallest = (1..=size).find(repeats)?;
        let number = |residue: i64| RBig::from(residue * unit) / RBig::from(scale);
        Some(Self {
            period: number(smallest),
            members: (0..smallest)
                .filter(|residue| holds(*residue))
                .map(number)
                .collect(),
            of_pi,
        })
    }

    /// A canonical text.
    pub(super) fn text(&self) -> String {
        let mut text = String::from("{");
        for member in &self.members {
            // Writing to a string does not fail.
            let _ = write!(text, "{member}, ");
        }
        let pi = if self.of_pi { " pi" } else { "" };
        let _ = write!(text, "+ {} Z}}{pi}", self.period);
        text
    }
}

/// A rational number, or the rational coefficient of pi.
fn coefficient(context: &mut Context<'_>, expr: &Expr) -> Option<(RBig, bool)> {
    let expr = map(expr, &mut |node| match node {
        Expr::Constant(Constant::Pi) => Some(Expr::Symbol(PI.into())),
        Expr::Call(Function::Degrees, items) => {
            let degrees = items.first()?.clone();
            Some(Expr::Product(vec![
                Expr::Symbol(PI.into()),
                quotient(&degrees, &integer(180)),
            ]))
        }
        _ => None,
    });
    if !mentions(&expr, PI) {
        return Some((value::exact(&expr, context.budget)?, false));
    }
    let parts = linear(&expr, PI)?;
    let rest = value::exact(&parts.offset, context.budget)?;
    let factor = value::exact(&parts.slope, context.budget)?;
    rest.is_zero().then_some((factor, true))
}

fn gcd(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a.checked_rem(b).unwrap_or(0));
    }
    a
}

/// Of positive numbers.
fn lcm(a: i64, b: i64) -> Option<i64> {
    a.checked_div(gcd(a, b))?.checked_mul(b)
}

/// Whether different expressions may say the same because a letter that nothing is written about
/// runs over the integers: it is another one on the other side, or the same union of families of
/// solutions of a trigonometric equation.
pub(super) fn may_agree(context: &mut Context<'_>, left: &[&Expr], right: &[&Expr]) -> bool {
    let (mine, theirs) = (variables(left), variables(right));
    let only = |names: &[&str], others: &[&str]| -> Vec<String> {
        let alone = names.iter().filter(|name| !others.contains(name));
        alone.map(ToString::to_string).collect()
    };
    let (from, to) = (only(&mine, &theirs), only(&theirs, &mine));
    match (from.as_slice(), to.as_slice()) {
        ([from], [to]) if is_integer_letter(from) && is_integer_letter(to) => {
            let new = [(from.as_str(), Expr::Symbol(to.as_str().into()))];
            let renamed: Vec<_> = left.iter().map(|item| substitute(item, &new)).collect();
            if let ([left], [right]) = (renamed.as_slice(), right) {
                let reason = value::compare(left, right, context.budget);
                if reason.verdict() != super::Verdict::Incorrect {
                    return true;
                }
            }
            let renamed: Vec<_> = renamed.iter().collect();
            same_union(context, &renamed, right, to).is_some_and(|(same, _)| same)
        }
        ([], []) => mine
            .iter()
            .filter(|name| is_integer_letter(name))
            .any(|name| same_union(context, left, right, name) == Some((true, true))),
        _ => false,
    }
}

/// Whether two unions are the same, and multiples of pi.
fn same_union(
    context: &mut Context<'_>,
    left: &[&Expr],
    right: &[&Expr],
    name: &str,
) -> Option<(bool, bool)> {
    let left = Lattices::union(context, left, name)?;
    let right = Lattices::union(context, right, name)?;
    Some((left == right, left.of_pi))
}

fn variables<'e>(items: &[&'e Expr]) -> Vec<&'e str> {
    let mut names: Vec<_> = items
        .iter()
        .filter(|item| !is_constant(item))
        .flat_map(|item| value::variables(item))
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::limits::Budget;
    use super::super::super::value::Tolerance;
    use super::*;

    fn lattices(families: &[(i64, i64)], under: i64) -> Option<Lattices> {
        let mut budget = Budget::new();
        let mut context = Context {
            tolerance: Tolerance::None,
            budget: &mut budget,
        };
        let number = |n: i64| RBig::from(n) / RBig::from(under);
        let families: Vec<_> = families
            .iter()
            .map(|&(slope, offset)| (number(slope), number(offset)))
            .collect();
        Lattices::of(&mut context, &families, true)
    }

    /// Members from 0 up to 120 by trying all of them: every slope below 7 divides 60.
    fn slow(families: &[(i64, i64)]) -> Vec<i64> {
        (0..120)
            .filter(|n| {
                families
                    .iter()
                    .any(|(slope, offset)| (n - offset) % slope == 0)
            })
            .collect()
    }

    fn families() -> impl Strategy<Value = Vec<(i64, i64)>> {
        let slope = prop_oneof![-6..=-1_i64, 1..=6_i64];
        proptest::collection::vec((slope, -20..=20_i64), 1..4)
    }

    proptest! {
        #[test]
        fn equal_as_their_members_say(left in families(), right in families(), under in 1..9_i64) {
            let same = slow(&left) == slow(&right);
            prop_assert_eq!(lattices(&left, under) == lattices(&right, under), same);
            prop_assert!(lattices(&left, under).is_some());
        }
    }

    #[test]
    fn large_periods_are_refused() {
        assert_eq!(lattices(&[(i64::MAX, 1)], 1), None);
        assert_eq!(lattices(&[(i64::MIN, 1)], 1), None);
        assert_eq!(lattices(&[(1009, 1), (1013, 0)], 1), None);
    }
}
