//! Answer verification: strings in, plain tuples out.

use std::num::NonZeroUsize;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use stare_core::answer;

/// `(verdict, extracted, reason)`; `stare.verify.Grade` gives them names.
type GradeTuple = (&'static str, Option<String>, &'static str);

fn to_tuple(grade: &answer::Grade<'_>) -> GradeTuple {
    (
        grade.verdict().as_str(),
        grade.extracted.map(str::to_owned),
        grade.reason.as_str(),
    )
}

/// The declared answer of a completion, or None.
#[pyfunction]
#[pyo3(signature = (text, /))]
pub fn extract_answer(py: Python<'_>, text: &str) -> Option<String> {
    py.detach(|| answer::extract(text).ok().map(str::to_owned))
}

/// Verdict and reason of comparing an answer with a gold answer.
#[pyfunction]
#[pyo3(signature = (answer, gold, /))]
pub fn compare_answers(py: Python<'_>, answer: &str, gold: &str) -> (&'static str, &'static str) {
    let reason = py.detach(|| answer::compare(answer, gold));
    (reason.verdict().as_str(), reason.as_str())
}

/// Grade completions, each against its golds, on up to `threads` threads (0 counts as 1).
#[pyfunction]
#[pyo3(signature = (pairs, /, *, threads))]
#[expect(
    clippy::needless_pass_by_value,
    reason = "the strings are borrowed from Python objects it owns"
)]
pub fn grade_answers(
    py: Python<'_>,
    pairs: Vec<(PyBackedStr, Vec<PyBackedStr>)>,
    threads: usize,
) -> Vec<GradeTuple> {
    let threads = NonZeroUsize::new(threads).unwrap_or(NonZeroUsize::MIN);
    py.detach(|| {
        answer::grade_batch(&pairs, threads)
            .iter()
            .map(to_tuple)
            .collect()
    })
}
