//! Numbers and expressions: [`super::super::value`] decides, this adds what depends on the whole
//! answer (tolerance, letters that may be choices, constants of integration).

use super::super::tree::Expr;
use super::super::value::{self, Tolerance};
use super::super::verdict::{Reason, Verdict};
use super::edit::{
    any, difference, has_plus_minus, infinity, integer, is_constant, quotient, substitute,
};
use super::linear::linear;
use super::{lattices, text, vocabulary, Context};

/// Arbitrary constants compared under every renaming; more of them are left undecided.
const MAX_RENAMED: usize = 3;

/// Decide an expression against the gold's, with the tolerance asked for.
pub(super) fn compare(context: &mut Context<'_>, answer: &Expr, gold: &Expr) -> Reason {
    let reason = exactly(context, answer, gold);
    if reason.verdict() == Verdict::Correct {
        return reason;
    }
    let tolerance = context.tolerance;
    if tolerance != Tolerance::None
        && value::within(answer, gold, tolerance, context.budget) == Some(true)
    {
        return Reason::WithinTolerance;
    }
    reason
}

/// Decide two expressions without a tolerance; symmetric.
pub(super) fn exactly(context: &mut Context<'_>, left: &Expr, right: &Expr) -> Reason {
    if let Some(reason) = infinite(context, left, right) {
        return reason;
    }
    if has_plus_minus(left) || has_plus_minus(right) {
        // Which signs go together is not known.
        return same_tree(context, left, right).unwrap_or(Reason::Unproved);
    }
    let reason = value::compare(left, right, context.budget);
    let other = match reason.verdict() {
        Verdict::Correct => None,
        Verdict::Undecided => same_tree(context, left, right),
        Verdict::Incorrect => {
            notation(context, left, right).or_else(|| doubt(context, left, right))
        }
    };
    other.unwrap_or(reason)
}

fn same_tree(context: &mut Context<'_>, left: &Expr, right: &Expr) -> Option<Reason> {
    let same = left == right || context.budget.charge(16).is_ok() && text::same(left, right);
    same.then_some(Reason::SameTree)
}

/// An infinity equals itself only.
fn infinite(context: &mut Context<'_>, left: &Expr, right: &Expr) -> Option<Reason> {
    let (first, second) = (infinity(left), infinity(right));
    if first.is_none() && second.is_none() {
        return None;
    }
    let decided = first.is_some() && second.is_some();
    Some(if decided && first == second {
        Reason::EqualConstants
    } else if decided || value::order(left, right, context.budget).is_some() {
        Reason::DifferentConstants
    } else {
        Reason::Unproved
    })
}

/// Why two expressions that differ as functions may yet be the same answer.
fn doubt(context: &mut Context<'_>, left: &Expr, right: &Expr) -> Option<Reason> {
    let (mine, theirs) = (value::variables(left), value::variables(right));
    if mine.is_empty() && theirs.is_empty() {
        return None;
    }
    if let (Some(letter), other) | (other, Some(letter)) = (choice(left), choice(right)) {
        // `C` may be the choice whose text is the number on the other side.
        let number = if choice(left) == Some(letter) {
            right
        } else {
            left
        };
        if other.is_none() && is_constant(number) {
            return Some(Reason::UnlikeKinds);
        }
    }
    if mine != theirs && folded(&mine) == folded(&theirs) {
        return Some(Reason::Ambiguous);
    }
    if lattices::may_agree(context, &[left], &[right]) {
        return Some(Reason::Ambiguous);
    }
    arbitrary_constants(context, left, right, &mine, &theirs)
}

/// The letter, if the expression is one that usually marks a choice.
pub(super) fn choice(expr: &Expr) -> Option<char> {
    match expr {
        Expr::Symbol(name) => {
            let mut letters = name.chars();
            let first = letters.next()?;
            (letters.next().is_none() && ('A'..='J').contains(&first)).then_some(first)
        }
        _ => None,
    }
}

/// Why notation that is not read may make two expressions the same after all: `H_3` may be a term
/// of a sequence, `\Gamma(n)` a function, `V` a Roman numeral.
fn notation(context: &mut Context<'_>, left: &Expr, right: &Expr) -> Option<Reason> {
    let doubtful = [(left, right), (right, left)]
        .into_iter()
        .any(|(side, other)| {
            let others = value::variables(other);
            let constant = is_constant(other);
            let term = matches!(side, Expr::Symbol(name) if constant && is_term_of_sequence(name));
            let numeral = match side {
                Expr::Symbol(name) if constant => vocabulary::roman(name).map(integer),
                _ => None,
            };
            let numeral = numeral.is_some_and(|numeral| {
                value::compare(&numeral, other, context.budget).verdict() != Verdict::Incorrect
            });
            term || numeral || any(side, &mut |node| may_be_applied(node, &others, constant))
        });
    doubtful.then_some(Reason::UnlikeKinds)
}

/// Whether a name has a number for an index.
fn is_term_of_sequence(name: &str) -> bool {
    let index = name.split_once('_').map(|(_, index)| index);
    index.is_some_and(|index| index.contains(|c: char| c.is_ascii_digit()))
}

/// Whether a product may be a function of what is behind its name, which the other side does not
/// know: `d(6)`, `\Gamma(n + 1)`.
fn may_be_applied(node: &Expr, others: &[&str], constant: bool) -> bool {
    let Expr::Product(factors) = node else {
        return false;
    };
    factors.windows(2).any(|pair| match pair {
        [Expr::Symbol(name), _] if &**name == FUNCTION_OF_NAME => !others.contains(&&**name),
        [Expr::Symbol(name), Expr::Number(_) | Expr::Sum(_)] => {
            constant && !others.contains(&&**name)
        }
        _ => false,
    })
}

/// The letter that is a function wherever something is behind it.
const FUNCTION_OF_NAME: &str = "Gamma";

/// Commands that only change how an index looks.
const LOOKS: &[&str] = &["text", "mathrm", "mathit", "operatorname", "rm"];

/// Names without case and without what only changes how their indices look: `x_{\max}` and
/// `x_{\text{max}}`, `x_{i,j}` and `x_{ij}`, `x_{i+1}` and `x_{1+i}`.
fn folded(names: &[&str]) -> Vec<String> {
    let fold = |name: &&str| {
        let lower = name.to_lowercase();
        let Some((base, index)) = lower.split_once('_') else {
            return lower;
        };
        let words = index.split(|c: char| !c.is_alphanumeric());
        let words = words.filter(|word| !LOOKS.contains(word));
        let mut letters: Vec<char> = words.flat_map(str::chars).collect();
        letters.sort_unstable();
        format!("{base}_{}", letters.into_iter().collect::<String>())
    };
    let mut folded: Vec<_> = names.iter().map(fold).collect();
    folded.sort_unstable();
    folded.dedup();
    folded
}

/// Whether a name is one that constants of integration and coefficients are given.
fn is_arbitrary(name: &str) -> bool {
    let base = name.split(['_', '\'']).next().unwrap_or_default();
    matches!(base, "A" | "B" | "C" | "D" | "K" | "c" | "k" | "const")
}

/// Constants of integration are arbitrary: other names for them, or a constant put into them, give
/// the same answer.
fn arbitrary_constants(
    context: &mut Context<'_>,
    left: &Expr,
    right: &Expr,
    mine: &[&str],
    theirs: &[&str],
) -> Option<Reason> {
    let from: Vec<_> = mine.iter().copied().filter(|n| is_arbitrary(n)).collect();
    let to: Vec<_> = theirs.iter().copied().filter(|n| is_arbitrary(n)).collect();
    if from.is_empty() || to.len() != from.len() || from.len() == mine.len().max(theirs.len()) {
        return None;
    }
    if from.len() > MAX_RENAMED {
        return Some(Reason::Ambiguous);
    }
    for order in permutations(to.len()) {
        let renamed: Vec<_> = from
            .iter()
            .zip(&order)
            .filter_map(|(name, &at)| Some((*name, *to.get(at)?)))
            .filter(|(name, other)| name != other)
            .map(|(name, other)| (name, Expr::Symbol(other.into())))
            .collect();
        if renamed.is_empty() {
            continue;
        }
        let renamed = substitute(left, &renamed);
        if value::compare(&renamed, right, context.budget).verdict() != Verdict::Incorrect {
            return Some(Reason::Ambiguous);
        }
    }
    let all = |expr: &Expr, names: &[&str], value: i64| {
        let values: Vec<_> = names.iter().map(|name| (*name, integer(value))).collect();
        substitute(expr, &values)
    };
    let added = |expr: &Expr, names: &[&str]| names.iter().any(|name| is_term(expr, name));
    if added(left, &from) && added(right, &to) {
        let rest = difference(&all(left, &from, 0), &all(right, &to, 0));
        return (!varies(context, &rest)).then_some(Reason::Ambiguous);
    }
    if let ([own], [other]) = (from.as_slice(), to.as_slice()) {
        let mut mine_and_theirs = mine.iter().chain(theirs);
        // Next to `a` or `b` it is one more variable.
        let alone = !mine_and_theirs.any(|name| matches!(*name, "a" | "b"));
        if alone && is_factor_name(own) && is_factor_name(other) {
            let ratio = quotient(&all(left, &from, 1), &all(right, &to, 1));
            return (!varies(context, &ratio)).then_some(Reason::Ambiguous);
        }
    }
    None
}

/// Whether an expression is proved to have two different values.
pub(super) fn varies(context: &mut Context<'_>, expr: &Expr) -> bool {
    let free = value::variables(expr);
    let at = |over: i64, under: i64| {
        let point: Vec<_> = free
            .iter()
            .zip(0..)
            .map(|(name, step)| (*name, quotient(&integer(over + step), &integer(under))))
            .collect();
        substitute(expr, &point)
    };
    // Some functions have values at whole numbers only.
    let points = [(11, 17, 7), (12, 30, 1)];
    !free.is_empty()
        && points.iter().any(|&(first, second, under)| {
            let (first, second) = (at(first, under), at(second, under));
            value::compare(&first, &second, context.budget).verdict() == Verdict::Incorrect
        })
}

/// Whether a name is one of constants of integration alone.
fn is_factor_name(name: &str) -> bool {
    matches!(name.split('_').next(), Some("C" | "c"))
}

/// Whether a variable is added with a constant factor.
fn is_term(expr: &Expr, name: &str) -> bool {
    linear(expr, name).is_some_and(|parts| is_constant(&parts.slope))
}

/// The orders of `count` things, at most [`MAX_RENAMED`] of them.
pub(super) fn permutations(count: usize) -> Vec<Vec<usize>> {
    let mut orders = vec![Vec::new()];
    for next in 0..count.min(MAX_RENAMED) {
        orders = orders
            .into_iter()
            .flat_map(|order: Vec<usize>| {
                (0..=order.len()).map(move |at| {
                    let mut order = order.clone();
                    order.insert(at, next);
                    order
                })
            })
            .collect();
    }
    orders
}
