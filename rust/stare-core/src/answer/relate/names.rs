//! Named values: `x = 5` says 5, `f(x) = 2x` says `2x`.

use std::borrow::Cow;

use super::super::tree::{Answer, BoundOperator, Expr, Operator, Symbol};
use super::super::verdict::{Reason, Verdict};
use super::edit::{is_numeric, mentions, substitute_answer, visit};
use super::{equations, text, vocabulary, Context};

/// A value and what it is called.
pub(super) struct Named<'a> {
    /// The left side.
    pub(super) name: &'a Answer,
    /// The right side, or what of it is the value.
    pub(super) value: Cow<'a, Answer>,
}

/// The variable, if the answer is one.
pub(super) fn symbol_of(answer: &Answer) -> Option<&Symbol> {
    match answer {
        Answer::Expr(Expr::Symbol(name)) => Some(name),
        _ => None,
    }
}

/// Whether an answer is something that values are given to: `x`, `f(x)`, the segment `AB`, `dy/dx`,
/// `A^{-1}`, words, or a tuple of variables.
pub(super) fn is_name(answer: &Answer) -> bool {
    match answer {
        Answer::Words(_) => true,
        Answer::Tuple { items, .. } => items.iter().all(|item| symbol_of(item).is_some()),
        Answer::Expr(expr) => match expr {
            Expr::Symbol(_) | Expr::Apply(..) => true,
            Expr::Product(factors) => factors.iter().all(is_capital),
            Expr::Power(base, exponent) => {
                let inverse = **exponent == super::edit::integer(-1);
                inverse && (is_capital(base) || is_function_letter(base))
            }
            Expr::Bound(bound) => {
                bound.operator == BoundOperator::Derivative
                    && matches!(bound.body, Expr::Symbol(_) | Expr::Apply(..))
            }
            _ => false,
        },
        _ => false,
    }
}

/// Whether the words before a value, or the one before a tuple of names, take it back.
fn is_denied(name: &Answer) -> bool {
    match name {
        Answer::Words(words) => vocabulary::takes_back(words),
        Answer::Expr(Expr::Symbol(name) | Expr::Apply(name, _)) => vocabulary::takes_back(name),
        _ => false,
    }
}

fn is_capital(expr: &Expr) -> bool {
    matches!(expr, Expr::Symbol(name) if name.starts_with(char::is_uppercase))
}

fn is_function_letter(expr: &Expr) -> bool {
    matches!(expr, Expr::Symbol(name) if matches!(&**name, "f" | "g" | "h"))
}

/// Read a relation as a named value. The name must not occur in the value.
pub(super) fn named(answer: &Answer) -> Option<Named<'_>> {
    let Answer::Relation { sides, operators } = answer else {
        return None;
    };
    let (name, rest) = sides.split_first()?;
    let (first, later) = operators.split_first()?;
    let gives = matches!(
        first,
        Operator::Equal | Operator::Approximately | Operator::In
    );
    if !gives || !is_name(name) || is_denied(name) {
        return None;
    }
    let value = match rest {
        [value] => Cow::Borrowed(value),
        [.., last]
            if later.iter().all(|operator| *operator == Operator::Equal)
                && !rest.iter().all(is_numeric) =>
        {
            Cow::Borrowed(last)
        }
        _ if later
            .iter()
            .all(|o| matches!(o, Operator::Equal | Operator::Approximately)) =>
        {
            Cow::Owned(Answer::Relation {
                sides: rest.to_vec(),
                operators: later.to_vec(),
            })
        }
        _ => return None,
    };
    let called = match name {
        Answer::Expr(Expr::Symbol(name) | Expr::Apply(name, _)) => Some(name),
        _ => None,
    };
    let mut recursive = false;
    if let Some(called) = called {
        visit(&value, &mut |expr| recursive |= mentions(expr, called));
    }
    (!recursive).then_some(Named { name, value })
}

/// How two names go together.
enum Match<'a> {
    Same,
    /// The same once these parameters of the second are renamed.
    Renamed(Vec<(&'a str, Expr)>),
    Different,
    Unknown,
}

/// A named value against another, or against a bare value.
pub(super) fn rule(context: &mut Context<'_>, answer: &Answer, gold: &Answer) -> Option<Reason> {
    match (named(answer), named(gold)) {
        (Some(left), Some(right)) => Some(pair(context, answer, gold, &left, &right)),
        (Some(left), None) if takes(&left, gold) => Some(match under(context, &left, gold) {
            Ok(values) => context.answers(&left.value, &values),
            Err(reason) => reason,
        }),
        (None, Some(right)) if takes(&right, answer) => {
            Some(match under(context, &right, answer) {
                Ok(values) => context.answers(&values, &right.value),
                Err(reason) => reason,
            })
        }
        _ => None,
    }
}

/// What the other side says of a name: the members of a list that give it values, or it has no
/// names at all.
///
/// `x = 1, y = 2` is one point, and no list of two values of `x`; `x_1 = 1, x_2 = 2` is such a list.
fn under<'o>(
    context: &mut Context<'_>,
    known: &Named<'_>,
    other: &'o Answer,
) -> Result<Cow<'o, Answer>, Reason> {
    let Answer::List { items, braces } = other else {
        return Ok(Cow::Borrowed(other));
    };
    let mut values = Vec::with_capacity(items.len());
    for item in items {
        let Some(member) = named(item) else {
            if matches!(item, Answer::Relation { .. } | Answer::Where { .. }) {
                // Several statements can say what one does.
                return Err(Reason::Unproved);
            }
            values.push(item.clone());
            continue;
        };
        match match_names(context, known.name, member.name) {
            Match::Same => {}
            Match::Unknown if are_indexed(known.name, member.name) => {}
            Match::Different if is_numeric(&known.value) && is_numeric(&member.value) => {
                return Err(Reason::DifferentNames);
            }
            _ => return Err(Reason::UnlikeKinds),
        }
        values.push(member.value.into_owned());
    }
    Ok(Cow::Owned(Answer::List {
        items: values,
        braces: *braces,
    }))
}

/// Whether two names are variables that differ in their index only.
fn are_indexed(left: &Answer, right: &Answer) -> bool {
    let bases = [left, right].map(|name| symbol_of(name).map(|name| base(name)));
    matches!(&bases, [Some(left), Some(right)] if left == right)
}

/// Whether the value alone can be compared with the other side. Equations and inequalities are
/// compared with the whole statement, unless the value is a set.
fn takes(named: &Named<'_>, other: &Answer) -> bool {
    let set = !matches!(*named.value, Answer::Expr(_) | Answer::Quantity(..));
    set || !matches!(other, Answer::Relation { .. })
}

fn pair(
    context: &mut Context<'_>,
    answer: &Answer,
    gold: &Answer,
    left: &Named<'_>,
    right: &Named<'_>,
) -> Reason {
    let found = match match_names(context, left.name, right.name) {
        Match::Same if !stands_for(left, right) || !stands_for(right, left) => Match::Unknown,
        found => found,
    };
    match found {
        Match::Same => {
            let reason = context.answers(&left.value, &right.value);
            match reason.verdict() {
                Verdict::Correct if !inner_sides_agree(context, answer, gold) => Reason::Unproved,
                _ => reason,
            }
        }
        Match::Renamed(names) => {
            // A parameter must not take the name of another variable.
            let (mine, theirs) = (
                super::edit::names(&left.value),
                super::edit::names(&right.value),
            );
            let old: Vec<_> = names.iter().map(|(name, _)| *name).collect();
            let captured = names.iter().any(|(name, new)| match new {
                Expr::Symbol(new) => {
                    let own = names
                        .iter()
                        .any(|(_, other)| matches!(other, Expr::Symbol(o) if **o == **name));
                    !old.contains(&&**new) && theirs.contains(&&**new)
                        || !own && mine.contains(name)
                }
                _ => true,
            });
            if captured {
                return Reason::Unproved;
            }
            context.answers(&left.value, &substitute_answer(&right.value, &names))
        }
        Match::Different if is_numeric(&left.value) && is_numeric(&right.value) => {
            Reason::DifferentNames
        }
        Match::Different => equations::compare(context, answer, gold).unwrap_or(Reason::Unproved),
        Match::Unknown => {
            let swapped = equations::compare(context, answer, gold);
            if let Some(reason) = swapped.filter(|reason| reason.verdict() == Verdict::Correct) {
                return reason;
            }
            let values = context.answers(&left.value, &right.value);
            let values_decide = is_numeric(&left.value) && is_numeric(&right.value)
                || is_plain(left.name) && is_plain(right.name);
            match values.verdict() {
                Verdict::Incorrect if values_decide => values,
                _ => Reason::UnlikeKinds,
            }
        }
    }
}

/// Whether a variable may stand for the value of a function, if that is what the two names are: of
/// a function without marks, of variables that occur in its value.
fn stands_for(variable: &Named<'_>, function: &Named<'_>) -> bool {
    let (Answer::Expr(Expr::Symbol(_)), Answer::Expr(Expr::Apply(name, arguments))) =
        (variable.name, function.name)
    else {
        return true;
    };
    let occurring = super::edit::names(&function.value);
    let occurs =
        |argument: &Expr| matches!(argument, Expr::Symbol(name) if occurring.contains(&&**name));
    let bare = name.chars().count() == 1;
    bare && arguments.iter().any(occurs) && !arguments.iter().any(is_capital)
}

/// Whether the sides between the name and the value of `A = \pi r^2 = 9\pi` agree, where both have
/// some.
fn inner_sides_agree(context: &mut Context<'_>, answer: &Answer, gold: &Answer) -> bool {
    fn inner(answer: &Answer) -> &[Answer] {
        match answer {
            Answer::Relation { sides, .. } => sides
                .get(1..sides.len().saturating_sub(1))
                .unwrap_or_default(),
            _ => &[],
        }
    }
    let (left, right) = (inner(answer), inner(gold));
    let pairs = left.iter().zip(right);
    left.is_empty()
        || right.is_empty()
        || left.len() == right.len()
            && pairs.into_iter().all(|(a, b)| {
                text::same_answer(a, b) || context.answers(a, b).verdict() == Verdict::Correct
            })
}

/// Whether it names a variable or the value of a function, and not a segment or the like.
fn is_plain(name: &Answer) -> bool {
    matches!(name, Answer::Expr(Expr::Symbol(_) | Expr::Apply(..)))
}

fn match_names<'a>(context: &mut Context<'_>, left: &Answer, right: &'a Answer) -> Match<'a> {
    let (Answer::Expr(mine), Answer::Expr(theirs)) = (left, right) else {
        return if text::same_answer(left, right) {
            Match::Same
        } else {
            Match::Unknown
        };
    };
    match (mine, theirs) {
        (Expr::Symbol(mine), Expr::Symbol(theirs)) if mine == theirs => Match::Same,
        (Expr::Symbol(mine), Expr::Symbol(theirs)) => {
            if base(mine) == base(theirs) {
                Match::Unknown
            } else {
                Match::Different
            }
        }
        // y stands for the value of any function.
        (Expr::Symbol(symbol), Expr::Apply(..)) | (Expr::Apply(..), Expr::Symbol(symbol))
            if &**symbol == "y" =>
        {
            Match::Same
        }
        (Expr::Apply(f, mine), Expr::Apply(g, theirs)) if f == g && mine.len() == theirs.len() => {
            arguments(context, mine, theirs)
        }
        _ if text::same(mine, theirs) => Match::Same,
        _ => Match::Unknown,
    }
}

/// A name without its index, case-folded.
pub(super) fn base(name: &str) -> String {
    let base = name.split(['_', '\'']).next().unwrap_or_default();
    base.to_lowercase()
}

fn arguments<'a>(context: &mut Context<'_>, mine: &[Expr], theirs: &'a [Expr]) -> Match<'a> {
    let verdicts: Vec<_> = mine
        .iter()
        .zip(theirs)
        .map(|(left, right)| context.equal(left, right))
        .collect();
    if verdicts.iter().all(|equal| *equal == Some(true)) {
        return Match::Same;
    }
    let renamed: Option<Vec<_>> = mine
        .iter()
        .zip(theirs)
        .map(|(left, right)| match (left, right) {
            // `P(A)` and `P(B)` are about two things.
            (mine, theirs) if is_capital(mine) || is_capital(theirs) => None,
            (Expr::Symbol(_), Expr::Symbol(name)) => Some((&**name, left.clone())),
            _ => None,
        })
        .collect();
    match renamed {
        Some(names) => Match::Renamed(names),
        None if verdicts.contains(&Some(false)) && mine.iter().all(super::edit::is_constant) => {
            Match::Different
        }
        None => Match::Unknown,
    }
}
