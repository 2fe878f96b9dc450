//! The run queue of a CPU, about which a policy decides: a heap of those that wait, the one that runs, and their sums.

use crate::weight::virtual_part;
use crate::workload::Class;

/// A task as the scheduler sees it. `v`: virtual time; `deadline`, `lag`: virtual as well, and only EEVDF's; `slice_ns`: its
/// own, 0 for the policy's. `rest`: what rounding has left over of its virtual time, in `weight`ths. `delayed`: it sleeps, and is queued all the same. `order`: who came first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Entry {
    pub task: u32,
    pub weight: u32,
    pub slice_ns: u64,
    pub class: Class,
    pub v: i64,
    pub rest: u32,
    pub deadline: i64,
    pub lag: i64,
    pub delayed: bool,
    pub order: u64,
    /// When it last stopped running, ns: what ran a moment ago has its data in the cache.
    pub ran_until_ns: u64,
}

impl Entry {
    /// By what those that wait are ordered: the deadline, where a policy has some, then virtual time, then who came first.
    fn rank(&self) -> (i64, i64, u64) {
        (self.deadline, self.v, self.order)
    }
}

/// So many are gone through one after the other faster than by the heap: often most of them are not eligible.
const FEW: usize = 32;

/// The tasks of one CPU: those that wait, and the one that runs. What each choice reads stands together.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Queue {
    pub current: Option<Entry>,
    /// A heap: an entry at n comes before those at 2n + 1 and 2n + 2. What is changed in it must keep its rank.
    pub waiting: Vec<Entry>,
    /// Of all, the running one included.
    pub weight: u64,
    /// Sum of weight times virtual time over all.
    pub moment: i128,
    /// Never goes back; CFS places tasks by it.
    pub min_v: i64,
    /// How long the running one has run since it was picked, ns.
    pub ran_ns: u64,
    /// The latest moment, virtual, up to which it keeps the CPU (vprot, from 6.17 on).
    pub protected_v: i64,
    order: u64,
    /// Where the entry that came last was put.
    newest: usize,
    /// How many of those that wait have a slice of their own.
    slices: usize,
    pub next: Option<u32>,
    pub last: Option<u32>,
    pub skip: Option<u32>,
    /// It keeps the CPU until it has had what it asked for (RUN_TO_PARITY).
    pub protected: bool,
    /// A task with a shorter slice has ended that: it keeps the CPU only while it is eligible (PREEMPT_SHORT).
    pub cut_short: bool,
}

impl Queue {
    /// How many tasks there are, the running one included.
    pub fn count(&self) -> usize {
        self.waiting.len() + usize::from(self.current.is_some())
    }

    /// Let an entry wait. Of entries that are alike in all else, the earlier one counts as first.
    pub fn push(&mut self, mut entry: Entry) {
        self.order += 1;
        entry.order = self.order;
        self.weight += u64::from(entry.weight);
        self.moment += i128::from(entry.v) * i128::from(entry.weight);
        self.slices += usize::from(entry.slice_ns > 0);
        let last = self.waiting.len();
        self.waiting.push(entry);
        self.newest = self.rise(last, entry);
    }

    /// The first of those that wait: without deadlines the one with the least virtual time.
    pub fn first(&self) -> Option<&Entry> {
        self.waiting.first()
    }

    /// Where the one with the earliest deadline is that is eligible.
    pub fn earliest(&self) -> Option<usize> {
        if self.waiting.len() > FEW {
            return self.earliest_of_many();
        }
        let mean = self.mean_v();
        let mut best = None;
        let mut least = (i64::MAX, u64::MAX);
        for (at, each) in self.waiting.iter().enumerate() {
            if each.v <= mean && (each.deadline, each.order) < least {
                (best, least) = (Some(at), (each.deadline, each.order));
            }
        }
        best
    }

    /// The same from the top of the heap down: nothing that is later than one that was found.
    fn earliest_of_many(&self) -> Option<usize> {
        // A heap of all tasks that memory holds has fewer levels; each adds one place that is still to be seen.
        let mut places = [0_u32; 40];
        let (mut open, mut best) = (usize::from(!self.waiting.is_empty()), None::<usize>);
        while open > 0 {
            open -= 1;
            let at = places[open] as usize;
            let each = &self.waiting[at];
            if best.is_some_and(|best| self.waiting[best].deadline < each.deadline) {
                continue;
            }
            if self.eligible(each.v) {
                let before = |best: &Entry| (each.deadline, each.order) < (best.deadline, best.order);
                if best.is_none_or(|best| before(&self.waiting[best])) {
                    best = Some(at);
                }
            }
            for below in [2 * at + 2, 2 * at + 1] {
                if below < self.waiting.len() {
                    places[open] = below as u32;
                    open += 1;
                }
            }
        }
        best
    }

    /// The shortest slice of those that wait, where all others have this one.
    pub fn shortest_slice(&self, usual_ns: u64) -> Option<u64> {
        let own = |each: &Entry| if each.slice_ns > 0 { each.slice_ns } else { usual_ns };
        match self.slices {
            0 => self.first().map(|_| usual_ns),
            _ => self.waiting.iter().map(own).min(),
        }
    }

    /// Move the entry at a place up to where it comes before nobody above it.
    fn rise(&mut self, mut at: usize, entry: Entry) -> usize {
        let from = at;
        while at > 0 {
            let above = (at - 1) / 2;
            if self.waiting[above].rank() <= entry.rank() {
                break;
            }
            self.waiting[at] = self.waiting[above];
            at = above;
        }
        if at != from {
            self.waiting[at] = entry;
        }
        at
    }

    /// Move one that comes too late down.
    fn sink(&mut self, from: usize) {
        let (mut at, entry) = (from, self.waiting[from]);
        while let Some(left) = self.waiting.get(2 * at + 1) {
            let right = self.waiting.get(2 * at + 2).filter(|right| right.rank() < left.rank());
            let (first, below) = right.map_or((left, 2 * at + 1), |right| (right, 2 * at + 2));
            if entry.rank() <= first.rank() {
                break;
            }
            self.waiting[at] = *first;
            at = below;
        }
        if at != from {
            self.waiting[at] = entry;
        }
    }

    fn take_out(&mut self, at: usize) -> Entry {
        let entry = self.waiting.swap_remove(at);
        self.slices -= usize::from(entry.slice_ns > 0);
        if at < self.waiting.len() && self.rise(at, self.waiting[at]) == at {
            self.sink(at);
        }
        entry
    }

    /// Where a task waits.
    pub fn position(&self, task: u32) -> Option<usize> {
        match self.waiting.get(self.newest) {
            Some(newest) if newest.task == task => Some(self.newest),
            _ => self.waiting.iter().position(|each| each.task == task),
        }
    }

    /// Take a waiting entry out.
    pub fn take(&mut self, task: u32) -> Option<Entry> {
        let at = self.position(task)?;
        Some(self.take_at(at))
    }

    /// Take the one at a place out.
    pub fn take_at(&mut self, at: usize) -> Entry {
        let entry = self.take_out(at);
        self.part(&entry);
        entry
    }

    /// Take the running one out.
    pub fn take_current(&mut self) -> Option<Entry> {
        let entry = self.current.take()?;
        self.part(&entry);
        self.ran_ns = 0;
        self.protected = false;
        self.cut_short = false;
        Some(entry)
    }

    /// Take one out, whether it runs or waits.
    pub fn remove(&mut self, task: u32) -> Option<Entry> {
        if self.running() == Some(task) {
            self.take_current()
        } else {
            self.take(task)
        }
    }

    /// Which task runs.
    #[inline]
    pub fn running(&self) -> Option<u32> {
        self.current.as_ref().map(|each| each.task)
    }

    /// The running one waits again.
    pub fn put_back(&mut self) {
        if let Some(entry) = self.take_current() {
            self.push(entry);
        }
    }

    /// Let a waiting entry run.
    pub fn run(&mut self, task: u32) {
        if let Some(at) = self.position(task) {
            self.run_at(at);
        }
    }

    /// Let the one at a place run.
    pub fn run_at(&mut self, at: usize) {
        let entry = self.take_out(at);
        self.begin(entry);
    }

    /// Let the one at a place run, and the running one wait, which stays a buddy if it is one.
    pub fn switch_to(&mut self, at: usize) {
        let entry = self.take_out(at);
        let buddies = (self.next, self.last, self.skip);
        self.put_back();
        (self.next, self.last, self.skip) = buddies;
        self.begin(entry);
    }

    fn begin(&mut self, entry: Entry) {
        self.ran_ns = 0;
        self.cut_short = false;
        self.forget(entry.task);
        self.current = Some(entry);
    }

    /// The running one has run for so long: its virtual time advances.
    pub fn advance(&mut self, ns: u64) {
        if let Some(entry) = &mut self.current {
            // However often it is accounted: a slice is over after its length, and not a rounding error later.
            let moved = virtual_part(ns, entry.weight, &mut entry.rest);
            entry.v += moved;
            self.moment += i128::from(moved) * i128::from(entry.weight);
            self.ran_ns += ns;
        }
    }

    /// The weighted mean of all virtual times, rounded down; `min_v` of an empty queue.
    pub fn mean_v(&self) -> i64 {
        match self.weight {
            0 => self.min_v,
            weight => floor_ratio(self.moment, weight),
        }
    }

    /// Weighted virtual times of all less so much each: what is not negative has had no more than its share.
    pub fn eligible(&self, v: i64) -> bool {
        self.moment >= i128::from(v) * i128::from(self.weight)
    }

    pub fn find(&self, task: u32) -> Option<&Entry> {
        let current = self.current.as_ref().filter(|each| each.task == task);
        current.or_else(|| self.position(task).map(|at| &self.waiting[at]))
    }

    fn part(&mut self, entry: &Entry) {
        self.weight -= u64::from(entry.weight);
        self.moment -= i128::from(entry.v) * i128::from(entry.weight);
        self.forget(entry.task);
    }

    /// A task is nobody's buddy any more.
    pub fn forget(&mut self, task: u32) {
        for buddy in [&mut self.next, &mut self.last, &mut self.skip] {
            if *buddy == Some(task) {
                *buddy = None;
            }
        }
    }
}

/// One over the other, rounded down. Sums of virtual times fit into 64 bits for hours of simulated time.
pub(super) fn floor_ratio(sum: i128, weight: u64) -> i64 {
    match (i64::try_from(sum), i64::try_from(weight)) {
        (Ok(sum), Ok(weight)) => sum.div_euclid(weight),
        _ => sum.div_euclid(i128::from(weight)) as i64,
    }
}
