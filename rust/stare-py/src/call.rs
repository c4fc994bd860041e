//! What every method of `Batch` does around its one call of the core.

use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1, PyReadwriteArray1};
use pyo3::prelude::*;
use stare_core::RowIds;

/// Runs `$body` without the GIL on the borrowed arrays; `$C` is the format of the log-probabilities.
macro_rules! with_batch {
    ($self:ident, $py:ident, |$batch:ident: $C:ident, $layout:ident| $body:expr) => {{
        let packed = $self.offsets.is_some();
        let (logprobs, advantages) = ($self.logprobs.borrow($py)?, $self.advantages.borrow($py)?);
        let mask = $self.mask.borrow($py)?;
        let (signs, mask) = (advantages.signs(packed, $self.per_row), mask.mask(packed));
        let $layout = layout($self.shape.0, $self.shape.1, $self.offsets.as_deref());
        macro_rules! run {
            ($format:ty, $array:expr) => {{
                type $C = $format;
                let source = View::new($array.as_array(), packed);
                let drop = $self.drop_nonfinite;
                let (signs, mask) = (&*signs, &*mask);
                $py.detach(|| {
                    let $batch =
                        core::Batch::<$C>::new($layout, &source, mask, signs).drop_nonfinite(drop);
                    $body
                })
            }};
        }
        match &logprobs {
            FloatGuard::F32(a) => run!(core::F32, a),
            FloatGuard::F64(a) => run!(core::F64, a),
            FloatGuard::F16(a) => run!(core::F16, a),
            FloatGuard::Bf16(a) => run!(core::Bf16, a),
        }
        .map_err(|error: Error| raise($py, &error))
    }};
}

/// Binds `$selector` and `$gate` from the arguments of a method.
macro_rules! with_plan {
    ($self:ident, $py:ident, $name:expr, $threshold:expr, $on:expr, $rows_on:expr, $target:expr,
     |$selector:ident, $gate:ident| $body:expr) => {{
        let packed = $self.offsets.is_some();
        let entropy = $self.entropy.as_ref().map(|a| a.borrow($py)).transpose()?;
        let concentration = $self
            .concentration
            .as_ref()
            .map(|a| a.borrow($py))
            .transpose()?;
        let entropy = entropy.as_ref().map(|a| a.reals(packed));
        let concentration = concentration.as_ref().map(|a| a.reals(packed));
        let rows_on = $rows_on
            .as_ref()
            .map(PyReadonlyArray1::as_slice)
            .transpose()?;
        let $selector = match ($name, entropy.as_deref(), concentration.as_deref()) {
            ("quantile", ..) => Selector::Quantile,
            ("threshold", ..) => Selector::Threshold($threshold),
            ("critical", Some(entropy), Some(concentration)) => Selector::Critical {
                entropy,
                concentration,
            },
            (name, ..) => {
                let message =
                    format!("selector {name:?} is unknown or lacks entropy and concentration");
                return Err(argument_error($py, &message));
            }
        };
        let $gate = match (rows_on, $target, entropy.as_deref()) {
            (Some(rows), ..) => Gate::Rows(rows),
            (None, Some(target), Some(entropy)) => Gate::Tokens { entropy, target },
            (None, Some(_), None) => {
                return Err(argument_error($py, "the token gate needs entropy"))
            }
            (None, None, _) => Gate::All($on),
        };
        $body
    }};
}

pub(crate) use {with_batch, with_plan};

/// Weights of either width.
pub enum Out<'py> {
    F32(PyReadwriteArray1<'py, f32>),
    F64(PyReadwriteArray1<'py, f64>),
}

impl<'py> Out<'py> {
    pub fn new(array: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Ok(array) = array.cast::<PyArray1<f32>>() {
            return Ok(Self::F32(array.try_readwrite()?));
        }
        Ok(Self::F64(array.cast::<PyArray1<f64>>()?.try_readwrite()?))
    }
}

/// The global numbers of the local rows.
pub fn row_ids<'a>(
    first_row: u64,
    rows: Option<&'a PyReadonlyArray1<'_, i64>>,
) -> PyResult<RowIds<'a>> {
    Ok(match rows {
        Some(rows) => RowIds::Each(rows.as_slice()?),
        None => RowIds::From(first_row),
    })
}
