//! Matrices and vectors: shape and cells; a vector may be meant as a tuple.

use super::super::tree::{Answer, Expr};
use super::super::verdict::Reason;
use super::{all, doubtful, scalars, Context};

/// A matrix against another, or against a tuple or a number.
pub(super) fn rule(context: &mut Context<'_>, answer: &Answer, gold: &Answer) -> Option<Reason> {
    match (answer, gold) {
        (
            Answer::Matrix {
                rows,
                columns,
                cells: left,
            },
            Answer::Matrix {
                rows: other_rows,
                columns: other_columns,
                cells: right,
            },
        ) => {
            if (rows, columns) == (other_rows, other_columns) {
                return Some(cells(context, left, right));
            }
            // A row written as a column.
            let turned = (rows, columns) == (other_columns, other_rows);
            let vectors = turned && (*rows == 1 || *columns == 1);
            Some(if vectors {
                doubtful(
                    [cells(context, left, right)],
                    Reason::UnlikeKinds,
                    Reason::DifferentElements,
                )
            } else {
                Reason::DifferentSizes
            })
        }
        (
            Answer::Matrix {
                rows,
                columns,
                cells: left,
            },
            other,
        ) => vector(context, (*rows, *columns, left), other, false),
        (
            other,
            Answer::Matrix {
                rows,
                columns,
                cells: right,
            },
        ) => vector(context, (*rows, *columns, right), other, true),
        _ => None,
    }
}

fn cells(context: &mut Context<'_>, left: &[Expr], right: &[Expr]) -> Reason {
    if left.len() != right.len() {
        return Reason::DifferentSizes;
    }
    let reasons: Vec<_> = left
        .iter()
        .zip(right)
        .map(|(a, b)| scalars::compare(context, a, b))
        .collect();
    all(reasons, Reason::EqualElements, Reason::DifferentElements)
}

fn vector(
    context: &mut Context<'_>,
    (rows, columns, cells): (usize, usize, &[Expr]),
    other: &Answer,
    matrix_is_gold: bool,
) -> Option<Reason> {
    let places = match other {
        Answer::Tuple { items, .. } if rows == 1 || columns == 1 => items.as_slice(),
        Answer::Tuple { .. } => return Some(Reason::UnlikeKinds),
        Answer::Expr(_) if cells.len() == 1 => std::slice::from_ref(other),
        _ => return None,
    };
    let cells: Vec<_> = cells.iter().cloned().map(Answer::Expr).collect();
    let reason = if matrix_is_gold {
        super::lists::tuples(context, places, &cells)
    } else {
        super::lists::tuples(context, &cells, places)
    };
    Some(doubtful([reason], Reason::UnlikeKinds, reason))
}
