//! Earliest eligible virtual deadline first, as in Linux 6.12 (kernel/sched/fair.c; Stoica & Abdel-Wahab
//! 1995).
//!
//! Lag is the service that a task is owed: the mean virtual time minus its own. Among the tasks with a lag of
//! at least 0, the one with the earliest deadline runs until it has had its slice.

use serde::{Deserialize, Serialize};

use super::queue::floor_ratio;
use super::{Arrival, Departure, Entry, Placement, Policy, Queue};
use crate::weight::virtual_ns;
use crate::workload::Class;

/// The knobs and features, under the kernel's names. Times are in ns. `tick_ns` is the tick of the machine,
/// which bounds lag.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Eevdf {
    pub base_slice_ns: u64,
    pub tick_ns: u64,
    /// The base slice before scaling, for which a task is protected without RUN_TO_PARITY from Linux 6.17 on;
    /// with it, the protection lasts for the shortest slice queued. None: a task is protected to its
    /// deadline, as before 6.17.
    pub least_protected_ns: Option<u64>,
    pub features: Features,
}

/// The scheduler features, named as in kernel/sched/features.h.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "SCREAMING_SNAKE_CASE")]
pub struct Features {
    pub place_lag: bool,
    pub place_deadline_initial: bool,
    pub place_rel_deadline: bool,
    pub run_to_parity: bool,
    pub preempt_short: bool,
    pub next_buddy: bool,
    pub delay_dequeue: bool,
    pub delay_zero: bool,
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
            place_lag: true,
            place_deadline_initial: true,
            place_rel_deadline: true,
            run_to_parity: true,
            preempt_short: true,
            next_buddy: false,
            delay_dequeue: true,
            delay_zero: true,
            wakeup_preemption: true,
            cache_hot_buddy: true,
            hrtick: false,
            wa_idle: true,
            wa_weight: true,
            wa_bias: true,
        }
    }
}

/// The base slice before scaling up to Linux 6.14. 6.12-stable has had the newer one since May 2025.
pub const OLDER_SLICE_NS: u64 = 750_000;
/// The base slice before scaling from Linux 6.15 on.
pub const SLICE_NS: u64 = 700_000;

impl Default for Eevdf {
    /// Return the defaults for a single CPU at 250 Hz.
    fn default() -> Self {
        Self {
            base_slice_ns: SLICE_NS,
            tick_ns: 4_000_000,
            least_protected_ns: None,
            features: Features::default(),
        }
    }
}

/// The task that is chosen: the running one, or the waiting one at an index.
#[derive(Debug, Clone, Copy)]
enum Best {
    Current,
    Waiting(usize),
}

impl Eevdf {
    /// Return the defaults for a machine with this number of CPUs and ticks per second.
    pub fn scaled(cpus: usize, hz: u64) -> Self {
        let base_slice_ns = crate::scaling(cpus) * SLICE_NS;
        Self { base_slice_ns, tick_ns: 1_000_000_000 / hz.max(1), ..Self::default() }
    }

    fn slice(&self, entry: &Entry) -> u64 {
        if entry.slice_ns > 0 {
            entry.slice_ns
        } else {
            self.base_slice_ns
        }
    }

    fn virtual_slice(&self, entry: &Entry) -> i64 {
        virtual_ns(self.slice(entry), entry.weight)
    }

    /// Return the lag of a task, limited to what it may keep.
    fn lag(&self, queue: &Queue, entry: &Entry) -> i64 {
        let most = virtual_ns((2 * self.slice(entry)).max(self.tick_ns), entry.weight);
        (queue.mean_v() - entry.v).clamp(-most, most)
    }

    /// Choose the task to run: the running one while it is protected, else the eligible one with the earliest
    /// deadline.
    fn best(&self, queue: &Queue) -> Option<Best> {
        let current = queue.current.as_ref().filter(|each| queue.eligible(each.v));
        if current.is_some() {
            let protects = self.features.run_to_parity || self.least_protected_ns.is_some();
            if protects && queue.protected {
                return Some(Best::Current);
            }
        }
        if let Some(next) =
            queue.next.filter(|_| self.features.next_buddy).and_then(|task| queue.position(task))
        {
            if queue.eligible(queue.waiting[next].v) {
                return Some(Best::Waiting(next));
            }
        }
        match (queue.earliest(), current) {
            // The waiting task wins among equal deadlines (entity_before is strict).
            (Some(best), Some(current)) if current.deadline < queue.waiting[best].deadline => {
                Some(Best::Current)
            }
            (Some(best), _) => Some(Best::Waiting(best)),
            (None, Some(_)) => Some(Best::Current),
            // Rounding may leave no task eligible: then the one furthest behind runs.
            (None, None) => {
                let waiting = queue.waiting.iter().enumerate().map(|(at, each)| (each, Best::Waiting(at)));
                let all = waiting.chain(queue.current.iter().map(|each| (each, Best::Current)));
                all.min_by_key(|(each, _)| (each.v, each.order)).map(|(_, best)| best)
            }
        }
    }

    fn place(&self, queue: &Queue, entry: &mut Entry, how: Arrival) {
        let mut lag = 0;
        if self.features.place_lag && queue.weight > 0 && entry.lag != 0 {
            // Its own arrival moves the mean, so the lag is scaled to compensate for that.
            let both = i128::from(queue.weight) + i128::from(entry.weight);
            lag = floor_ratio(i128::from(entry.lag) * both, queue.weight);
        }
        (entry.v, entry.rest) = (queue.mean_v() - lag, 0);
        let relative = entry.deadline;
        let slice = self.virtual_slice(entry);
        entry.deadline = entry.v
            + match how {
                Arrival::Moved if self.features.place_rel_deadline => relative,
                Arrival::New if self.features.place_deadline_initial => slice / 2,
                _ => slice,
            };
    }

    /// Protect the running task up to its deadline, or from 6.17 on for the shortest slice queued
    /// (set_protect_slice).
    fn protect(&self, queue: &mut Queue) {
        queue.protected = true;
        let Some(current) = &queue.current else { return };
        queue.protected_v = current.deadline;
        let Some(least) = self.least_protected_ns else { return };
        let own = self.slice(current);
        let shortest = if self.features.run_to_parity {
            queue.shortest_slice(self.base_slice_ns).unwrap_or(own)
        } else {
            least
        };
        if shortest < own {
            let until = current.v + virtual_ns(shortest, current.weight);
            queue.protected_v = until.min(current.deadline);
        }
    }
}

impl Policy for Eevdf {
    fn attach(&self, queue: &mut Queue, mut entry: Entry, how: Arrival) {
        entry.delayed = false;
        self.place(queue, &mut entry, how);
        queue.push(entry);
    }

    fn detach(&self, queue: &mut Queue, task: u32, how: Departure) -> Option<Entry> {
        let entry = queue.find(task)?;
        let lag = self.lag(queue, entry);
        let delays = how == Departure::Sleep && self.features.delay_dequeue && !queue.eligible(entry.v);
        if queue.count() == 1 {
            // A task that comes to an empty queue starts at the virtual time of the last one that left.
            queue.min_v = queue.min_v.max(entry.v);
        }
        let mut entry = queue.remove(task)?;
        if delays {
            entry.delayed = true;
            queue.push(entry);
            return None;
        }
        entry.lag = lag;
        entry.deadline -= entry.v;
        Some(entry)
    }

    fn revive(&self, queue: &mut Queue, task: u32) {
        let Some(entry) = queue.find(task) else { return };
        if self.features.delay_zero && self.lag(queue, entry) > 0 {
            if let Some(mut entry) = queue.take(task) {
                entry.lag = 0;
                entry.delayed = false;
                self.place(queue, &mut entry, Arrival::Woken);
                queue.push(entry);
            }
        } else if let Some(at) = queue.position(task) {
            queue.waiting[at].delayed = false;
        }
    }

    fn account(&self, queue: &mut Queue, ran_ns: u64) -> bool {
        queue.advance(ran_ns);
        let more = !queue.waiting.is_empty();
        let Some(current) = &queue.current else { return false };
        if current.v < current.deadline {
            let over = !queue.protected || current.v >= queue.protected_v;
            if self.least_protected_ns.is_none() || !over {
                return false;
            }
            queue.protected = false;
            return more;
        }
        let deadline = current.v + self.virtual_slice(current);
        if let Some(current) = &mut queue.current {
            current.deadline = deadline;
        }
        queue.protected = false;
        queue.cut_short = false;
        more
    }

    fn tick(&self, queue: &mut Queue) -> bool {
        // A slice ends in `account`; a tick only ends a protection that was cut short, once the task is not
        // eligible.
        queue.cut_short && queue.current.as_ref().is_some_and(|each| !queue.eligible(each.v))
    }

    fn preempts(&self, queue: &mut Queue, task: u32) -> bool {
        let (Some(current), Some(wakee)) = (&queue.current, queue.find(task)) else { return false };
        if current.class == Class::Idle && wakee.class != Class::Idle {
            return self.features.wakeup_preemption;
        }
        if !self.features.wakeup_preemption || wakee.class != Class::Other {
            return false;
        }
        let shorter = self.slice(wakee) < self.slice(current);
        let earlier = wakee.deadline < current.deadline || !queue.eligible(current.v);
        if self.features.preempt_short && shorter && queue.eligible(wakee.v) && earlier {
            queue.protected = false;
            queue.cut_short = true;
        }
        if self.features.next_buddy {
            queue.next = Some(task);
        }
        matches!(self.best(queue), Some(Best::Waiting(at)) if queue.waiting[at].task == task)
    }

    fn pick(&self, queue: &mut Queue, asleep: &mut Vec<Entry>) {
        while let Some(best) = self.best(queue) {
            let Best::Waiting(at) = best else {
                if self.least_protected_ns.is_some() && !queue.protected {
                    self.protect(queue);
                }
                return;
            };
            if !queue.waiting[at].delayed {
                queue.switch_to(at);
                self.protect(queue);
                return;
            }
            let lag = self.lag(queue, &queue.waiting[at]);
            queue.min_v = queue.min_v.max(queue.waiting[at].v);
            let mut entry = queue.take_at(at);
            entry.lag = if self.features.delay_zero { lag.min(0) } else { lag };
            entry.deadline -= entry.v;
            entry.delayed = false;
            asleep.push(entry);
        }
    }

    fn yielded(&self, queue: &mut Queue) {
        let Some(current) = &queue.current else { return };
        let slice = self.virtual_slice(current);
        if let Some(current) = &mut queue.current {
            current.deadline += slice;
        }
        queue.protected = false;
    }

    fn moved_asleep(&self, _entry: &mut Entry, _from: &Queue, _to: &Queue) {}

    /// Return what is left of the running task's slice (hrtick_start_fair).
    fn slice_left(&self, queue: &Queue) -> Option<u64> {
        let current = queue.current.as_ref().filter(|_| self.features.hrtick && !queue.waiting.is_empty())?;
        Some(self.slice(current).saturating_sub(queue.ran_ns))
    }

    fn placement(&self) -> Placement {
        let Features { wa_idle, wa_weight, wa_bias, cache_hot_buddy, .. } = self.features;
        Placement { wa_idle, wa_weight, wa_bias, cache_hot_buddy }
    }
}
