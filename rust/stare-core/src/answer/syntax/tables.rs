//! Names of LaTeX and plain maths, as data.

use super::super::tree::{Function, Operator};

use Function as F;
use Operator as O;

/// Functions that take their argument behind them, with or without a backslash.
const FUNCTIONS: &[(&str, Function)] = &[
    ("sin", F::Sin),
    ("cos", F::Cos),
    ("tan", F::Tan),
    ("tg", F::Tan),
    ("cot", F::Cot),
    ("ctg", F::Cot),
    ("sec", F::Sec),
    ("csc", F::Csc),
    ("cosec", F::Csc),
    ("arcsin", F::Arcsin),
    ("arccos", F::Arccos),
    ("arctan", F::Arctan),
    ("arctg", F::Arctan),
    ("arccot", F::Arccot),
    ("arcsec", F::Arcsec),
    ("arccsc", F::Arccsc),
    ("asin", F::Arcsin),
    ("acos", F::Arccos),
    ("atan", F::Arctan),
    ("sinh", F::Sinh),
    ("cosh", F::Cosh),
    ("tanh", F::Tanh),
    ("coth", F::Coth),
    ("sech", F::Sech),
    ("csch", F::Csch),
    ("arcsinh", F::Arsinh),
    ("arccosh", F::Arcosh),
    ("arctanh", F::Artanh),
    ("arsinh", F::Arsinh),
    ("arcosh", F::Arcosh),
    ("artanh", F::Artanh),
    ("asinh", F::Arsinh),
    ("acosh", F::Arcosh),
    ("atanh", F::Artanh),
    ("ln", F::Ln),
    ("log", F::LogAny),
    ("lg", F::Log),
    ("exp", F::Exp),
    ("abs", F::Abs),
    ("floor", F::Floor),
    ("ceil", F::Ceil),
    ("sgn", F::Sign),
    ("sign", F::Sign),
    ("gcd", F::Gcd),
    ("lcm", F::Lcm),
    ("max", F::Max),
    ("min", F::Min),
];

/// Functions whose plain names would be read into products of letters.
const COMMAND_FUNCTIONS: &[(&str, Function)] = &[
    ("Re", F::Re),
    ("Im", F::Im),
    ("arg", F::Arg),
    ("Arg", F::Arg),
];

/// The function called `name`; `command` if it was written with a backslash.
pub(super) fn function(name: &str, command: bool) -> Option<Function> {
    let find = |table: &[(&str, Function)]| {
        table
            .iter()
            .find(|&&(known, _)| known == name)
            .map(|&(_, function)| function)
    };
    find(FUNCTIONS).or_else(|| {
        if command {
            find(COMMAND_FUNCTIONS)
        } else {
            None
        }
    })
}

/// Greek and other letters with a name: as written, and the name of the symbol.
const LETTERS: &[(&str, &str)] = &[
    ("alpha", "alpha"),
    ("beta", "beta"),
    ("gamma", "gamma"),
    ("delta", "delta"),
    ("epsilon", "epsilon"),
    ("varepsilon", "epsilon"),
    ("zeta", "zeta"),
    ("eta", "eta"),
    ("theta", "theta"),
    ("vartheta", "theta"),
    ("iota", "iota"),
    ("kappa", "kappa"),
    ("lambda", "lambda"),
    ("mu", "mu"),
    ("nu", "nu"),
    ("xi", "xi"),
    ("rho", "rho"),
    ("varrho", "rho"),
    ("sigma", "sigma"),
    ("varsigma", "sigma"),
    ("tau", "tau"),
    ("upsilon", "upsilon"),
    ("phi", "phi"),
    ("varphi", "phi"),
    ("chi", "chi"),
    ("psi", "psi"),
    ("omega", "omega"),
    ("Gamma", "Gamma"),
    ("Delta", "Delta"),
    ("Theta", "Theta"),
    ("Lambda", "Lambda"),
    ("Xi", "Xi"),
    ("Pi", "Pi"),
    ("Sigma", "Sigma"),
    ("Upsilon", "Upsilon"),
    ("Phi", "Phi"),
    ("Psi", "Psi"),
    ("Omega", "Omega"),
    ("ell", "ell"),
    ("hbar", "hbar"),
    ("imath", "imath"),
    ("jmath", "jmath"),
    ("aleph", "aleph"),
    ("odot", "odot"),
    ("mho", "mho"),
];

/// The symbol that `\name` stands for.
pub(super) fn letter(name: &str) -> Option<&'static str> {
    LETTERS
        .iter()
        .find(|&&(known, _)| known == name)
        .map(|&(_, symbol)| symbol)
}

/// Greek names that are also read without a backslash.
pub(super) fn plain_letter(name: &str) -> Option<&'static str> {
    // `xi`, `mu`, `nu`, `eta` and the like are more often products or words.
    const PLAIN: &[&str] = &[
        "alpha", "beta", "gamma", "delta", "epsilon", "theta", "lambda", "sigma", "omega", "phi",
        "rho", "tau", "psi",
    ];
    PLAIN.contains(&name).then(|| letter(name)).flatten()
}

/// Relations that are commands.
const RELATIONS: &[(&str, Operator)] = &[
    ("le", O::LessEqual),
    ("leq", O::LessEqual),
    ("leqslant", O::LessEqual),
    ("leqq", O::LessEqual),
    ("ge", O::GreaterEqual),
    ("geq", O::GreaterEqual),
    ("geqslant", O::GreaterEqual),
    ("geqq", O::GreaterEqual),
    ("lt", O::Less),
    ("gt", O::Greater),
    ("ne", O::NotEqual),
    ("neq", O::NotEqual),
    ("in", O::In),
    ("notin", O::NotIn),
    ("subset", O::Subset),
    ("subseteq", O::Subset),
    ("approx", O::Approximately),
    ("simeq", O::Approximately),
    ("equiv", O::Equal),
    ("to", O::Arrow),
    ("rightarrow", O::Arrow),
    ("longrightarrow", O::Arrow),
    ("mapsto", O::Arrow),
    ("Rightarrow", O::Arrow),
    ("implies", O::Arrow),
];

/// The relation that `\name` stands for.
pub(super) fn relation(name: &str) -> Option<Operator> {
    RELATIONS
        .iter()
        .find(|&&(known, _)| known == name)
        .map(|&(_, operator)| operator)
}

/// Commands that only change how things look.
pub(super) fn is_layout(name: &str) -> bool {
    const LAYOUT: &[&str] = &[
        "displaystyle",
        "textstyle",
        "scriptstyle",
        "limits",
        "nolimits",
        "left",
        "right",
        "middle",
        "big",
        "Big",
        "bigg",
        "Bigg",
        "bigl",
        "bigr",
        "Bigl",
        "Bigr",
        "biggl",
        "biggr",
        "Biggl",
        "Biggr",
        "bigm",
        "rm",
        "bf",
        "it",
        "boldmath",
        "large",
        "Large",
        "small",
        "normalsize",
        "hfill",
        "centering",
        "noindent",
        "mathstrut",
        "strut",
        "newline",
        "hline",
    ];
    LAYOUT.contains(&name)
}

/// Commands that are space; `,` `;` `:` `!` `>` and space are among them.
pub(super) fn is_space(name: &str) -> bool {
    matches!(
        name,
        "quad" | "qquad" | "enspace" | "thinspace" | "medspace" | "thickspace" | "hspace"
    )
}

/// Spaces whose width is an argument.
pub(super) fn is_measured_space(name: &str) -> bool {
    name == "hspace"
}

/// Commands whose argument is text.
pub(super) fn is_text(name: &str) -> bool {
    matches!(
        name,
        "text"
            | "textrm"
            | "textbf"
            | "textit"
            | "textsf"
            | "texttt"
            | "textnormal"
            | "mbox"
            | "hbox"
            | "mathrm"
            | "operatorname"
            | "emph"
            | "textup"
            | "mathop"
    )
}

/// Commands that set their argument in another typeface without changing what it is.
pub(super) fn is_font(name: &str) -> bool {
    matches!(
        name,
        "mathbf"
            | "boldsymbol"
            | "bm"
            | "mathit"
            | "mathsf"
            | "mathcal"
            | "mathfrak"
            | "mathscr"
            | "pmb"
            | "vec"
            | "overrightarrow"
            | "mathtt"
            | "mathnormal"
    )
}

/// Accents that make another symbol of a letter.
pub(super) fn is_accent(name: &str) -> bool {
    matches!(
        name,
        "bar"
            | "overline"
            | "hat"
            | "widehat"
            | "tilde"
            | "widetilde"
            | "dot"
            | "ddot"
            | "underline"
    )
}

/// Fractions.
pub(super) fn is_fraction(name: &str) -> bool {
    matches!(name, "frac" | "dfrac" | "tfrac" | "cfrac")
}

/// Binomial coefficients.
pub(super) fn is_binomial(name: &str) -> bool {
    matches!(name, "binom" | "dbinom" | "tbinom")
}

/// Phrases before an answer that say no more than that it is one.
pub(super) const INTRODUCTIONS: &[&str] = &[
    "solution is",
    "the solution is",
    "answer",
    "the answer is",
    "the final answer is",
    "final answer",
];

/// Common short words that are no product of letters.
pub(super) fn is_word(run: &str) -> bool {
    const WORDS: &[&str] = &[
        "no", "on", "or", "of", "if", "is", "in", "it", "to", "at", "as", "an", "am", "by", "be",
        "do", "go", "so", "up", "us", "we", "my", "me", "he", "and", "are", "for", "the", "not",
        "any", "all", "yes", "odd", "one", "two", "six", "ten", "red", "none", "can", "bad", "cab",
        "day", "dne", "nan", "pm", "mod", "has", "its", "sum", "var", "cov", "det", "dim", "ker",
        "let", "max", "min", "arg", "now", "out", "per", "set", "sat", "sun", "mon", "fri", "tue",
        "was", "way", "who", "why", "you", "but", "use", "how", "few", "new", "her", "his", "him",
    ];
    let lower = run.to_ascii_lowercase();
    WORDS.contains(&lower.as_str())
}

/// Whether a run of letters is more likely a product than a word: small letters, all different,
/// without vowels or from one of the series that variables are named by; or `qR`.
pub(super) fn is_algebra(run: &str) -> bool {
    const SERIES: [&str; 2] = ["abcd", "wxyz"];
    if let [first, second] = run.as_bytes() {
        if first.is_ascii_lowercase() && second.is_ascii_uppercase() {
            return true;
        }
    }
    let among = |letters: &str| run.chars().all(|c| letters.contains(c));
    let consonants = run.bytes().all(|b| b.is_ascii_lowercase())
        && !run.contains(['e', 'i', 'o', 'u'])
        && (run.len() == 2 || !run.contains(['a', 'y']));
    let different = run
        .bytes()
        .enumerate()
        .all(|(at, b)| !run.bytes().skip(at + 1).any(|c| c == b));
    let variables = consonants || SERIES.into_iter().any(among);
    run.len() <= 4 && variables && different && !is_word(run)
}

/// Whether a run of letters ends with a function and its argument, as `xsinx` does.
pub(super) fn hides_function(run: &str) -> bool {
    let Some(head) = run.strip_suffix('x') else {
        return false;
    };
    ["sin", "cos", "tan", "ln", "log"]
        .iter()
        .any(|name| head.ends_with(name))
}

/// Whether a run of letters inside maths is read as a product.
pub(super) fn is_product(run: &str) -> bool {
    match run.len() {
        0 | 1 => true,
        // `by` and `at` are products more often than words.
        2 => !matches!(
            run,
            "or" | "of" | "is" | "if" | "no" | "on" | "in" | "to" | "ii" | "iv" | "ix"
        ),
        3 if run == "iii" => false,
        3 => !is_word(run) && !run.contains("pi"),
        _ => is_algebra(run) || run == "abcde",
    }
}
