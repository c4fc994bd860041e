//! Unicode to ASCII and LaTeX.
//!
//! Only characters that mean the same everywhere are mapped. Look-alike letters stay what they are,
//! and text that is displayed in another order than it is stored is not read at all.

use std::borrow::Cow;

use super::SyntaxError;

/// Characters with a LaTeX or ASCII spelling; sorted by code point.
const SPELLINGS: &[(char, &str)] = &[
    ('\u{a0}', "\\,"),
    ('\u{a2}', "\\text{ cents}"),
    ('\u{a3}', "\\pounds "),
    ('\u{ac}', "\\lnot "),
    ('\u{ad}', ""),
    ('\u{b0}', "^{\\circ}"),
    ('\u{b1}', "\\pm "),
    ('\u{b4}', "'"),
    ('\u{b7}', "\\cdot "),
    ('\u{bc}', "\\frac{1}{4}"),
    ('\u{bd}', "\\frac{1}{2}"),
    ('\u{be}', "\\frac{3}{4}"),
    ('\u{d7}', "\\times "),
    ('\u{f7}', "\\div "),
    ('\u{393}', "\\Gamma "),
    ('\u{394}', "\\Delta "),
    ('\u{398}', "\\Theta "),
    ('\u{39b}', "\\Lambda "),
    ('\u{39e}', "\\Xi "),
    ('\u{3a0}', "\\Pi "),
    ('\u{3a3}', "\\Sigma "),
    ('\u{3a6}', "\\Phi "),
    ('\u{3a8}', "\\Psi "),
    ('\u{3a9}', "\\Omega "),
    ('\u{3b1}', "\\alpha "),
    ('\u{3b2}', "\\beta "),
    ('\u{3b3}', "\\gamma "),
    ('\u{3b4}', "\\delta "),
    ('\u{3b5}', "\\epsilon "),
    ('\u{3b6}', "\\zeta "),
    ('\u{3b7}', "\\eta "),
    ('\u{3b8}', "\\theta "),
    ('\u{3b9}', "\\iota "),
    ('\u{3ba}', "\\kappa "),
    ('\u{3bb}', "\\lambda "),
    ('\u{3bc}', "\\mu "),
    ('\u{3bd}', "\\nu "),
    ('\u{3be}', "\\xi "),
    ('\u{3c0}', "\\pi "),
    ('\u{3c1}', "\\rho "),
    ('\u{3c3}', "\\sigma "),
    ('\u{3c4}', "\\tau "),
    ('\u{3c5}', "\\upsilon "),
    ('\u{3c6}', "\\phi "),
    ('\u{3c7}', "\\chi "),
    ('\u{3c8}', "\\psi "),
    ('\u{3c9}', "\\omega "),
    ('\u{3d1}', "\\theta "),
    ('\u{3d5}', "\\phi "),
    ('\u{3f5}', "\\epsilon "),
    ('\u{2002}', " "),
    ('\u{2003}', " "),
    ('\u{2009}', "\\,"),
    ('\u{200a}', "\\,"),
    ('\u{2010}', "-"),
    ('\u{2011}', "-"),
    ('\u{2012}', "-"),
    ('\u{2013}', "-"),
    ('\u{2016}', "\\|"),
    ('\u{2018}', "'"),
    ('\u{2019}', "'"),
    ('\u{201c}', "\""),
    ('\u{201d}', "\""),
    ('\u{2026}', "\\ldots "),
    ('\u{202f}', "\\,"),
    ('\u{2032}', "'"),
    ('\u{2033}', "''"),
    ('\u{2044}', "/"),
    ('\u{20ac}', "\\euro "),
    ('\u{2102}', "\\mathbb{C}"),
    ('\u{210f}', "\\hbar "),
    ('\u{2113}', "\\ell "),
    ('\u{2115}', "\\mathbb{N}"),
    ('\u{211a}', "\\mathbb{Q}"),
    ('\u{211d}', "\\mathbb{R}"),
    ('\u{2124}', "\\mathbb{Z}"),
    ('\u{2153}', "\\frac{1}{3}"),
    ('\u{2154}', "\\frac{2}{3}"),
    ('\u{2155}', "\\frac{1}{5}"),
    ('\u{2156}', "\\frac{2}{5}"),
    ('\u{2157}', "\\frac{3}{5}"),
    ('\u{2158}', "\\frac{4}{5}"),
    ('\u{2159}', "\\frac{1}{6}"),
    ('\u{215a}', "\\frac{5}{6}"),
    ('\u{215b}', "\\frac{1}{8}"),
    ('\u{215c}', "\\frac{3}{8}"),
    ('\u{215d}', "\\frac{5}{8}"),
    ('\u{215e}', "\\frac{7}{8}"),
    ('\u{2192}', "\\to "),
    ('\u{21a6}', "\\mapsto "),
    ('\u{21d2}', "\\Rightarrow "),
    ('\u{21d4}', "\\Leftrightarrow "),
    ('\u{2202}', "\\partial "),
    ('\u{2205}', "\\emptyset "),
    ('\u{2208}', "\\in "),
    ('\u{2209}', "\\notin "),
    ('\u{220f}', "\\prod "),
    ('\u{2211}', "\\sum "),
    ('\u{2212}', "-"),
    ('\u{2213}', "\\mp "),
    ('\u{2215}', "/"),
    ('\u{2216}', "\\setminus "),
    ('\u{2217}', "*"),
    ('\u{221e}', "\\infty "),
    ('\u{2223}', "|"),
    ('\u{2225}', "\\parallel "),
    ('\u{2229}', "\\cap "),
    ('\u{222a}', "\\cup "),
    ('\u{222b}', "\\int "),
    ('\u{2236}', ":"),
    ('\u{2248}', "\\approx "),
    ('\u{2260}', "\\ne "),
    ('\u{2261}', "\\equiv "),
    ('\u{2264}', "\\le "),
    ('\u{2265}', "\\ge "),
    ('\u{2282}', "\\subset "),
    ('\u{2286}', "\\subseteq "),
    ('\u{22a5}', "\\perp "),
    ('\u{22c5}', "\\cdot "),
    ('\u{2308}', "\\lceil "),
    ('\u{2309}', "\\rceil "),
    ('\u{230a}', "\\lfloor "),
    ('\u{230b}', "\\rfloor "),
    ('\u{27e8}', "\\langle "),
    ('\u{27e9}', "\\rangle "),
    ('\u{2a7d}', "\\le "),
    ('\u{2a7e}', "\\ge "),
    ('\u{3000}', " "),
    ('\u{3001}', ","),
    ('\u{3002}', "."),
];

/// Without width: dropped at the ends of an answer, not read inside it.
fn is_zero_width(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}')
}

/// Changes the order of display.
fn is_bidi_control(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn superscript(c: char) -> Option<char> {
    Some(match c {
        '\u{2070}' => '0',
        '\u{b9}' => '1',
        '\u{b2}' => '2',
        '\u{b3}' => '3',
        '\u{2074}'..='\u{2079}' => char::from_digit(u32::from(c) - 0x2070, 10)?,
        '\u{207a}' => '+',
        '\u{207b}' => '-',
        '\u{207f}' => 'n',
        '\u{2071}' => 'i',
        _ => return None,
    })
}

fn subscript(c: char) -> Option<char> {
    match c {
        '\u{2080}'..='\u{2089}' => char::from_digit(u32::from(c) - 0x2080, 10),
        '\u{2099}' => Some('n'),
        _ => None,
    }
}

/// Map to ASCII and LaTeX; what has no spelling there stays.
pub(super) fn fold(text: &str) -> Result<Cow<'_, str>, SyntaxError> {
    if text.is_ascii() {
        return Ok(Cow::Borrowed(text));
    }
    let text = text.trim_matches(|c: char| c.is_whitespace() || is_zero_width(c));
    let mut folded = String::with_capacity(text.len() + 16);
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        if is_bidi_control(c) || is_zero_width(c) {
            return Err(SyntaxError::Unreadable);
        } else if c.is_ascii() {
            folded.push(c);
        } else if matches!(c, '\u{ff01}'..='\u{ff5e}') {
            folded.extend(char::from_u32(u32::from(c) - 0xfee0));
        } else if c == '\u{221a}' {
            folded.push_str("\\sqrt ");
            if rest.peek().is_some_and(char::is_ascii_digit) {
                folded.push('{');
                while let Some(digit) = rest.next_if(char::is_ascii_digit) {
                    folded.push(digit);
                }
                folded.push('}');
            }
        } else if let Some(first) = superscript(c) {
            script(&mut folded, '^', first, &mut rest, superscript);
        } else if let Some(first) = subscript(c) {
            script(&mut folded, '_', first, &mut rest, subscript);
        } else if let Ok(at) = SPELLINGS.binary_search_by_key(&c, |&(from, _)| from) {
            folded.push_str(SPELLINGS.get(at).map_or("", |&(_, to)| to));
        } else {
            folded.push(c);
        }
    }
    Ok(Cow::Owned(folded))
}

/// A run of raised or lowered characters as one script.
fn script(
    folded: &mut String,
    mark: char,
    first: char,
    rest: &mut std::iter::Peekable<std::str::Chars<'_>>,
    map: fn(char) -> Option<char>,
) {
    folded.push(mark);
    folded.push('{');
    folded.push(first);
    while let Some(next) = rest.peek().copied().and_then(map) {
        folded.push(next);
        rest.next();
    }
    folded.push('}');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted() {
        assert!(SPELLINGS.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }

    #[test]
    fn folds() {
        for (text, folded) in [
            ("\u{2212}5", "-5"),
            ("\u{ff11}\u{ff12}", "12"),
            ("\u{221a}13", "\\sqrt {13}"),
            ("x\u{b2}\u{2070}", "x^{20}"),
            ("\u{200b}42\u{feff}", "42"),
            ("\u{430}", "\u{430}"),
        ] {
            assert_eq!(fold(text).as_deref(), Ok(folded), "{text}");
        }
        assert!(fold("4\u{200b}2").is_err());
        assert!(fold("\u{202e}24").is_err());
    }
}
