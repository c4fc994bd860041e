//! Trees as text: compact s-expressions, for people.

use std::fmt::{Display, Formatter, Result};

use super::tree::{Answer, Bound, Constant, Expr, Interval, Number, Time, Unit};

impl Display for Number {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self.decimal {
            Some(decimal) => write!(f, "{}~{}", self.value, decimal.places),
            None => write!(f, "{}", self.value),
        }
    }
}

fn list<T: Display>(
    f: &mut Formatter<'_>,
    name: impl Display,
    items: impl IntoIterator<Item = T>,
) -> Result {
    write!(f, "({name}")?;
    for item in items {
        write!(f, " {item}")?;
    }
    f.write_str(")")
}

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Constant(constant) => f.write_str(match constant {
                Constant::Pi => "#pi",
                Constant::E => "#e",
                Constant::I => "#i",
                Constant::Infinity => "#inf",
            }),
            Self::Symbol(name) => f.write_str(name),
            Self::Sum(items) => list(f, "+", items),
            Self::Product(items) => list(f, "*", items),
            Self::Negate(inner) => list(f, "-", [inner]),
            Self::Quotient(above, below) => list(f, "/", [above, below]),
            Self::Power(base, exponent) => list(f, "^", [base, exponent]),
            Self::Call(function, arguments) => list(f, format_args!("{function:?}"), arguments),
            Self::Apply(name, arguments) => list(f, format_args!("apply {name}"), arguments),
            Self::PlusMinus { plus_first, term } => {
                list(f, if *plus_first { "+-" } else { "-+" }, [term])
            }
            Self::Bound(bound) => write!(f, "{bound}"),
        }
    }
}

impl Display for Bound {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "({:?} {}", self.operator, self.variable)?;
        for end in [&self.lower, &self.upper].into_iter().flatten() {
            write!(f, " {end}")?;
        }
        write!(f, " {})", self.body)
    }
}

impl Display for Unit {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Percent => f.write_str("%"),
            Self::Degree => f.write_str("degree"),
            Self::Known(name) => write!(f, "unit {name:?}"),
            Self::Words(words) => write!(f, "words {words:?}"),
        }
    }
}

impl Display for Interval {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let open = if self.lower_closed { '[' } else { '(' };
        let close = if self.upper_closed { ']' } else { ')' };
        write!(f, "(interval {open} {} {} {close})", self.lower, self.upper)
    }
}

impl Display for Time {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "(time {}:{:02}", self.hour, self.minute)?;
        if let Some(second) = self.second {
            write!(f, ":{second:02}")?;
        }
        match self.afternoon {
            Some(true) => f.write_str(" pm)"),
            Some(false) => f.write_str(" am)"),
            None => f.write_str(")"),
        }
    }
}

impl Display for Answer {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Expr(expr) => write!(f, "{expr}"),
            Self::Quantity(value, unit) => write!(f, "(quantity {value} {unit})"),
            Self::Base { digits, base } => write!(f, "(base {digits} {base})"),
            Self::Time(time) => write!(f, "{time}"),
            Self::Ratio(parts) => list(f, "ratio", parts),
            Self::Words(words) => write!(f, "(words {words:?})"),
            Self::Choice(letter) => write!(f, "(choice {letter})"),
            Self::List { items, braces } => list(f, if *braces { "set" } else { "list" }, items),
            Self::Tuple { items, brackets } => list(f, format_args!("tuple {brackets:?}"), items),
            Self::Interval(interval) => write!(f, "{interval}"),
            Self::SetOperation(operator, operands) => {
                list(f, format_args!("{operator:?}"), operands)
            }
            Self::IndexedUnion {
                index,
                lower,
                upper,
                body,
            } => {
                write!(f, "(union-over {index}")?;
                for end in [lower, upper].into_iter().flatten() {
                    write!(f, " {end}")?;
                }
                write!(f, " {body})")
            }
            Self::SetBuilder { element, condition } => {
                write!(f, "(set-of {element} | {condition})")
            }
            Self::NamedSet(set) => write!(f, "{set:?}"),
            Self::Matrix {
                rows,
                columns,
                cells,
            } => list(f, format_args!("matrix {rows}x{columns}"), cells),
            Self::Relation { sides, operators } => {
                f.write_str("(relation")?;
                for (index, side) in sides.iter().enumerate() {
                    if let Some(operator) = index.checked_sub(1).and_then(|at| operators.get(at)) {
                        write!(f, " {operator:?}")?;
                    }
                    write!(f, " {side}")?;
                }
                f.write_str(")")
            }
            Self::Where { body, conditions } => {
                write!(f, "(where {body}")?;
                for condition in conditions {
                    write!(f, " {condition}")?;
                }
                f.write_str(")")
            }
            Self::Piecewise(pieces) => {
                f.write_str("(cases")?;
                for (value, condition) in pieces {
                    match condition {
                        Some(condition) => write!(f, " [{value} if {condition}]")?,
                        None => write!(f, " [{value}]")?,
                    }
                }
                f.write_str(")")
            }
        }
    }
}
