//! Which CPU a task runs on: where it is woken, and how CPUs with less to do take tasks from those with more.

use std::ops::Range;

use super::{pair, Arrival, Departure, Policy, Simulation};

/// A CPU that has this share more than another, in hundredths, gives something away (imbalance_pct).
const IMBALANCE_PERCENT: usize = 117;

/// Times that nothing could be moved before tasks are moved whose data are still in the cache (cache_nice_tries).
const NICE_TRIES: u32 = 1;

impl<P: Policy> Simulation<'_, P> {
    /// Where a task that wakes is to run: its former CPU if that is idle, another idle one of the same last-level cache, or
    /// the less loaded of its former CPU and the waker's (select_task_rq_fair).
    pub(super) fn place(&self, task: usize, former: usize, waker: Option<usize>) -> usize {
        let mut target = former;
        if let Some(waker) = waker.filter(|&waker| waker != former) {
            let (here, there) = (&self.cpus[waker].queue, &self.cpus[former].queue);
            let weight = self.tasks[task].entry.as_ref().map_or(0, |entry| entry.weight);
            // The writer of a message is about to wait for the next one: it does not count (WF_SYNC).
            let own = here.current.as_ref().map_or(0, |entry| entry.weight);
            let idle_there = there.count() == 0;
            if !idle_there && here.weight - own + weight < there.weight {
                target = waker;
            }
        }
        let domain = self.machine.llc(target);
        if self.idle(target) {
            return target;
        }
        if domain.contains(&former) && self.idle(former) {
            return former;
        }
        let length = domain.len();
        let around = (1..length).map(|step| domain.start + (target - domain.start + step) % length);
        around.into_iter().find(|&cpu| self.idle(cpu)).unwrap_or(target)
    }

    fn idle(&self, cpu: usize) -> bool {
        self.cpus[cpu].queue.count() == 0
    }

    /// The CPU with the fewest tasks; of equals the first.
    pub(super) fn emptiest(&self, cpus: Range<usize>) -> usize {
        let first = cpus.start;
        cpus.min_by_key(|&cpu| (self.cpus[cpu].queue.weight, cpu)).unwrap_or(first)
    }

    /// A CPU is about to be idle: it takes a task from the busiest of its last-level cache, else of all.
    pub(super) fn pull(&mut self, cpu: usize) -> bool {
        let near = self.machine.llc(cpu);
        if self.take_from_busiest(cpu, near.clone(), 1, false) {
            return true;
        }
        near.len() < self.cpus.len() && self.take_from_busiest(cpu, 0..self.cpus.len(), 1, false)
    }

    /// At a tick, now and then: an idle CPU is made to take a task from this one; else this one looks whether another has
    /// more than it.
    pub(super) fn balance_at_tick(&mut self, cpu: usize) {
        if self.cpus.len() == 1 {
            return;
        }
        if self.cpus[cpu].queue.count() > 1 {
            let near = self.machine.llc(cpu);
            let idle = near.chain(0..self.cpus.len()).find(|&other| other != cpu && self.idle(other));
            if let Some(idle) = idle {
                self.end_idle(idle);
                if self.take(cpu, idle, true) {
                    self.cpus[idle].choose = true;
                    self.schedule_next(idle);
                } else {
                    self.cpus[idle].idle_since_ns = self.cpus[idle].idle_since_ns.min(self.now);
                }
                return;
            }
        }
        if self.now < self.cpus[cpu].balance_ns {
            return;
        }
        // A busy CPU looks after sixteen times as many ms as there are CPUs (min_interval, busy_factor).
        self.cpus[cpu].balance_ns = self.now + 16_000_000 * self.cpus.len() as u64;
        let near = self.machine.llc(cpu);
        let patient = self.cpus[cpu].failures <= NICE_TRIES;
        let moved = self.take_from_busiest(cpu, near, self.machine.nr_migrate, !patient)
            || self.take_from_busiest(cpu, 0..self.cpus.len(), self.machine.nr_migrate, !patient);
        self.cpus[cpu].failures = if moved { 0 } else { self.cpus[cpu].failures + 1 };
    }

    /// Take up to so many tasks from the CPU of a domain that has most, as long as it has clearly more.
    fn take_from_busiest(&mut self, cpu: usize, domain: Range<usize>, most: usize, hot: bool) -> bool {
        let busiest = domain
            .filter(|&other| other != cpu)
            .max_by_key(|&other| (self.cpus[other].queue.weight, std::cmp::Reverse(other)));
        let Some(busiest) = busiest else { return false };
        let mut moved = false;
        for _ in 0..most {
            let (mine, theirs) = (self.cpus[cpu].queue.count(), self.cpus[busiest].queue.count());
            let uneven = theirs >= mine + 2 && 100 * theirs > IMBALANCE_PERCENT * mine;
            if !uneven || !self.take(busiest, cpu, hot) {
                break;
            }
            moved = true;
        }
        moved
    }

    /// Move the task that has waited longest from one CPU to another; `hot`: even one that ran a moment ago.
    fn take(&mut self, from: usize, to: usize, hot: bool) -> bool {
        self.account(from);
        self.account(to);
        let cost = self.machine.migration_cost_ns;
        let now = self.now;
        let movable = self.cpus[from].queue.waiting.iter().filter(|each| {
            !each.delayed && (hot || each.ran_until_ns == 0 || each.ran_until_ns.saturating_add(cost) <= now)
        });
        let Some(task) = movable.min_by_key(|each| each.order).map(|each| each.task) else { return false };
        let (source, target) = pair(&mut self.cpus, from, to);
        let Some(entry) = self.policy.detach(&mut source.queue, task, Departure::Move) else { return false };
        self.policy.attach(&mut target.queue, entry, Arrival::Moved);
        self.migrated(task as usize, to);
        true
    }
}
