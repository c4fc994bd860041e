use super::*;
use crate::{Flags, Layout, Sign, Signs, F32};

fn run(logprobs: &[f32], ratio: f64, threads: usize) -> Option<u64> {
    let mask = vec![1_u8; logprobs.len()];
    let (mask, signs) = (
        Flags::new(&mask[..]),
        Signs::<F32, _>::per_row(&[1.0_f32][..]),
    );
    let layout = Layout::Padded {
        rows: 1,
        cols: logprobs.len(),
    };
    let batch = Batch::<F32>::new(layout, &logprobs, &mask, &signs);
    let rules = [Rule {
        sign: Sign::Positive,
        tail: Tail::High,
        ratio,
        factor: 2.0,
    }];
    let mut out = vec![0.0_f32; logprobs.len()];
    let tally = quick(&batch, &rules, true, threads, &mut out).ok()??;
    assert_eq!(
        out.iter().filter(|&&w| w > 1.0).count() as u64,
        tally.selected[0]
    );
    Some(tally.selected[0])
}

#[test]
fn takes_smooth_batches_and_leaves_ties() {
    let n = 300_000;
    let uniform = |i: u64| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as f32 / 16_777_216.0;
    let smooth: Vec<f32> = (0..n).map(|i| (1.0 - uniform(i)).ln()).collect();
    for threads in [1, 4] {
        assert_eq!(run(&smooth, 0.1, threads), Some(30_000));
        assert_eq!(run(&smooth, 0.5, threads), Some(150_000));
    }
    {
        // More equals than one thread may collect.
        assert_eq!(run(&vec![-0.5; n as usize], 0.1, 1), None);
    }
    assert_eq!(run(&smooth[..1000], 0.1, 1), None);
}
