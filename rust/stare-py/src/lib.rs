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
    use super::{Bound, PyModule, PyResult};

    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");
    #[pymodule_export]
    use crate::answer::{
        answer_key, compare_answers, explain_answer, extract_answer, grade_answers,
    };

    #[pymodule_export]
    use crate::scalar::{group_advantages, mean_weight, quota, surprisal};

    #[pymodule_export]
    use crate::tensor::Batch;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::answer::add_constants(module)
    }
}
