//! The typed tree of an answer.
//!
//! Made by [`super::syntax`], decided by [`super::value`] (expressions) and [`super::relate`]
//! (everything else). Depth and size are bounded by the parser ([`super::limits`]), so recursion
//! over a tree is bounded too.

use dashu_ratio::RBig;

/// A number or a symbolic expression.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Expr {
    /// A literal, never negative: `-3` is `Negate(Number(3))`.
    Number(Number),
    /// A named constant.
    Constant(Constant),
    /// A variable.
    Symbol(Symbol),
    /// At least two terms; `a - b` is `Sum([a, Negate(b)])`.
    Sum(Vec<Expr>),
    /// At least two factors.
    Product(Vec<Expr>),
    /// The negative.
    Negate(Box<Expr>),
    /// `a / b`.
    Quotient(Box<Expr>, Box<Expr>),
    /// `a ^ b`. A square root is `Call(Root, [a, 2])`.
    Power(Box<Expr>, Box<Expr>),
    /// A known function; the number of arguments is [`Function::arity`].
    Call(Function, Vec<Expr>),
    /// A function known by its name only: `f(x)`.
    Apply(Symbol, Vec<Expr>),
    /// `\pm a` (upper sign plus) or `\mp a` (upper sign minus); `a \pm b` is
    /// `Sum([a, PlusMinus(..)])`.
    PlusMinus {
        /// Whether the upper sign is plus.
        plus_first: bool,
        /// What the sign applies to.
        term: Box<Expr>,
    },
    /// Sum, product, integral, limit, derivative.
    Bound(Box<Bound>),
}

/// A literal number.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Number {
    /// Its exact value, at most [`super::limits::INTEGER_BITS`] bits above and below.
    pub value: RBig,
    /// How it was written, if with a decimal point or an exponent.
    pub decimal: Option<Decimal>,
}

/// How precise a decimal was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Decimal {
    /// Significant digits, trailing zeros included: 3 for `0.0120`.
    pub significant: u32,
    /// The last digit counts units of `10^-places`: 4 for `0.0120`, -6 for `1.6e7`.
    pub places: i32,
}

/// A named constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Constant {
    /// 3.14159...
    Pi,
    /// 2.71828...
    E,
    /// The imaginary unit.
    I,
    /// Positive infinity; the negative is `Negate(Constant(Infinity))`.
    Infinity,
}

/// The canonical name of a variable: `x`, `alpha`, `x_1`, `x_{ab}`, `x'`. Case matters.
pub type Symbol = Box<str>;

/// A function with a known meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Function {
    /// `[radicand, degree]`, principal value.
    Root,
    /// `[x]`, e^x.
    Exp,
    /// `[x]`, natural logarithm.
    Ln,
    /// `[x, base]`. `\log x` without a base is [`Function::LogAny`].
    Log,
    /// `[x]`, a logarithm whose base was not written: e or 10, by custom.
    LogAny,
    /// `[x]`.
    Sin,
    /// `[x]`.
    Cos,
    /// `[x]`.
    Tan,
    /// `[x]`.
    Cot,
    /// `[x]`.
    Sec,
    /// `[x]`.
    Csc,
    /// `[x]`.
    Arcsin,
    /// `[x]`.
    Arccos,
    /// `[x]`.
    Arctan,
    /// `[x]`.
    Arccot,
    /// `[x]`.
    Arcsec,
    /// `[x]`.
    Arccsc,
    /// `[x]`.
    Sinh,
    /// `[x]`.
    Cosh,
    /// `[x]`.
    Tanh,
    /// `[x]`.
    Coth,
    /// `[x]`.
    Sech,
    /// `[x]`.
    Csch,
    /// `[x]`.
    Arsinh,
    /// `[x]`.
    Arcosh,
    /// `[x]`.
    Artanh,
    /// `[x]`, modulus.
    Abs,
    /// `[x]`.
    Floor,
    /// `[x]`.
    Ceil,
    /// `[x]`, -1, 0 or 1.
    Sign,
    /// `[n]`.
    Factorial,
    /// `[n]`, `n!!`.
    DoubleFactorial,
    /// `[n, k]`.
    Binomial,
    /// `[n, k]`, `n! / (n - k)!`.
    Permutations,
    /// Any number of arguments.
    Gcd,
    /// Any number of arguments.
    Lcm,
    /// Any number of arguments.
    Max,
    /// Any number of arguments.
    Min,
    /// `[a, m]`, the remainder.
    Mod,
    /// `[z]`.
    Re,
    /// `[z]`.
    Im,
    /// `[z]`.
    Arg,
    /// `[z]`, the complex conjugate.
    Conjugate,
    /// `[x]`, `x` degrees in radians: `x * pi / 180`.
    Degrees,
    /// `[x]`, `x / 100`.
    Percent,
    /// The `n * n` entries of a determinant, row by row.
    Determinant,
}

impl Function {
    /// Number of arguments; `None` for any number.
    #[must_use]
    pub const fn arity(self) -> Option<usize> {
        match self {
            Self::Root | Self::Log | Self::Binomial | Self::Permutations | Self::Mod => Some(2),
            Self::Gcd | Self::Lcm | Self::Max | Self::Min | Self::Determinant => None,
            _ => Some(1),
        }
    }
}

/// An operator that binds a variable.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Bound {
    /// Which.
    pub operator: BoundOperator,
    /// The bound variable; of an integral the one of `dx`.
    pub variable: Symbol,
    /// Lower bound, or the point of a limit.
    pub lower: Option<Expr>,
    /// Upper bound.
    pub upper: Option<Expr>,
    /// What it is applied to.
    pub body: Expr,
}

/// An operator that binds a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BoundOperator {
    /// `\sum`.
    Sum,
    /// `\prod`.
    Product,
    /// `\int`.
    Integral,
    /// `\lim`.
    Limit,
    /// `\frac{d}{dx}`.
    Derivative,
}

/// A whole answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    /// A number or expression.
    Expr(Expr),
    /// A value with a unit: `5 \text{ cm}`, `28\%`, `90^\circ`, `\$3`. The value is `Expr`, or a
    /// `Tuple` or `List` of them.
    Quantity(Box<Answer>, Unit),
    /// A numeral in a written base: `204_5`.
    Base {
        /// Its digits, lower case, no leading zeros (`0` for zero); a point is allowed.
        digits: Box<str>,
        /// 2 to 36.
        base: u32,
    },
    /// A time of day.
    Time(Time),
    /// `3:5` or `3:4:5`, order fixed, equal up to scale.
    Ratio(Vec<Expr>),
    /// Words, case-folded, single spaces, no final punctuation.
    Words(Box<str>),
    /// The letter of a multiple choice, upper case: `(C)`, `\text{C}`, `C.`, `\text{(C) } 12`. A
    /// bare single capital is `Expr(Symbol)`: the comparison decides which it is.
    Choice(char),
    /// Unordered: `1, 2`, `1 and 2`, `\{1, 2\}`. Never nested plain lists.
    List {
        /// The items.
        items: Vec<Answer>,
        /// Whether in braces.
        braces: bool,
    },
    /// Ordered: `(1, 2)`, `\langle 1, 2 \rangle`, `[1, 2, 3]`. A pair in round brackets may also be
    /// an open interval, one in square brackets a closed interval: the other side decides.
    Tuple {
        /// At least two items.
        items: Vec<Answer>,
        /// How it is bracketed.
        brackets: Brackets,
    },
    /// Certainly an interval: mixed brackets, or an infinite end, or Bourbaki's `]a, b[`.
    Interval(Interval),
    /// `A \cup B`, `A \cap B`, `A \setminus B`; at least two operands.
    SetOperation(SetOperator, Vec<Answer>),
    /// `\bigcup_{k=a}^{b} S(k)`; no bounds for `k \in \mathbb{Z}`.
    IndexedUnion {
        /// The index.
        index: Symbol,
        /// From.
        lower: Option<Expr>,
        /// To.
        upper: Option<Expr>,
        /// Depends on the index.
        body: Box<Answer>,
    },
    /// `\{ element \mid condition \}`.
    SetBuilder {
        /// What it is a set of.
        element: Box<Answer>,
        /// A relation, or a plain `List` of them (all hold).
        condition: Box<Answer>,
    },
    /// A set with a name.
    NamedSet(NamedSet),
    /// A matrix or a column or row vector; at least one cell.
    Matrix {
        /// Number of rows.
        rows: usize,
        /// Number of columns.
        columns: usize,
        /// Row by row.
        cells: Vec<Expr>,
    },
    /// `a = b`, `a < b < c`, `x \in S`, `f(x) = ..`, `n = 2, 3, 4` (right side a `List`).
    Relation {
        /// One more than operators.
        sides: Vec<Answer>,
        /// At least one.
        operators: Vec<Operator>,
    },
    /// An answer with side conditions: `x = k\pi, k \in \mathbb{Z}`, `2x \text{ for } x > 0`.
    Where {
        /// The answer.
        body: Box<Answer>,
        /// Relations.
        conditions: Vec<Answer>,
    },
    /// `\begin{cases} .. \end{cases}`: value and condition; the last condition may be absent.
    Piecewise(Vec<(Answer, Option<Answer>)>),
}

/// What a number counts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// `\%`.
    Percent,
    /// `^\circ`, `degrees`.
    Degree,
    /// A unit of the table in [`super::units`], canonical spelling: `cm`, `cm^2`, `m/s`.
    Known(Box<str>),
    /// Other words behind a number, normalised as [`Answer::Words`]: `square units`, `apples`.
    Words(Box<str>),
}

/// A time of day or duration `h:m` or `h:m:s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Time {
    /// As written.
    pub hour: u32,
    /// As written, below 60.
    pub minute: u32,
    /// As written, below 60.
    pub second: Option<u32>,
    /// `a.m.` or `p.m.`, if written.
    pub afternoon: Option<bool>,
}

/// Brackets of a tuple.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Brackets {
    /// `(1, 2)`.
    Round,
    /// `[1, 2]`.
    Square,
    /// `\langle 1, 2 \rangle`.
    Angle,
}

/// An interval of the real line.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Interval {
    /// Lower end.
    pub lower: Expr,
    /// Upper end.
    pub upper: Expr,
    /// Whether the lower end belongs to it.
    pub lower_closed: bool,
    /// Whether the upper end belongs to it.
    pub upper_closed: bool,
}

/// Operators between sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SetOperator {
    /// `\cup`.
    Union,
    /// `\cap`.
    Intersection,
    /// `\setminus`, or `-` between sets.
    Difference,
}

/// Sets with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NamedSet {
    /// `\emptyset`, `\{\}`.
    Empty,
    /// Positive or non-negative integers, by custom.
    Naturals,
    /// `\mathbb{Z}`.
    Integers,
    /// `\mathbb{Z}^+`.
    PositiveIntegers,
    /// `\mathbb{Q}`.
    Rationals,
    /// `\mathbb{R}`.
    Reals,
    /// `\mathbb{R}^+`.
    PositiveReals,
    /// `\mathbb{C}`.
    Complexes,
}

/// Operators of relations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operator {
    /// `=`, `:=`, `\equiv`.
    Equal,
    /// `\ne`.
    NotEqual,
    /// `<`.
    Less,
    /// `\le`.
    LessEqual,
    /// `>`.
    Greater,
    /// `\ge`.
    GreaterEqual,
    /// `\in`.
    In,
    /// `\notin`.
    NotIn,
    /// `\subset`, `\subseteq`.
    Subset,
    /// `\approx`, `\sim`.
    Approximately,
    /// `\to`, `\mapsto`, `\Rightarrow`.
    Arrow,
    /// `\mid` between integers, `\parallel`, `\perp` and others, by their LaTeX name alone.
    Other,
}
