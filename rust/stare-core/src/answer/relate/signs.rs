//! Both values of `\pm`.

use super::super::tree::{Answer, Expr};
use super::edit::{any, map, map_answer, negate, visit};

/// Expand `\pm` into both values, if it is clear which signs go together: there is one, or a `\mp`
/// says so. Else nothing is changed.
pub(super) fn signs(tree: &Answer) -> Answer {
    let (mut plus, mut minus) = (0_usize, 0_usize);
    visit(tree, &mut |expr| {
        any(expr, &mut |node| {
            if let Expr::PlusMinus { plus_first, .. } = node {
                *(if *plus_first { &mut plus } else { &mut minus }) += 1;
            }
            false
        });
    });
    if plus + minus != 1 && (plus == 0 || minus == 0) {
        return tree.clone();
    }
    let with = |upper| map_answer(tree, &mut |expr| choose(expr, upper));
    Answer::List {
        items: vec![with(true), with(false)],
        braces: false,
    }
}

fn choose(expr: &Expr, upper: bool) -> Expr {
    map(expr, &mut |node| match node {
        Expr::PlusMinus { plus_first, term } => {
            let term = choose(term, upper);
            Some(if *plus_first == upper {
                term
            } else {
                negate(term)
            })
        }
        _ => None,
    })
}
