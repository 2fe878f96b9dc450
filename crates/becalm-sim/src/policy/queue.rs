//! The run queue of a CPU: a heap of waiting tasks, the running one, and their sums.

use crate::weight::virtual_part;
use crate::workload::Class;

/// A task as the scheduler sees it.
///
/// `v` is its virtual time. `deadline` and `lag` are virtual times, too, and used by EEVDF only. `slice_ns`
/// is its own slice, or 0 for the policy's. `rest` is the rounding remainder of its virtual time, in
/// `weight`ths of a ns. `delayed` means that it sleeps but is still queued. `order` is the order of arrival.
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
    /// The time at which it last stopped running, ns, from which the policy derives whether its data are in
    /// the cache.
    pub ran_until_ns: u64,
}

impl Entry {
    /// Return the key that orders waiting tasks: the deadline, if a policy sets one, then virtual time, then
    /// arrival.
    fn rank(&self) -> (i64, i64, u64) {
        (self.deadline, self.v, self.order)
    }
}

/// The number of waiting tasks up to which a linear scan is faster than the heap, most of which is often not
/// eligible.
const FEW: usize = 32;

/// The tasks of one CPU: the waiting ones and the running one. Fields that each choice reads are adjacent.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Queue {
    pub current: Option<Entry>,
    /// A heap: the entry at n comes before those at 2n + 1 and 2n + 2. A change in place must keep the rank
    /// of an entry.
    pub waiting: Vec<Entry>,
    /// The sum of all load weights, including that of the running task.
    pub weight: u64,
    /// The sum of load weight times virtual time over all tasks.
    pub moment: i128,
    /// The monotonic minimum of virtual time, by which CFS places tasks.
    pub min_v: i64,
    /// The time that the running task has run since it was picked, ns.
    pub ran_ns: u64,
    /// The virtual time up to which the running task is protected (vprot, from 6.17 on).
    pub protected_v: i64,
    order: u64,
    /// The index at which the newest entry was stored.
    newest: usize,
    /// The number of waiting tasks with their own slice.
    slices: usize,
    pub next: Option<u32>,
    pub last: Option<u32>,
    pub skip: Option<u32>,
    /// The running task is protected until it has had its slice (RUN_TO_PARITY).
    pub protected: bool,
    /// A task with a shorter slice has ended the protection: the running task keeps the CPU only while it is
    /// eligible (PREEMPT_SHORT).
    pub cut_short: bool,
}

impl Queue {
    /// Return the number of tasks, including the running one.
    pub fn count(&self) -> usize {
        self.waiting.len() + usize::from(self.current.is_some())
    }

    /// Add a waiting entry. Among entries with equal keys, the earlier one comes first.
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

    /// Return the first waiting entry: without deadlines the one with the least virtual time.
    pub fn first(&self) -> Option<&Entry> {
        self.waiting.first()
    }

    /// Return the index of the eligible entry with the earliest deadline.
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

    /// Search the heap from the root down for the eligible entry with the earliest deadline, skipping what is
    /// later than the best.
    fn earliest_of_many(&self) -> Option<usize> {
        // A heap of all tasks that fit into memory has fewer levels; each adds one index that is still to be
        // visited.
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

    /// Return the shortest slice of the waiting tasks; `usual_ns` is that of tasks without their own.
    pub fn shortest_slice(&self, usual_ns: u64) -> Option<u64> {
        let own = |each: &Entry| if each.slice_ns > 0 { each.slice_ns } else { usual_ns };
        match self.slices {
            0 => self.first().map(|_| usual_ns),
            _ => self.waiting.iter().map(own).min(),
        }
    }

    /// Move the entry at an index up to its place in the heap.
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

    /// Move the entry at an index down to its place in the heap.
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

    /// Return the index of a waiting task.
    pub fn position(&self, task: u32) -> Option<usize> {
        match self.waiting.get(self.newest) {
            Some(newest) if newest.task == task => Some(self.newest),
            _ => self.waiting.iter().position(|each| each.task == task),
        }
    }

    /// Remove a waiting task.
    pub fn take(&mut self, task: u32) -> Option<Entry> {
        let at = self.position(task)?;
        Some(self.take_at(at))
    }

    /// Remove the waiting task at an index.
    pub fn take_at(&mut self, at: usize) -> Entry {
        let entry = self.take_out(at);
        self.part(&entry);
        entry
    }

    /// Remove the running task.
    pub fn take_current(&mut self) -> Option<Entry> {
        let entry = self.current.take()?;
        self.part(&entry);
        self.ran_ns = 0;
        self.protected = false;
        self.cut_short = false;
        Some(entry)
    }

    /// Remove a task, whether it runs or waits.
    pub fn remove(&mut self, task: u32) -> Option<Entry> {
        if self.running() == Some(task) {
            self.take_current()
        } else {
            self.take(task)
        }
    }

    /// Return the running task.
    #[inline]
    pub fn running(&self) -> Option<u32> {
        self.current.as_ref().map(|each| each.task)
    }

    /// Put the running task back among the waiting ones.
    pub fn put_back(&mut self) {
        if let Some(entry) = self.take_current() {
            self.push(entry);
        }
    }

    /// Let a waiting task run.
    pub fn run(&mut self, task: u32) {
        if let Some(at) = self.position(task) {
            self.run_at(at);
        }
    }

    /// Let the waiting task at an index run.
    pub fn run_at(&mut self, at: usize) {
        let entry = self.take_out(at);
        self.begin(entry);
    }

    /// Let the waiting task at an index run, and the running one wait, keeping its marks as a buddy.
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

    /// Advance the virtual time of the running task by a time that it has run, ns.
    pub fn advance(&mut self, ns: u64) {
        if let Some(entry) = &mut self.current {
            // The remainder is carried, so that a slice ends on time however often it is accounted.
            let moved = virtual_part(ns, entry.weight, &mut entry.rest);
            entry.v += moved;
            self.moment += i128::from(moved) * i128::from(entry.weight);
            self.ran_ns += ns;
        }
    }

    /// Return the weighted mean of all virtual times, rounded down; `min_v` for an empty queue.
    pub fn mean_v(&self) -> i64 {
        match self.weight {
            0 => self.min_v,
            weight => floor_ratio(self.moment, weight),
        }
    }

    /// Return whether a virtual time is at most the weighted mean, computed without rounding: such a task has
    /// had no more than its share.
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

    /// Clear the buddy marks of a task.
    pub fn forget(&mut self, task: u32) {
        for buddy in [&mut self.next, &mut self.last, &mut self.skip] {
            if *buddy == Some(task) {
                *buddy = None;
            }
        }
    }
}

/// Divide and round down. Sums of virtual times fit into 64 bits for hours of simulated time.
pub(super) fn floor_ratio(sum: i128, weight: u64) -> i64 {
    match (i64::try_from(sum), i64::try_from(weight)) {
        (Ok(sum), Ok(weight)) => sum.div_euclid(weight),
        _ => sum.div_euclid(i128::from(weight)) as i64,
    }
}
