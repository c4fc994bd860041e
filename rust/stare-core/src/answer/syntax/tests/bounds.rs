//! Limits hold, on a small stack too.

use super::super::super::limits;
use super::super::{parse, SyntaxError};

/// The stack of a thread that grades, half of what it is by default.
const STACK: usize = 1 << 20;

fn on_small_stack(texts: Vec<String>) -> Vec<Result<(), SyntaxError>> {
    std::thread::Builder::new()
        .stack_size(STACK)
        .spawn(move || texts.iter().map(|text| parse(text).map(drop)).collect())
        .unwrap()
        .join()
        .unwrap()
}

/// Openings, what stands inside, closings.
const NESTED: &[(&str, &str, &str)] = &[
    ("(", "1", ")"),
    ("[", "1", "]"),
    ("{", "1", "}"),
    (r"\{", "1", r"\}"),
    (r"\left(", "1", r"\right)"),
    (r"\frac{1}{", "1", "}"),
    (r"\sqrt{", "1", "}"),
    (r"\sqrt[", "2", "]{3}"),
    ("2^{", "1", "}"),
    ("2^", "1", ""),
    (r"\boxed{", "1", "}"),
    (r"\text{", "a", "}"),
    ("-", "1", ""),
    ("-(", "1", ")"),
    (r"\pm", "1", ""),
    ("|", "x", "|"),
    ("1+|", "x", "|"),
    (r"\sin", "x", ""),
    (r"\sin(", "x", ")"),
    ("f(", "x", ")"),
    ("x_{", "1", "}"),
    ("x_", "1", ""),
    (r"\lfloor", "x", r"\rfloor"),
    (r"\sum_{k=1}^n", "1", ""),
    (r"\sum_{k=", "1", "}^2 k"),
    (r"\int", "x", "dx"),
    (r"\begin{pmatrix}", "1", r"\end{pmatrix}"),
    (r"\begin{cases}", "1 & x>0", r"\end{cases}"),
    (r"\begin{vmatrix}", "1", r"\end{vmatrix}"),
    (r"\{x|", "x>1", r"\}"),
    (r"\{x:x>1,", "x>1", r"\}"),
    ("(1,", "2", ")"),
    ("(", "2", ",3)"),
    (r"\bar{", "x", "}"),
    (r"\mathbf{", "xy", "}"),
    (r"\frac", "1", ""),
    (r"\log_{", "2", "}3"),
    (r"(0,1)\cup(", "1,2", ")"),
    (r"\bigcup_{k=1}^{2}", "(1,2)", ""),
    ("$", "1", "$"),
    ("", "1", "!"),
    ("", "x", "'"),
    ("", "1", "/1"),
    ("", "1", "^2"),
    ("", "1", r"\%"),
    ("", "1", ",1"),
    ("", "1", "=1"),
    ("x = ", "1", r" \text{ for } x > 0"),
];

#[test]
fn nesting_is_bounded() {
    for &(open, inside, close) in NESTED {
        for depth in [10, 31, 63, 64, 65, 200, 100_000] {
            let text = format!("{}{inside}{}", open.repeat(depth), close.repeat(depth));
            let _ = on_small_stack(vec![text]);
        }
        let far = format!("{}{inside}{}", open.repeat(100_000), close.repeat(100_000));
        assert_eq!(parse(&far), Err(SyntaxError::Limit), "{open} {close}");
    }
}

#[test]
fn the_depth_that_is_allowed() {
    // A bracket is two levels: an item, and its value.
    for depth in [1, 20, limits::DEPTH / 2 - 2] {
        let text = format!("{}1{}", "(".repeat(depth), ")".repeat(depth));
        assert!(parse(&text).is_ok(), "{depth}");
    }
}

#[test]
fn sizes_are_bounded() {
    let long = |unit: &str, count: usize| unit.repeat(count);
    for text in [
        long("9", limits::INTEGER_BITS),
        long("x+", limits::NODES) + "x",
        long("x,", limits::NODES) + "x",
        long("x", limits::ANSWER_CHARS + 1),
        "1e99999999999999999999".to_owned(),
        "1e-9999".to_owned(),
        format!("0.{}", long("1", 3000)),
        format!(r"0.\overline{{{}}}", long("12", 1000)),
    ] {
        assert_eq!(parse(&text), Err(SyntaxError::Limit), "{}", &text[..20]);
    }
    assert!(parse(&long("9", 1000)).is_ok());
    // A long list of numbers is read: it differs from a number.
    assert!(parse(&(long("1,", 1000) + "1")).is_ok());
}
