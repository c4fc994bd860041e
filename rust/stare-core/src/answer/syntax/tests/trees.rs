//! Texts and their trees.

use super::super::parse_as_list;
use super::shown;

const TREES: &[(&str, &str)] = &[
    ("0", "0"),
    ("-0.120", "(- 3/25~3)"),
    ("1.6e-19", "1/6250000000000000000~20"),
    ("4.4e7", "44000000~-6"),
    (r"0.\overline{27}", "3/11"),
    (r"-1\frac12", "(- (+ 1 (/ 1 2)))"),
    ("-1./3", "(- (/ 1 3))"),
    (r"\dfrac{1}{29,\!322,\!216}", "(/ 1 29322216)"),
    ("a - b + c", "(+ a (- b) c)"),
    ("14.0 + -1.0i", "(+ 14~1 (- (* 1~1 #i)))"),
    (r"1 \pm \sqrt{19}", "(+ 1 (+- (Root 19 2)))"),
    (r"3 \mp 2", "(+ 3 (-+ 2))"),
    ("2^3^4", "(^ 2 (^ 3 4))"),
    ("x^-1", "(^ x (- 1))"),
    ("1/2x", "(* (/ 1 2) x)"),
    ("1/(2x)", "(/ 1 (* 2 x))"),
    ("2x/3", "(/ (* 2 x) 3)"),
    ("a/b/c", "(/ (/ a b) c)"),
    (r"\frac{1}{2}x", "(* (/ 1 2) x)"),
    (r"\frac\pi2", "(/ #pi 2)"),
    (r"2007 + \frac\pi 2", "(+ 2007 (/ #pi 2))"),
    (r"\sin x \cos y", "(* (Sin x) (Cos y))"),
    (r"\sin x + 1", "(+ (Sin x) 1)"),
    (r"\sin(x)y", "(* (Sin x) y)"),
    (r"\log 2x", "(LogAny (* 2 x))"),
    (r"\log_2 x", "(Log x 2)"),
    (r"\log_{\frac13}(x)", "(Log x (/ 1 3))"),
    (r"n \ln n", "(* n (Ln n))"),
    (r"\ln|\cos x|", "(Ln (Abs (Cos x)))"),
    (r"\cos\sqrt{2}x", "(Cos (* (Root 2 2) x))"),
    (r"\sqrt[3]{5}", "(Root 5 3)"),
    ("5!", "(Factorial 5)"),
    ("5!!", "(DoubleFactorial 5)"),
    ("7!7!", "(* (Factorial 7) (Factorial 7))"),
    (
        r"\frac{8!}{5!3!}",
        "(/ (Factorial 8) (* (Factorial 5) (Factorial 3)))",
    ),
    (r"{5 \choose 2}", "(Binomial 5 2)"),
    (r"2{n+1 \choose k}x", "(* 2 (Binomial (+ n 1) k) x)"),
    ("frac{5}{3}", "(/ 5 3)"),
    ("\u{c}rac{5}{3}", "(/ 5 3)"),
    ("7e-5", "7/100000~5"),
    (r"\approx 3.14", "157/50~2"),
    (r"2\sin 30^\circ + 1", "(+ (* 2 (Sin (Degrees 30))) 1)"),
    (r"\tan(60^\circ)", "(Tan (Degrees 60))"),
    ("\\cos 15\u{b0}", "(Cos (Degrees 15))"),
    ("FF_{16}", "(base ff 16)"),
    ("AB_2", "(* A B_2)"),
    (
        r"\left|\begin{array}{cc}1&2\\3&4\end{array}\right|",
        "(Determinant 1 2 3 4)",
    ),
    ("[1, 2; 3, 4]", "(matrix 2x2 1 2 3 4)"),
    (
        r"-5$\mathrm{~kJ} \mathrm{~mol}^{-1}$",
        r#"(quantity (- 5) unit "kJ/mol")"#,
    ),
    (r"9.8 $m/s^2$", r#"(quantity 49/5~1 unit "m/s^2")"#),
    (
        r"3 \mathrm{kg} \cdot \mathrm{m}^2",
        r#"(quantity 3 unit "m^2*kg")"#,
    ),
    (r"\frac{1}{n!}", "(/ 1 (Factorial n))"),
    (r"\gcd(n, p-1)", "(Gcd n (+ p (- 1)))"),
    (r"\max\{1, |z|\}", "(Max 1 (Abs z))"),
    (r"\sin 30^\circ", "(Sin (Degrees 30))"),
    (r"100\% - 28\%", "(+ (Percent 100) (- (Percent 28)))"),
    (r"\sum_{i=1}^{n} i^2 + 1", "(+ (Sum i 1 n (^ i 2)) 1)"),
    (r"\prod_{k=1}^{10^9}k", "(Product k 1 (^ 10 9) k)"),
    (r"\int_0^1 x^2 dx", "(Integral x 0 1 (^ x 2))"),
    (
        r"\int_{0}^{1} \frac{1}{t}\,\mathrm{d}t + 1",
        "(+ (Integral t 0 1 (/ 1 t)) 1)",
    ),
    (
        r"\lim_{x\to 0} \frac{\sin x}{x}",
        "(Limit x 0 (/ (Sin x) x))",
    ),
    ("F(1,1)", "(apply F 1 1)"),
    ("n(n+1)", "(* n (+ n 1))"),
    ("C(h)=4h+4", "(relation (apply C h) Equal (+ (* 4 h) 4))"),
    (
        r"f^{-1}(x)=x+1",
        "(relation (apply f^{-1} x) Equal (+ x 1))",
    ),
    ("p_Y(y)=y^2", "(relation (apply p_Y y) Equal (^ y 2))"),
    (r"\Gamma(\frac12)", "(apply Gamma (/ 1 2))"),
    (r"\frac{dy}{dx}=ky", "(relation dy/dx Equal (* k y))"),
    (r"y''+y=0", "(relation (+ y'' y) Equal 0)"),
    (r"a_{n-1}", "a_{n-1}"),
    (r"\lambda_{\text{red}}", "lambda_{red}"),
    ("e_1", "e_1"),
    ("x_i", "x_i"),
    ("3i+4j", "(+ (* 3 i) (* 4 j))"),
    ("xy", "(* x y)"),
    ("pi", "#pi"),
    ("ABC", "(words \"abc\")"),
    // Lists.
    ("12, 349", "(list 12 349)"),
    ("1,234, 5", "(list 1234 5)"),
    ("(1,234)", "(tuple Round 1 234)"),
    (r"\{1,234\}", "(set 1 234)"),
    (r"\pm 6, \pm 2", "(list (+- 6) (+- 2))"),
    ("n=2,3,4", "(relation n Equal (list 2 3 4))"),
    (
        "x=1,2, y=3",
        "(list (relation x Equal (list 1 2)) (relation y Equal 3))",
    ),
    (
        "f(x)=x, f(x)=-x",
        "(list (relation (apply f x) Equal x) (relation (apply f x) Equal (- x)))",
    ),
    (r"(1,2),(3,4)", "(list (tuple Round 1 2) (tuple Round 3 4))"),
    (r"\langle 1,2\rangle", "(tuple Angle 1 2)"),
    ("(3)", "3"),
    (r"[2,\infty)", "(interval [ 2 #inf ))"),
    (
        r"[3,7]\cup[8,9)",
        "(Union (interval [ 3 7 ]) (interval [ 8 9 )))",
    ),
    (r"\mathbb{R}\setminus\{0\}", "(Difference Reals (set 0))"),
    (r"\mathbb{R}-\{0,1\}", "(Difference Reals (set 0 1))"),
    (
        r"x<1 \text{ or } x>2",
        "(Union (relation x Less 1) (relation x Greater 2))",
    ),
    (
        r"\{x|-2\leq x < 1\}",
        "(set-of x | (relation (- 2) LessEqual x Less 1))",
    ),
    (r"\{|x|, 2\}", "(set (Abs x) 2)"),
    (
        r"\bigcup_{k=-\infty}^{\infty}(2k\pi,(2k+2)\pi)",
        "(union-over k (tuple Round (* 2 k #pi) (* (+ (* 2 k) 2) #pi)))",
    ),
    (
        r"\frac12\begin{pmatrix}1&0\\0&1\end{pmatrix}",
        "(matrix 2x2 (* (/ 1 2) 1) (* (/ 1 2) 0) (* (/ 1 2) 0) (* (/ 1 2) 1))",
    ),
    (
        r"\begin{vmatrix}a&b\\c&d\end{vmatrix}",
        "(Determinant a b c d)",
    ),
    (
        r"\begin{cases}x & \text{if } x>0\\ 0 & \text{otherwise}\end{cases}",
        "(cases [x if (relation x Greater 0)] [0])",
    ),
    (
        r"x = k\pi, k\in\mathbb{Z}",
        "(where (relation x Equal (* k #pi)) (relation k In Integers))",
    ),
    ("b > a > c", "(relation b Greater a Greater c)"),
    // Quantities and others.
    (r"\$32,\!348", "(quantity 32348 unit \"dollar\")"),
    (r"(6,235^\circ)", "(tuple Round 6 (quantity 235 degree))"),
    (r"9\text{ values}", "(quantity 9 words \"values\")"),
    (r"32^\circ\mathrm{F}", "(quantity 32 unit \"degF\")"),
    (
        r"x = 5\text{ meters}",
        "(relation x Equal (quantity 5 unit \"m\"))",
    ),
    (
        "5 apples and 3 oranges",
        "(list (quantity 5 words \"apples\") (quantity 3 words \"oranges\"))",
    ),
    ("f(x+1)", "(apply f (+ x 1))"),
    ("P(1+r)^2", "(* P (^ (+ 1 r) 2))"),
    ("F(2x)+F(1)", "(+ (apply F (* 2 x)) (apply F 1))"),
    (r"\mathbb{Z}_{>0}", "PositiveIntegers"),
    (
        r"\left\{\begin{array}{l}x=1\\y=2\end{array}\right.",
        "(list (relation x Equal 1) (relation y Equal 2))",
    ),
    (
        r"f(x)=\left\{\begin{array}{rll}1 & \text { if } & x>0 \\ 0 & \text { if } & x \le 0\end{array}\right.",
        "(relation (apply f x) Equal (cases [1 if (relation x Greater 0)] [0 if (relation x LessEqual 0)]))",
    ),
    (
        r"\{x \in \mathbb{R} \mid x > 0\}",
        "(set-of x | (list (relation x In Reals) (relation x Greater 0)))",
    ),
    ("3 men", "(quantity 3 words \"men\")"),
    (r"9\text{ min}", "(quantity 9 unit \"min\")"),
    (r"\text{A5}_{11}", "(base a5 11)"),
    ("1A3_{16}", "(base 1a3 16)"),
    ("D_4", "D_4"),
    ("7:32", "(time 7:32)"),
    ("3:4:5", "(ratio 3 4 5)"),
    (r"\text{(C) } 12", "(choice C)"),
    (r"\text{A,B,E}", "(list (choice A) (choice B) (choice E))"),
    ("C", "C"),
    (r"\mathbb{Z}^+", "PositiveIntegers"),
];

#[test]
fn trees() {
    for &(text, tree) in TREES {
        assert_eq!(shown(text).as_deref(), Ok(tree), "{text}");
    }
}

#[test]
fn the_other_reading_of_commas() {
    let list = |text| parse_as_list(text).map(|answer| answer.to_string());
    assert_eq!(list("1,234").as_deref(), Some("(list 1 234)"));
    assert_eq!(list("100,200,300").as_deref(), Some("(list 100 200 300)"));
    for text in ["1{,}234", "1234", "1, 234", "(1,234)"] {
        assert_eq!(list(text), None, "{text}");
    }
}
