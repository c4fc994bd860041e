//! `stare._core`: checks arguments, releases the GIL, maps errors. No logic lives here.

#![allow(
    clippy::needless_pass_by_value,
    reason = "pyo3 hands arguments over by value"
)]

use pyo3::prelude::*;

mod answer;
mod call;
mod convert;
mod scalar;
mod tensor;

/// The compiled core of STARE.
#[pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");
    #[pymodule_export]
    use crate::answer::{compare_answers, extract_answer, grade_answers};

    #[pymodule_export]
    use crate::scalar::{group_advantages, mean_weight, quota, surprisal};

    #[pymodule_export]
    use crate::tensor::Batch;
}
