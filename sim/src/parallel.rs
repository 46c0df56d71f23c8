//! Work on several threads, with results that do not depend on their number.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Executes `job` on each part, one thread for each; the sum of the results, or the first error.
pub(crate) fn each_on_thread<P: Send>(
    parts: impl Iterator<Item = P>, job: impl Fn(P) -> Result<u64, String> + Sync,
) -> Result<u64, String> {
    let mut parts: Vec<P> = parts.collect();
    if parts.len() <= 1 {
        return parts.pop().map_or(Ok(0), job);
    }
    std::thread::scope(|scope| {
        let job = &job;
        let threads: Vec<_> =
            parts.into_iter().map(|part| scope.spawn(move || job(part))).collect();
        threads.into_iter().map(joined).sum()
    })
}

/// The results of `job` for `0..count`, in order, by at most `threads` threads.
pub(crate) fn map<T: Send>(
    threads: usize, count: usize, job: impl Fn(usize) -> T + Sync,
) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                return done;
            }
            done.push((index, job(index)));
        }
    };
    if threads <= 1 || count <= 1 {
        return work().into_iter().map(|(_, result)| result).collect();
    }
    let mut all: Vec<(usize, T)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads.min(count)).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(joined).collect()
    });
    all.sort_by_key(|(index, _)| *index);
    all.into_iter().map(|(_, result)| result).collect()
}

/// The result of a thread; a panic goes on here.
fn joined<T>(thread: std::thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_order() {
        for threads in [0, 1, 2, 5] {
            assert_eq!(map(threads, 7, |index| index * index), [0, 1, 4, 9, 16, 25, 36]);
            assert_eq!(map(threads, 0, |index| index), [0; 0]);
        }
    }

    #[test]
    fn the_first_error_is_returned() {
        let job =
            |part: u64| if part.is_multiple_of(2) { Ok(part) } else { Err(format!("{part}")) };
        assert_eq!(each_on_thread([2, 4, 6].into_iter(), job), Ok(12));
        assert_eq!(each_on_thread([2, 5, 7].into_iter(), job), Err("5".to_owned()));
        assert_eq!(each_on_thread([].into_iter(), job), Ok(0));
    }
}
