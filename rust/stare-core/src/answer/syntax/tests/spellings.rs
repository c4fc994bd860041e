//! Groups of spellings of the same tree.

use super::shown;

const GROUPS: &[&[&str]] = &[
    // Numbers.
    &[
        "1234",
        "1,234",
        "1{,}234",
        r"1,\!234",
        r"1\,234",
        "1 234",
        "$1234$",
        r"\boxed{1234}",
        "1234.",
        "\u{ff11}234",
    ],
    &["1000000", "1,000,000", "1 000 000", r"1\,000\,000"],
    &[
        "-5",
        "\u{2212}5",
        "\u{2013}5",
        "- 5",
        r"\(-5\)",
        r"\[-5.\]",
        r"\text{-5}",
        "**-5**",
    ],
    &["0.5", "0.5.", r"\text{0.5}", "$0.5$"],
    &[
        r"\frac{1}{2}",
        "1/2",
        r"\frac12",
        r"\dfrac{1}{2}",
        r"\tfrac 1 2",
        r"\frac{1}2",
        "\u{bd}",
        r"\\frac{1}{2}",
        "(1)/(2)",
        r"1 \div 2",
    ],
    &[r"1\frac12", r"1 \frac{1}{2}", "1 1/2", "1\u{bd}"],
    &["11 5/6", r"11\frac56", r"11\tfrac{5}{6}"],
    &[
        r"1.6 \times 10^{-19}",
        "1.6 x 10^{-19}",
        "1.6 x 10^-19",
        r"1.6 \cdot 10^{-19}",
        "1.6*10**-19",
    ],
    &["2", r"\text{two}", "Two"],
    // Roots, powers, functions.
    &[
        r"\sqrt2",
        r"\sqrt{2}",
        "sqrt(2)",
        "\u{221a}2",
        r"\sqrt[2]{2}",
        "np.sqrt(2)",
    ],
    &[
        r"2\sqrt{13}",
        "2 sqrt(13)",
        "2sqrt(13)",
        "2*sqrt(13)",
        r"2\cdot\sqrt{13}",
        "2\u{221a}13",
        r"2 \times \sqrt{13}",
    ],
    &["x^2", "x**2", "x^{2}", "x\u{b2}", "{x}^2"],
    &["x^{10}", "x^10", "x**10"],
    &[r"40\sqrt{2}\pi", "40sqrt(2)pi", "40*sqrt(2)*pi"],
    &["e^{16}-1", "e^16-1", r"\mathrm{e}^{16} - 1"],
    &["exp(16)", r"\exp(16)", r"\exp{16}"],
    &[
        r"\arctan 1",
        "arctan(1)",
        r"\tan^{-1}(1)",
        "np.atan(1)",
        r"\operatorname{arctan}(1)",
        "atan(1)",
    ],
    &[
        r"\sin^2 t",
        r"\sin^2(t)",
        r"\sin^{2} t",
        "sin^2(t)",
        r"\sin(t)^2",
        r"(\sin t)^2",
    ],
    &[r"\sin 2x", r"\sin(2x)", r"\sin{2x}", r"\sin\left(2x\right)"],
    &[r"\log_{10} 250", r"\lg 250", r"\log_{10}(250)"],
    &[
        r"|x-1|",
        r"\left|x-1\right|",
        r"\lvert x-1\rvert",
        "abs(x-1)",
    ],
    &[
        r"\lfloor x \rfloor",
        r"\left\lfloor x\right\rfloor",
        "floor(x)",
        "\u{230a}x\u{230b}",
    ],
    &[r"\binom{5}{2}", r"\binom52", r"\dbinom{5}{2}"],
    &["2x", "2*x", r"2\cdot x", "2 x", "(2)x"],
    &["-3 i", "-3i", r"-3\mathrm{i}", r"-3\text{i}"],
    &["x_1", "x_{1}", "x\u{2081}"],
    &["f'(x)", r"f^{\prime}(x)", r"f^\prime(x)", "f\u{2032}(x)"],
    // Lists, tuples, sets, intervals.
    &[
        "1,2",
        "1, 2",
        "1 and 2",
        "1 or 2",
        r"1 \text{ and } 2",
        "1; 2",
        "$1$ and $2$",
        "$1$,$2$",
        "$1;2$",
    ],
    &["1,2,3", "1, 2, and 3", r"1, 2 \text{, and } 3", "1, 2 or 3"],
    &["(1,2)", r"\left(1,2\right)", "( 1 , 2 )", r"\big(1, 2\big)"],
    &[r"\{1,2\}", r"\left\{1, 2\right\}", r"\lbrace 1,2\rbrace"],
    &[
        r"(-\infty, 3)",
        r"\left(-\infty,3\right)",
        "(-\u{221e}, 3)",
        "(-infinity, 3)",
    ],
    &["(1,2]", "]1,2]"],
    &["[1,2)", "[1,2["],
    &[r"(0,1)\cup(2,3)", "(0,1)\u{222a}(2,3)", r"]0,1[ \cup ]2,3["],
    &[
        r"\begin{pmatrix}1\\2\end{pmatrix}",
        r"\begin{bmatrix} 1 \\ 2 \\ \end{bmatrix}",
        r"\left[\begin{array}{r}1\\2\end{array}\right]",
    ],
    &[
        "x=2,y=-1",
        "x = 2, y = -1",
        "[x=2, y=-1]",
        r"x=2 \text{ and } y=-1",
    ],
    // Relations.
    &[
        r"x\le 3",
        "x<=3",
        r"x \leq 3",
        r"x \leqslant 3",
        "x\u{2264}3",
    ],
    &["x != 3", r"x \ne 3", r"x\neq3", "x\u{2260}3"],
    &[r"x \in [-2,7]", "x\u{2208}[-2,7]"],
    &[
        r"x = k\pi, k\in\mathbb{Z}",
        r"x = k\pi \text{ for } k \in \mathbb Z",
        "x = k\u{3c0}, k\u{2208}\u{2124}",
        r"$x=k\pi$, where $k$ is an integer",
        r"$x=k\pi$, $k$ any integer",
        r"$x=k\pi$ for any integer $k$",
        r"x=k\pi \ (k\in\mathbb{Z})",
    ],
    &[
        r"\{x \mid x>1\}",
        r"\{x|x>1\}",
        r"\{x : x>1\}",
        r"\left\{x\mid x > 1\right\}",
    ],
    // Quantities.
    &[
        r"10\text{ cm}",
        r"10 \mathrm{cm}",
        r"10\,\mathrm{cm}",
        "10 cm",
        "10cm",
        r"10 \text{ centimeters}",
        r"10\mbox{ cm}",
        r"$10$ cm",
    ],
    &[
        r"3\text{ cm}^2",
        r"3 \text{ square centimeters}",
        r"3 cm^2",
        r"3 \mathrm{cm}^{2}",
        r"3 $cm^{2}$",
    ],
    &[
        "90^\\circ",
        "90^{\\circ}",
        "90\u{b0}",
        r"90 \text{ degrees}",
        r"90\degree",
    ],
    &[r"28\%", "28%", r"28 \%", r"28 \text{ percent}", r"$28\%$"],
    &[
        r"\$3.50",
        "$3.50",
        r"3.50 \text{ dollars}",
        r"\text{\$3.50}",
    ],
    &[
        r"5 \mathrm{ft}/\mathrm{sec}",
        r"5 \text{ feet per second}",
        r"5 \text{ ft/s}",
    ],
    // Others.
    &["204_5", "204_{5}", "0204_5"],
    &[
        r"4:30 \text{ p.m.}",
        r"\text{4:30 p.m.}",
        "4:30 PM",
        r"4\!:\!30 \text{ p.m.}",
        "4:30 p.m.",
        "4:30 pm",
    ],
    &["3:5", "3 : 5", r"3\colon 5"],
    &["No", "no.", r"\text{No}", r"\textbf{NO}", r"\mathrm{no}"],
    &[
        "No solution",
        r"\text{no solution}",
        r"\text{No } \text{solution}",
    ],
    &[
        r"\text{(E)}",
        r"\text{(E)},",
        "(E)",
        r"\textbf{(E)}",
        r"\text{E}",
    ],
    &[r"\emptyset", r"\varnothing", r"\{\}", "\u{2205}"],
];

#[test]
fn spellings_have_one_tree() {
    for group in GROUPS {
        let first = shown(group[0]);
        assert!(first.is_ok(), "{}: {first:?}", group[0]);
        for spelling in *group {
            assert_eq!(shown(spelling), first, "{spelling} as {}", group[0]);
        }
    }
}

#[test]
fn what_differs_has_another_tree() {
    for (left, right) in [
        ("x", "X"),
        ("x_1", "x_2"),
        ("ab", "AB"),
        ("(1,2)", "[1,2]"),
        ("(1,2)", "(2,1)"),
        (r"\{1,2\}", "(1,2)"),
        (r"\mathbf{i}", "i"),
        (r"5\%", "5"),
        ("204_5", "204_6"),
        ("No", "on"),
        (r"\frac{dy}{dx}", r"\frac{y}{x}"),
        (r"\log x", r"\ln x"),
        ("x+y", "x-y"),
        ("-2^2", "(-2)^2"),
        ("2^{3^2}", "(2^3)^2"),
        ("5!!", "(5!)!"),
        ("1.0", "1"),
        (r"10 \text{ cm}", r"10 \text{ m}"),
        (r"x>1 \text{ and } x<2", r"x>1 \text{ or } x<2"),
        (r"\bar{x}", "x"),
    ] {
        assert!(shown(left).is_ok(), "{left}");
        assert!(shown(right).is_ok(), "{right}");
        assert_ne!(shown(left), shown(right), "{left} {right}");
    }
}
