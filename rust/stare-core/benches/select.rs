//! Time of the passes without Python: `cargo bench -p stare-core`. Best of forty, C2, 10 %.

#![allow(
    missing_docs,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::cast_precision_loss
)]

use std::time::Instant;

use stare_core::{
    token_weights, Batch, Flags, Gate, Layout, Rule, Selector, Sign, Signs, Tail, F32,
};

fn main() {
    let (rows, cols) = (512, 4096);
    let total = rows * cols;
    // A cheap generator: 70 % of the tokens nearly certain, as policies are.
    let mut state = 1_u64;
    let mut uniform = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1_u32 << 24) as f32
    };
    let logprobs: Vec<f32> = (0..total)
        .map(|_| (1.0 - uniform()).ln() * if uniform() < 0.7 { 0.01 } else { 1.0 })
        .collect();
    let row_advantages: Vec<f32> = (0..rows).map(|_| uniform() - 0.5).collect();
    let token_advantages: Vec<f32> = (0..total).map(|i| row_advantages[i / cols]).collect();
    let mask = vec![1_u8; total];
    let (logprobs, mask) = (&logprobs[..], Flags::new(&mask[..]));
    let (per_row, per_token) = (
        Signs::<F32, _>::per_row(&row_advantages[..]),
        Signs::<F32, _>::per_token(&token_advantages[..]),
    );
    let rule = |sign, factor| Rule {
        sign,
        tail: Tail::High,
        ratio: 0.1,
        factor,
    };
    let rules = [rule(Sign::Positive, 1.1), rule(Sign::Negative, 0.9)];
    let layout = Layout::Padded { rows, cols };
    let batches = [
        (
            "one advantage a row",
            Batch::<F32>::new(layout, &logprobs, &mask, &per_row),
        ),
        (
            "one advantage a token",
            Batch::<F32>::new(layout, &logprobs, &mask, &per_token),
        ),
    ];
    let mut out = vec![0.0_f32; total];
    for (name, batch) in &batches {
        for threads in [1, 2] {
            let mut best = f64::INFINITY;
            for _ in 0..40 {
                let start = Instant::now();
                let gate = Gate::All(true);
                token_weights(batch, &rules, &Selector::Quantile, &gate, threads, &mut out)
                    .unwrap();
                best = best.min(start.elapsed().as_secs_f64());
            }
            let each = best / total as f64 * 1e9;
            println!(
                "{name}, {threads} threads: {:.2} ms, {each:.2} ns a token",
                best * 1e3
            );
        }
    }
}
