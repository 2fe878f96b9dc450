//! Records in order of time. perf writes one CPU's after the other's, and says when a round through all of them is over:
//! what comes after a round is not earlier than what was newest in the round before (tools/perf/util/ordered-events.c).

/// The largest number of waiting records: a file without rounds is put in order piece by piece.
pub const MOST: usize = 1 << 20;

/// The records that wait for their turn.
#[derive(Debug)]
pub struct Order<T> {
    waiting: Vec<(u64, T)>,
    newest: u64,
    /// The newest of the round before.
    safe: u64,
}

impl<T> Default for Order<T> {
    fn default() -> Self {
        Self { waiting: Vec::new(), newest: 0, safe: 0 }
    }
}

impl<T> Order<T> {
    /// Take one in; `put` gets those whose turn it is when there are too many.
    pub fn push(&mut self, time_ns: u64, what: T, put: impl FnMut(T)) {
        self.newest = self.newest.max(time_ns);
        self.waiting.push((time_ns, what));
        if self.waiting.len() >= MOST {
            self.sort();
            self.first(MOST / 2, put);
        }
    }

    /// A round is over.
    pub fn round(&mut self, put: impl FnMut(T)) {
        self.sort();
        let safe = self.safe;
        let ready = self.waiting.partition_point(|(time_ns, _)| *time_ns <= safe);
        self.first(ready, put);
        self.safe = self.newest;
    }

    /// All of them.
    pub fn end(&mut self, put: impl FnMut(T)) {
        self.sort();
        self.first(self.waiting.len(), put);
    }

    /// Stable: of one CPU they are in order.
    fn sort(&mut self) {
        self.waiting.sort_by_key(|(time_ns, _)| *time_ns);
    }

    fn first(&mut self, count: usize, mut put: impl FnMut(T)) {
        for (_, what) in self.waiting.drain(..count) {
            put(what);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_later_nothing_earlier_comes() {
        let mut order = Order::default();
        let mut said = Vec::new();
        for time in [1, 5, 2, 4] {
            order.push(time, time, |each| said.push(each));
        }
        order.round(|each| said.push(each));
        assert!(said.is_empty(), "the first round says nothing of what comes next");
        for time in [3, 9, 6] {
            order.push(time, time, |each| said.push(each));
        }
        order.round(|each| said.push(each));
        assert_eq!(said, [1, 2, 3, 4, 5]);
        order.end(|each| said.push(each));
        assert_eq!(said, [1, 2, 3, 4, 5, 6, 9]);
    }

    #[test]
    fn without_rounds_memory_is_bounded_all_the_same() {
        let mut order = Order::default();
        let mut count = 0;
        for time in 0..3 * MOST as u64 {
            order.push(time, (), |()| count += 1);
            assert!(order.waiting.len() < MOST);
        }
        order.end(|()| count += 1);
        assert_eq!(count, 3 * MOST);
    }
}
