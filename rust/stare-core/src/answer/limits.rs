//! Limits, counted in work and not in seconds: the same input gives the same verdict everywhere.

/// Completions longer than this (1 MiB) are not scanned: undecided, reason `limit`.
pub const COMPLETION_BYTES: usize = 1 << 20;

/// Answers and golds of more characters than this are not read: undecided, reason `limit`.
pub const ANSWER_CHARS: usize = 4096;

/// Deepest nesting of a tree.
pub const DEPTH: usize = 64;

/// Tokens of an answer.
pub const TOKENS: usize = 2048;

/// Nodes of a tree.
pub const NODES: usize = 512;

/// Bits of the numerator and of the denominator of an exact number.
pub const INTEGER_BITS: usize = 4096;

/// Bits of a ball's midpoint.
pub const BALL_BITS: usize = 2048;

/// Work one comparison may do, in [`Budget`] units.
pub const STEPS: u64 = 40_000;

/// Work left for one comparison. One unit is about 100 ns: a small operation on numbers of a few
/// words. Larger operations charge what they cost.
#[derive(Debug)]
pub struct Budget {
    left: u64,
}

/// The budget is spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spent;

impl Budget {
    /// A budget of [`STEPS`].
    #[must_use]
    pub const fn new() -> Self {
        Self { left: STEPS }
    }

    /// Take `steps` off.
    ///
    /// # Errors
    ///
    /// [`Spent`] if there is less left; nothing is left then.
    pub fn charge(&mut self, steps: u64) -> Result<(), Spent> {
        if steps > self.left {
            self.left = 0;
            return Err(Spent);
        }
        self.left -= steps;
        Ok(())
    }
}

impl Default for Budget {
    fn default() -> Self {
        Self::new()
    }
}
