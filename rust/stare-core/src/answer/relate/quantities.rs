//! Numbers with units, percent and degrees.

use dashu_ratio::RBig;

use super::super::tree::{Answer, Expr, Function, Unit};

use super::super::units::{self, Conversion};
use super::super::value;
use super::super::verdict::{Reason, Verdict};
use super::edit::{integer, is_constant, product, quotient};
use super::lettered::{lettered, may_be_measured};
use super::samples::rational;
use super::vocabulary::same_unit_words;
use super::{doubtful, Context};

/// Factors between units of one dimension: a number with a unit and one without may be apart by
/// them and still mean the same.
const COMMON_FACTORS: &[i64] = &[
    3, 4, 7, 8, 12, 16, 24, 30, 36, 52, 60, 100, 144, 360, 365, 1440, 1760, 3600, 5280, 86_400,
];

/// Powers of ten up to this one are common factors too.
const MAX_TEN: u32 = 12;

/// Units of no fixed length in days.
const CALENDAR: &[&str] = &["month", "year", "decade"];

/// A quantity against another, or against a bare value.
pub(super) fn rule(context: &mut Context<'_>, answer: &Answer, gold: &Answer) -> Option<Reason> {
    match (answer, gold) {
        (Answer::Quantity(left, mine), Answer::Quantity(right, theirs)) => {
            Some(both(context, (left, mine), (right, theirs)))
        }
        (Answer::Quantity(left, unit), bare) if is_value(bare) => {
            let plain = answer_only(context, left, unit, bare);
            Some(match lettered(bare, unit) {
                Some((right, theirs)) => {
                    let quantity = both(context, (left, unit), (&right, &theirs));
                    either(plain, quantity, alike(unit, &theirs))
                }
                None => unmeasured(plain, bare),
            })
        }
        (bare, Answer::Quantity(right, unit)) if is_value(bare) => {
            let plain = gold_only(context, bare, right, unit);
            Some(match lettered(bare, unit) {
                Some((left, mine)) => {
                    let quantity = both(context, (&left, &mine), (right, unit));
                    either(plain, quantity, alike(&mine, unit))
                }
                None => unmeasured(plain, bare),
            })
        }
        _ => None,
    }
}

/// An answer whose percent are bare numbers: as they stand for a factor of 1, over it otherwise.
pub fn without_percent(answer: &Answer, factor: i64) -> Answer {
    let all = |items: &[Answer]| -> Vec<_> {
        items
            .iter()
            .map(|item| without_percent(item, factor))
            .collect()
    };
    match answer {
        Answer::Quantity(value, Unit::Percent) => match &**value {
            Answer::Expr(expr) if factor != 1 => Answer::Expr(quotient(expr, &integer(factor))),
            other => other.clone(),
        },
        Answer::List { items, braces } => Answer::List {
            items: all(items),
            braces: *braces,
        },
        Answer::Tuple { items, brackets } => Answer::Tuple {
            items: all(items),
            brackets: *brackets,
        },
        Answer::Relation { sides, operators } => Answer::Relation {
            sides: all(sides),
            operators: operators.clone(),
        },
        other => other.clone(),
    }
}

/// The letter behind a number is a variable or a unit: equal in one reading is equal, since the
/// other side has a unit; different only in both, and if the units measure the same.
fn either(variable: Reason, quantity: Reason, alike: bool) -> Reason {
    match quantity.verdict() {
        Verdict::Correct => quantity,
        Verdict::Incorrect if alike => doubtful([variable], Reason::UnlikeUnits, quantity),
        _ => Reason::UnlikeUnits,
    }
}

/// `5 KM` beside a quantity may be one too, with a unit that is not known.
fn unmeasured(plain: Reason, bare: &Answer) -> Reason {
    if plain.verdict() == Verdict::Incorrect && may_be_measured(bare) {
        Reason::UnlikeUnits
    } else {
        plain
    }
}

/// Whether two units measure the same: `m` may be minutes beside hours.
fn alike(left: &Unit, right: &Unit) -> bool {
    match (left, right) {
        (Unit::Known(left), Unit::Known(right)) => {
            matches!(units::convert(left, right), Some(Conversion::Ratio(_)))
        }
        (left, right) => left == right,
    }
}

fn is_value(answer: &Answer) -> bool {
    matches!(answer, Answer::Expr(_))
}

/// The unit is on the answer only: the number as it is, but a unit other than the one asked for
/// cannot be excluded. Percent are hundredths.
fn answer_only(context: &mut Context<'_>, value: &Answer, unit: &Unit, gold: &Answer) -> Reason {
    let plain = context.answers(value, gold);
    match unit {
        Unit::Percent => {
            let hundredths = context.answers(&over_hundred(value), gold);
            if hundredths.verdict() == Verdict::Correct {
                return hundredths;
            }
            doubtful([plain, hundredths], Reason::UnlikeUnits, plain)
        }
        Unit::Degree => degrees(context, value, gold, plain, false),
        Unit::Words(words) if !units::is_harmless(words) => Reason::UnlikeUnits,
        Unit::Known(_) | Unit::Words(_) => match plain.verdict() {
            Verdict::Correct => Reason::EqualQuantities,
            Verdict::Incorrect if converted(context, value, gold) => Reason::UnlikeUnits,
            _ => plain,
        },
    }
}

/// The unit is on the gold only: the answer is in the unit asked for. Percent may be given as such
/// or as hundredths.
fn gold_only(context: &mut Context<'_>, answer: &Answer, value: &Answer, unit: &Unit) -> Reason {
    let plain = context.answers(answer, value);
    match unit {
        Unit::Percent => {
            if plain.verdict() == Verdict::Correct {
                return Reason::EqualQuantities;
            }
            let hundredths = context.answers(&times_hundred(answer), value);
            if hundredths.verdict() == Verdict::Correct {
                return hundredths;
            }
            doubtful([plain, hundredths], Reason::Unproved, plain)
        }
        Unit::Degree => degrees(context, answer, value, plain, true),
        // `5 \text{ dozen}` may be given as 60.
        Unit::Words(words) if !units::is_harmless(words) => Reason::UnlikeUnits,
        Unit::Known(_) | Unit::Words(_) => match plain.verdict() {
            Verdict::Correct => Reason::EqualQuantities,
            _ => plain,
        },
    }
}

/// Degrees are optional on numbers; the same angle in radians is left undecided.
fn degrees(
    context: &mut Context<'_>,
    answer: &Answer,
    gold: &Answer,
    plain: Reason,
    degrees_are_gold: bool,
) -> Reason {
    if plain.verdict() == Verdict::Correct {
        return Reason::EqualQuantities;
    }
    let in_radians = |value: &Answer| match value {
        Answer::Expr(expr) => Answer::Expr(Expr::Call(Function::Degrees, vec![expr.clone()])),
        other => other.clone(),
    };
    let as_radians = if degrees_are_gold {
        context.answers(answer, &in_radians(gold))
    } else {
        context.answers(&in_radians(answer), gold)
    };
    doubtful([plain, as_radians], Reason::UnlikeUnits, plain)
}

fn over_hundred(value: &Answer) -> Answer {
    match value {
        Answer::Expr(expr) => Answer::Expr(quotient(expr, &integer(100))),
        other => other.clone(),
    }
}

fn times_hundred(value: &Answer) -> Answer {
    match value {
        Answer::Expr(expr) => Answer::Expr(product(&integer(100), expr)),
        other => other.clone(),
    }
}

/// Whether two different numbers may be apart by a factor that lies between common units.
fn converted(context: &mut Context<'_>, left: &Answer, right: &Answer) -> bool {
    let (Answer::Expr(left), Answer::Expr(right)) = (left, right) else {
        return true;
    };
    if !is_constant(left) || !is_constant(right) {
        return false;
    }
    let tens = (1..=MAX_TEN).map(|power| 10_i64.pow(power));
    let mut factors = COMMON_FACTORS.iter().copied().chain(tens);
    let exact = (
        value::exact(left, context.budget),
        value::exact(right, context.budget),
    );
    if let (Some(left), Some(right)) = exact {
        return factors.any(|factor| {
            let factor = RBig::from(factor);
            left == &right * &factor || right == &left * &factor
        });
    }
    factors.any(|factor| {
        let factor = integer(factor);
        context.equal(left, &product(&factor, right)) != Some(false)
            || context.equal(right, &product(&factor, left)) != Some(false)
    })
}

fn both(
    context: &mut Context<'_>,
    (left, mine): (&Answer, &Unit),
    (right, theirs): (&Answer, &Unit),
) -> Reason {
    let plain = context.answers(left, right);
    if mine == theirs || same_words(mine, theirs) {
        return quantities(plain);
    }
    match (mine, theirs) {
        (Unit::Known(mine), Unit::Known(theirs)) => match units::convert(mine, theirs) {
            Some(Conversion::Ratio(factor)) => {
                let Answer::Expr(value) = left else {
                    return Reason::UnlikeUnits;
                };
                let converted = Answer::Expr(product(&rational(factor), value));
                quantities(context.answers(&converted, right))
            }
            Some(Conversion::Incompatible) if is_calendar(mine) == is_calendar(theirs) => {
                Reason::DifferentQuantities
            }
            _ => Reason::UnlikeUnits,
        },
        (Unit::Words(mine), Unit::Words(theirs))
            if units::is_counted(mine) && units::is_counted(theirs) =>
        {
            doubtful([plain], Reason::UnlikeUnits, Reason::DifferentQuantities)
        }
        _ => Reason::UnlikeUnits,
    }
}

fn quantities(plain: Reason) -> Reason {
    match plain.verdict() {
        Verdict::Correct => Reason::EqualQuantities,
        Verdict::Incorrect => Reason::DifferentQuantities,
        Verdict::Undecided => plain,
    }
}

fn is_calendar(unit: &str) -> bool {
    CALENDAR.contains(&unit)
}

fn same_words(left: &Unit, right: &Unit) -> bool {
    matches!((left, right), (Unit::Words(a), Unit::Words(b)) if same_unit_words(a, b))
}

/// What stands for a quantity in its key: the number in base units, and those if they count.
pub(super) fn canonical(value: &Answer, unit: &Unit) -> (Answer, Option<String>) {
    let base = match unit {
        Unit::Percent => return (over_hundred(value), None),
        Unit::Known(name) => units::base(name),
        // What the words may do to the number is not known.
        Unit::Words(words) if !units::is_harmless(words) => {
            return (value.clone(), Some(words.to_string()))
        }
        Unit::Degree | Unit::Words(_) => None,
    };
    match (base, value) {
        (Some((factor, unit)), Answer::Expr(number)) => {
            let number = Answer::Expr(product(&rational(factor), number));
            (number, Some(unit).filter(|unit| !unit.is_empty()))
        }
        _ => (value.clone(), None),
    }
}
