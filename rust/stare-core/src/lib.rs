//! The numerical core of STARE: slices in, slices out, no Python.
//!
//! Selection ranks the tokens of a batch by surprisal `-ln p` within each advantage sign and
//! weights the extreme share of them. The order is total (surprisal, then row, then position), so
//! the same set comes out for every padding, packing, shard split and thread count.
//!
//! ```
//! use stare_core::{token_weights, Batch, Gate, Layout, Rule, Selector, Sign, Tail, F32};
//!
//! let logprobs = [-0.1_f32, -2.0, -0.3, -1.0];
//! let mask = [1_u8, 1, 1, 1];
//! let advantages = [1.0_f32, 1.0, -1.0, -1.0];
//! let (logprobs, mask, advantages) = (&logprobs[..], &mask[..], &advantages[..]);
//! let (mask, signs) = (stare_core::Flags::new(mask), stare_core::Signs::<F32, _>::per_token(advantages));
//! let batch = Batch::<F32>::new(Layout::Padded { rows: 2, cols: 2 }, &logprobs, &mask, &signs);
//! let rules = [Rule { sign: Sign::Positive, tail: Tail::High, ratio: 0.5, factor: 1.5 }];
//!
//! let mut weights = [0.0_f32; 4];
//! let tally = token_weights(&batch, &rules, &Selector::Quantile, &Gate::All(true), 1, &mut weights)?;
//! assert_eq!(weights, [1.0, 1.5, 1.0, 1.0]);
//! assert_eq!((tally.tokens, tally.selected[0]), (4, 1));
//! # Ok::<(), stare_core::Error>(())
//! ```

#![forbid(unsafe_code)]
#![allow(
    clippy::needless_bitwise_bool,
    clippy::verbose_bit_mask,
    reason = "inner loops: a branch a token would keep them from being vectorised"
)]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "keys, digits and counts move between widths on purpose; each place has its bound"
)]

mod advantage;
pub mod answer;
mod apply;
mod batch;
mod census;
mod cut;
mod divide;
mod error;
mod layout;
mod mark;
mod order;
mod parallel;
mod quick;
mod quota;
mod rule;
mod scan;
mod shard;
mod source;
mod weights;

pub use advantage::{group_advantages, GroupStats, Scale};
pub use apply::{Applied, Gate, Selector, Weight};
pub use batch::Batch;
pub use error::Error;
pub use layout::{At, Layout};
pub use order::{Bf16, Float, F16, F32, F64};
pub use quota::quota;
pub use rule::{Rule, Sign, Tail, MAX_RULES};
pub use shard::{apply_cutoffs, digit_histogram, Cutoff, Prefix, RowIds, Survey, DIGITS};
pub use source::{Flag, Flags, Mask, Reals, SignSource, Signs, Source, Typed};
pub use weights::{mean_weight, row_means, token_weights, Tally};
