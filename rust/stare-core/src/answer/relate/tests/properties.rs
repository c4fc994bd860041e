//! What holds for all answers.

use proptest::prelude::*;

use super::*;

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
            let (mine, theirs) = (key(&a), key(&b));
            let one_unit = mine.contains(" unit ") != theirs.contains(" unit ");
            prop_assert!(one_unit || mine == theirs, "{} {}", mine, theirs);
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
        budget.charge(super::super::super::limits::STEPS - steps).unwrap();
        let short = compare(&a, &b, Tolerance::None, &mut budget);
        prop_assert!(
            short.verdict() == Verdict::Undecided || short.verdict() == full.verdict(),
            "{:?} {:?}", short, full
        );
    }
}
