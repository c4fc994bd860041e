//! Answer verification: strings in, plain tuples out.

use std::num::NonZeroUsize;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyDict, PyTuple};
use stare_core::answer::{self, Options, Profile, Reason, Tolerance};

/// `(verdict, extracted, reason)`; `stare.verify.Grade` gives them names.
type GradeTuple = (&'static str, Option<String>, &'static str);

/// The name of [`Tolerance::GoldDigits`].
const GOLD_DIGITS: &str = "gold-digits";

fn to_tuple(grade: answer::Grade<'_>) -> GradeTuple {
    (
        grade.verdict().as_str(),
        grade.extracted.map(Into::into),
        grade.reason.as_str(),
    )
}

fn profile_named(name: &str) -> PyResult<Profile> {
    Profile::named(name).ok_or_else(|| {
        let names: Vec<_> = Profile::ALL
            .iter()
            .map(|profile| profile.as_str())
            .collect();
        PyValueError::new_err(format!(
            "profile must be one of {}, got {name:?}",
            names.join(", ")
        ))
    })
}

/// `None`, the name of [`GOLD_DIGITS`], or how far off a number may be, relative to the gold.
#[derive(FromPyObject)]
pub enum ToleranceArgument {
    Relative(f64),
    Named(String),
}

fn tolerance(argument: Option<ToleranceArgument>) -> PyResult<Tolerance> {
    let got = match argument {
        None => return Ok(Tolerance::None),
        Some(ToleranceArgument::Relative(value)) if (0.0..1.0).contains(&value) => {
            return Ok(Tolerance::Relative(value));
        }
        Some(ToleranceArgument::Named(name)) if name == GOLD_DIGITS => {
            return Ok(Tolerance::GoldDigits);
        }
        Some(ToleranceArgument::Relative(value)) => value.to_string(),
        Some(ToleranceArgument::Named(name)) => format!("{name:?}"),
    };
    Err(PyValueError::new_err(format!(
        "tolerance must be None, {GOLD_DIGITS:?}, or at least 0 and below 1, got {got}"
    )))
}

fn options(profile: &str, argument: Option<ToleranceArgument>) -> PyResult<Options> {
    Ok(Options {
        profile: profile_named(profile)?,
        tolerance: tolerance(argument)?,
    })
}

/// The answer of a completion, or None.
#[pyfunction]
#[pyo3(signature = (text, /, *, profile = "reward"))]
pub fn extract_answer(py: Python<'_>, text: &str, profile: &str) -> PyResult<Option<String>> {
    let options = options(profile, None)?;
    Ok(py.detach(|| {
        // Without golds only the extraction is left.
        let grade = answer::grade(text, &[] as &[&str], &options);
        grade.extracted.map(Into::into)
    }))
}

/// Verdict and reason of comparing an answer with a gold answer.
#[pyfunction]
#[pyo3(signature = (answer, gold, /, *, tolerance = None))]
pub fn compare_answers(
    py: Python<'_>,
    answer: &str,
    gold: &str,
    tolerance: Option<ToleranceArgument>,
) -> PyResult<(&'static str, &'static str)> {
    let tolerance = self::tolerance(tolerance)?;
    let reason = py.detach(|| answer::compare(answer, gold, tolerance));
    Ok((reason.verdict().as_str(), reason.as_str()))
}

/// A text that is the same for equal answers, or None.
#[pyfunction]
#[pyo3(signature = (answer, /))]
pub fn answer_key(py: Python<'_>, answer: &str) -> Option<String> {
    py.detach(|| answer::key(answer))
}

/// Grade completions, each against its golds, on up to `threads` threads (0 counts as 1).
#[pyfunction]
#[pyo3(signature = (pairs, /, *, profile = "reward", tolerance = None, threads = 1))]
pub fn grade_answers(
    py: Python<'_>,
    pairs: Vec<(PyBackedStr, Vec<PyBackedStr>)>,
    profile: &str,
    tolerance: Option<ToleranceArgument>,
    threads: usize,
) -> PyResult<Vec<GradeTuple>> {
    let options = options(profile, tolerance)?;
    let threads = NonZeroUsize::new(threads).unwrap_or(NonZeroUsize::MIN);
    Ok(py.detach(|| {
        answer::grade_batch(&pairs, &options, threads)
            .into_iter()
            .map(to_tuple)
            .collect()
    }))
}

/// Grade a completion and say how the verdict came about.
#[pyfunction]
#[pyo3(signature = (completion, golds, /, *, profile = "reward", tolerance = None))]
pub fn explain_answer<'py>(
    py: Python<'py>,
    completion: &str,
    golds: Vec<PyBackedStr>,
    profile: &str,
    tolerance: Option<ToleranceArgument>,
) -> PyResult<Bound<'py, PyDict>> {
    let options = options(profile, tolerance)?;
    let explained = py.detach(|| answer::explain(completion, &golds, &options));
    let dict = PyDict::new(py);
    put_reason(&dict, explained.grade.reason)?;
    dict.set_item("extracted", explained.grade.extracted.as_deref())?;
    dict.set_item("how", explained.grade.how.map(answer::How::as_str))?;
    dict.set_item("tree", explained.tree)?;
    let each: Vec<_> = golds
        .iter()
        .zip(explained.golds)
        .map(|(text, (tree, reason))| {
            let dict = PyDict::new(py);
            put_reason(&dict, reason)?;
            dict.set_item("text", &**text)?;
            dict.set_item("tree", tree)?;
            Ok(dict)
        })
        .collect::<PyResult<_>>()?;
    dict.set_item("golds", each)?;
    Ok(dict)
}

fn put_reason(dict: &Bound<'_, PyDict>, reason: Reason) -> PyResult<()> {
    dict.set_item("verdict", reason.verdict().as_str())?;
    dict.set_item("reason", reason.as_str())
}

/// What there is to choose from and to expect: one source for Python and its documentation.
pub fn add_constants(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let reasons = PyDict::new(module.py());
    for reason in Reason::ALL {
        reasons.set_item(reason.as_str(), reason.verdict().as_str())?;
    }
    module.add("ANSWER_REASONS", reasons)?;
    let profiles = Profile::ALL.iter().map(|profile| profile.as_str());
    let profiles = PyTuple::new(module.py(), profiles.collect::<Vec<_>>())?;
    module.add("ANSWER_PROFILES", profiles)
}
