//! Times, ratios and numerals in a written base.

use dashu_base::BitTest;
use dashu_int::UBig;
use dashu_ratio::RBig;

use super::super::limits::INTEGER_BITS;
use super::super::tree::{Answer, Expr, Time};
use super::super::value;
use super::super::verdict::{Reason, Verdict};
use super::edit::{integer, product, quotient};
use super::{all, doubtful, scalars, Context};

const NOON: u32 = 12;
const MINUTES_PER_HOUR: i64 = 60;

/// Longer ratios are not cross-multiplied.
const MAX_RATIO: usize = 16;

/// A time, ratio or numeral against another, or against a number.
pub(super) fn rule(context: &mut Context<'_>, answer: &Answer, gold: &Answer) -> Option<Reason> {
    match (answer, gold) {
        (Answer::Time(left), Answer::Time(right)) => Some(times(*left, *right)),
        (Answer::Ratio(left), Answer::Ratio(right)) => Some(ratios(context, left, right)),
        (Answer::Time(time), Answer::Ratio(ratio)) | (Answer::Ratio(ratio), Answer::Time(time)) => {
            if time.afternoon.is_some() {
                return Some(Reason::DifferentKinds);
            }
            let as_ratio = ratios(context, &parts(*time), ratio);
            Some(doubtful(
                [as_ratio],
                Reason::Ambiguous,
                if may_be_ratio(*time) {
                    as_ratio
                } else {
                    Reason::DifferentKinds
                },
            ))
        }
        (Answer::Time(time), Answer::Expr(number)) | (Answer::Expr(number), Answer::Time(time)) => {
            Some(time_against_number(context, *time, number))
        }
        (Answer::Ratio(ratio), Answer::Expr(number))
        | (Answer::Expr(number), Answer::Ratio(ratio)) => {
            let [over, under] = ratio.as_slice() else {
                return Some(Reason::DifferentKinds);
            };
            let quotient = scalars::exactly(context, &quotient(over, under), number);
            Some(doubtful(
                [quotient],
                Reason::UnlikeKinds,
                Reason::DifferentKinds,
            ))
        }
        (
            Answer::Base { digits, base },
            Answer::Base {
                digits: others,
                base: other,
            },
        ) => Some(bases(context, (digits, *base), (others, *other))),
        (Answer::Base { digits, base }, Answer::Expr(number))
        | (Answer::Expr(number), Answer::Base { digits, base }) => {
            Some(base_against_number(context, digits, *base, number))
        }
        _ => None,
    }
}

/// Minutes since midnight, if the half of the day is known.
fn of_day(time: Time) -> Option<u32> {
    let hour = match time.afternoon {
        Some(true) if time.hour < NOON => time.hour + NOON,
        Some(false) if time.hour == NOON => 0,
        Some(_) => time.hour,
        None if time.hour > NOON || time.hour == 0 => time.hour,
        None => return None,
    };
    Some(hour.saturating_mul(60).saturating_add(time.minute))
}

fn times(left: Time, right: Time) -> Reason {
    let seconds = |time: Time| time.second.unwrap_or(0);
    let exact = (left.hour, left.minute, left.afternoon)
        == (right.hour, right.minute, right.afternoon)
        && seconds(left) == seconds(right);
    if exact {
        return Reason::EqualNumbers;
    }
    if seconds(left) == seconds(right) {
        if let (Some(left), Some(right)) = (of_day(left), of_day(right)) {
            if left == right {
                return Reason::EqualNumbers;
            }
        }
        let half = |time: Time| (time.hour % NOON, time.minute);
        if half(left) == half(right) && (left.afternoon.is_none() || right.afternoon.is_none()) {
            return Reason::Ambiguous;
        }
    }
    if may_be_ratio(left) && may_be_ratio(right) {
        let cross = u64::from(left.hour) * u64::from(right.minute)
            == u64::from(right.hour) * u64::from(left.minute);
        if cross {
            return Reason::Ambiguous;
        }
    }
    Reason::DifferentNumbers
}

/// `12:16` may be a ratio; `1:05` and `4:30 p.m.` are not.
fn may_be_ratio(time: Time) -> bool {
    time.afternoon.is_none() && time.second.is_none() && time.minute >= 10 && time.hour > 0
}

fn parts(time: Time) -> Vec<Expr> {
    let part = |n: u32| integer(i64::from(n));
    let mut parts = vec![part(time.hour), part(time.minute)];
    parts.extend(time.second.map(part));
    parts
}

/// `1:30` may be meant as 90 minutes or one and a half hours; `12:00` is not 12.
fn time_against_number(context: &mut Context<'_>, time: Time, number: &Expr) -> Reason {
    let minutes = i64::from(time.hour) * MINUTES_PER_HOUR + i64::from(time.minute);
    let mut readings = vec![scalars::exactly(context, &integer(minutes), number)];
    if time.minute > 0 {
        let hours = quotient(&integer(minutes), &integer(MINUTES_PER_HOUR));
        readings.push(scalars::exactly(context, &hours, number));
        let [hour, minute, ..] = parts(time).try_into().unwrap_or([integer(0), integer(1)]);
        readings.push(scalars::exactly(context, &quotient(&hour, &minute), number));
    }
    doubtful(readings, Reason::UnlikeKinds, Reason::DifferentKinds)
}

/// Equal up to scale: all cross products are.
fn ratios(context: &mut Context<'_>, left: &[Expr], right: &[Expr]) -> Reason {
    if left.len() != right.len() {
        return Reason::DifferentSizes;
    }
    if left.len() > MAX_RATIO {
        return Reason::Limit;
    }
    let zero = integer(0);
    let mut anchored = false;
    let mut reasons = Vec::new();
    for (i, (a, b)) in left.iter().zip(right).enumerate() {
        let zeros = (context.equal(a, &zero), context.equal(b, &zero));
        anchored |= zeros == (Some(false), Some(false));
        for (c, d) in left.iter().zip(right).skip(i + 1) {
            reasons.push(scalars::exactly(context, &product(a, d), &product(c, b)));
        }
    }
    match all(reasons, Reason::EqualElements, Reason::DifferentElements) {
        // `0:0` is proportional to everything.
        reason if reason.verdict() == Verdict::Correct && !anchored => Reason::Unproved,
        reason => reason,
    }
}

/// The value of a numeral; `None` if it is over the limits or has a digit too high.
pub(super) fn base_value(digits: &str, base: u32) -> Option<RBig> {
    if !(2..=36).contains(&base) {
        return None;
    }
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.len() + fraction.len() > INTEGER_BITS {
        return None;
    }
    let plain = format!("{whole}{fraction}");
    let over = UBig::from_str_radix(&plain, base).ok()?;
    let under = UBig::from(base).pow(fraction.len());
    (over.bit_len().max(under.bit_len()) <= INTEGER_BITS)
        .then(|| RBig::from_parts(over.into(), under))
}

fn bases(
    context: &mut Context<'_>,
    (digits, base): (&str, u32),
    (others, other): (&str, u32),
) -> Reason {
    if base == other && digits == others {
        return Reason::EqualNumbers;
    }
    // Reading digits of any base takes quadratic time at worst.
    let work = digits.len().max(others.len()) as u64;
    if context.budget.charge(work * work / 64).is_err() {
        return Reason::Limit;
    }
    match (base_value(digits, base), base_value(others, other)) {
        (Some(left), Some(right)) if left == right => Reason::EqualNumbers,
        (Some(_), Some(_)) => Reason::DifferentNumbers,
        _ => Reason::Limit,
    }
}

/// Without its base a numeral may be the digits or the value.
fn base_against_number(
    context: &mut Context<'_>,
    digits: &str,
    base: u32,
    number: &Expr,
) -> Reason {
    let (Some(value), Some(number)) = (
        base_value(digits, base),
        value::exact(number, context.budget),
    ) else {
        return Reason::UnlikeKinds;
    };
    if value == number {
        return if base == 10 {
            Reason::EqualNumbers
        } else {
            Reason::Ambiguous
        };
    }
    match base_value(digits, 10) {
        Some(as_written) if as_written != number => Reason::DifferentNumbers,
        // Digits above 9 are no decimal number.
        None if digits.bytes().any(|digit| digit.is_ascii_alphabetic()) => Reason::DifferentNumbers,
        _ => Reason::Ambiguous,
    }
}

/// The parts of a ratio over the first that is not zero; for the key.
pub(super) fn reduced(context: &mut Context<'_>, ratio: &[Expr]) -> Option<Vec<Expr>> {
    let zero = integer(0);
    let first = ratio
        .iter()
        .find(|part| context.equal(part, &zero) == Some(false))?;
    Some(ratio.iter().map(|part| quotient(part, first)).collect())
}

/// What a time stands for in a key: a ratio if it may be one, else a moment of the day if the half
/// of the day is known.
pub(super) enum Moment {
    /// The parts of the ratio.
    Ratio(Vec<Expr>),
    /// Seconds since midnight.
    OfDay(u32),
    /// As written.
    Open,
}

/// See [`Moment`].
pub(super) fn moment(time: Time) -> Moment {
    if may_be_ratio(time) {
        return Moment::Ratio(parts(time));
    }
    of_day(time).map_or(Moment::Open, |minutes| {
        let seconds = minutes.saturating_mul(60);
        Moment::OfDay(seconds.saturating_add(time.second.unwrap_or(0)))
    })
}
