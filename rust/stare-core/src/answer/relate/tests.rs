//! The rules, from text to verdict, in both directions.

use std::fmt::Write;

use proptest::prelude::*;

use super::super::limits::Budget;
use super::super::syntax;
use super::super::tree::{Answer, Operator};
use super::super::value::Tolerance;
use super::super::verdict::{Reason, Verdict};
use super::{compare, key};

fn parse(text: &str) -> Answer {
    syntax::parse(text).unwrap_or_else(|error| panic!("{text}: {error:?}"))
}

fn reason(answer: &str, gold: &str) -> Reason {
    let (answer, gold) = (parse(answer), parse(gold));
    compare(&answer, &gold, Tolerance::None, &mut Budget::new())
}

fn verdict(answer: &str, gold: &str) -> Verdict {
    reason(answer, gold).verdict()
}

/// Every pair of a group, in both directions and by key.
fn equal(groups: &[&[&str]]) {
    let mut failures = String::new();
    for group in groups {
        for left in *group {
            for right in *group {
                let reason = reason(left, right);
                let keys = (key(&parse(left)), key(&parse(right)));
                if reason.verdict() != Verdict::Correct || keys.0 != keys.1 {
                    writeln!(failures, "{left} | {right}: {reason:?}, {keys:?}").unwrap();
                }
            }
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

fn both(expected: Verdict, pairs: &[(&str, &str)]) {
    let mut failures = String::new();
    for (left, right) in pairs {
        for (answer, gold) in [(left, right), (right, left)] {
            let reason = reason(answer, gold);
            if reason.verdict() != expected {
                writeln!(failures, "{answer} | {gold}: {reason:?}").unwrap();
            }
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

/// In both directions and by key.
fn different(pairs: &[(&str, &str)]) {
    both(Verdict::Incorrect, pairs);
    for (left, right) in pairs {
        assert_ne!(key(&parse(left)), key(&parse(right)), "{left} | {right}");
    }
}

fn undecided(pairs: &[(&str, &str)]) {
    both(Verdict::Undecided, pairs);
}

#[test]
fn lists() {
    equal(&[
        &[
            "1, 2, 3",
            r"\{3, 1, 2\}",
            "2, 1 \\text{ and } 3",
            r"\frac{4}{2}, 3, 1",
        ],
        &["5", r"\{5\}", "5.0"],
        &[
            r"1 \pm \sqrt{2}",
            r"1 - \sqrt{2}, 1 + \sqrt{2}",
            r"1 \mp \sqrt{2}",
        ],
        &["x=1, x=2", "x = 1, 2", r"x=2 \text{ or } x=1", "2, 1"],
        &["(1, 2), (3, 4)", "(3, 4), (1, 2)"],
        &[r"(\pm 1, 2)", "(1, 2), (-1, 2)"],
        &["a, b", "b, a"],
    ]);
    different(&[
        ("1331, 1728", "1728"),
        ("1, 2, 3", "1, 2"),
        ("1, 2, 3", "1, 2, 4"),
        (r"1 \pm \sqrt{2}", r"1 + \sqrt{2}"),
        ("(1, 2), (3, 4)", "(1, 2)"),
        ("(1, 2), (3, 4)", "(2, 1), (3, 4)"),
        ("n = 2, 3, 4", "n = 1, 2, 3"),
        ("x=1, y=2", "x=2, y=1"),
        ("x=1, y=2", "x=1"),
    ]);
    undecided(&[
        (r"\{1, 1, 2\}", r"\{1, 2\}"),
        (r"\{1, 234\}", "1234"),
        (r"\pm 1 \pm \sqrt{2}", r"1 + \sqrt{2}, 1 - \sqrt{2}"),
        ("(1, 2)", "1, 2"),
        ("(1, 2)", r"\{2, 1\}"),
        ("x + y = 1, x - y = 3", "x = 2, x + y = 1"),
    ]);
    different(&[("(1, 2)", "1, 3"), ("(1, 2, 3)", r"\{1, 2\}")]);
}

#[test]
fn guesses_at_everything() {
    let guesses = |count: usize| {
        let mut text = "0".to_owned();
        for n in 1..count {
            write!(text, ", {n}").unwrap();
        }
        text
    };
    assert_eq!(reason(&guesses(200), "204"), Reason::DifferentSizes);
    assert_eq!(reason("204", &guesses(200)), Reason::DifferentSizes);
}

#[test]
fn large_lists_are_cheap() {
    let item = |n: i64| super::edit::integer(n * 7919 % 400);
    let list = |numbers: &mut dyn Iterator<Item = i64>| Answer::List {
        items: numbers.map(|n| Answer::Expr(item(n))).collect(),
        braces: false,
    };
    let (left, right) = (list(&mut (0..400)), list(&mut (0..400).rev()));
    let mut budget = Budget::new();
    let reason = compare(&left, &right, Tolerance::None, &mut budget);
    assert_eq!(reason, Reason::EqualElements);
    budget.charge(super::super::limits::STEPS * 9 / 10).unwrap();
}

#[test]
fn tuples() {
    equal(&[
        &[
            "(1, 2)",
            r"\left(\frac{2}{2}, 2.0\right)",
            r"\langle 1, 2 \rangle",
        ],
        &["(1, 2, 3)", "[1, 2, 3]"],
        &["(3, 1)"],
    ]);
    different(&[
        ("(1, 2)", "(2, 1)"),
        ("(1, 2)", "(1, 2, 3)"),
        ("(1, 2)", "3"),
        ("[0, 100]", "42"),
        ("D = (0, 1)", "D = (0, 1.5)"),
    ]);
    undecided(&[
        ("(1, 2)", "[1, 2]"),
        (r"\begin{pmatrix}1\\2\end{pmatrix}", "(1, 2)"),
    ]);
}

#[test]
fn sets_of_reals() {
    equal(&[
        &[
            "(0, 1)",
            "0 < x < 1",
            "1 > x > 0",
            r"x \in (0, 1)",
            r"\{x \mid 0 < x < 1\}",
        ],
        &[
            r"[0, 1) \cup [1, 2]",
            "[0, 2]",
            r"0 \le x \le 2",
            r"|x - 1| \le 1",
        ],
        &[
            "x < 3",
            r"(-\infty, 3)",
            "3 > x",
            "2x < 6",
            "-x > -3",
            r"\{x : x < 3\}",
        ],
        &[
            r"(-\infty, 1) \cup (1, \infty)",
            r"\mathbb{R} \setminus \{1\}",
            r"x \ne 1",
            r"x < 1 \text{ or } x > 1",
            r"\{x \in \mathbb{R} \mid x \neq 1\}",
        ],
        &[r"(-\infty, \infty)", r"\mathbb{R}", r"x \in \mathbb{R}"],
        &[r"[2, 3] \cap [3, 4]", "3"],
        &[
            r"(-\infty, 1) \cup (2, \infty)",
            r"(2, \infty) \cup (-\infty, 1)",
            "|x - 1.5| > 0.5",
        ],
        &["(a, b]", "(a, b]"],
        &[r"[\sqrt{2}, \pi)", r"\sqrt{2} \le t < \pi"],
    ]);
    different(&[
        ("[0, 1)", "(0, 1)"),
        ("(0, 1)", r"0 \le x < 1"),
        ("x < 3", "x > 3"),
        ("x < 3", r"x \le 3"),
        ("x < 3", "3"),
        (r"[3, \infty)", "3"),
        (r"\{x \mid -2 \le x < 1\}", r"\{x \mid -7 \le x < 1\}"),
        (r"(0, 1) \cup (2, 3)", "(0, 1)"),
        (r"(0, 1) \cup (2, 3)", r"(0, 1) \cup (2, 4)"),
        (r"(0, 1) \cup (2, 3)", r"(0, 1) \cup (9, 3)"),
        (r"\mathbb{Z}", r"\mathbb{R}"),
        ("(a, b]", "(a, c]"),
    ]);
    both(Verdict::Incorrect, &[("x < 3", "y < 3")]);
    undecided(&[
        (r"n \ge 4", "n > 3"),
        (r"\emptyset", r"\text{no solution}"),
        (r"x > 1, x > 3", r"x > 1"),
    ]);
}

#[test]
fn names() {
    equal(&[
        &["x = 5", "5", "5 = x", "x = 2 + 3"],
        &["y = 2x + 3", "2x + 3", "f(x) = 3 + 2x", "f(x) = 2x + 3"],
        &["V = \\pi r^2 h", "\\pi h r^2"],
        &["AB = 5", "5"],
        &["\\text{Area} = 5", "5"],
        &["x = 1, y = 2", "y = 2, x = 1", "(x, y) = (1, 2)"],
        &[r"x = \frac{10}{4} = 2.5", "2.5"],
        &["AB = AC"],
    ]);
    both(
        Verdict::Correct,
        &[
            ("x = 1, y = 2", "(1, 2)"),
            ("x = 1, y = 2", "1, 2"),
            ("y = 2x + 3", "2x - y + 3 = 0"),
            ("AB = AC", "AC = AB"),
            ("f(x) = 2x", "f(t) = 2t"),
            ("x = y", "y = x"),
        ],
    );
    different(&[
        ("x = 5", "x = 6"),
        ("x = 5", "6"),
        ("x = 1, y = 2", "(2, 1)"),
        ("f(x) = 2x", "3x"),
        ("y = 2x + 3", "y = 2x"),
    ]);
    both(
        Verdict::Incorrect,
        &[("x = 5", "y = 5"), ("y = 2x", "y = 3x")],
    );
    undecided(&[
        ("f(x) = 2x", "g(x) = 2x"),
        ("x = 1, y = 2", "2, 1"),
        ("x_1 = 5", "x = 5"),
        ("y = 2, x = 1", "(2, 1)"),
    ]);
}

#[test]
fn equations() {
    equal(&[
        &[
            "2x + 3y = 6",
            "4x + 6y = 12",
            "6 - 2x = 3y",
            "-2x - 3y + 6 = 0",
        ],
        &["x^2 + y^2 = 1", "1 - x^2 = y^2"],
        &["a + b + c = 0", "c + b = -a"],
    ]);
    different(&[
        ("2x + 3y = 6", "2x + 3y = 7"),
        ("4x^2 + 8x + 19 = 0", "4x^2 + 8x + 12 = 0"),
        ("x^2 + 1 = 0", "x^2 + 2 = 0"),
        ("2x + z = 1", "1"),
        ("x^2 - 25 = 0", "x - 24 = 0"),
        ("2x + 3 = 7", "6"),
        ("x = 3", "x > 3"),
        ("x^2 + y^2 = 1", "(1, 2)"),
    ]);
    undecided(&[
        ("x^2 = 0", "x = 0"),
        ("2x + 3 = 7", "2"),
        ("a + b = 5", "5"),
    ]);
}

#[test]
fn unnamed_operators_are_never_equal() {
    let statement = Answer::Relation {
        sides: vec![parse("a"), parse("b")],
        operators: vec![Operator::Other],
    };
    let reason = compare(&statement, &statement, Tolerance::None, &mut Budget::new());
    assert_eq!(reason, Reason::Ambiguous);
}

#[test]
fn statements_about_numbers() {
    for (answer, gold, expected) in [
        ("43 = 42", "42", Reason::FalseStatement),
        ("42 = 42", "42", Reason::FalseStatement),
        ("0 = 0", "2x + 3 = 7", Reason::FalseStatement),
        ("x = x + 1", "2x + 3 = 7", Reason::FalseStatement),
        ("x + 1 = 1 + x", "2x + 3 = 7", Reason::FalseStatement),
        ("42", "43 = 42", Reason::Unproved),
        (
            r"\cos 0 = 1, \sin 0 = 2",
            r"\cos 0 = 1, \sin 0 = 0",
            Reason::FalseStatement,
        ),
        ("2^2 = 4", "2 + 2 = 4", Reason::Unproved),
    ] {
        assert_eq!(reason(answer, gold), expected, "{answer} | {gold}");
    }
    both(
        Verdict::Correct,
        &[
            ("2 + 3 = 5", "5"),
            (r"\frac{10}{3} \approx 3.33", r"\frac{10}{3}"),
            (r"\frac{10}{3} \approx 3.33", "3.33"),
            (r"x = \sqrt{2} \approx 1.41", r"x = \sqrt{2}"),
            (r"\log_4 8 = \frac{3}{2}", r"\log_4 8 = 1.5"),
        ],
    );
    different(&[("2 + 3 = 5", "6"), (r"\log_4 8 = \frac{3}{2}", "2")]);
    undecided(&[(r"\frac{11}{3} \approx 3.33", "3.33")]);
}

#[test]
fn inequalities() {
    equal(&[
        &["x + y < 1", "1 > y + x", "2x + 2y < 2", "-x - y > -1"],
        &["a < b < c", "c > b > a"],
        &[r"p + q \geq 4", r"4 \le q + p"],
    ]);
    different(&[
        ("x + y < 1", "x + y > 1"),
        ("x + y < 1", r"x + y \le 1"),
        ("a < b < c", "a < c < b"),
        ("x^2 < 4", "x^2 < 9"),
        (r"p + q \geq 4", r"p + q \geq 5"),
    ]);
    undecided(&[("x^2 < 4", "x^4 < 16")]);
}

#[test]
fn quantities() {
    both(
        Verdict::Correct,
        &[
            ("10", r"10 \text{ cm}"),
            (r"10 \text{ cm}", r"0.1 \text{ m}"),
            (r"10 \text{ cm}", r"10 \text{ cm}"),
            (r"50\%", "0.5"),
            (r"90^\circ", "90"),
            (r"10^\circ, 50^\circ", "50, 10"),
            (r"x = 5 \text{ cm}", "5"),
            (r"5 \text{ apples}", "5"),
        ],
    );
    both(
        Verdict::Incorrect,
        &[
            (r"10 \text{ cm}", r"10 \text{ m}"),
            (r"10 \text{ cm}", r"10 \text{ s}"),
            (r"50\%", "5000"),
            (r"10 \text{ cm}", "13"),
            (r"90^\circ", "91"),
            (r"5 \text{ apples}", r"6 \text{ oranges}"),
        ],
    );
    undecided(&[
        (r"90^\circ", r"\frac{\pi}{2}"),
        (r"5 \text{ apples}", r"5 \text{ oranges}"),
        (r"12 \text{ months}", r"365 \text{ days}"),
    ]);
    for (answer, gold, expected) in [
        ("28", r"28\%", Verdict::Correct),
        ("0.28", r"28\%", Verdict::Correct),
        (r"33.5\%", "0.335", Verdict::Correct),
        (r"5\%", "5", Verdict::Undecided),
        (r"500 \text{ cm}", "5", Verdict::Undecided),
        ("500", r"5 \text{ m}", Verdict::Incorrect),
    ] {
        assert_eq!(verdict(answer, gold), expected, "{answer} | {gold}");
    }
}

#[test]
fn numerals() {
    equal(&[
        &["1:2", "2:4", r"\frac{1}{2} : 1"],
        &["204_5", r"204_{5}", r"54_{10}"],
    ]);
    both(Verdict::Correct, &[(r"16:30", r"4:30 \text{ p.m.}")]);
    different(&[
        ("1:2", "2:1"),
        ("1:2", "1:2:3"),
        ("204_5", "204_6"),
        ("204_5", "55"),
        ("7:32", "7:23"),
        ("12:00", "12"),
        (r"4:30 \text{ a.m.}", r"4:30 \text{ p.m.}"),
    ]);
    undecided(&[
        ("204_5", "204"),
        ("204_5", "54"),
        ("1:2", r"\frac{1}{2}"),
        (r"4:30 \text{ p.m.}", "4:30"),
        ("12:16", "15:20"),
    ]);
}

#[test]
fn words() {
    both(
        Verdict::Correct,
        &[
            (r"\text{Evelyn}", r"\text{evelyn}"),
            (r"\text{(C)}", "C"),
            (r"\text{C}", "(C)"),
            (r"\text{yes}", r"\text{Yes}"),
        ],
    );
    different(&[
        (r"\text{No}", r"\text{on}"),
        (r"\text{yes}", r"\text{no}"),
        (r"\text{odd}", r"\text{oddd}"),
        (r"\text{(C)}", "B"),
        (r"\text{(C)}", r"\text{(D)}"),
        (r"\text{odd}", "42"),
        (r"\text{no solution}", "42"),
        (r"\text{no solution}", "(1, 2)"),
        (r"\text{seven}", "5"),
        (r"\text{yes}", "(1, 2]"),
    ]);
    undecided(&[
        (r"\text{five}", "5"),
        (r"\text{no solution}", r"\text{none}"),
        (r"\text{(C)}", "12"),
        ("C", "12"),
        (r"\text{infinitely many}", r"\infty"),
        (r"\text{one half}", "5"),
    ]);
}

#[test]
fn matrices() {
    equal(&[&[
        r"\begin{pmatrix}1&2\\3&4\end{pmatrix}",
        r"\begin{bmatrix}1&\frac{4}{2}\\3&4.0\end{bmatrix}",
    ]]);
    different(&[
        (
            r"\begin{pmatrix}1&2\\3&4\end{pmatrix}",
            r"\begin{pmatrix}1&2\\3&5\end{pmatrix}",
        ),
        (
            r"\begin{pmatrix}1&2\\3&4\end{pmatrix}",
            r"\begin{pmatrix}1&2&3\\4&5&6\end{pmatrix}",
        ),
        (r"\begin{pmatrix}1\\2\end{pmatrix}", "(1, 3)"),
        (r"\begin{pmatrix}1\\2\end{pmatrix}", "3"),
    ]);
    undecided(&[(
        r"\begin{pmatrix}1\\2\end{pmatrix}",
        r"\begin{pmatrix}1&2\end{pmatrix}",
    )]);
}

#[test]
fn families() {
    both(
        Verdict::Correct,
        &[
            (r"x = k\pi, k \in \mathbb{Z}", r"x = n\pi, n \in \mathbb{Z}"),
            (r"k\pi, k \in \mathbb{Z}", r"-n\pi + 3\pi, n \in \mathbb{Z}"),
            (
                r"x = \frac{\pi}{6} + 2k\pi, \frac{5\pi}{6} + 2k\pi, k \in \mathbb{Z}",
                r"x = \frac{5\pi}{6} + 2n\pi, \frac{\pi}{6} - 2n\pi, n \in \mathbb{Z}",
            ),
            (
                r"\bigcup_{k=-\infty}^{\infty} (2k\pi, (2k+2)\pi)",
                r"\bigcup_{n \in \mathbb{Z}} (2n\pi, 2n\pi + 2\pi)",
            ),
        ],
    );
    both(
        Verdict::Incorrect,
        &[
            (
                r"x = k\pi, k \in \mathbb{Z}",
                r"x = 2k\pi, k \in \mathbb{Z}",
            ),
            (
                r"x = k\pi, k \in \mathbb{Z}",
                r"x = k\pi + \frac{\pi}{2}, k \in \mathbb{Z}",
            ),
            (r"x = k\pi, k \in \mathbb{Z}", "0"),
        ],
    );
    undecided(&[
        (r"x = k\pi, k \in \mathbb{Z}", r"x = k\pi"),
        (r"k^2, k \in \mathbb{Z}", r"n k, n \in \mathbb{Z}"),
    ]);
}

#[test]
fn constants_of_integration() {
    undecided(&[
        (r"y = c_1 e^x + c_2 e^{-x}", r"y = A e^x + B e^{-x}"),
        (r"\ln |x| + C", r"\ln |2x| + C"),
        ("2X", "2x"),
    ]);
    different(&[(r"x^2 + C", r"x^3 + C"), ("2x", "2y")]);
}

/// Small whole numbers, halves and roots.
fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        (-5..=5).prop_map(|n: i32| n.to_string()),
        (-5..=5).prop_map(|n: i32| format!("{n}.5")),
        (1..=5, 2..=7).prop_map(|(n, d): (i32, i32)| format!(r"\frac{{{n}}}{{{d}}}")),
        (2..=7).prop_map(|n: i32| format!(r"\sqrt{{{n}}}")),
    ]
}

/// Ends of intervals, with brackets. At least two: a single pair may be a tuple.
fn intervals() -> impl Strategy<Value = Vec<(i32, i32, bool, bool)>> {
    let interval = (-6..=5_i32, 1..=4_i32, any::<bool>(), any::<bool>());
    proptest::collection::vec(
        interval.prop_map(|(from, length, a, b)| (from, from + length, a, b)),
        2..5,
    )
}

fn union(intervals: &[(i32, i32, bool, bool)]) -> String {
    let texts: Vec<_> = intervals
        .iter()
        .map(|(from, to, lower, upper)| {
            let open = if *lower { '[' } else { '(' };
            let close = if *upper { ']' } else { ')' };
            format!("{open}{from}, {to}{close}")
        })
        .collect();
    texts.join(r" \cup ")
}

/// Whether half a number is in a union.
fn contains(intervals: &[(i32, i32, bool, bool)], half: i32) -> bool {
    intervals.iter().any(|&(from, to, lower, upper)| {
        2 * from < half && half < 2 * to || lower && half == 2 * from || upper && half == 2 * to
    })
}

/// Answers of all kinds.
fn answer() -> impl Strategy<Value = String> {
    let list = proptest::collection::vec(number(), 1..4)
        .prop_map(|items| items.join(", "))
        .boxed();
    prop_oneof![
        number(),
        list.clone(),
        list.clone().prop_map(|items| format!(r"\{{{items}\}}")),
        list.clone().prop_map(|items| format!("({items})")),
        list.prop_map(|items| format!("x = {items}")),
        intervals().prop_map(|intervals| union(&intervals)),
        (
            number(),
            prop_oneof![Just("<"), Just(r"\le"), Just(">"), Just(r"\ne")]
        )
            .prop_map(|(n, operator)| format!("x {operator} {n}")),
        (number(), number()).prop_map(|(a, b)| format!("{a} < x < {b}")),
        (number(), number()).prop_map(|(a, b)| format!("{a} x + {b} y = 1")),
        number().prop_map(|n| format!(r"{n} \text{{ cm}}")),
        number().prop_map(|n| format!(r"x = {n} + k\pi, k \in \mathbb{{Z}}")),
        prop_oneof![Just("yes"), Just("none"), Just("five")].prop_map(|w| format!(r"\text{{{w}}}")),
    ]
}

proptest! {
    #[test]
    fn unions_are_equal_as_their_points_say(left in intervals(), right in intervals()) {
        let same = (-14..=20).all(|half| contains(&left, half) == contains(&right, half));
        let expected = if same { Verdict::Correct } else { Verdict::Incorrect };
        prop_assert_eq!(verdict(&union(&left), &union(&right)), expected);
        prop_assert_eq!(key(&parse(&union(&left))) == key(&parse(&union(&right))), same);
    }

    #[test]
    fn permuted_lists_are_equal(
        (items, shuffled) in proptest::collection::vec(number(), 1..6)
            .prop_flat_map(|items| (Just(items.clone()), Just(items).prop_shuffle()))
    ) {
        let (left, right) = (items.join(", "), shuffled.join(", "));
        prop_assert_eq!(verdict(&left, &right), Verdict::Correct);
        prop_assert_eq!(key(&parse(&left)), key(&parse(&right)));
    }

    #[test]
    fn verdicts_are_symmetric_and_equal_answers_share_a_key(left in answer(), right in answer()) {
        let (Ok(a), Ok(b)) = (syntax::parse(&left), syntax::parse(&right)) else {
            return Ok(());
        };
        let forth = compare(&a, &b, Tolerance::None, &mut Budget::new());
        let back = compare(&b, &a, Tolerance::None, &mut Budget::new());
        let units = left.contains("text") || right.contains("text");
        prop_assert!(units || forth.verdict() == back.verdict(), "{:?} {:?}", forth, back);
        if forth.verdict() == Verdict::Correct && forth != Reason::RoundedDecimal {
            prop_assert_eq!(key(&a), key(&b));
        }
        let same = compare(&a, &a, Tolerance::None, &mut Budget::new());
        prop_assert_eq!(same.verdict(), Verdict::Correct);
    }

    #[test]
    fn a_small_budget_is_a_limit_and_no_verdict_changes(
        left in answer(), right in answer(), steps in 0_u64..400,
    ) {
        let (Ok(a), Ok(b)) = (syntax::parse(&left), syntax::parse(&right)) else {
            return Ok(());
        };
        let full = compare(&a, &b, Tolerance::None, &mut Budget::new());
        let mut budget = Budget::new();
        budget.charge(super::super::limits::STEPS - steps).unwrap();
        let short = compare(&a, &b, Tolerance::None, &mut budget);
        prop_assert!(
            short.verdict() == Verdict::Undecided || short.verdict() == full.verdict(),
            "{:?} {:?}", short, full
        );
    }
}
