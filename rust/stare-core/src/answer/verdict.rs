//! Verdicts and the reasons for them.

/// Outcome of comparing an answer with a gold answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Proved equal.
    Correct,
    /// Proved different, or no answer was given.
    Incorrect,
    /// Neither was proved.
    Undecided,
}

impl Verdict {
    /// The name that users see.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Correct => "correct",
            Self::Incorrect => "incorrect",
            Self::Undecided => "undecided",
        }
    }
}

macro_rules! reasons {
    ($($(#[$doc:meta])+ $name:ident = ($text:literal, $verdict:ident),)+) => {
        /// Why a verdict came out as it did. Each reason belongs to exactly one verdict.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Reason {
            $($(#[$doc])+ $name,)+
        }

        impl Reason {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// The name that users see.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)+
                }
            }

            /// The verdict that this reason stands for.
            #[must_use]
            pub const fn verdict(self) -> Verdict {
                match self {
                    $(Self::$name => Verdict::$verdict,)+
                }
            }
        }
    };
}

reasons! {
    /// Both sides are written the same, wrappers and surrounding space aside.
    Identical = ("identical", Correct),
    /// Equal as exact rationals.
    EqualNumbers = ("equal-numbers", Correct),
    /// One side is the other's correct rounding to at least six significant digits.
    RoundedDecimal = ("rounded-decimal", Correct),
    /// Within the tolerance that the caller asked for.
    WithinTolerance = ("within-tolerance", Correct),
    /// Equal constants: certified, or the same to 200 bits and more.
    EqualConstants = ("equal-constants", Correct),
    /// The same polynomial or rational function.
    EqualExpressions = ("equal-expressions", Correct),
    /// Equal at random points, far beyond rounding.
    NumericIdentity = ("numeric-identity", Correct),
    /// The same tree after renaming and reordering.
    SameTree = ("same-tree", Correct),
    /// The same words or choice letter.
    EqualWords = ("equal-words", Correct),
    /// Lists, sets, tuples or matrices with equal elements.
    EqualElements = ("equal-elements", Correct),
    /// The same set of reals.
    EqualSets = ("equal-sets", Correct),
    /// Equations or inequalities that say the same.
    EqualRelations = ("equal-relations", Correct),
    /// Equal numbers, with a unit on one side only or with the same unit.
    EqualQuantities = ("equal-quantities", Correct),

    /// Different as exact rationals.
    DifferentNumbers = ("different-numbers", Incorrect),
    /// Disjoint as real or complex numbers.
    DifferentConstants = ("different-constants", Incorrect),
    /// Different functions of their variables.
    DifferentExpressions = ("different-expressions", Incorrect),
    /// Different words or choice letters.
    DifferentWords = ("different-words", Incorrect),
    /// Answers of kinds that cannot be equal.
    DifferentKinds = ("different-kinds", Incorrect),
    /// Lists, tuples or matrices of different sizes.
    DifferentSizes = ("different-sizes", Incorrect),
    /// An element without a partner on the other side.
    DifferentElements = ("different-elements", Incorrect),
    /// Different sets of reals.
    DifferentSets = ("different-sets", Incorrect),
    /// Equations or inequalities that say different things.
    DifferentRelations = ("different-relations", Incorrect),
    /// Different units, or the same unit and different numbers.
    DifferentQuantities = ("different-quantities", Incorrect),
    /// The same kind of statement about differently named variables.
    DifferentNames = ("different-names", Incorrect),
    /// The answer states something false (`43 = 42`) or nothing (`0 = 0`).
    FalseStatement = ("false-statement", Incorrect),
    /// The completion declares no answer, or its last box is empty or unterminated.
    NoAnswer = ("no-answer", Incorrect),
    /// A `<think>` block never closes.
    UnclosedThink = ("unclosed-think", Incorrect),

    /// The gold is empty or could not be read.
    GoldUnparsed = ("gold-unparsed", Undecided),
    /// The answer could not be read.
    AnswerUnparsed = ("answer-unparsed", Undecided),
    /// A limit on size or work was reached.
    Limit = ("limit", Undecided),
    /// Read, but neither equality nor difference was proved.
    Unproved = ("unproved", Undecided),
    /// Kinds of answer that may or may not be meant as the same (a column vector and a tuple).
    UnlikeKinds = ("unlike-kinds", Undecided),
    /// Equal numbers with units that cannot be compared.
    UnlikeUnits = ("unlike-units", Undecided),
    /// More than one way to read it (`\log` of which base).
    Ambiguous = ("ambiguous", Undecided),
}
