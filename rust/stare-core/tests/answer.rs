//! Properties of answer verification over generated text.

use std::num::NonZeroUsize;

use proptest::prelude::*;
use stare_core::answer::{compare, extract, grade, grade_batch, Reason, Verdict};

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
        prop_assert_eq!(graded.extracted, extract(&completion).ok());
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
        grade(r"\boxed{3}", &["1", "x"]).verdict(),
        Verdict::Undecided
    );
    assert_eq!(
        grade(r"\boxed{3}", &[] as &[&str]).verdict(),
        Verdict::Undecided
    );
    assert_eq!(grade("no idea", &[" "]).verdict(), Verdict::Undecided);
}

#[test]
fn threads_change_nothing() {
    let pairs: Vec<(String, Vec<String>)> = (0..1000)
        .map(|i| (format!("\\boxed{{{i}}}"), vec![(i / 2 * 2).to_string()]))
        .collect();
    let one = grade_batch(&pairs, NonZeroUsize::MIN);
    assert_eq!(
        one.iter()
            .filter(|g| g.verdict() == Verdict::Correct)
            .count(),
        500
    );
    for threads in [2, 3, 7, 100] {
        assert_eq!(
            grade_batch(&pairs, NonZeroUsize::new(threads).unwrap()),
            one
        );
    }
}

#[test]
fn degenerate_text_takes_linear_time() {
    for piece in [
        "\\boxed{",
        "\\boxed{}",
        "{",
        "}",
        "\\",
        "answer ",
        "answer is",
        "#",
        "####",
        "<think>",
        "\n",
        "* ",
    ] {
        let text = piece.repeat((1 << 20) / piece.len());
        let start = std::time::Instant::now();
        let graded = grade(&text, &["1"]);
        // A quadratic scan of a megabyte takes minutes; the bound is wide for a loaded machine.
        assert!(
            start.elapsed().as_secs() < 5,
            "{piece:?} took {:?}",
            start.elapsed()
        );
        assert_ne!(graded.verdict(), Verdict::Correct);
    }
}
