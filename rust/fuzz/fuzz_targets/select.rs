//! Differential: whatever the bytes, selection equals a sort or names a bad token; it never panics.

#![no_main]

use libfuzzer_sys::fuzz_target;
use stare_core::{
    quota, token_weights, Batch, Flags, Float, Gate, Layout, Rule, Selector, Sign, Signs, Tail, F16,
};

fuzz_target!(|input: &[u8]| {
    let [columns, ratio, threads, tokens @ ..] = input else { return };
    // Four bytes a token: the bits of a half-precision log-prob, mask, advantage.
    let tokens: Vec<&[u8]> = tokens.chunks_exact(4).collect();
    let cols = usize::from(*columns).max(1);
    let rows = tokens.len() / cols;
    let tokens = &tokens[..rows * cols];
    let logprobs: Vec<u16> = tokens.iter().map(|t| u16::from_le_bytes([t[0], t[1]])).collect();
    let mask: Vec<u8> = tokens.iter().map(|t| t[2] & 1).collect();
    let advantages: Vec<f32> = tokens.iter().map(|t| f32::from(t[3] as i8)).collect();
    let ratio = f64::from(*ratio) / 255.0;

    let (source, values) = (&logprobs[..], &advantages[..]);
    let (flags, signs) = (Flags::new(&mask[..]), Signs::<stare_core::F32, _>::per_token(values));
    let batch = Batch::<F16>::new(Layout::Padded { rows, cols }, &source, &flags, &signs);
    let rules = [
        Rule { sign: Sign::Positive, tail: Tail::High, ratio, factor: 2.0 },
        Rule { sign: Sign::Negative, tail: Tail::Low, ratio, factor: 0.5 },
    ];
    let mut weights = vec![0.0_f32; tokens.len()];
    let threads = usize::from(*threads % 4) + 1;
    let result =
        token_weights(&batch, &rules, &Selector::Quantile, &Gate::All(true), threads, &mut weights);

    let bad = |i: &usize| {
        let x = F16::real(logprobs[*i]);
        mask[*i] != 0 && advantages[*i] != 0.0 && (!x.is_finite() || x > 1e-3)
    };
    let first_bad = (0..tokens.len()).find(bad);
    if let Some(i) = first_bad {
        let error = result.expect_err("a bad token must be refused");
        assert_eq!(error.position(), Some((i / cols, i % cols)));
        return;
    }
    result.expect("good tokens must be accepted");
    let mut expected = vec![1.0_f32; tokens.len()];
    for (sign, direction, factor) in [(1.0, -1.0, 2.0), (-1.0, 1.0, 0.5)] {
        let mut order: Vec<usize> =
            (0..tokens.len()).filter(|&i| mask[i] != 0 && advantages[i] * sign > 0.0).collect();
        order.sort_by(|&a, &b| {
            let key = |i: usize| direction * -F16::real(logprobs[i]);
            key(a).partial_cmp(&key(b)).unwrap().then(a.cmp(&b))
        });
        let k = quota(order.len() as u64, ratio).unwrap() as usize;
        order[..k].iter().for_each(|&i| expected[i] = factor);
    }
    assert_eq!(weights, expected);
});
