//! Sets of reals as sorted cuts: exact unions, intersections and complements.

use std::cmp::Ordering;

use super::super::tree::Expr;
use super::super::value;
use super::edit::infinity;
use super::Context;

/// A cut of the real line just before or just after a place. Crossing it one is in the set or out
/// of it again.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Cut {
    /// Where; may be infinite.
    pub(super) place: Expr,
    /// Just after the place, so that the place is on the lower side.
    pub(super) after: bool,
}

/// A set of reals with finitely many pieces: its cuts, ascending, an even number of them. Equal
/// sets have equal cuts.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Reals {
    /// In at the first, out at the second, and so on.
    pub(super) cuts: Vec<Cut>,
}

/// How two sets are put together: whether a point is in the result, by whether it is in each. What
/// is in neither must not be in the result.
pub(super) type Combination = fn(bool, bool) -> bool;

/// In one or the other.
pub(super) const UNION: Combination = |left, right| left || right;
/// In both.
pub(super) const INTERSECTION: Combination = |left, right| left && right;
/// In the first only.
pub(super) const DIFFERENCE: Combination = |left, right| left && !right;

impl Reals {
    /// The empty set.
    pub(super) const fn empty() -> Self {
        Self { cuts: Vec::new() }
    }

    /// Between two places; `None` if their order is not proved or the wrong way round.
    pub(super) fn between(
        context: &mut Context<'_>,
        lower: (&Expr, bool),
        upper: (&Expr, bool),
    ) -> Option<Self> {
        let from = Cut {
            place: lower.0.clone(),
            // An infinite end never belongs to the set.
            after: infinity(lower.0).is_some() || !lower.1,
        };
        let to = Cut {
            place: upper.0.clone(),
            after: infinity(upper.0).is_none() && upper.1,
        };
        match order(context, &from, &to)? {
            Ordering::Less => Some(Self {
                cuts: vec![from, to],
            }),
            // `(1, 1)` is empty, `(2, 1)` is a mistake.
            _ if order_places(context, lower.0, upper.0)? == Ordering::Equal => Some(Self::empty()),
            _ => None,
        }
    }

    /// A single point.
    pub(super) fn point(context: &mut Context<'_>, place: &Expr) -> Option<Self> {
        if infinity(place).is_some() {
            return None;
        }
        Self::between(context, (place, true), (place, true))
    }

    /// Everything.
    pub(super) fn all() -> Self {
        use super::super::tree::Constant::Infinity;
        let cut = |place, after| Cut { place, after };
        Self {
            cuts: vec![
                cut(super::edit::negate(Expr::Constant(Infinity)), true),
                cut(Expr::Constant(Infinity), false),
            ],
        }
    }

    /// Whether it has no points.
    pub(super) fn is_empty(&self) -> bool {
        self.cuts.is_empty()
    }

    /// Whether it has all of them.
    pub(super) fn is_all(&self) -> bool {
        *self == Self::all()
    }

    /// All in one, by halves.
    pub(super) fn union(mut sets: Vec<Self>, context: &mut Context<'_>) -> Option<Self> {
        while sets.len() > 1 {
            let halves = sets.chunks(2).map(|pair| match pair {
                [left, right] => left.combine(right, UNION, context),
                rest => rest.first().cloned(),
            });
            sets = halves.collect::<Option<_>>()?;
        }
        Some(sets.pop().unwrap_or_else(Self::empty))
    }

    /// Put two sets together; `None` if the order of some cuts is not proved.
    pub(super) fn combine(
        &self,
        other: &Self,
        keep: Combination,
        context: &mut Context<'_>,
    ) -> Option<Self> {
        let (mut left, mut right) = (self.cuts.iter().peekable(), other.cuts.iter().peekable());
        let (mut in_left, mut in_right, mut inside) = (false, false, false);
        let mut cuts = Vec::new();
        loop {
            let step = match (left.peek(), right.peek()) {
                (None, None) => return Some(Self { cuts }),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(a), Some(b)) => order(context, a, b)?,
            };
            let mut cut = None;
            if step.is_le() {
                in_left = !in_left;
                cut = left.next();
            }
            if step.is_ge() {
                in_right = !in_right;
                cut = right.next().or(cut);
            }
            if keep(in_left, in_right) != inside {
                inside = !inside;
                cuts.extend(cut.cloned());
            }
        }
    }
}

/// The order of two cuts.
fn order(context: &mut Context<'_>, left: &Cut, right: &Cut) -> Option<Ordering> {
    let places = order_places(context, &left.place, &right.place)?;
    Some(places.then(left.after.cmp(&right.after)))
}

fn order_places(context: &mut Context<'_>, left: &Expr, right: &Expr) -> Option<Ordering> {
    let rank = |end: Option<bool>| match end {
        None => 0,
        Some(true) => 1,
        Some(false) => -1,
    };
    let ends = (infinity(left), infinity(right));
    if left == right && ends.0.is_some() {
        return Some(Ordering::Equal);
    }
    if ends.0 == ends.1 {
        return value::order(left, right, context.budget);
    }
    // An end that is not real has no place, before infinity or elsewhere.
    for (end, place) in [(ends.0, left), (ends.1, right)] {
        if end.is_none() {
            value::order(place, place, context.budget)?;
        }
    }
    Some(rank(ends.0).cmp(&rank(ends.1)))
}
