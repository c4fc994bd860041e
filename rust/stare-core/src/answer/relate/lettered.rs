//! Numbers times letters that may be units: `5 m/s^2` without `\text`.

use std::fmt::Write as _;

use dashu_ratio::RBig;

use super::super::tree::{Answer, Expr, Unit};
use super::super::units;
use super::edit::{is_constant, negate};

/// Letters that symbols of units start with; others are variables.
const UNIT_LETTERS: &[&str] = &[
    "m", "g", "s", "k", "K", "G", "M", "h", "d", "c", "N", "J", "W", "V", "A", "L", "l", "P", "H",
    "T", "C", "F", "mu", "Omega",
];

/// `309 m`, `-5 s` and `5 m/s^2`: a number times letters that are a unit, or the letter that the
/// other side has for a unit.
pub(super) fn lettered(answer: &Answer, other: &Unit) -> Option<(Answer, Unit)> {
    let Answer::Expr(expr) = answer else {
        return None;
    };
    let mut parts = Parts::default();
    parts.take(expr, 1)?;
    let text = parts.unit();
    let unit = match (units::canonical(&text), other) {
        (Some(known), _) => Unit::Known(known),
        (None, Unit::Words(words)) if **words == *text => other.clone(),
        _ => return None,
    };
    let number = match parts.numbers.as_slice() {
        [single] => single.clone(),
        [] => return None,
        several => Expr::Product(several.to_vec()),
    };
    let number = if parts.negative {
        negate(number)
    } else {
        number
    };
    Some((Answer::Expr(number), unit))
}

/// Whether an expression without a unit may be a number with one: `5 m^2`.
pub fn is_measured(answer: &Answer) -> bool {
    lettered(answer, &Unit::Degree).is_some()
}

/// Whether all variables of a product are letters of units.
pub(super) fn may_be_measured(answer: &Answer) -> bool {
    let mut parts = Parts::default();
    match answer {
        Answer::Expr(expr) => {
            parts.take(expr, 1).is_some()
                && !parts.letters.is_empty()
                && parts
                    .letters
                    .iter()
                    .all(|(letter, _)| UNIT_LETTERS.contains(&&**letter))
        }
        _ => false,
    }
}

/// A product in parts: numbers, and letters with their exponents.
#[derive(Debug, Default)]
struct Parts {
    negative: bool,
    numbers: Vec<Expr>,
    letters: Vec<(Box<str>, i64)>,
}

impl Parts {
    /// Take a factor, or a divisor if `sign` is -1; `None` if it is neither a number nor a letter.
    fn take(&mut self, expr: &Expr, sign: i64) -> Option<()> {
        match expr {
            expr if is_constant(expr) => {
                // A number below the line would be no unit's.
                (sign > 0).then(|| self.numbers.push(expr.clone()))
            }
            Expr::Symbol(letter) => {
                self.letters.push((letter.clone(), sign));
                Some(())
            }
            Expr::Negate(inner) if self.numbers.is_empty() => {
                self.negative = !self.negative;
                self.take(inner, sign)
            }
            Expr::Product(factors) => factors.iter().try_for_each(|f| self.take(f, sign)),
            Expr::Quotient(above, below) => {
                self.take(above, sign)?;
                self.take(below, -sign)
            }
            Expr::Power(base, exponent) => {
                let (Expr::Symbol(letter), Expr::Number(number)) = (&**base, &**exponent) else {
                    return None;
                };
                let power = (1..=9).find(|&power| number.value == RBig::from(power))?;
                self.letters.push((letter.clone(), sign * power));
                Some(())
            }
            _ => None,
        }
    }

    /// The letters as the spelling of a unit.
    fn unit(&self) -> String {
        let mut text = String::new();
        for (letter, power) in self.letters.iter().filter(|(_, power)| *power > 0) {
            text.push_str(if text.is_empty() { "" } else { "*" });
            text.push_str(letter);
            if *power > 1 {
                let _ = write!(text, "^{power}");
            }
        }
        for (letter, power) in self.letters.iter().filter(|(_, power)| *power < 0) {
            text.push_str(if text.is_empty() { "1/" } else { "/" });
            text.push_str(letter);
            if *power < -1 {
                let _ = write!(text, "^{}", -power);
            }
        }
        text
    }
}
