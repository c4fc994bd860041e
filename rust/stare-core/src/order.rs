//! Log-probabilities as unsigned keys whose integer order is the order of surprisal.
//!
//! The key of `x` is the usual order-preserving image of the surprisal `0 - x` (which also makes the
//! two zeros equal): the larger the surprisal, the larger the key. Half types keep their 16 bits.

/// A floating-point format, by its raw bits.
pub trait Float: Copy + Send + Sync + 'static {
    /// What the array holds.
    type Raw: Copy + Default + Send + Sync + 'static;
    /// An unsigned integer as wide as the format.
    type Key: Copy + Ord + Send + Sync + Into<u64>;
    /// Width of the key.
    const BITS: u32;
    /// Key of the largest log-probability that is accepted, 1e-3.
    const LOWEST: u64;
    /// Key of the smallest finite log-probability.
    const HIGHEST: u64;
    /// First pass: the key where bucket 0 begins, and log2 of the bucket width.
    ///
    /// 4096 buckets with 7 mantissa bits cover surprisals of 2^-16 .. 2^16: an edge bucket then
    /// holds about one token in a thousand. Everything outside lands in the first or last bucket.
    const COARSE: (u64, u32);

    /// The key of a log-probability.
    fn key(raw: Self::Raw) -> Self::Key;
    /// A key from its integer, saturating.
    fn narrow(key: u64) -> Self::Key;
    /// The bucket of a key in the first pass, below 4096.
    fn bucket(key: Self::Key) -> u16;
    /// The number, widened.
    fn real(raw: Self::Raw) -> f64;
    /// Class of an advantage: 0 zero, 1 positive, 2 negative, 3 NaN.
    fn class(raw: Self::Raw) -> u8;
    /// Whether a mask of this format is on (non-zero).
    fn is_on(raw: Self::Raw) -> bool;

    /// A log-probability from its key.
    fn raw(key: Self::Key) -> Self::Raw;
    /// Whether `a` is more surprising than `b`: the comparison of keys, for numbers, without them.
    fn beyond(a: Self::Raw, b: Self::Raw) -> bool;
    /// Whether `a` is at least as surprising as `b`.
    fn reaches(a: Self::Raw, b: Self::Raw) -> bool;
    /// Whether a log-probability is finite and at most 1e-3.
    fn is_good(raw: Self::Raw) -> bool;

    /// The surprisal of a key.
    #[must_use]
    fn surprisal(key: u64) -> f64 {
        // Not the negative: the surprisal of a certain token is 0, not -0.
        0.0 - Self::real(Self::raw(Self::narrow(key)))
    }

    /// Whether a key is that of a finite log-probability of at most 1e-3.
    #[inline]
    fn is_valid(key: Self::Key) -> bool {
        (Self::narrow(Self::LOWEST) <= key) & (key <= Self::narrow(Self::HIGHEST))
    }
}

/// IEEE binary32.
#[derive(Clone, Copy, Debug)]
pub struct F32;
/// IEEE binary64.
#[derive(Clone, Copy, Debug)]
pub struct F64;
/// IEEE binary16 as its bits.
#[derive(Clone, Copy, Debug)]
pub struct F16;
/// bfloat16 as its bits.
#[derive(Clone, Copy, Debug)]
pub struct Bf16;

macro_rules! wide {
    ($name:ident, $raw:ty, $key:ty, $signed:ty, $bits:literal, $lowest:expr, $coarse:expr) => {
        impl Float for $name {
            type Raw = $raw;
            type Key = $key;
            const BITS: u32 = $bits;
            const LOWEST: u64 = !($lowest) as u64;
            const HIGHEST: u64 = (<$raw>::MAX.to_bits() | (1 << ($bits - 1))) as u64;
            const COARSE: (u64, u32) = $coarse;

            #[inline]
            fn key(raw: $raw) -> $key {
                let bits = (0.0 - raw).to_bits();
                // All ones under a set sign bit, the sign bit alone otherwise.
                let flip = ((bits as $signed) >> ($bits - 1)) as $key | (1 << ($bits - 1));
                bits ^ flip
            }
            #[inline]
            fn narrow(key: u64) -> $key {
                <$key>::try_from(key).unwrap_or(<$key>::MAX)
            }
            #[inline]
            fn bucket(key: $key) -> u16 {
                const BASE: $key = <$name as Float>::COARSE.0 as $key;
                (key.saturating_sub(BASE) >> Self::COARSE.1).min(4095) as u16
            }
            #[inline]
            fn real(raw: $raw) -> f64 {
                f64::from(raw)
            }
            #[inline]
            fn raw(key: $key) -> $raw {
                let sign = 1 << ($bits - 1);
                -<$raw>::from_bits(if key & sign != 0 { key ^ sign } else { !key })
            }
            #[inline]
            fn beyond(a: $raw, b: $raw) -> bool {
                a < b
            }
            #[inline]
            fn reaches(a: $raw, b: $raw) -> bool {
                a <= b
            }
            #[inline]
            #[allow(clippy::manual_range_contains, reason = "a branch a token")]
            fn is_good(raw: $raw) -> bool {
                (raw >= <$raw>::MIN) & (raw <= 1e-3)
            }
            #[inline]
            #[allow(clippy::neg_cmp_op_on_partial_ord, reason = "NaN must fail both")]
            fn class(raw: $raw) -> u8 {
                // Both comparisons fail for NaN only: zero passes them.
                u8::from(!(raw <= 0.0)) | (u8::from(!(raw >= 0.0)) << 1)
            }
            #[inline]
            fn is_on(raw: $raw) -> bool {
                raw != 0.0
            }
        }
    };
}

// The bits of -1e-3 under a set sign bit are flipped whole.
wide!(
    F32,
    f32,
    u32,
    i32,
    32,
    (-1e-3_f32).to_bits(),
    (0x8000_0000 + (111 << 23), 16)
);
wide!(
    F64,
    f64,
    u64,
    i64,
    64,
    (-1e-3_f64).to_bits(),
    (0x8000_0000_0000_0000 + (1007 << 52), 45)
);

macro_rules! half {
    ($name:ident, $infinity:literal, $tolerance:literal, $coarse:expr, $real:expr) => {
        impl Float for $name {
            type Raw = u16;
            type Key = u16;
            const BITS: u32 = 16;
            const LOWEST: u64 = !($tolerance | 0x8000_u16) as u64;
            const HIGHEST: u64 = ($infinity - 1) | 0x8000;
            const COARSE: (u64, u32) = $coarse;

            #[inline]
            fn key(raw: u16) -> u16 {
                let bits = if raw & 0x7fff == 0 { 0 } else { raw ^ 0x8000 };
                bits ^ (((bits as i16) >> 15) as u16 | 0x8000)
            }
            #[inline]
            fn narrow(key: u64) -> u16 {
                u16::try_from(key).unwrap_or(u16::MAX)
            }
            #[inline]
            fn bucket(key: u16) -> u16 {
                const BASE: u16 = <$name as Float>::COARSE.0 as u16;
                (key.saturating_sub(BASE) >> Self::COARSE.1).min(4095)
            }
            #[inline]
            fn real(raw: u16) -> f64 {
                $real(raw)
            }
            #[inline]
            fn raw(key: u16) -> u16 {
                0x8000
                    ^ if key & 0x8000 != 0 {
                        key ^ 0x8000
                    } else {
                        !key
                    }
            }
            #[inline]
            fn beyond(a: u16, b: u16) -> bool {
                Self::key(a) > Self::key(b)
            }
            #[inline]
            fn reaches(a: u16, b: u16) -> bool {
                Self::key(a) >= Self::key(b)
            }
            #[inline]
            fn is_good(raw: u16) -> bool {
                Self::is_valid(Self::key(raw))
            }
            #[inline]
            fn class(raw: u16) -> u8 {
                let size = raw & 0x7fff;
                if size > $infinity {
                    3
                } else if size == 0 {
                    0
                } else {
                    1 + (raw >> 15) as u8
                }
            }
            #[inline]
            fn is_on(raw: u16) -> bool {
                raw & 0x7fff != 0
            }
        }
    };
}

// Tolerances are the largest values of the format that are not above 1e-3.
half!(F16, 0x7c00, 0x1418_u16, (0x8000, 3), half_real);
half!(
    Bf16,
    0x7f80,
    0x3a83_u16,
    (0x8000 + (111 << 7), 0),
    |raw: u16| f64::from(f32::from_bits(u32::from(raw) << 16))
);

fn half_real(raw: u16) -> f64 {
    let sign = if raw & 0x8000 == 0 { 1.0 } else { -1.0 };
    let exponent = i32::from((raw >> 10) & 0x1f);
    let mantissa = f64::from(raw & 0x3ff);
    sign * match exponent {
        0 => mantissa * 2_f64.powi(-24),
        31 if mantissa == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + mantissa) * 2_f64.powi(exponent - 25),
    }
}
