//! Texts that are not read: two likely readings, prose, code.

use super::super::SyntaxError;
use super::shown;

#[test]
fn not_read() {
    for text in [
        // Two likely readings.
        "x/2y",
        r"\sin x/2",
        r"\ln x(x+1)",
        r"\sqrt13",
        "e^2x",
        "2^3!",
        "5!=120",
        "2e-3x",
        "C(5,2)",
        "P(n,k)",
        "C_5^2",
        r"{}_5C_2",
        "5C2",
        r"x=2 \quad s=3",
        "$x=2$ $s=3$",
        "5 choose 2",
        "7!7",
        "ff_{16}",
        "rac{1}{2}",
        "text{5}",
        r"5\text{K}",
        r"3 \text{kg} / \text{m} \text{s}",
        r"3\frac{5}{3}",
        "2 100/300",
        "1 2",
        "x2",
        "3 x 4",
        "2mg",
        "O(2n)",
        r"\frac{c}{x-c} \quad y",
        // A fragment would be credited.
        "about 30 miles per hour",
        r"5 \text{ million}",
        r"5 \text{ (in cm)}",
        r"5 \text{ or more}",
        "the answer 5",
        "5 is the answer",
        "42 43",
        "f(x) where",
        r"\text{at least } 5",
        "0.333...",
        r"1, 2, \ldots",
        r"5 \cong 5",
        r"3 \pmod 7",
        "f^2(x)",
        "1--2",
        "1,00,000",
        "1, 000",
        r"5\boxed{6}",
        r"\overrightarrow{AB}",
        "xsinx",
        "Yes, because it is",
        r"\mathbb{Z}_{\ge 0}",
        r"f: \mathbb{R} \to \mathbb{R}",
        r"2 \text{ per year}",
        "The mode is $x=0$",
        // Broken.
        r"\frac{1}{2",
        "(1,2",
        "1)",
        r"\frac{1}",
        "1 +",
        "= =",
        ",1",
        "1,,2",
        r"\zzz{(",
        r"\begin{pmatrix}1&2\\3\end{pmatrix}",
        "|x",
        "29_8",
        // Code.
        "__import__('os').system('x')",
        "().__class__.__base__",
        r"\pi__import__('os')",
        "exec(1)",
        "np.os(1)",
        // Unicode.
        "\u{202e}24",
        "1\u{200b}2",
        "\u{664}\u{662}",
        "\u{430}+1",
    ] {
        assert_eq!(shown(text), Err(SyntaxError::Unreadable), "{text}");
    }
    for text in ["", " ", "$$", r"\boxed{}", "\u{200b}", "."] {
        assert_eq!(shown(text), Err(SyntaxError::Empty), "{text:?}");
    }
}
