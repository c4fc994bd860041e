//! Words and choice letters.

use super::super::tree::{Answer, Expr};
use super::super::verdict::{Reason, Verdict};
use super::edit::{integer, is_numeric};
use super::vocabulary::{self, Words};
use super::{scalars, Context};

/// Words or a choice against anything but a relation, whose value is looked at first.
pub(super) fn rule(context: &mut Context<'_>, answer: &Answer, gold: &Answer) -> Option<Reason> {
    match (answer, gold) {
        (Answer::Relation { .. }, _)
        | (_, Answer::Relation { .. })
        | (Answer::Choice(_), Answer::List { .. })
        | (Answer::List { .. }, Answer::Choice(_)) => None,
        (Answer::Words(left), Answer::Words(right)) => {
            Some(match vocabulary::compare(left, right) {
                Words::Same => Reason::EqualWords,
                Words::Related => Reason::Unproved,
                Words::Different => Reason::DifferentWords,
            })
        }
        (Answer::Choice(left), Answer::Choice(right)) => Some(letters(*left, *right)),
        (Answer::Choice(letter), Answer::Expr(Expr::Symbol(name)))
        | (Answer::Expr(Expr::Symbol(name)), Answer::Choice(letter)) => {
            let mut letters_of = name.chars();
            match (letters_of.next(), letters_of.next()) {
                (Some(other), None) => Some(letters(*letter, other.to_ascii_uppercase())),
                _ => Some(Reason::UnlikeKinds),
            }
        }
        (Answer::Choice(_), _) | (_, Answer::Choice(_)) => Some(Reason::UnlikeKinds),
        (Answer::Words(words), other) | (other, Answer::Words(words)) => {
            Some(against(context, words, other))
        }
        _ => None,
    }
}

fn letters(left: char, right: char) -> Reason {
    if left == right {
        Reason::EqualWords
    } else {
        Reason::DifferentWords
    }
}

/// Words against what is not words.
fn against(context: &mut Context<'_>, words: &str, other: &Answer) -> Reason {
    if let (Some(number), Answer::Expr(value)) = (vocabulary::number(words), other) {
        let number = integer(i64::from(number));
        return match scalars::exactly(context, &number, value).verdict() {
            Verdict::Incorrect => Reason::DifferentNumbers,
            _ => Reason::UnlikeKinds,
        };
    }
    let mathematics = !matches!(
        other,
        Answer::Expr(Expr::Symbol(_)) | Answer::Where { .. } | Answer::Piecewise(_)
    );
    if vocabulary::is_yes_or_no(words) && mathematics && is_numeric(other)
        || vocabulary::is_no_number(words) && is_finite(other)
    {
        Reason::DifferentKinds
    } else {
        Reason::UnlikeKinds
    }
}

/// Numbers and tuples of them, no infinity.
fn is_finite(answer: &Answer) -> bool {
    let mut finite = true;
    super::edit::visit(answer, &mut |expr| {
        finite &= !super::edit::any(expr, &mut |node| {
            matches!(node, Expr::Constant(super::super::tree::Constant::Infinity))
        });
    });
    finite
        && is_numeric(answer)
        && matches!(
            answer,
            Answer::Expr(_)
                | Answer::Tuple { .. }
                | Answer::List { .. }
                | Answer::Matrix { .. }
                | Answer::Base { .. }
                | Answer::Ratio(_)
        )
}
