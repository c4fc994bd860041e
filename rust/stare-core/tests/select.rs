//! The fast selection against a sort, for every format, layout, thread count and shard split.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss
)]
#![allow(clippy::cast_sign_loss, missing_docs)]

use proptest::prelude::*;
use stare_core::{
    apply_cutoffs, digit_histogram, quota, token_weights, Batch, Bf16, Cutoff, Error, Flags, Float,
    Gate, Layout, Prefix, RowIds, Rule, Selector, Sign, Signs, Survey, Tail, F16, F32, F64,
};

/// Slow and obvious: sort each sign by (surprisal, index), take k.
fn naive<C: Float>(
    logprobs: &[C::Raw],
    mask: &[u8],
    advantages: &[f64],
    rules: &[Rule],
) -> Vec<f64> {
    let mut weights = vec![1.0; logprobs.len()];
    for rule in rules {
        let sign = if rule.sign == Sign::Positive {
            1.0
        } else {
            -1.0
        };
        let mut tokens: Vec<usize> = (0..logprobs.len())
            .filter(|&i| mask[i] != 0 && advantages[i] * sign > 0.0)
            .collect();
        let direction = if rule.tail == Tail::High { -1.0 } else { 1.0 };
        tokens.sort_by(|&a, &b| {
            let surprisal = |i: usize| direction * -C::real(logprobs[i]);
            surprisal(a)
                .partial_cmp(&surprisal(b))
                .unwrap()
                .then(a.cmp(&b))
        });
        let k = quota(tokens.len() as u64, rule.ratio).unwrap() as usize;
        for &i in &tokens[..k] {
            weights[i] *= rule.factor;
        }
    }
    weights
}

fn fast<C: Float>(
    layout: Layout,
    logprobs: &[C::Raw],
    mask: &[u8],
    advantages: &[f64],
    rules: &[Rule],
    threads: usize,
) -> Vec<f64> {
    let (mask, signs) = (Flags::new(mask), Signs::<F64, _>::per_token(advantages));
    let batch = Batch::<C>::new(layout, &logprobs, &mask, &signs);
    let mut out = vec![f64::NAN; logprobs.len()];
    token_weights(
        &batch,
        rules,
        &Selector::Quantile,
        &Gate::All(true),
        threads,
        &mut out,
    )
    .unwrap();
    out
}

/// Ranks that exchange digit histograms.
fn sharded<C: Float>(
    rows: usize,
    cols: usize,
    cut: usize,
    logprobs: &[C::Raw],
    mask: &[u8],
    advantages: &[f64],
    rules: &[Rule],
) -> Vec<f64> {
    let bounds = [0, cut.min(rows), rows];
    let ranges: Vec<_> = bounds
        .windows(2)
        .map(|b| (b[0] * cols..b[1] * cols, b[0], b[1] - b[0]))
        .collect();
    let masks: Vec<_> = ranges
        .iter()
        .map(|(r, ..)| Flags::new(&mask[r.clone()]))
        .collect();
    let signs: Vec<_> = ranges
        .iter()
        .map(|(r, ..)| Signs::<F64, _>::per_token(&advantages[r.clone()]))
        .collect();
    let slices: Vec<_> = ranges.iter().map(|(r, ..)| &logprobs[r.clone()]).collect();
    let shards: Vec<_> = (0..2)
        .map(|s| {
            Batch::<C>::new(
                Layout::Padded {
                    rows: ranges[s].2,
                    cols,
                },
                &slices[s],
                &masks[s],
                &signs[s],
            )
        })
        .collect();
    let ids: Vec<_> = ranges.iter().map(|r| RowIds::From(r.1 as u64)).collect();
    let survey: Vec<_> = (0..2)
        .map(|s| Survey::of(&shards[s], &ids[s], 1).unwrap())
        .collect();
    let cutoffs: Vec<_> = rules
        .iter()
        .map(|rule| {
            let n: u64 = survey
                .iter()
                .map(|s| {
                    if rule.sign == Sign::Positive {
                        s.positive
                    } else {
                        s.negative
                    }
                })
                .sum();
            let mut need = quota(n, rule.ratio).unwrap();
            if need == 0 {
                return None;
            }
            let mut prefix = Prefix::default();
            for level in 0..C::BITS / 8 + 8 {
                let mut sum = vec![0; 256];
                for s in 0..2 {
                    let part = digit_histogram(&shards[s], rule, prefix, &ids[s], 1).unwrap();
                    sum.iter_mut().zip(part).for_each(|(a, b)| *a += b);
                }
                let mut digit = 255;
                while need > sum[digit] {
                    need -= sum[digit];
                    digit -= 1;
                }
                let part = if level < C::BITS / 8 {
                    &mut prefix.key
                } else {
                    &mut prefix.tie
                };
                *part = *part << 8 | digit as u64;
                prefix.level += 1;
            }
            Some(Cutoff {
                key: prefix.key,
                tie: prefix.tie,
            })
        })
        .collect();
    let mut out = vec![f64::NAN; logprobs.len()];
    for s in 0..2 {
        let part = &mut out[ranges[s].0.clone()];
        apply_cutoffs(
            &shards[s],
            rules,
            &cutoffs,
            &ids[s],
            &Selector::Quantile,
            &Gate::All(true),
            1,
            part,
        )
        .unwrap();
    }
    out
}

fn rules() -> impl Strategy<Value = Vec<Rule>> {
    let sign = prop_oneof![Just(Sign::Positive), Just(Sign::Negative)];
    let tail = prop_oneof![Just(Tail::High), Just(Tail::Low)];
    let ratio = prop_oneof![
        Just(0.0),
        Just(1e-9),
        Just(0.07),
        Just(0.1),
        Just(0.5),
        Just(1.0),
        0.0..=1.0
    ];
    let rule = (sign, tail, ratio, 0.5..2.0).prop_map(|(sign, tail, ratio, factor)| Rule {
        sign,
        tail,
        ratio,
        factor,
    });
    prop::collection::vec(rule, 0..5)
}

fn check<C: Float>(
    rows: usize,
    cols: usize,
    cut: usize,
    logprobs: &[C::Raw],
    mask: &[u8],
    advantages: &[f64],
    rules: &[Rule],
) {
    let n = rows * cols;
    let (logprobs, mask, advantages) = (&logprobs[..n], &mask[..n], &advantages[..n]);
    let expected = naive::<C>(logprobs, mask, advantages, rules);
    for threads in [1, 3] {
        let padded = fast::<C>(
            Layout::Padded { rows, cols },
            logprobs,
            mask,
            advantages,
            rules,
            threads,
        );
        assert_eq!(padded, expected);
    }
    let offsets = [0, n / 3, n / 3, n];
    assert_eq!(
        fast::<C>(
            Layout::Packed { offsets: &offsets },
            logprobs,
            mask,
            advantages,
            rules,
            1
        ),
        expected
    );
    assert_eq!(
        sharded::<C>(rows, cols, cut, logprobs, mask, advantages, rules),
        expected
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn equals_a_sort(
        (rows, cols, cut) in (0..6_usize, 0..20_usize, 0..6_usize),
        values in prop::collection::vec(prop_oneof![0_u16..0x1400, 0x8000..0xfbff_u16, Just(0xb800_u16)], 120),
        mask in prop::collection::vec(0..3_u8, 120),
        advantages in prop::collection::vec(-1..2_i8, 120),
        rules in rules(),
    ) {
        let advantages: Vec<f64> = advantages.into_iter().map(f64::from).collect();
        let wide: Vec<f64> = values.iter().map(|&x| F16::real(x)).collect();
        let single: Vec<f32> = wide.iter().map(|&x| x as f32).collect();
        let brain: Vec<u16> = single.iter().map(|x| (x.to_bits() >> 16) as u16).collect();
        check::<F16>(rows, cols, cut, &values, &mask, &advantages, &rules);
        check::<F32>(rows, cols, cut, &single, &mask, &advantages, &rules);
        check::<F64>(rows, cols, cut, &wide, &mask, &advantages, &rules);
        check::<Bf16>(rows, cols, cut, &brain, &mask, &advantages, &rules);
    }

    #[test]
    fn quota_is_the_ceiling(n in 0..10_000_u64, digits in 0..=1000_u64) {
        // The ratio digits / 1000 in exact arithmetic.
        let expected = (digits * n).div_ceil(1000);
        prop_assert_eq!(quota(n, digits as f64 / 1000.0).unwrap(), expected);
    }
}

/// Batches whose edge bucket is far too large to collect: refinement, then equals.
#[test]
fn large_edges() {
    let n = 300_000;
    let noise = |i: usize| (i.wrapping_mul(2_654_435_761) % 1000) as f32;
    let families: [(&str, Vec<f32>); 4] = [
        ("all equal", vec![-0.5; n]),
        ("all zero", vec![0.0; n]),
        ("one bucket", (0..n).map(|i| -1e-7 * noise(i)).collect()),
        ("close", (0..n).map(|i| -1.0 - 1e-6 * noise(i)).collect()),
    ];
    let mask: Vec<u8> = (0..n).map(|i| u8::from(i % 7 != 0)).collect();
    let advantages: Vec<f64> = (0..n)
        .map(|i| f64::from((i / 1000 % 3) as u32) - 1.0)
        .collect();
    for (name, logprobs) in families {
        for ratio in [1e-9, 0.1, 0.63, 1.0] {
            let rule = |sign, tail, factor| Rule {
                sign,
                tail,
                ratio,
                factor,
            };
            let rules = [
                rule(Sign::Positive, Tail::High, 1.5),
                rule(Sign::Negative, Tail::High, 0.5),
                rule(Sign::Positive, Tail::Low, 0.75),
            ];
            let expected = naive::<F32>(&logprobs, &mask, &advantages, &rules);
            for threads in [1, 2, 5] {
                let got = fast::<F32>(
                    Layout::Padded {
                        rows: 30,
                        cols: n / 30,
                    },
                    &logprobs,
                    &mask,
                    &advantages,
                    &rules,
                    threads,
                );
                assert!(got == expected, "{name}, ratio {ratio}, {threads} threads");
            }
        }
    }
}

/// Large batches of one rule a sign, where a sample leads and counting proves.
#[test]
fn sampled_brackets() {
    let n = 400_000;
    let cols = 1000;
    let uniform =
        |i: usize| ((i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as f32 / 16_777_216.0;
    let families: [(&str, Vec<f32>); 4] = [
        (
            "exponential",
            (0..n).map(|i| (1.0 - uniform(i)).ln()).collect(),
        ),
        // The sample of early rows says nothing of the late ones.
        (
            "drifting",
            (0..n)
                .map(|i| (1.0 - uniform(i)).ln() * i as f32 / n as f32)
                .collect(),
        ),
        // Whatever the sample sees of most columns, the edge is in one of them.
        (
            "one column",
            (0..n)
                .map(|i| {
                    if i % cols == 7 {
                        -uniform(i) - 1.0
                    } else {
                        -1e-3 * uniform(i)
                    }
                })
                .collect(),
        ),
        (
            "rounded",
            (0..n)
                .map(|i| ((1.0 - uniform(i)).ln() * 20.0).round() / 20.0)
                .collect(),
        ),
    ];
    let mask: Vec<u8> = (0..n).map(|i| u8::from(i % 11 != 0)).collect();
    let advantages: Vec<f64> = (0..n)
        .map(|i| f64::from((i / cols % 3) as u32) - 1.0)
        .collect();
    for (name, logprobs) in families {
        let brain: Vec<u16> = logprobs
            .iter()
            .map(|x| (x.to_bits() >> 16) as u16)
            .collect();
        for ratio in [1e-9, 0.001, 0.1, 0.5, 0.999, 1.0] {
            for tails in [(Tail::High, Tail::High), (Tail::Low, Tail::High)] {
                let rules = [
                    Rule {
                        sign: Sign::Positive,
                        tail: tails.0,
                        ratio,
                        factor: 1.5,
                    },
                    Rule {
                        sign: Sign::Negative,
                        tail: tails.1,
                        ratio,
                        factor: 0.5,
                    },
                ];
                let layout = Layout::Padded {
                    rows: n / cols,
                    cols,
                };
                let expected = naive::<F32>(&logprobs, &mask, &advantages, &rules);
                let expected_brain = naive::<Bf16>(&brain, &mask, &advantages, &rules);
                for threads in [1, 3] {
                    let got = fast::<F32>(layout, &logprobs, &mask, &advantages, &rules, threads);
                    assert!(
                        got == expected,
                        "{name}, ratio {ratio}, {tails:?}, {threads} threads"
                    );
                    let got = fast::<Bf16>(layout, &brain, &mask, &advantages, &rules, threads);
                    assert!(
                        got == expected_brain,
                        "{name} in bf16, ratio {ratio}, {tails:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn bad_values_name_their_position() {
    let run = |logprobs: &[f32], mask: &[u8], advantages: &[f64], drop: bool| {
        let (mask, signs) = (Flags::new(mask), Signs::<F64, _>::per_token(advantages));
        let batch = Batch::<F32>::new(
            Layout::Padded { rows: 2, cols: 2 },
            &logprobs,
            &mask,
            &signs,
        );
        let batch = batch.drop_nonfinite(drop);
        let rules = [Rule {
            sign: Sign::Positive,
            tail: Tail::High,
            ratio: 1.0,
            factor: 2.0,
        }];
        let mut out = [0.0_f32; 4];
        let result = token_weights(
            &batch,
            &rules,
            &Selector::Quantile,
            &Gate::All(true),
            1,
            &mut out,
        );
        result.map(|tally| (out, tally.dropped))
    };
    let ones = [1.0; 4];
    let infinite = [-1.0, -1.0, f32::NEG_INFINITY, -1.0];
    let error = run(&infinite, &[1; 4], &ones, false).unwrap_err();
    assert_eq!(
        error,
        Error::NotFinite {
            row: 1,
            column: 0,
            value: f64::NEG_INFINITY
        }
    );
    assert_eq!(error.position(), Some((1, 0)));
    assert_eq!(
        run(&infinite, &[1; 4], &ones, true),
        Ok(([2.0, 2.0, 1.0, 2.0], 1))
    );
    // Outside the mask, or without an advantage, nothing is looked at.
    assert!(run(&infinite, &[1, 1, 0, 1], &ones, false).is_ok());
    assert!(run(&infinite, &[1; 4], &[1.0, 1.0, 0.0, 1.0], false).is_ok());
    let positive = [-1.0, 0.5, -1.0, -1.0];
    assert!(matches!(
        run(&positive, &[1; 4], &ones, false),
        Err(Error::Positive {
            row: 0,
            column: 1,
            ..
        })
    ));
    assert!(run(&[5e-4, -1.0, -1.0, -1.0], &[1; 4], &ones, false).is_ok());
    let undecided = [1.0, 1.0, 1.0, f64::NAN];
    let error = run(&[-1.0; 4], &[1; 4], &undecided, true).unwrap_err();
    assert_eq!(error, Error::NanAdvantage { row: 1, column: 1 });
    assert!(run(&[-1.0; 4], &[1, 1, 1, 0], &undecided, false).is_ok());
    assert!(matches!(
        run(&[-1.0; 3], &[1; 4], &ones, false),
        Err(Error::Length { .. })
    ));
}
