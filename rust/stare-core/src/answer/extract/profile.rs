//! What may count as the answer of a completion, as data.

/// Where an answer may be looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Profile {
    /// For rewards: a box or a declared marker. A mention in passing never counts.
    #[default]
    Reward,
    /// For scores of models that were not told a format: also a last line that is a number, else the
    /// last maths, else the last number.
    Eval,
    /// What math-verify 0.9 reads, for runs that compare with it: thinking is read like the rest,
    /// an unterminated last box is passed over, boxes near each other are one list.
    MathVerify,
}

/// Which boxes make one list with the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Joining {
    /// Those with nothing but `,`, `and` or `or` between them; compared only with golds for which
    /// that can matter.
    Connectives,
    /// Those with at most this many bytes between them, whatever the gold.
    Nearby(usize),
}

/// What a profile allows.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "a table of independent switches"
)]
pub(super) struct Rules {
    /// The name that users see.
    pub name: &'static str,
    /// Whether text up to the end of thinking is dropped.
    pub drops_thinking: bool,
    /// Whether an empty or unterminated last box means that there is no answer.
    pub last_box_decides: bool,
    /// How boxes join.
    pub joining: Joining,
    /// Whether a last line that is a number and nothing else counts.
    pub line: bool,
    /// Whether the last maths counts.
    pub maths: bool,
    /// Whether the last number counts.
    pub number: bool,
}

const REWARD: Rules = Rules {
    name: "reward",
    drops_thinking: true,
    last_box_decides: true,
    joining: Joining::Connectives,
    line: false,
    maths: false,
    number: false,
};

const EVAL: Rules = Rules {
    name: "eval",
    line: true,
    maths: true,
    number: true,
    ..REWARD
};

const MATH_VERIFY: Rules = Rules {
    name: "math_verify",
    drops_thinking: false,
    last_box_decides: false,
    joining: Joining::Nearby(70),
    line: false,
    ..EVAL
};

impl Profile {
    /// All of them, the default first.
    pub const ALL: &'static [Self] = &[Self::Reward, Self::Eval, Self::MathVerify];

    /// The name that users see.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.rules().name
    }

    /// The profile of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|profile| profile.as_str() == name)
    }

    pub(super) const fn rules(self) -> &'static Rules {
        match self {
            Self::Reward => &REWARD,
            Self::Eval => &EVAL,
            Self::MathVerify => &MATH_VERIFY,
        }
    }
}
