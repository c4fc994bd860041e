//! Contiguous ranges of tokens, one scoped thread each. Scoped threads cost tens of microseconds a
//! pass, which small batches avoid by taking fewer of them.

use std::ops::Range;

/// Fewer tokens than this are not worth a thread of their own.
const MIN_TOKENS: usize = 1 << 16;

/// Splits `0..total` into at most `threads` ranges of near equal size.
pub(crate) fn ranges(total: usize, threads: usize) -> Vec<Range<usize>> {
    let parts = threads.clamp(1, total.div_ceil(MIN_TOKENS).max(1));
    split(total, parts)
}

/// Splits `0..total` into exactly `parts` ranges, some of which may be empty.
pub(crate) fn split(total: usize, parts: usize) -> Vec<Range<usize>> {
    let (size, extra) = (total / parts, total % parts);
    let mut start = 0;
    (0..parts)
        .map(|i| {
            let end = start + size + usize::from(i < extra);
            let range = start..end;
            start = end;
            range
        })
        .collect()
}

/// Runs `work` on every item, the first on this thread; results in the order of the items.
pub(crate) fn map<I: Send, T: Send>(items: Vec<I>, work: impl Fn(I) -> T + Sync) -> Vec<T> {
    let mut items = items.into_iter();
    let Some(first) = items.next() else {
        return Vec::new();
    };
    let work = &work;
    std::thread::scope(|scope| {
        let handles: Vec<_> = items.map(|item| scope.spawn(move || work(item))).collect();
        let mut results = vec![work(first)];
        for handle in handles {
            match handle.join() {
                Ok(result) => results.push(result),
                Err(payload) => std::panic::resume_unwind(payload),
            }
        }
        results
    })
}
