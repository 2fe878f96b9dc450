//! Records in order of time. perf writes the records of one CPU after those of another, and marks the end of
//! each round through all CPUs: no record after a round is earlier than the newest of the round before
//! (tools/perf/util/ordered-events.c).

/// The largest number of waiting records: a file without rounds is ordered piece by piece.
pub const MOST: usize = 1 << 20;

/// The records that wait for their turn.
#[derive(Debug)]
pub struct Order<T> {
    waiting: Vec<(u64, T)>,
    newest: u64,
    /// The newest time of the previous round.
    safe: u64,
}

impl<T> Default for Order<T> {
    fn default() -> Self {
        Self { waiting: Vec::new(), newest: 0, safe: 0 }
    }
}

impl<T> Order<T> {
    /// Add a record; when there are too many, `put` receives those whose turn it is.
    pub fn push(&mut self, time_ns: u64, what: T, put: impl FnMut(T)) {
        self.newest = self.newest.max(time_ns);
        self.waiting.push((time_ns, what));
        if self.waiting.len() >= MOST {
            self.sort();
            self.first(MOST / 2, put);
        }
    }

    /// End a round.
    pub fn round(&mut self, put: impl FnMut(T)) {
        self.sort();
        let safe = self.safe;
        let ready = self.waiting.partition_point(|(time_ns, _)| *time_ns <= safe);
        self.first(ready, put);
        self.safe = self.newest;
    }

    /// Hand over all of them.
    pub fn end(&mut self, put: impl FnMut(T)) {
        self.sort();
        self.first(self.waiting.len(), put);
    }

    /// Sort stably: the records of one CPU are in order.
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
        let mut passed = Vec::new();
        for time in [1, 5, 2, 4] {
            order.push(time, time, |each| passed.push(each));
        }
        order.round(|each| passed.push(each));
        assert!(passed.is_empty(), "the first round passes nothing on");
        for time in [3, 9, 6] {
            order.push(time, time, |each| passed.push(each));
        }
        order.round(|each| passed.push(each));
        assert_eq!(passed, [1, 2, 3, 4, 5]);
        order.end(|each| passed.push(each));
        assert_eq!(passed, [1, 2, 3, 4, 5, 6, 9]);
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
