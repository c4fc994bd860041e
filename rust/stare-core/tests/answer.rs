//! Properties of answer verification over generated text.

use std::num::NonZeroUsize;

use proptest::prelude::*;
use stare_core::answer::{
    explain, extract, grade as grade_with, grade_batch, limits, Grade, How, Options, Profile,
    Reason, Tolerance, Verdict,
};

fn grade<'a>(completion: &'a str, golds: &[&str]) -> Grade<'a> {
    grade_with(completion, golds, &Options::default())
}

fn compare(answer: &str, gold: &str) -> Reason {
    stare_core::answer::compare(answer, gold, Tolerance::None)
}

/// Text made of the pieces that the scanner looks at.
fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        prop::sample::select(vec![
            "\\boxed",
            "\\fbox",
            "{",
            "}",
            "\\",
            "\\{",
            "\\}",
            "$",
            "####",
            "#",
            "answer is ",
            "Answer:",
            "\n",
            "**",
            "</think>",
            "<think>",
            "\\(",
            "\\)",
            "\\[",
            "\\]",
            "\\begin{align}",
            "\\end{align}",
            "and",
            "answer to it is ",
            "Final answer\n",
            "<answer>",
            ". So",
            "%",
            "2nd",
            "\\frac",
            "\\dfrac{1}",
            "1",
            "23",
            ",",
            ".",
            "/",
            "-",
            "+",
            " ",
            "\u{2212}",
            "é",
        ])
        .prop_map(str::to_owned),
        any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

/// `numerator / denominator` in several spellings of the same value.
fn spellings(numerator: i64, denominator: u32) -> Vec<String> {
    let sign = if numerator < 0 { "-" } else { "" };
    let (n, d) = (numerator.unsigned_abs(), u64::from(denominator));
    let mut all = vec![
        format!("{sign}{n}/{d}"),
        format!("{sign}\\frac{{{n}}}{{{d}}}"),
        format!("\\dfrac{{{sign}{}}}{{{}}}", 7 * n, 7 * d),
        format!("${sign} {n} / {d}$"),
        format!("\\({sign}{n}.0/{d}\\)."),
    ];
    if d == 1 {
        all.push(format!("{sign}{n}.00"));
        all.push(format!("00{n}").replacen("00", &format!("{sign}00"), 1));
    }
    all
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics(completion in hostile(), gold in hostile()) {
        let graded = grade(&completion, &[&gold]);
        let found = extract(&completion, Profile::Reward).ok();
        prop_assert_eq!(graded.how.is_some(), found.is_some());
        if graded.how != Some(How::Boxes) {
            prop_assert_eq!(graded.extracted.as_deref(), found.as_ref().map(|found| found.text));
        }
        prop_assert_eq!(compare(&completion, &gold).verdict(), compare(&gold, &completion).verdict());
    }

    #[test]
    fn a_boxed_gold_is_never_incorrect(tail in hostile()) {
        // What would open another box or a think block is left out; a digit keeps it from blank.
        let gold: String = "1".chars().chain(tail.chars().filter(|c| !"{}\\<".contains(*c))).collect();
        let completion = format!("so \\boxed{{{gold}}}");
        prop_assert_ne!(grade(&completion, &[&gold]).verdict(), Verdict::Incorrect);
    }

    #[test]
    fn spellings_of_one_value_are_equal(n in -1_000_000_i64..1_000_000, d in 1_u32..5_000) {
        for a in spellings(n, d) {
            for b in spellings(n, d) {
                prop_assert_eq!(compare(&a, &b).verdict(), Verdict::Correct, "{} against {}", a, b);
            }
        }
    }

    #[test]
    fn every_profile_takes_any_text(completion in hostile(), gold in hostile()) {
        for &profile in Profile::ALL {
            let options = Options { profile, ..Options::default() };
            let graded = grade_with(&completion, &[&gold], &options);
            let explained = explain(&completion, &[&gold], &options);
            prop_assert_eq!(explained.golds[0].1, graded.reason);
            prop_assert_eq!(explained.grade, graded);
        }
    }

    /// A profile that allows more finds an answer wherever a stricter one does, and the same one.
    #[test]
    fn lenient_extends_strict(completion in hostile()) {
        if let Ok(strict) = extract(&completion, Profile::Reward) {
            prop_assert_eq!(extract(&completion, Profile::Eval), Ok(strict));
        }
    }

    #[test]
    fn a_box_at_the_end_wins(text in hostile(), answer in "[a-z0-9+]{1,12}") {
        for &profile in Profile::ALL {
            // A think mark or an open box before it may claim what follows.
            let text = text.replace("think>", "").replace("boxed", "");
            let text = text.replace("fbox", "") + &format!("\n\n\\boxed{{{answer}}}");
            let found = extract(&text, profile);
            prop_assert_eq!(found.map(|found| (found.text, found.how)), Ok((&*answer, How::Box)));
        }
    }

    #[test]
    fn text_before_the_end_of_thinking_never_matters(thought in hostile(), text in hostile()) {
        for profile in [Profile::Reward, Profile::Eval] {
            let bare = format!("</think>{text}");
            let whole = format!("{thought}</think>{text}");
            prop_assert_eq!(extract(&whole, profile), extract(&bare, profile));
        }
    }

    /// Joined boxes only ever turn a verdict that one box would give into that of the list.
    #[test]
    fn boxes_in_a_row_are_a_list(a in 0_i64..9, b in 0_i64..9, c in 0_i64..9) {
        let completion = format!("$\\boxed{{{a}}}$ and $\\boxed{{{b}}}$");
        let last = grade(&completion, &[&c.to_string()]).verdict();
        prop_assert_eq!(last == Verdict::Correct, b == c);
        let list = format!("{a}, {b}");
        let graded = grade(&completion, &[&list]);
        prop_assert_eq!(graded.verdict(), Verdict::Correct);
        prop_assert_eq!(graded.how, Some(How::Boxes));
    }

    /// The slow twin: 128-bit cross multiplication.
    #[test]
    fn fractions_agree_with_cross_multiplication(
        a in -300_i64..300, b in 1_i64..40, c in -300_i64..300, d in 1_i64..40,
    ) {
        let equal = i128::from(a) * i128::from(d) == i128::from(c) * i128::from(b);
        let expected = if equal { Verdict::Correct } else { Verdict::Incorrect };
        prop_assert_eq!(compare(&format!("{a}/{b}"), &format!("{c}/{d}")).verdict(), expected);
    }

    #[test]
    fn decimals_agree_with_scaled_integers(a in -2_000_i64..2_000, p in 0_usize..5, c in -2_000_i64..2_000, q in 0_usize..5) {
        let text = |value: i64, places: usize| {
            let digits = format!("{:0width$}", value.unsigned_abs(), width = places + 1);
            let (whole, fraction) = digits.split_at(digits.len() - places);
            let point = if places == 0 { "" } else { "." };
            format!("{}{whole}{point}{fraction}", if value < 0 { "-" } else { "" })
        };
        let scaled = |value: i64, places: usize| value * 10_i64.pow(4 - u32::try_from(places).unwrap());
        let equal = scaled(a, p) == scaled(c, q);
        prop_assert_eq!(compare(&text(a, p), &text(c, q)).verdict() == Verdict::Correct, equal);
    }

    #[test]
    fn a_changed_digit_is_incorrect(digits in "[1-9][0-9]{0,40}(\\.[0-9]{1,20})?", at in any::<prop::sample::Index>()) {
        let position = at.index(digits.len());
        // The digit before the point in place of the point.
        let position = position - usize::from(digits.as_bytes()[position] == b'.');
        let mut changed = digits.clone().into_bytes();
        changed[position] = if changed[position] == b'9' { b'1' } else { changed[position] + 1 };
        let changed = String::from_utf8(changed).unwrap();
        prop_assert_eq!(compare(&changed, &digits), Reason::DifferentNumbers);
    }
}

#[test]
fn any_of_several_golds_counts() {
    assert_eq!(grade(r"\boxed{2}", &["1", "2"]).verdict(), Verdict::Correct);
    assert_eq!(
        grade(r"\boxed{3}", &["1", "2"]).verdict(),
        Verdict::Incorrect
    );
    assert_eq!(
        grade(r"\boxed{3}", &["1", r"\zzz{("]).verdict(),
        Verdict::Undecided
    );
    assert_eq!(grade(r"\boxed{3}", &[]).verdict(), Verdict::Undecided);
    assert_eq!(grade("no idea", &[" "]).verdict(), Verdict::Undecided);
}

#[test]
fn threads_change_nothing() {
    let options = Options::default();
    let pairs: Vec<(String, Vec<String>)> = (0..1000)
        .map(|i| (format!("\\boxed{{{i}}}"), vec![(i / 2 * 2).to_string()]))
        .collect();
    let one = grade_batch(&pairs, &options, NonZeroUsize::MIN);
    for ((completion, golds), graded) in pairs.iter().zip(&one) {
        assert_eq!(graded, &grade_with(completion, golds, &options));
    }
    assert_eq!(
        one.iter()
            .filter(|g| g.verdict() == Verdict::Correct)
            .count(),
        500
    );
    for threads in [2, 3, 7, 100] {
        assert_eq!(
            grade_batch(&pairs, &options, NonZeroUsize::new(threads).unwrap()),
            one
        );
    }
}

/// Pieces that would make a careless scanner quadratic.
const DEGENERATE: &[&str] = &[
    "\\boxed{",
    "\\boxed{}",
    "\\boxed{1},",
    "\\boxed ",
    "{",
    "}",
    "\\",
    "\\(",
    "\\[",
    "\\(1\\)",
    "$",
    "$ ",
    "$a ",
    "$1",
    "$$ a",
    "\\begin{align}",
    "answer ",
    "answer is",
    "answer to ",
    "answer\n",
    "answer***",
    "<answer>",
    "the answer is $a$. ",
    "\u{7b54}\u{6848}",
    "#",
    "####",
    "#### a",
    "#### 1\n",
    "<",
    "</",
    "<t",
    "<think",
    "<think>",
    "</s>",
    "[",
    "\u{25c1}",
    "\n",
    "\n ",
    "* ",
    "1",
    "1 ",
    "1,",
    "2nd ",
    "x2",
    "\u{e9}",
];

fn megabyte(piece: &str) -> String {
    piece.repeat(limits::COMPLETION_BYTES / piece.len())
}

#[test]
fn degenerate_text_takes_linear_time() {
    for piece in DEGENERATE {
        let text = megabyte(piece);
        for &profile in Profile::ALL {
            let options = Options {
                profile,
                ..Options::default()
            };
            let start = std::time::Instant::now();
            let graded = grade_with(&text, &["0"], &options);
            // A quadratic scan of a megabyte takes minutes; the bound is wide for a loaded machine.
            assert!(
                start.elapsed().as_secs() < 5,
                "{piece:?} took {:?}",
                start.elapsed()
            );
            assert_ne!(graded.verdict(), Verdict::Correct, "{piece:?}");
        }
    }
}

/// `cargo test --release -- --ignored --nocapture time_of`
#[test]
#[ignore = "a measurement"]
#[expect(clippy::print_stdout, reason = "it prints what it measures")]
fn time_of_degenerate_text() {
    for piece in DEGENERATE {
        let text = megabyte(piece);
        let times = Profile::ALL.iter().map(|&profile| {
            let options = Options {
                profile,
                ..Options::default()
            };
            (0..5)
                .map(|_| {
                    let start = std::time::Instant::now();
                    let graded = grade_with(&text, &["0"], &options);
                    assert_ne!(graded.verdict(), Verdict::Correct);
                    start.elapsed()
                })
                .min()
                .unwrap_or_default()
        });
        println!("{piece:?}: {:?}", times.collect::<Vec<_>>());
    }
}
