//! numpy arrays as sources of the core: strided views, read in place, with the shape checked here.

use numpy::ndarray::{ArrayView1, ArrayView2, Axis};
use numpy::{Element, PyArray2, PyArrayMethods, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use stare_core::{
    At, Bf16, Error, Flags, Layout, Mask, Reals, SignSource, Signs, Source, Typed, F16, F32, F64,
};

/// The one table from errors of the core to exceptions: `stare.errors.ArgumentError`.
pub fn raise(py: Python<'_>, error: &Error) -> PyErr {
    argument_error(py, &error.to_string())
}

/// An `ArgumentError` with this message.
pub fn argument_error(py: Python<'_>, message: &str) -> PyErr {
    let class = py
        .import("stare.errors")
        .and_then(|module| module.getattr("ArgumentError"));
    match class.and_then(|class| class.call1((message,))) {
        Ok(error) => PyErr::from_value(error),
        Err(_) => PyValueError::new_err(message.to_owned()),
    }
}

/// A two-dimensional array of one of the float formats; half types as the bits of `uint16`.
pub enum Floats {
    F32(Py<PyArray2<f32>>),
    F64(Py<PyArray2<f64>>),
    F16(Py<PyArray2<u16>>),
    Bf16(Py<PyArray2<u16>>),
}

fn grid<T: Element>(name: &str, array: &Bound<'_, PyAny>) -> PyResult<Py<PyArray2<T>>> {
    let array = array.cast::<PyArray2<T>>().map_err(|_| {
        PyTypeError::new_err(format!(
            "{name} must be a two-dimensional array of its format"
        ))
    })?;
    Ok(array.clone().unbind())
}

impl Floats {
    pub fn new(name: &str, (array, format): &(Bound<'_, PyAny>, String)) -> PyResult<Self> {
        match format.as_str() {
            "f32" => Ok(Self::F32(grid(name, array)?)),
            "f64" => Ok(Self::F64(grid(name, array)?)),
            "f16" => Ok(Self::F16(grid(name, array)?)),
            "bf16" => Ok(Self::Bf16(grid(name, array)?)),
            other => Err(PyValueError::new_err(format!(
                "format of {name} must be f32, f64, f16 or bf16, got {other:?}"
            ))),
        }
    }

    pub fn shape(&self, py: Python<'_>) -> (usize, usize) {
        match self {
            Self::F32(a) => dims(a.bind(py)),
            Self::F64(a) => dims(a.bind(py)),
            Self::F16(a) | Self::Bf16(a) => dims(a.bind(py)),
        }
    }

    pub fn borrow<'py>(&self, py: Python<'py>) -> PyResult<FloatGuard<'py>> {
        Ok(match self {
            Self::F32(a) => FloatGuard::F32(a.bind(py).try_readonly()?),
            Self::F64(a) => FloatGuard::F64(a.bind(py).try_readonly()?),
            Self::F16(a) => FloatGuard::F16(a.bind(py).try_readonly()?),
            Self::Bf16(a) => FloatGuard::Bf16(a.bind(py).try_readonly()?),
        })
    }
}

fn dims<T: Element>(array: &Bound<'_, PyArray2<T>>) -> (usize, usize) {
    (array.shape()[0], array.shape()[1])
}

/// [`Floats`], borrowed for one call.
pub enum FloatGuard<'py> {
    F32(PyReadonlyArray2<'py, f32>),
    F64(PyReadonlyArray2<'py, f64>),
    F16(PyReadonlyArray2<'py, u16>),
    Bf16(PyReadonlyArray2<'py, u16>),
}

impl FloatGuard<'_> {
    pub fn signs(&self, packed: bool, per_row: bool) -> Box<dyn SignSource + '_> {
        macro_rules! signs {
            ($format:ty, $array:expr) => {{
                let view = View::new($array.as_array(), packed);
                Box::new(if per_row {
                    Signs::<$format, _>::per_row(view)
                } else {
                    Signs::<$format, _>::per_token(view)
                })
            }};
        }
        match self {
            Self::F32(a) => signs!(F32, a),
            Self::F64(a) => signs!(F64, a),
            Self::F16(a) => signs!(F16, a),
            Self::Bf16(a) => signs!(Bf16, a),
        }
    }

    pub fn reals(&self, packed: bool) -> Box<dyn Reals + '_> {
        match self {
            Self::F32(a) => Box::new(Typed::<F32, _>::new(View::new(a.as_array(), packed))),
            Self::F64(a) => Box::new(Typed::<F64, _>::new(View::new(a.as_array(), packed))),
            Self::F16(a) => Box::new(Typed::<F16, _>::new(View::new(a.as_array(), packed))),
            Self::Bf16(a) => Box::new(Typed::<Bf16, _>::new(View::new(a.as_array(), packed))),
        }
    }
}

/// A two-dimensional mask; the bits of half types as `uint16`.
pub enum Switches {
    U8(Py<PyArray2<u8>>),
    U16(Py<PyArray2<u16>>),
    I32(Py<PyArray2<i32>>),
    I64(Py<PyArray2<i64>>),
    F32(Py<PyArray2<f32>>),
    F64(Py<PyArray2<f64>>),
}

/// [`Switches`], borrowed for one call.
pub enum SwitchGuard<'py> {
    U8(PyReadonlyArray2<'py, u8>),
    U16(PyReadonlyArray2<'py, u16>),
    I32(PyReadonlyArray2<'py, i32>),
    I64(PyReadonlyArray2<'py, i64>),
    F32(PyReadonlyArray2<'py, f32>),
    F64(PyReadonlyArray2<'py, f64>),
}

impl Switches {
    pub fn new(array: &Bound<'_, PyAny>) -> PyResult<Self> {
        grid("mask", array)
            .map(Self::U8)
            .or_else(|_| grid("mask", array).map(Self::U16))
            .or_else(|_| grid("mask", array).map(Self::I32))
            .or_else(|_| grid("mask", array).map(Self::I64))
            .or_else(|_| grid("mask", array).map(Self::F32))
            .or_else(|_| grid("mask", array).map(Self::F64))
    }

    pub fn shape(&self, py: Python<'_>) -> (usize, usize) {
        match self {
            Self::U8(a) => dims(a.bind(py)),
            Self::U16(a) => dims(a.bind(py)),
            Self::I32(a) => dims(a.bind(py)),
            Self::I64(a) => dims(a.bind(py)),
            Self::F32(a) => dims(a.bind(py)),
            Self::F64(a) => dims(a.bind(py)),
        }
    }

    pub fn borrow<'py>(&self, py: Python<'py>) -> PyResult<SwitchGuard<'py>> {
        Ok(match self {
            Self::U8(a) => SwitchGuard::U8(a.bind(py).try_readonly()?),
            Self::U16(a) => SwitchGuard::U16(a.bind(py).try_readonly()?),
            Self::I32(a) => SwitchGuard::I32(a.bind(py).try_readonly()?),
            Self::I64(a) => SwitchGuard::I64(a.bind(py).try_readonly()?),
            Self::F32(a) => SwitchGuard::F32(a.bind(py).try_readonly()?),
            Self::F64(a) => SwitchGuard::F64(a.bind(py).try_readonly()?),
        })
    }
}

impl SwitchGuard<'_> {
    pub fn mask(&self, packed: bool) -> Box<dyn Mask + '_> {
        match self {
            Self::U8(a) => Box::new(Flags::new(View::new(a.as_array(), packed))),
            Self::U16(a) => Box::new(Flags::new(View::new(a.as_array(), packed))),
            Self::I32(a) => Box::new(Flags::new(View::new(a.as_array(), packed))),
            Self::I64(a) => Box::new(Flags::new(View::new(a.as_array(), packed))),
            Self::F32(a) => Box::new(Flags::new(View::new(a.as_array(), packed))),
            Self::F64(a) => Box::new(Flags::new(View::new(a.as_array(), packed))),
        }
    }
}

/// Rows of a (B, T) array, or stretches of a (1, N) one.
pub struct View<'a, T> {
    grid: ArrayView2<'a, T>,
    packed: bool,
}

impl<'a, T> View<'a, T> {
    pub fn new(grid: ArrayView2<'a, T>, packed: bool) -> Self {
        Self { grid, packed }
    }

    fn block(&self, at: At) -> ArrayView1<'_, T> {
        let (row, start) = if self.packed {
            (0, at.flat)
        } else {
            (at.row, at.col)
        };
        let (_, rest) = self.grid.row(row).split_at(Axis(0), start);
        rest.split_at(Axis(0), at.len).0
    }
}

impl<T: Copy + Sync> Source<T> for View<'_, T> {
    fn len(&self) -> usize {
        self.grid.len()
    }
    fn slice(&self, at: At) -> Option<&[T]> {
        self.block(at).to_slice()
    }
    fn copy(&self, at: At, out: &mut [T]) {
        out.iter_mut()
            .zip(self.block(at))
            .for_each(|(x, y)| *x = *y);
    }
    fn of_row(&self, row: usize) -> Option<T> {
        self.grid.get((row, 0)).copied()
    }
}

/// The rows of the batch.
pub fn layout(rows: usize, cols: usize, offsets: Option<&[usize]>) -> Layout<'_> {
    match offsets {
        Some(offsets) => Layout::Packed { offsets },
        None => Layout::Padded { rows, cols },
    }
}
