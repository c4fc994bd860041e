//! Arrays of any element type, strided or expanded, read block by block.

use std::marker::PhantomData;

use crate::error::Error;
use crate::layout::{length, At, Layout, BLOCK};
use crate::order::Float;

/// An array that gives its elements block by block.
pub trait Source<T>: Sync {
    /// Number of elements.
    fn len(&self) -> usize;
    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The block in place, if it is contiguous.
    fn slice(&self, at: At) -> Option<&[T]>;
    /// The block copied.
    fn copy(&self, at: At, out: &mut [T]);
    /// One element of an array with one element a row.
    fn of_row(&self, row: usize) -> Option<T>;
}

impl<T: Copy + Sync> Source<T> for &[T] {
    fn len(&self) -> usize {
        <[T]>::len(self)
    }
    fn slice(&self, at: At) -> Option<&[T]> {
        self.get(at.flat..at.flat + at.len)
    }
    fn copy(&self, at: At, out: &mut [T]) {
        if let Some(block) = self.slice(at) {
            out.copy_from_slice(block);
        }
    }
    fn of_row(&self, row: usize) -> Option<T> {
        self.get(row).copied()
    }
}

/// An element that switches a token on.
pub trait Flag: Copy + Default + Send + Sync {
    /// Non-zero.
    fn is_on(self) -> bool;
}

macro_rules! flag {
    ($($ty:ty: $test:expr),*) => { $(impl Flag for $ty {
        #[inline]
        fn is_on(self) -> bool { $test(self) }
    })* };
}
flag!(u8: |x| x != 0, i32: |x| x != 0, i64: |x| x != 0, f32: |x| x != 0.0, f64: |x| x != 0.0,
      u16: |x| x & 0x7fff != 0 /* a half type's bits: both zeros are off */);

/// The loss mask.
pub trait Mask: Sync {
    /// Number of elements.
    fn len(&self) -> usize;
    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Writes 0 or 1 for every position of the block; returns the number of ones.
    fn fill(&self, at: At, out: &mut [u8]) -> usize;
}

/// A mask array.
#[derive(Debug)]
pub struct Flags<T, S> {
    source: S,
    element: PhantomData<fn() -> T>,
}

impl<T: Flag, S: Source<T>> Flags<T, S> {
    /// Wraps an array of flags.
    pub fn new(source: S) -> Self {
        Self {
            source,
            element: PhantomData,
        }
    }
}

impl<T: Flag, S: Source<T>> Mask for Flags<T, S> {
    fn len(&self) -> usize {
        self.source.len()
    }
    fn fill(&self, at: At, out: &mut [u8]) -> usize {
        let convert = |block: &[T], out: &mut [u8]| {
            for (flag, byte) in block.iter().zip(&mut *out) {
                *byte = u8::from(flag.is_on());
            }
            // Sums of up to 128 ones fit a byte, which is what vectors of bytes add.
            let sum = |bytes: &[u8]| bytes.iter().fold(0_u8, |n, &byte| n.wrapping_add(byte));
            out.chunks(128).map(|bytes| usize::from(sum(bytes))).sum()
        };
        if let Some(block) = self.source.slice(at) {
            return convert(block, out);
        }
        let mut scratch = [T::default(); BLOCK];
        let scratch = &mut scratch[..at.len];
        self.source.copy(at, scratch);
        convert(scratch, out)
    }
}

/// The signs of the advantages.
pub trait SignSource: Sync {
    /// Whether the array is as long as the layout asks for, or what it should be.
    ///
    /// # Errors
    /// [`Error::Length`].
    fn check(&self, layout: &Layout) -> Result<(), Error>;
    /// The class of all tokens of a row, where that is one number.
    fn of_row(&self, row: usize) -> Option<u8>;
    /// Turns a mask block into classes (0 no candidate, 1 positive, 2 negative); returns the union of the classes.
    ///
    /// # Errors
    /// The index within the block of a NaN on a token inside the mask.
    fn fill(&self, at: At, classes: &mut [u8]) -> Result<u8, usize>;
}

/// An advantage array, one element a token or one a row.
#[derive(Debug)]
pub struct Signs<C, S> {
    source: S,
    per_row: bool,
    format: PhantomData<C>,
}

impl<C: Float, S: Source<C::Raw>> Signs<C, S> {
    /// One advantage a token.
    pub fn per_token(source: S) -> Self {
        Self {
            source,
            per_row: false,
            format: PhantomData,
        }
    }
    /// One advantage a row.
    pub fn per_row(source: S) -> Self {
        Self {
            source,
            per_row: true,
            format: PhantomData,
        }
    }
}

impl<C: Float, S: Source<C::Raw>> SignSource for Signs<C, S> {
    fn check(&self, layout: &Layout) -> Result<(), Error> {
        let expected = if self.per_row {
            layout.rows()
        } else {
            layout.total()
        };
        length("advantages", expected, self.source.len())
    }

    fn of_row(&self, row: usize) -> Option<u8> {
        self.per_row
            .then(|| self.source.of_row(row).map_or(0, C::class))
    }

    fn fill(&self, at: At, classes: &mut [u8]) -> Result<u8, usize> {
        if let Some(class) = self.of_row(at.row) {
            return match (class, classes.iter().position(|&on| on != 0)) {
                (_, None) => Ok(0),
                (3, Some(first)) => Err(first),
                _ => {
                    for on in classes.iter_mut() {
                        *on *= class;
                    }
                    Ok(class)
                }
            };
        }
        let classify = |block: &[C::Raw], classes: &mut [u8]| {
            let mut union = 0;
            for (&x, class) in block.iter().zip(classes.iter_mut()) {
                *class = C::class(x) & 0_u8.wrapping_sub(*class);
                union |= *class;
            }
            // Three is both signs or a NaN.
            if union == 3 && classes.contains(&3) {
                return Err(classes.iter().position(|&class| class == 3).unwrap_or(0));
            }
            Ok(union)
        };
        if let Some(block) = self.source.slice(at) {
            return classify(block, classes);
        }
        let mut scratch = [C::Raw::default(); BLOCK];
        let scratch = &mut scratch[..at.len];
        self.source.copy(at, scratch);
        classify(scratch, classes)
    }
}

/// Numbers read as f64: entropy and concentration.
pub trait Reals: Sync {
    /// Number of elements.
    fn len(&self) -> usize;
    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Reads a block.
    fn read(&self, at: At, out: &mut [f64]);
}

/// An array of a floating-point format.
#[derive(Debug)]
pub struct Typed<C, S> {
    source: S,
    format: PhantomData<C>,
}

impl<C: Float, S: Source<C::Raw>> Typed<C, S> {
    /// Wraps an array.
    pub fn new(source: S) -> Self {
        Self {
            source,
            format: PhantomData,
        }
    }
}

impl<C: Float, S: Source<C::Raw>> Reals for Typed<C, S> {
    fn len(&self) -> usize {
        self.source.len()
    }
    fn read(&self, at: At, out: &mut [f64]) {
        let mut scratch = [C::Raw::default(); BLOCK];
        let scratch = &mut scratch[..at.len];
        self.source.copy(at, scratch);
        out.iter_mut()
            .zip(scratch)
            .for_each(|(x, raw)| *x = C::real(*raw));
    }
}
