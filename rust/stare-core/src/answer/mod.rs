//! Answer verification: find the answer in a completion, compare it with the gold answer.
//!
//! Three verdicts: [`Verdict::Correct`] and [`Verdict::Incorrect`] are only given when proved,
//! everything else is [`Verdict::Undecided`].
//!
//! ```
//! use stare_core::answer::{grade, Options, Reason, Verdict};
//!
//! let grade = grade(r"Half of it: $\boxed{0.50}$", &["0.5"], &Options::default());
//! assert_eq!(grade.verdict(), Verdict::Correct);
//! assert_eq!(grade.extracted.as_deref(), Some("0.50"));
//! assert_eq!(grade.reason, Reason::EqualNumbers);
//! ```
//!
//! Work is bounded by the input and by [`limits`]: one linear scan of the completion, then
//! comparisons that count their steps.

mod compare;
mod doubt;
mod extract;
mod grade;
pub mod limits;
mod quick;
mod relate;
mod show;
mod syntax;
pub mod tree;
mod units;
mod value;
mod verdict;

pub use compare::{compare, key};
pub use extract::{extract, Found, How, Profile};
pub use grade::{explain, grade, grade_batch, Explanation, Grade, Options};
pub use value::Tolerance;
pub use verdict::{Reason, Verdict};
