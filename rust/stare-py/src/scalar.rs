//! Functions of numbers and of one number a response.

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use stare_core::{self as core, Float};

use crate::convert::{argument_error, raise};
use crate::tensor::{rules, RuleTuple};

/// Surprisal in nats of an ordered key of a float format.
#[pyfunction]
pub fn surprisal(py: Python<'_>, key: u64, format: &str) -> PyResult<f64> {
    match format {
        "f32" => Ok(core::F32::surprisal(key)),
        "f64" => Ok(core::F64::surprisal(key)),
        "f16" => Ok(core::F16::surprisal(key)),
        "bf16" => Ok(core::Bf16::surprisal(key)),
        other => Err(argument_error(
            py,
            &format!("format must be f32, f64, f16 or bf16, got {other:?}"),
        )),
    }
}

/// (groups, singletons, groups of equal rewards).
type Counts = (usize, usize, usize);

/// ceil(ratio * n) in exact arithmetic.
#[pyfunction]
pub fn quota(py: Python<'_>, n: u64, ratio: f64) -> PyResult<u64> {
    core::quota(n, ratio).map_err(|error| raise(py, &error))
}

/// Mean weight over the mask, from the tokens counted by pattern.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn mean_weight(rules: Vec<RuleTuple>, patterns: Vec<u64>, tokens: u64) -> f64 {
    core::mean_weight(&self::rules(rules), &patterns, tokens)
}

/// Advantages of the responses and (groups, singletons, groups of equal rewards).
#[pyfunction]
#[pyo3(signature = (rewards, groups, n_groups, *, eps=None))]
#[allow(clippy::needless_pass_by_value)]
pub fn group_advantages<'py>(
    py: Python<'py>,
    rewards: PyReadonlyArray1<'py, f64>,
    groups: Vec<usize>,
    n_groups: usize,
    eps: Option<f64>,
) -> PyResult<(Bound<'py, PyArray1<f64>>, Counts)> {
    let scale = eps.map_or(core::Scale::None, |eps| core::Scale::Std { eps });
    let (advantages, stats) = core::group_advantages(rewards.as_slice()?, &groups, n_groups, scale)
        .map_err(|error| raise(py, &error))?;
    let counts = (stats.groups, stats.singletons, stats.all_equal);
    Ok((PyArray1::from_vec(py, advantages), counts))
}
