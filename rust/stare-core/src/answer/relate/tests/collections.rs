//! Lists, tuples, sets, matrices and families.

use super::*;

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
    let item = |n: i64| super::super::edit::integer(n * 7919 % 400);
    let list = |numbers: &mut dyn Iterator<Item = i64>| Answer::List {
        items: numbers.map(|n| Answer::Expr(item(n))).collect(),
        braces: false,
    };
    let (left, right) = (list(&mut (0..400)), list(&mut (0..400).rev()));
    let mut budget = Budget::new();
    let reason = compare(&left, &right, Tolerance::None, &mut budget);
    assert_eq!(reason, Reason::EqualElements);
    budget
        .charge(super::super::super::limits::STEPS * 9 / 10)
        .unwrap();
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
fn sets_of_sets() {
    equal(&[&[r"\{\emptyset, \{1\}\}", r"\{\{1\}, \emptyset\}"]]);
    both(
        Verdict::Incorrect,
        &[(r"\{\{1\}, \{2, 3\}\}", r"\{\{1, 2\}, \{3\}\}")],
    );
    undecided(&[
        (r"\{\emptyset\}", r"\emptyset"),
        (r"\{\{1\}\}", r"\{1\}"),
        (r"\{\emptyset, \{1\}\}", r"\{\emptyset, 1\}"),
        ("[3, 3]", "3"),
    ]);
}

#[test]
fn unions_of_families() {
    equal(&[
        &[
            r"x = k\pi, k \in \mathbb{Z}",
            r"x = 2n\pi, x = (2n+1)\pi, n \in \mathbb{Z}",
            r"-m\pi, m \in \mathbb{Z}",
        ],
        &[
            r"x = \pm\frac{\pi}{4} + k\pi, k \in \mathbb{Z}",
            r"x = \frac{\pi}{4} + \frac{k\pi}{2}, k \in \mathbb{Z}",
        ],
        &[r"2k + 1, k \in \mathbb{Z}", r"2n - 1, n \in \mathbb{Z}"],
    ]);
    different(&[
        (
            r"x = \pm\frac{\pi}{4} + k\pi, k \in \mathbb{Z}",
            r"x = \frac{\pi}{4} + k\pi, k \in \mathbb{Z}",
        ),
        (
            r"\pm\frac{\pi}{3} + 2k\pi, k \in \mathbb{Z}",
            r"\pm\frac{\pi}{6} + 2k\pi, k \in \mathbb{Z}",
        ),
    ]);
    undecided(&[(r"2k + 1, k \in \mathbb{N}", r"2k - 1, k \in \mathbb{N}")]);
}

#[test]
fn letters_that_may_run_over_the_integers() {
    undecided(&[
        (r"\frac{\pi}{4} + k\pi", r"\frac{\pi}{4} + n\pi"),
        (r"\frac{\pi}{4} + k\pi", r"\frac{5\pi}{4} + k\pi"),
        (r"x = k\pi", r"x = 2k\pi, x = (2k+1)\pi"),
        ("2k + 1", "2n - 1"),
        ("2^k", "2^n"),
        (r"30^\circ + 360^\circ k", r"390^\circ + 360^\circ k"),
    ]);
    different(&[
        (r"\frac{\pi}{4} + k\pi", r"\frac{\pi}{3} + n\pi"),
        ("2n + 1", "2n - 1"),
        ("2^n", "2^{n-1}"),
        ("2x + 1", "2t + 1"),
    ]);
}

#[test]
fn differences_of_many_sets_are_cheap() {
    let mut text = String::from(r"\mathbb{R}");
    for n in 0..150 {
        write!(text, r" \setminus \{{{n}\}}").unwrap();
    }
    let mut budget = Budget::new();
    let (set, other) = (parse(&text), parse("(1, 2)"));
    let reason = compare(&set, &other, Tolerance::None, &mut budget);
    assert_eq!(reason, Reason::DifferentSets);
    budget
        .charge(super::super::super::limits::STEPS / 2)
        .unwrap();
}
