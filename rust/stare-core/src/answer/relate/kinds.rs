//! What kinds of answers there are, and which of them can never be equal.

use super::super::tree::{Answer, Constant, Expr, NamedSet, Operator, Unit};
use super::super::verdict::Reason;
use super::edit::{any, is_constant};

/// The kind of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A real number, by its looks.
    Number,
    /// A number with an imaginary unit in it.
    Complex,
    /// An expression with variables.
    Expression,
    /// An expression with variables that may be unit vectors.
    Vector,
    /// A number with a unit.
    Quantity,
    Base,
    Time,
    Ratio,
    Words,
    Choice,
    List,
    Tuple,
    /// Intervals, their unions and the rest of the sets.
    Set,
    Matrix,
    Equation,
    Inequality,
    /// Membership, arrows and other statements.
    Statement,
    Where,
    Piecewise,
}

/// Names of unit vectors.
const UNIT_VECTORS: &[&str] = &["i", "j", "k", "hat_i", "hat_j", "hat_k"];

/// Pairs that cannot be equal. The rules that come before the table have dealt with the pairs that
/// can; what is not in the table is undecided.
const NEVER_EQUAL: &[(Kind, &[Kind])] = &[
    (
        Kind::Number,
        &[Kind::Tuple, Kind::Set, Kind::Inequality, Kind::Matrix],
    ),
    (Kind::Complex, &[Kind::Set, Kind::Inequality]),
    (Kind::Expression, &[Kind::Set]),
    (
        Kind::Quantity,
        &[Kind::Tuple, Kind::Set, Kind::Inequality, Kind::Matrix],
    ),
    (
        Kind::Tuple,
        &[Kind::Equation, Kind::Base, Kind::Time, Kind::Choice],
    ),
    (
        Kind::Set,
        &[
            Kind::Base,
            Kind::Time,
            Kind::Ratio,
            Kind::Matrix,
            Kind::Choice,
        ],
    ),
    (
        Kind::Matrix,
        &[Kind::Equation, Kind::Inequality, Kind::Base, Kind::Time],
    ),
    (
        Kind::Inequality,
        &[Kind::Equation, Kind::Base, Kind::Time, Kind::Ratio],
    ),
];

/// Letters that look like the sign of the empty set.
const LIKE_EMPTY: &[&str] = &["phi", "varphi", "Phi", "O"];

/// The kind of an answer in normal form.
pub(super) fn kind(answer: &Answer) -> Kind {
    match answer {
        Answer::Expr(expr) => expression_kind(expr),
        Answer::Quantity(..) => Kind::Quantity,
        Answer::Base { .. } => Kind::Base,
        Answer::Time(_) => Kind::Time,
        Answer::Ratio(_) => Kind::Ratio,
        Answer::Words(_) => Kind::Words,
        Answer::Choice(_) => Kind::Choice,
        Answer::List { .. } => Kind::List,
        Answer::Tuple { .. } => Kind::Tuple,
        Answer::Interval(_)
        | Answer::SetOperation(..)
        | Answer::IndexedUnion { .. }
        | Answer::SetBuilder { .. }
        | Answer::NamedSet(_) => Kind::Set,
        Answer::Matrix { .. } => Kind::Matrix,
        Answer::Relation { operators, .. } => relation_kind(operators),
        Answer::Where { .. } => Kind::Where,
        Answer::Piecewise(_) => Kind::Piecewise,
    }
}

fn expression_kind(expr: &Expr) -> Kind {
    let imaginary = any(expr, &mut |node| {
        matches!(node, Expr::Constant(Constant::I))
    });
    let unit_vector = any(
        expr,
        &mut |node| matches!(node, Expr::Symbol(name) if UNIT_VECTORS.contains(&&**name) || name.starts_with("e_")),
    );
    match (is_constant(expr), imaginary, unit_vector) {
        (true, false, _) => Kind::Number,
        (true, true, _) => Kind::Complex,
        (false, false, false) => Kind::Expression,
        (false, ..) => Kind::Vector,
    }
}

fn relation_kind(operators: &[Operator]) -> Kind {
    use Operator::{Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual};
    let all = |wanted: &[Operator]| operators.iter().all(|operator| wanted.contains(operator));
    if all(&[Equal]) {
        Kind::Equation
    } else if all(&[Less, LessEqual, Greater, GreaterEqual, NotEqual]) {
        Kind::Inequality
    } else {
        Kind::Statement
    }
}

/// The reason for two kinds that no rule compares.
pub(super) fn unlike(answer: &Answer, gold: &Answer) -> Reason {
    let (left, right) = (kind(answer), kind(gold));
    let never = |a: Kind, b: Kind| {
        NEVER_EQUAL
            .iter()
            .any(|(kind, others)| *kind == a && others.contains(&b))
    };
    let empty = |a: &Answer, b: &Answer| {
        matches!(a, Answer::NamedSet(NamedSet::Empty))
            && matches!(b, Answer::Expr(Expr::Symbol(name)) if LIKE_EMPTY.contains(&&**name))
    };
    if empty(answer, gold) || empty(gold, answer) {
        Reason::UnlikeKinds
    } else if never(left, right) || never(right, left) {
        Reason::DifferentKinds
    } else if left == right {
        Reason::Unproved
    } else {
        Reason::UnlikeKinds
    }
}

/// The reason for two equal trees.
pub(super) fn same(answer: &Answer) -> Reason {
    match answer {
        Answer::Words(_) | Answer::Choice(_) => Reason::EqualWords,
        Answer::Quantity(_, Unit::Known(_) | Unit::Words(_)) => Reason::EqualQuantities,
        _ => Reason::SameTree,
    }
}
