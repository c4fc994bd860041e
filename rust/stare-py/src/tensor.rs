//! Selection and advantages.

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use stare_core::{self as core, Cutoff, Error, Gate, Prefix, Rule, Selector, Sign, Survey, Tail};

use crate::call::{row_ids, with_batch, with_plan, Out};
use crate::convert::{argument_error, layout, raise, FloatGuard, Floats, Switches, View};

/// (sign, whether the high tail, ratio, factor).
pub type RuleTuple = (i8, bool, f64, f64);
type Formatted<'py> = (Bound<'py, PyAny>, String);

fn rule((sign, high, ratio, factor): RuleTuple) -> Rule {
    Rule {
        sign: if sign > 0 {
            Sign::Positive
        } else {
            Sign::Negative
        },
        tail: if high { Tail::High } else { Tail::Low },
        ratio,
        factor,
    }
}

pub fn rules(rules: Vec<RuleTuple>) -> Vec<Rule> {
    rules.into_iter().map(rule).collect()
}

/// The arrays of one batch, checked once; every method reads them in place.
#[pyclass(frozen, module = "stare._core")]
pub struct Batch {
    logprobs: Floats,
    advantages: Floats,
    mask: Switches,
    entropy: Option<Floats>,
    concentration: Option<Floats>,
    offsets: Option<Vec<usize>>,
    shape: (usize, usize),
    per_row: bool,
    drop_nonfinite: bool,
    threads: usize,
}

#[pymethods]
impl Batch {
    #[new]
    #[pyo3(signature = (logprobs, advantages, mask, *, entropy=None, concentration=None, offsets=None,
                        per_row=false, drop_nonfinite=false, threads=1))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        logprobs: Formatted<'_>,
        advantages: Formatted<'_>,
        mask: &Bound<'_, PyAny>,
        entropy: Option<Formatted<'_>>,
        concentration: Option<Formatted<'_>>,
        offsets: Option<Vec<usize>>,
        per_row: bool,
        drop_nonfinite: bool,
        threads: usize,
    ) -> PyResult<Self> {
        let logprobs = Floats::new("logprobs", &logprobs)?;
        let advantages = Floats::new("advantages", &advantages)?;
        let mask = Switches::new(mask)?;
        let optional = |name, array: Option<Formatted<'_>>| {
            array.map(|array| Floats::new(name, &array)).transpose()
        };
        let entropy = optional("entropy", entropy)?;
        let concentration = optional("concentration", concentration)?;
        let shape = logprobs.shape(py);
        if offsets.is_some() && shape.0 != 1 {
            return Err(argument_error(
                py,
                &format!("packed arrays must have one row, got {}", shape.0),
            ));
        }
        let rows = offsets
            .as_ref()
            .map_or(shape.0, |o| o.len().saturating_sub(1));
        let mut shapes = vec![
            (
                "advantages",
                advantages.shape(py),
                if per_row { (rows, 1) } else { shape },
            ),
            ("mask", mask.shape(py), shape),
        ];
        shapes.extend(entropy.as_ref().map(|a| ("entropy", a.shape(py), shape)));
        shapes.extend(
            concentration
                .as_ref()
                .map(|a| ("concentration", a.shape(py), shape)),
        );
        for (name, got, expected) in shapes {
            if got != expected {
                return Err(argument_error(
                    py,
                    &format!("{name} must have shape {expected:?}, got {got:?}"),
                ));
            }
        }
        let threads = threads.max(1);
        Ok(Self {
            logprobs,
            advantages,
            mask,
            entropy,
            concentration,
            offsets,
            shape,
            per_row,
            drop_nonfinite,
            threads,
        })
    }

    /// Writes the weights of the whole batch to `out`; returns the counts.
    #[pyo3(signature = (rules, out, *, selector="quantile", threshold=f64::NAN, on=true, rows_on=None, target=None))]
    #[allow(clippy::too_many_arguments)]
    fn token_weights<'py>(
        &self,
        py: Python<'py>,
        rules: Vec<RuleTuple>,
        out: &Bound<'py, PyAny>,
        selector: &str,
        threshold: f64,
        on: bool,
        rows_on: Option<PyReadonlyArray1<'py, u8>>,
        target: Option<f64>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let rules = self::rules(rules);
        let threads = self.threads;
        let tally = with_plan!(
            self,
            py,
            selector,
            threshold,
            on,
            rows_on,
            target,
            |selector, gate| {
                match Out::new(out)? {
                    Out::F32(mut out) => {
                        let out = out.as_slice_mut()?;
                        with_batch!(self, py, |batch: C, layout| core::token_weights(
                            &batch, &rules, &selector, &gate, threads, out
                        ))
                    }
                    Out::F64(mut out) => {
                        let out = out.as_slice_mut()?;
                        with_batch!(self, py, |batch: C, layout| core::token_weights(
                            &batch, &rules, &selector, &gate, threads, out
                        ))
                    }
                }
            }
        )?;
        let counts = PyDict::new(py);
        counts.set_item("tokens", tally.tokens)?;
        counts.set_item("positive", tally.positive)?;
        counts.set_item("negative", tally.negative)?;
        counts.set_item("dropped", tally.dropped)?;
        counts.set_item("selected", &tally.selected[..rules.len()])?;
        counts.set_item("thresholds", &tally.thresholds[..rules.len()])?;
        counts.set_item("mean_weight", tally.mean_weight)?;
        Ok(counts)
    }

    /// Mean of the entropy over the mask of each row; NaN for a row without tokens.
    fn entropy_of_rows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let Some(entropy) = &self.entropy else {
            return Err(argument_error(py, "the sample gate needs entropy"));
        };
        let packed = self.offsets.is_some();
        let (entropy, mask) = (entropy.borrow(py)?, self.mask.borrow(py)?);
        let (entropy, mask) = (entropy.reals(packed), mask.mask(packed));
        let layout = layout(self.shape.0, self.shape.1, self.offsets.as_deref());
        let (entropy, mask) = (&*entropy, &*mask);
        let means = py.detach(|| core::row_means(&layout, entropy, mask));
        Ok(PyArray1::from_vec(
            py,
            means.map_err(|error| raise(py, &error))?,
        ))
    }

    /// (tokens, positive, negative, dropped) of a shard whose candidates are all good.
    #[pyo3(signature = (*, first_row=0, rows=None))]
    fn survey(
        &self,
        py: Python<'_>,
        first_row: u64,
        rows: Option<PyReadonlyArray1<'_, i64>>,
    ) -> PyResult<(u64, u64, u64, u64)> {
        let threads = self.threads;
        let ids = row_ids(first_row, rows.as_ref())?;
        let survey = with_batch!(self, py, |batch: C, layout| Survey::of(
            &batch, &ids, threads
        ))?;
        Ok((
            survey.tokens,
            survey.positive,
            survey.negative,
            survey.dropped,
        ))
    }

    /// 256 counts of the next digit among the tokens that agree with a prefix (key, tie, level).
    #[pyo3(signature = (rule, prefix, *, first_row=0, rows=None))]
    fn digit_histogram<'py>(
        &self,
        py: Python<'py>,
        rule: RuleTuple,
        prefix: (u64, u64, u32),
        first_row: u64,
        rows: Option<PyReadonlyArray1<'py, i64>>,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let (threads, rule) = (self.threads, self::rule(rule));
        let prefix = Prefix {
            key: prefix.0,
            tie: prefix.1,
            level: prefix.2,
        };
        let ids = row_ids(first_row, rows.as_ref())?;
        let counts = with_batch!(self, py, |batch: C, layout| core::digit_histogram(
            &batch, &rule, prefix, &ids, threads
        ))?;
        Ok(PyArray1::from_iter(
            py,
            counts
                .into_iter()
                .map(|n| i64::try_from(n).unwrap_or(i64::MAX)),
        ))
    }

    /// Writes the weights of a shard to `out`; returns (selected by rule, tokens by pattern).
    #[pyo3(signature = (rules, cutoffs, out, *, first_row=0, rows=None, selector="quantile",
                        threshold=f64::NAN, on=true, rows_on=None, target=None))]
    #[allow(clippy::too_many_arguments)]
    fn apply_cutoffs<'py>(
        &self,
        py: Python<'py>,
        rules: Vec<RuleTuple>,
        cutoffs: Vec<Option<(u64, u64)>>,
        out: &Bound<'py, PyAny>,
        first_row: u64,
        rows: Option<PyReadonlyArray1<'py, i64>>,
        selector: &str,
        threshold: f64,
        on: bool,
        rows_on: Option<PyReadonlyArray1<'py, u8>>,
        target: Option<f64>,
    ) -> PyResult<(Vec<u64>, Vec<u64>)> {
        let rules = self::rules(rules);
        let threads = self.threads;
        let cutoffs: Vec<_> = cutoffs
            .into_iter()
            .map(|c| c.map(|(key, tie)| Cutoff { key, tie }))
            .collect();
        let ids = row_ids(first_row, rows.as_ref())?;
        let applied = with_plan!(
            self,
            py,
            selector,
            threshold,
            on,
            rows_on,
            target,
            |selector, gate| {
                match Out::new(out)? {
                    Out::F32(mut out) => {
                        let out = out.as_slice_mut()?;
                        with_batch!(self, py, |batch: C, layout| core::apply_cutoffs(
                            &batch, &rules, &cutoffs, &ids, &selector, &gate, threads, out
                        ))
                    }
                    Out::F64(mut out) => {
                        let out = out.as_slice_mut()?;
                        with_batch!(self, py, |batch: C, layout| core::apply_cutoffs(
                            &batch, &rules, &cutoffs, &ids, &selector, &gate, threads, out
                        ))
                    }
                }
            }
        )?;
        Ok((applied.selected[..rules.len()].to_vec(), applied.patterns))
    }
}
