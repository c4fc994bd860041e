//! Units of measure: spellings, dimensions, exact scales.

mod table;
mod words;

use dashu_int::{IBig, UBig};
use dashu_ratio::RBig;

use table::{Dimension, BASES, COMPOUND, NONE, UNITS};
pub(super) use words::{is_counted, is_harmless, normal};

/// Spellings longer than this are no unit.
const LONGEST: usize = 64;

/// Units multiplied and divided in one.
const MOST_FACTORS: usize = 6;

/// The canonical spelling of a unit: `cm`, `cm^2`, `m/s`, `N*m`, `J/K/mol`; `None` if it is not
/// known.
pub(super) fn canonical(text: &str) -> Option<Box<str>> {
    if text.len() > LONGEST {
        return None;
    }
    let text = text
        .trim()
        .trim_end_matches('.')
        .replace(" per ", "/")
        .replace("**", "^");
    if let Some((_, compound)) = COMPOUND
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(&text))
    {
        return Some((*compound).into());
    }
    let mut factors = factors(&text)?;
    // One order for all spellings: factors, then divisors, each by the table.
    factors.sort_by_key(|factor| (factor.power < 0, factor.index));
    let mut canonical = String::new();
    for factor in &factors {
        if factor.power < 0 {
            canonical.push_str(if canonical.is_empty() { "1/" } else { "/" });
        } else if !canonical.is_empty() {
            canonical.push('*');
        }
        canonical.push_str(UNITS.get(factor.index)?.name);
        let power = factor.power.unsigned_abs();
        if power > 1 {
            canonical.push('^');
            canonical.push(char::from_digit(u32::from(power), 10)?);
        }
    }
    Some(canonical.into())
}

/// A unit of the table to a power.
#[derive(Clone, Copy, Debug)]
struct Factor {
    index: usize,
    power: i8,
}

/// The factors of `m/s^2`, `kJ mol^-1`, `N*m`; each unit once.
fn factors(text: &str) -> Option<Vec<Factor>> {
    let mut factors: Vec<Factor> = Vec::new();
    for (slashes, part) in text.split('/').enumerate() {
        if slashes > 2 {
            return None;
        }
        if slashes == 0 && part.trim() == "1" {
            continue;
        }
        let mut found = match powered(part.trim()) {
            Some(single) => vec![single],
            None => part
                .split(['*', ' '])
                .filter(|piece| !piece.is_empty())
                .map(powered)
                .collect::<Option<_>>()?,
        };
        // `kg/m s`: above or below.
        if slashes > 0 && found.len() > 1 {
            return None;
        }
        if slashes > 0 {
            for factor in &mut found {
                factor.power = -factor.power;
            }
        }
        factors.extend(found);
    }
    let once = factors.iter().enumerate().all(|(at, factor)| {
        factors
            .iter()
            .skip(at + 1)
            .all(|other| other.index != factor.index)
    });
    (once && !factors.is_empty() && factors.len() <= MOST_FACTORS).then_some(factors)
}

/// `cm^2`, `square cm`, `cubic feet`, `feet squared`, `s^-1`.
fn powered(text: &str) -> Option<Factor> {
    const BEFORE: [(&str, i8); 5] = [
        ("square ", 2),
        ("sq. ", 2),
        ("sq ", 2),
        ("cubic ", 3),
        ("cu ", 3),
    ];
    const BEHIND: [(&str, i8); 2] = [(" squared", 2), (" cubed", 3)];
    let factor = |text: &str, power| find(text.trim()).map(|index| Factor { index, power });
    for (mark, power) in BEFORE {
        if let Some(rest) = text.strip_prefix(mark) {
            return factor(rest, power);
        }
    }
    for (mark, power) in BEHIND {
        if let Some(rest) = text.strip_suffix(mark) {
            return factor(rest, power);
        }
    }
    match text.split_once('^') {
        Some((unit, power)) => {
            let power: i8 = power.parse().ok()?;
            (power != 0 && (-9..=9).contains(&power)).then_some(())?;
            factor(unit, power)
        }
        None => factor(text, 1),
    }
}

/// Place in the table: symbols by exact case, names by any.
fn find(text: &str) -> Option<usize> {
    let folded = text.to_lowercase();
    UNITS.iter().position(|row| {
        row.name == text
            || row.spellings.contains(&text)
            || (text.len() > 2 && (row.name == folded || row.spellings.contains(&folded.as_str())))
    })
}

/// How two units relate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Conversion {
    /// One of the first is this many of the second.
    Ratio(RBig),
    /// They measure different things.
    Incompatible,
}

/// How two canonical units relate; `None` if one of them is not known.
#[must_use]
pub fn convert(from: &str, to: &str) -> Option<Conversion> {
    let (from_dimension, from_scale) = measure(from)?;
    let (to_dimension, to_scale) = measure(to)?;
    Some(if from_dimension == to_dimension {
        Conversion::Ratio(from_scale / to_scale)
    } else {
        Conversion::Incompatible
    })
}

/// A canonical unit in base units: how many of them, and which, with their exponents. Dollars and
/// radians are not named: a bare number is meant as those. `None` if the unit is not known.
pub(super) fn base(unit: &str) -> Option<(RBig, String)> {
    let (dimension, scale) = measure(unit)?;
    let named = BASES.iter().zip(dimension);
    let factors: Vec<_> = named
        .filter(|(name, power)| !name.is_empty() && *power != 0)
        .map(|(name, power)| format!("{name}^{power}"))
        .collect();
    Some((scale, factors.join(" ")))
}

/// Dimension and scale of a canonical unit.
fn measure(text: &str) -> Option<(Dimension, RBig)> {
    let mut dimension = NONE;
    let mut scale = RBig::ONE;
    for factor in factors(text)? {
        let row = UNITS.get(factor.index)?;
        let (above, below) = row.scale;
        let one = RBig::from_parts(IBig::from(above), UBig::from(below));
        for _ in 0..factor.power.unsigned_abs() {
            if factor.power > 0 {
                scale *= &one;
            } else {
                scale /= &one;
            }
        }
        for (total, part) in dimension.iter_mut().zip(row.dimension) {
            *total = total.checked_add(part.checked_mul(factor.power)?)?;
        }
    }
    Some((dimension, scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings() {
        for (text, expected) in [
            ("cm", "cm"),
            ("square feet", "ft^2"),
            ("feet squared", "ft^2"),
            ("cm^2", "cm^2"),
            ("miles per hour", "mi/h"),
            ("mph", "mi/h"),
            ("m/s^2", "m/s^2"),
            ("Dollars", "dollar"),
            ("in.", "in"),
            ("kJ mol^-1", "kJ/mol"),
            ("J/mol/K", "J/K/mol"),
            ("J mol^-1 K^-1", "J/K/mol"),
            ("N m", "m*N"),
            ("m*N", "m*N"),
            ("s^-1", "1/s"),
            ("1/s", "1/s"),
        ] {
            assert_eq!(canonical(text).as_deref(), Some(expected), "{text}");
        }
        for text in [
            "apples", "x", "units", "", "M", "cm and", "kg/m s", "m m", "1", "m^0",
        ] {
            assert_eq!(canonical(text), None, "{text}");
        }
    }

    #[test]
    fn every_spelling_belongs_to_one_unit() {
        let mut seen: Vec<&str> = UNITS
            .iter()
            .flat_map(|row| row.spellings.iter().copied().chain([row.name]))
            .collect();
        seen.sort_unstable();
        assert!(seen.windows(2).all(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn conversions() {
        let ratio = |above: u32, below: u32| {
            Some(Conversion::Ratio(RBig::from_parts(
                above.into(),
                below.into(),
            )))
        };
        assert_eq!(convert("cm", "m"), ratio(1, 100));
        assert_eq!(convert("ft^2", "in^2"), ratio(144, 1));
        assert_eq!(convert("cent", "dollar"), ratio(1, 100));
        assert_eq!(convert("km/h", "m/s"), ratio(5, 18));
        assert_eq!(convert("L", "cm^3"), ratio(1000, 1));
        assert_eq!(convert("m*N", "J"), ratio(1, 1));
        assert_eq!(convert("1/s", "Hz"), ratio(1, 1));
        assert_eq!(convert("cm", "kg"), Some(Conversion::Incompatible));
        assert_eq!(convert("apples", "kg"), None);
    }
}
