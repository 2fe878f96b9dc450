//! The completely fair scheduler of Linux 6.1 (kernel/sched/fair.c): the task that has run least goes first,
//! for a slice of a period.

use serde::{Deserialize, Serialize};

use super::{Arrival, Departure, Entry, Placement, Policy, Queue};
use crate::weight::virtual_ns;
use crate::workload::Class;

/// The knobs and features, under the kernel's names. Times are in ns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Cfs {
    pub latency_ns: u64,
    pub min_granularity_ns: u64,
    pub wakeup_granularity_ns: u64,
    pub features: Features,
}

/// The scheduler features, named as in kernel/sched/features.h.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "SCREAMING_SNAKE_CASE")]
pub struct Features {
    pub gentle_fair_sleepers: bool,
    pub start_debit: bool,
    pub next_buddy: bool,
    pub last_buddy: bool,
    pub base_slice: bool,
    pub wakeup_preemption: bool,
    pub cache_hot_buddy: bool,
    pub hrtick: bool,
    pub wa_idle: bool,
    pub wa_weight: bool,
    pub wa_bias: bool,
}

impl Default for Features {
    fn default() -> Self {
        Self {
            gentle_fair_sleepers: true,
            start_debit: true,
            next_buddy: false,
            last_buddy: true,
            base_slice: true,
            wakeup_preemption: true,
            cache_hot_buddy: true,
            hrtick: false,
            wa_idle: true,
            wa_weight: true,
            wa_bias: true,
        }
    }
}

impl Default for Cfs {
    /// Return the defaults for a single CPU.
    fn default() -> Self {
        Self {
            latency_ns: 6_000_000,
            min_granularity_ns: 750_000,
            wakeup_granularity_ns: 1_000_000,
            features: Features::default(),
        }
    }
}

impl Cfs {
    /// Return the defaults for a machine with this number of CPUs.
    pub fn scaled(cpus: usize) -> Self {
        let (plain, factor) = (Self::default(), crate::scaling(cpus));
        Self {
            latency_ns: factor * plain.latency_ns,
            min_granularity_ns: factor * plain.min_granularity_ns,
            wakeup_granularity_ns: factor * plain.wakeup_granularity_ns,
            features: plain.features,
        }
    }

    /// Return the largest number of tasks that share one latency period.
    fn crowd(&self) -> u64 {
        self.latency_ns.div_ceil(self.min_granularity_ns.max(1))
    }

    fn slice(&self, queue: &Queue, weight: u32, more: u64) -> u64 {
        let count = queue.count() as u64 + more;
        let period = if count > self.crowd() { count * self.min_granularity_ns } else { self.latency_ns };
        let all = queue.weight + if more > 0 { u64::from(weight) } else { 0 };
        let share = (u128::from(period) * u128::from(weight) / u128::from(all.max(1))) as u64;
        if self.features.base_slice {
            share.max(self.min_granularity_ns)
        } else {
            share
        }
    }

    /// Return whether `one` is so far ahead of `other` that `other` should run (wakeup_preempt_entity).
    fn far_ahead(&self, one: &Entry, other: &Entry) -> bool {
        one.v - other.v > virtual_ns(self.wakeup_granularity_ns, other.weight)
    }

    fn update_min(queue: &mut Queue) {
        let current = queue.current.as_ref().map(|each| each.v);
        if current.is_some_and(|v| v <= queue.min_v) {
            return;
        }
        let left = queue.first().map(|each| each.v);
        if let Some(least) = left.into_iter().chain(current).min() {
            queue.min_v = queue.min_v.max(least);
        }
    }
}

impl Policy for Cfs {
    fn attach(&self, queue: &mut Queue, mut entry: Entry, how: Arrival) {
        match how {
            Arrival::New => {
                let debit = if self.features.start_debit { self.slice(queue, entry.weight, 1) } else { 0 };
                entry.v = entry.v.max(queue.min_v + virtual_ns(debit, entry.weight));
            }
            Arrival::Woken => {
                let bonus = self.latency_ns / if self.features.gentle_fair_sleepers { 2 } else { 1 };
                entry.v = entry.v.max(queue.min_v - bonus as i64);
            }
            // The task keeps its distance to the minimum of the queue that it came from.
            Arrival::Moved => entry.v += queue.min_v,
        }
        queue.push(entry);
        Self::update_min(queue);
    }

    fn detach(&self, queue: &mut Queue, task: u32, how: Departure) -> Option<Entry> {
        let mut entry = queue.remove(task)?;
        if how == Departure::Move {
            entry.v -= queue.min_v;
        }
        Self::update_min(queue);
        Some(entry)
    }

    fn revive(&self, _queue: &mut Queue, _task: u32) {}

    fn account(&self, queue: &mut Queue, ran_ns: u64) -> bool {
        queue.advance(ran_ns);
        Self::update_min(queue);
        false
    }

    fn tick(&self, queue: &mut Queue) -> bool {
        let (Some(current), Some(left)) = (&queue.current, queue.first()) else { return false };
        let slice = self.slice(queue, current.weight, 0);
        if queue.ran_ns > slice {
            // A task that has had its slice must not be picked again as a buddy.
            let task = current.task;
            queue.forget(task);
            return true;
        }
        queue.ran_ns >= self.min_granularity_ns && current.v - left.v > slice as i64
    }

    fn preempts(&self, queue: &mut Queue, task: u32) -> bool {
        let crowded = queue.count() as u64 >= self.crowd();
        let (Some(current), Some(wakee)) = (&queue.current, queue.find(task)) else { return false };
        let current_task = current.task;
        let marked = self.features.next_buddy && crowded;
        let idle = current.class == Class::Idle && wakee.class != Class::Idle;
        let asks = idle || (wakee.class == Class::Other && self.far_ahead(current, wakee));
        if marked {
            queue.next = Some(task);
        }
        if !self.features.wakeup_preemption || !asks {
            return false;
        }
        if !idle {
            queue.next = Some(task);
        }
        if self.features.last_buddy && crowded {
            queue.last = Some(current_task);
        }
        true
    }

    fn pick(&self, queue: &mut Queue, _asleep: &mut Vec<Entry>) {
        let buddies = (queue.next, queue.last, queue.skip);
        queue.put_back();
        (queue.next, queue.last, queue.skip) = buddies;
        let Some(left) = queue.first() else { return };
        let mut chosen = 0;
        if queue.skip == Some(left.task) {
            // The second smallest of a heap is one of the two children of the root.
            let second = (1..queue.waiting.len().min(3)).min_by_key(|&at| {
                let each = &queue.waiting[at];
                (each.v, each.order)
            });
            if let Some(second) = second.filter(|&at| !self.far_ahead(&queue.waiting[at], left)) {
                chosen = second;
            }
        }
        for buddy in [queue.next, queue.last].into_iter().flatten() {
            if let Some(buddy) = queue.position(buddy) {
                if !self.far_ahead(&queue.waiting[buddy], left) {
                    chosen = buddy;
                    break;
                }
            }
        }
        queue.run_at(chosen);
        queue.skip = None;
        Self::update_min(queue);
    }

    fn yielded(&self, queue: &mut Queue) {
        queue.skip = queue.running();
    }

    fn moved_asleep(&self, entry: &mut Entry, from: &Queue, to: &Queue) {
        entry.v += to.min_v - from.min_v;
    }

    /// Return what is left of the running task's slice, at least 0 (hrtick_start_fair).
    fn slice_left(&self, queue: &Queue) -> Option<u64> {
        let current = queue.current.as_ref().filter(|_| self.features.hrtick && !queue.waiting.is_empty())?;
        Some(self.slice(queue, current.weight, 0).saturating_sub(queue.ran_ns))
    }

    fn placement(&self) -> Placement {
        let Features { wa_idle, wa_weight, wa_bias, cache_hot_buddy, .. } = self.features;
        Placement { wa_idle, wa_weight, wa_bias, cache_hot_buddy }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::weight::NICE_0;

    fn entry(task: u32, v: i64) -> Entry {
        Entry { task, weight: NICE_0, v, ..Entry::default() }
    }

    #[test]
    fn a_slice_is_a_share_of_the_period_and_no_less_than_the_granularity() {
        let cfs = Cfs::default();
        let mut queue = Queue::default();
        queue.push(entry(0, 0));
        assert_eq!(cfs.slice(&queue, NICE_0, 0), 6_000_000);
        for task in 1..4 {
            queue.push(entry(task, 0));
        }
        assert_eq!(cfs.slice(&queue, NICE_0, 0), 1_500_000);
        for task in 4..16 {
            queue.push(entry(task, 0));
        }
        assert_eq!(cfs.slice(&queue, NICE_0, 0), 750_000);
        assert_eq!(cfs.slice(&queue, 15, 0), 750_000);
    }

    #[test]
    fn a_wakee_preempts_beyond_the_granularity_and_batch_never_does() {
        let cfs = Cfs::default();
        let mut queue = Queue::default();
        queue.push(entry(0, 10_000_000));
        cfs.pick(&mut queue, &mut Vec::new());
        queue.push(entry(1, 9_000_000));
        assert!(!cfs.preempts(&mut queue, 1), "exactly the granularity is not more");
        queue.waiting[0].v = 8_999_999;
        assert!(cfs.preempts(&mut queue, 1));
        assert_eq!(queue.next, Some(1));
        queue.waiting[0].class = Class::Batch;
        assert!(!cfs.preempts(&mut queue, 1));
    }

    #[test]
    fn sleepers_get_half_a_latency_and_new_ones_a_debit() {
        let cfs = Cfs::default();
        let mut queue = Queue::default();
        queue.min_v = 50_000_000;
        cfs.attach(&mut queue, entry(0, 0), Arrival::Woken);
        assert_eq!(queue.waiting[0].v, 47_000_000);
        let mut queue = Queue::default();
        queue.min_v = 50_000_000;
        cfs.attach(&mut queue, entry(0, 0), Arrival::New);
        assert_eq!(queue.waiting[0].v, 56_000_000);
    }
}
