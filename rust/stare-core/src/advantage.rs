//! Group-relative advantages: reward minus the mean of its group, over the group's deviation.

use crate::error::Error;

/// What the deviation from the group mean is divided by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    /// The group's standard deviation (n - 1 in the denominator) plus `eps`.
    Std {
        /// Added to the deviation.
        eps: f64,
    },
    /// Nothing.
    None,
}

/// How many groups there are and how many give no signal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupStats {
    /// Groups with at least one response.
    pub groups: usize,
    /// Groups of one response.
    pub singletons: usize,
    /// Groups of two or more responses whose rewards are all equal.
    pub all_equal: usize,
}

#[derive(Clone, Copy)]
struct Group {
    n: usize,
    sum: f64,
    squares: f64,
    least: f64,
    greatest: f64,
}

/// Advantage of every response. Groups of one, and groups whose rewards are all equal, get exactly 0.
///
/// # Errors
/// [`Error::Length`], [`Error::Group`], [`Error::Eps`], or [`Error::Reward`] for a reward that is not finite.
///
/// ```
/// use stare_core::{group_advantages, Scale};
/// let (advantages, stats) = group_advantages(&[1.0, 0.0, 5.0], &[0, 0, 1], 2, Scale::None)?;
/// assert_eq!(advantages, [0.5, -0.5, 0.0]);
/// assert_eq!((stats.groups, stats.singletons, stats.all_equal), (2, 1, 0));
/// # Ok::<(), stare_core::Error>(())
/// ```
pub fn group_advantages(
    rewards: &[f64],
    group_of: &[usize],
    groups: usize,
    scale: Scale,
) -> Result<(Vec<f64>, GroupStats), Error> {
    crate::layout::length("group_ids", rewards.len(), group_of.len())?;
    if let Scale::Std { eps } = scale {
        if !(eps >= 0.0 && eps.is_finite()) {
            return Err(Error::Eps(eps));
        }
    }
    let empty = Group {
        n: 0,
        sum: 0.0,
        squares: 0.0,
        least: f64::INFINITY,
        greatest: f64::NEG_INFINITY,
    };
    let mut table = vec![empty; groups];
    for (index, (&value, &group)) in rewards.iter().zip(group_of).enumerate() {
        if !value.is_finite() {
            return Err(Error::Reward { index, value });
        }
        let entry = table.get_mut(group).ok_or(Error::Group {
            index,
            group,
            groups,
        })?;
        entry.n += 1;
        entry.sum += value;
        entry.least = entry.least.min(value);
        entry.greatest = entry.greatest.max(value);
    }
    // A second pass for the squares: sums of squares less the squared sum would cancel.
    for (&value, &group) in rewards.iter().zip(group_of) {
        let entry = &mut table[group];
        let mean = entry.sum / entry.n as f64;
        entry.squares += (value - mean).powi(2);
    }
    let advantages = rewards
        .iter()
        .zip(group_of)
        .map(|(&value, &group)| {
            let group = &table[group];
            // The mean of equal numbers need not round to that number.
            if group.least >= group.greatest {
                return 0.0;
            }
            let centred = value - group.sum / group.n as f64;
            match scale {
                Scale::None => centred,
                Scale::Std { eps } => {
                    centred / ((group.squares / (group.n - 1) as f64).sqrt() + eps)
                }
            }
        })
        .collect();
    let count = |test: fn(&Group) -> bool| table.iter().filter(|g| test(g)).count();
    let stats = GroupStats {
        groups: count(|g| g.n > 0),
        singletons: count(|g| g.n == 1),
        all_equal: count(|g| g.n > 1 && g.least >= g.greatest),
    };
    Ok((advantages, stats))
}
