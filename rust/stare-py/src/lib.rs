//! `stare._core`: checks arguments, releases the GIL, maps errors. No logic lives here.

mod answer;

use pyo3::prelude::*;

/// The compiled core of STARE.
#[pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");
    #[pymodule_export]
    use super::answer::{compare_answers, extract_answer, grade_answers};
}
