//! Keys order as surprisal does, in every format.

#![allow(missing_docs)]

use stare_core::{Bf16, Float, F16, F32, F64};

fn ordered<C: Float>(values: &[C::Raw]) {
    // `values` run from probable to surprising.
    for pair in values.windows(2) {
        assert!(C::key(pair[0]) < C::key(pair[1]));
        assert!(C::beyond(pair[1], pair[0]) && !C::reaches(pair[0], pair[1]));
    }
    for &v in values {
        assert!(C::is_valid(C::key(v)));
        assert!((C::surprisal(C::key(v).into()) + C::real(v)).abs() < 1e-12);
        assert!(C::is_good(v) && C::reaches(v, v) && !C::beyond(v, C::raw(C::key(v))));
    }
}

#[test]
fn keys_follow_surprisal() {
    ordered::<F32>(&[1e-3, 1e-9, 0.0, -1e-30, -0.5, -0.500_000_1, -3.0, f32::MIN]);
    ordered::<F64>(&[1e-3, 1e-9, 0.0, -1e-300, -0.5, -3.0, f64::MIN]);
    ordered::<F16>(&[0x1418, 0x0001, 0x0000, 0x8001, 0xb800, 0xc000, 0xfbff]);
    ordered::<Bf16>(&[0x3a83, 0x0001, 0x0000, 0x8001, 0xbf00, 0xc000, 0xff7f]);
}

#[test]
fn zeros_are_equal() {
    assert_eq!(F32::key(0.0), F32::key(-0.0));
    assert_eq!(F64::key(0.0), F64::key(-0.0));
    assert_eq!(F16::key(0), F16::key(0x8000));
    assert_eq!(Bf16::key(0), Bf16::key(0x8000));
}

#[test]
fn bad_values_are_invalid() {
    for x in [
        f32::NAN,
        -f32::NAN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        1.1e-3,
        5.0,
    ] {
        assert!(!F32::is_valid(F32::key(x)) && !F32::is_good(x), "{x}");
        assert!(!F64::is_valid(F64::key(f64::from(x))), "{x}");
    }
    for bits in [0x7c00, 0xfc00, 0x7e00, 0xfe00, 0x1419] {
        assert!(!F16::is_valid(F16::key(bits)), "{bits:x}");
    }
    for bits in [0x7f80, 0xff80, 0x7fc0, 0xffc0, 0x3a84] {
        assert!(!Bf16::is_valid(Bf16::key(bits)), "{bits:x}");
    }
}

#[test]
fn classes() {
    assert_eq!(
        [0.0, -0.0, 2.0, -2.0, f32::NAN].map(F32::class),
        [0, 0, 1, 2, 3]
    );
    assert_eq!(
        [0, 0x8000, 0x3c00, 0xbc00, 0x7e00].map(F16::class),
        [0, 0, 1, 2, 3]
    );
}

#[test]
fn half_matches_known_values() {
    for (bits, x) in [
        (0x3c00, 1.0),
        (0xc000, -2.0),
        (0x7bff, 65504.0),
        (0x0001, 5.960_464_477_539_063e-8),
    ] {
        assert!((F16::real(bits) - x).abs() < 1e-15);
    }
    assert!(F16::real(0x7c00).is_infinite() && F16::real(0x7e00).is_nan());
}
