//! Answers that are cheap to write and dear to evaluate: always a verdict, never a wrong one.
//!
//! Work is counted by the verifier itself; the clock here only catches what is far out of bounds.
//! `bench/verify_corpora.py --bombs` times the same inputs in an optimised build.

use std::time::{Duration, Instant};

use stare_core::answer::{grade, Options, Verdict};

/// Name, then counts and pieces, between tabulators; `@` stands for the index of the repetition.
const BOMBS: &str = include_str!("../../../tests/data/verify_bombs.tsv");

/// One answer of a slow unoptimised build on a busy machine.
const FAR_TOO_LONG: Duration = Duration::from_secs(3);

#[expect(clippy::unwrap_used, reason = "a test may panic: that is how it fails")]
fn bombs() -> impl Iterator<Item = (&'static str, String)> {
    BOMBS.lines().map(|line| {
        let mut fields = line.split('\t');
        let name = fields.next().unwrap();
        let mut text = String::new();
        while let (Some(count), Some(piece)) = (fields.next(), fields.next()) {
            for index in 0..count.parse::<usize>().unwrap() {
                text += &piece.replace('@', &index.to_string());
            }
        }
        (name, text)
    })
}

fn boxed(answer: &str) -> String {
    format!("\\boxed{{{answer}}}")
}

#[test]
fn every_bomb_gets_a_verdict() {
    let mut slow = Vec::new();
    for (name, bomb) in bombs() {
        for gold in ["1", "-\\frac{1}{3}", "\\sqrt{2}+x", "(1,2)", "x=3"] {
            for (completion, gold) in [
                (boxed(&bomb), gold),
                (boxed(gold), &bomb),
                (bomb.clone(), gold),
            ] {
                let start = Instant::now();
                let _ = grade(&completion, &[gold], &Options::default());
                if start.elapsed() > FAR_TOO_LONG {
                    slow.push((name, start.elapsed()));
                }
            }
        }
    }
    assert!(slow.is_empty(), "{slow:?}");
}

#[test]
fn no_bomb_differs_from_itself() {
    let mut wrong = Vec::new();
    for (name, bomb) in bombs().filter(|(_, bomb)| !bomb.contains("boxed")) {
        // Not the same text, so that more than the spelling is compared.
        for gold in [
            bomb.clone(),
            format!("\\displaystyle {bomb}"),
            format!(" {bomb} ."),
        ] {
            let start = Instant::now();
            let completion = boxed(&bomb);
            let grade = grade(&completion, &[&gold], &Options::default());
            assert!(
                start.elapsed() < FAR_TOO_LONG,
                "{name}: {:?}",
                start.elapsed()
            );
            if grade.verdict() == Verdict::Incorrect && grade.extracted.is_some() {
                wrong.push((name, grade.reason));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// Values that nobody can write down still differ from those next to them, or are undecided.
#[test]
fn neighbours_of_bombs_are_never_equal() {
    const NUMBERS: [&str; 6] = [
        "power tower",
        "power of ten",
        "long power",
        "factorial",
        "binomial",
        "long integer",
    ];
    for (name, bomb) in bombs().filter(|(name, _)| NUMBERS.contains(name)) {
        for other in [
            format!("{bomb}+1"),
            format!("2\\cdot {bomb}"),
            format!("-{bomb}"),
        ] {
            for (answer, gold) in [(&bomb, &other), (&other, &bomb)] {
                let completion = boxed(answer);
                let grade = grade(&completion, &[gold], &Options::default());
                assert_ne!(
                    grade.verdict(),
                    Verdict::Correct,
                    "{name}: {}",
                    grade.reason.as_str()
                );
            }
        }
    }
}
