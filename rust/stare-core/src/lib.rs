//! The numerical core of STARE: slices in, slices out, no Python.
pub mod answer;
