//! Names, equations, quantities, words and the rest.

use super::super::super::tree::Operator;
use super::*;

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
        &[
            ("x = 5", "y = 5"),
            ("y = 2x", "y = 3x"),
            ("x = 1, x = 2", "x = 1, y = 2"),
            ("x = 3, x = 5", "a = 3, b = 5"),
        ],
    );
    undecided(&[
        ("f(x) = 2x", "g(x) = 2x"),
        ("x = 1, y = 2", "2, 1"),
        ("x = 1, y = 2", "1, 2"),
        ("x = 1, y = 2", r"\{1, 2\}"),
        ("x_1 = 5", "x = 5"),
        ("y = 2, x = 1", "(2, 1)"),
        ("y = 2x", "F(t) = 2x"),
        ("y = 5", "f(2) = 5"),
        (r"(20\%, 30\%)", "(20, 0.3)"),
        (r"20\%, 30\%", "0.2, 30"),
        (r"5 \text{ cm}, 3 \text{ m}", "3, 5"),
        ("(3, 1)", "3 < x < 1"),
        ("(1, 1)", "1 < x < 1"),
        ("x = 2", "x^2 = 4, x > 0"),
        ("5", "V"),
        ("4", "d(6)"),
        ("13", "F_7"),
        (r"x_{i,j}", "x_{ij}"),
        (r"\emptyset", r"\phi"),
    ]);
    both(
        Verdict::Correct,
        &[
            (r"(20\%, 30\%)", "(0.2, 0.3)"),
            (r"5 \text{ cm}, 3 \text{ m}", "5, 3"),
            ("x = 1, 2", "x_1 = 1, x_2 = 2"),
        ],
    );
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
        ("AB = BA", "bx - ay = 0"),
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
        (r"\text{no solution}", r"\text{none}"),
        (r"\text{(C)}", "12"),
        ("C", "12"),
        (r"\text{infinitely many}", r"\infty"),
        (r"\text{one half}", "5"),
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

#[test]
fn inner_sides_of_chains() {
    both(
        Verdict::Correct,
        &[
            (r"A = \pi r^2 = 9\pi", r"A = r^2 \pi = 9\pi"),
            (r"A = \pi r^2 = 9\pi", r"9\pi"),
            (r"x = \frac{10}{4} = 2.5", "x = 2.5"),
        ],
    );
    undecided(&[
        (r"A = \pi r^2 = 9\pi", r"A = \pi r^3 = 9\pi"),
        ("P(A) = 1", "P(B) = 1"),
    ]);
    assert_eq!(reason(r"x = 2 \cdot 3 = 7", "7"), Reason::FalseStatement);
    assert_eq!(reason("7", r"x = 2 \cdot 3 = 7"), Reason::Unproved);
}

#[test]
fn ratios_that_look_like_times() {
    undecided(&[("6:10", "12:20"), ("3:5", "6:10"), ("1:2", "1:02")]);
    different(&[("3:5", "6:15"), ("3:5", "6:10 p.m.")]);
}

#[test]
fn keys_have_units_of_measure_and_no_others() {
    let same = |left: &str, right: &str| key(&parse(left)) == key(&parse(right));
    for (left, right) in [
        (r"5 \text{ cm}", r"0.05 \text{ m}"),
        (r"x = 5 \text{ cm}", r"5 \text{ cm}"),
        (r"30 \text{ minutes}", r"0.5 \text{ hours}"),
        (r"5 \text{ cents}", r"\$0.05"),
        (r"\$5", "5"),
        (r"90^\circ", "90"),
        (r"50\%", "0.5"),
        (r"5 \text{ apples}", "5"),
        ("x = 5", "5"),
    ] {
        assert!(same(left, right), "{left} | {right}");
    }
    for (left, right) in [
        (r"5 \text{ cm}", r"5 \text{ m}"),
        (r"5 \text{ cm}", r"5 \text{ cm}^2"),
        (r"5 \text{ cm}", "5"),
        (r"\$5", r"5 \text{ cents}"),
        (r"\gcd(n, 3)", r"\gcd(n, 6)"),
        (r"\gcd(k, p - 1)", r"\gcd(k, p - 7)"),
        (r"\max(x, 3)", r"\max(x, 5)"),
        ("e^{2x}", "e^{2x} + 1"),
        ("x^{-101}", "x^{-107}"),
        ("1 + 1 = 3", "3"),
    ] {
        assert!(!same(left, right), "{left} | {right}");
    }
}

#[test]
fn equal_sets_and_times_share_a_key() {
    equal(&[
        &[r"12:00 \text{ a.m.}", "0:00"],
        &[r"1 : \sqrt{2}", r"\sqrt{2} : 2"],
        &[
            r"\begin{cases} x & x > 0 \\ -x & x \le 0 \end{cases}",
            r"\begin{cases} -x & x \le 0 \\ x & x > 0 \end{cases}",
        ],
        &[r"\{x \mid x < -1 \text{ or } x > 1\}", "|x| > 1"],
    ]);
}
