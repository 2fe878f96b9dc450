//! Placement of waking tasks on CPUs, and load balancing from busy CPUs to those with less to do.

use std::ops::Range;

use super::{pair, Arrival, Departure, Policy, Simulation};

/// The load relative to another CPU above which a CPU gives tasks away, in hundredths (imbalance_pct).
const IMBALANCE_PERCENT: usize = 117;

/// The number of failed attempts after which tasks are moved although their data are still in the cache
/// (cache_nice_tries).
const NICE_TRIES: u32 = 1;

impl<P: Policy> Simulation<'_, P> {
    /// Return the CPU for a waking task: its former CPU or the waker's (`affine`), or an idle one of the same
    /// last-level cache (select_task_rq_fair, select_idle_sibling).
    pub(super) fn place(&mut self, task: usize, former: usize, waker: Option<usize>) -> usize {
        let target = match waker {
            Some(waker) if waker != former && !self.wide(waker, task) => self.affine(task, former, waker),
            _ => former,
        };
        if self.idle.contains(target) {
            return target;
        }
        let domain = self.cpus[target].near();
        if domain.contains(&former) && self.idle.contains(former) {
            return former;
        }
        self.idle.next_after(target, domain).unwrap_or(target)
    }

    /// Return `waker` or `former`, as WA_IDLE and WA_WEIGHT decide (wake_affine).
    fn affine(&self, task: usize, former: usize, waker: usize) -> usize {
        let placement = self.policy.placement();
        let (here, there) = (&self.cpus[waker].queue, &self.cpus[former].queue);
        if placement.wa_idle {
            // The writer of a message is about to wait for the next one (WF_SYNC): if it is the only task,
            // its CPU becomes idle.
            if here.count() == 1 {
                return waker;
            }
            if self.idle.contains(former) {
                return former;
            }
        }
        if !placement.wa_weight {
            return former;
        }
        let own = here.current.as_ref().map_or(0, |entry| u64::from(entry.weight));
        let weight = self.tasks[task].entry.as_ref().map_or(0, |entry| u64::from(entry.weight));
        let (mut this, mut previous) = (here.weight - own + weight, there.weight);
        if placement.wa_bias {
            this *= 100;
            previous *= 100 + (IMBALANCE_PERCENT as u64 - 100) / 2;
        }
        // The added 1 stands for the writer, which is about to wait.
        if this < previous + 1 {
            waker
        } else {
            former
        }
    }

    /// Return whether a waker of many tasks wakes a task that wakes many others, too; such a waker does not
    /// pull the task to its CPU (wake_wide).
    fn wide(&self, waker: usize, task: usize) -> bool {
        let Some(current) = self.cpus[waker].queue.running() else { return false };
        let (one, other) = (self.tasks[current as usize].flips, self.tasks[task].flips);
        let factor = self.cpus[waker].near().len() as u64;
        let (least, most) = (u64::from(one.min(other)), u64::from(one.max(other)));
        least >= factor && most >= least * factor
    }

    /// Record which task was woken, and count the changes of this partner; half of the count decays each
    /// second.
    pub(super) fn record_wakee(&mut self, waker: usize, task: usize) {
        let Some(current) = self.cpus[waker].queue.running() else { return };
        let this = &mut self.tasks[current as usize];
        let second = (self.now / 1_000_000_000) as u32;
        if second > this.flips_second {
            this.flips >>= 1;
            this.flips_second = second;
        }
        if this.wakee != task as u32 {
            this.wakee = task as u32;
            this.flips += 1;
        }
    }

    /// Update the sets of idle and crowded CPUs after a queue has changed.
    pub(super) fn counted(&mut self, cpu: usize) {
        let queue = &self.cpus[cpu].queue;
        if self.weights[cpu] == queue.weight {
            // Weights are positive, so the number of tasks is unchanged.
            return;
        }
        let count = queue.count();
        self.weights[cpu] = queue.weight;
        if let Some(least) = &mut self.least {
            least.set(cpu, queue.weight);
        }
        self.idle.set(cpu, count == 0);
        self.crowded.set(cpu, count > 1);
    }

    /// Let a CPU that is about to become idle take a task from the busiest CPU of its last-level cache, or
    /// else of all, unless its mean idle time is below the cost of a migration (newidle_balance). Return
    /// whether it took one.
    pub(super) fn pull(&mut self, cpu: usize) -> bool {
        if self.cpus[cpu].mean_idle_ns < self.machine.migration_cost_ns {
            return false;
        }
        let near = self.cpus[cpu].near();
        if self.take_from_busiest(cpu, near.clone(), 1, false) {
            return true;
        }
        near.len() < self.cpus.len() && self.take_from_busiest(cpu, 0..self.cpus.len(), 1, false)
    }

    /// Balance at a tick: let an idle CPU take a task from this one, or else, at intervals, let this CPU take
    /// tasks from a busier one.
    pub(super) fn balance_at_tick(&mut self, cpu: usize) {
        if self.cpus.len() == 1 {
            return;
        }
        if self.cpus[cpu].queue.count() > 1 {
            let near = self.cpus[cpu].near();
            let idle = self.idle.within(near).chain(self.idle.within(0..self.cpus.len())).next();
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
        // A busy CPU balances every 16 ms times the number of CPUs (min_interval, busy_factor).
        self.cpus[cpu].balance_ns = self.now + 16_000_000 * self.cpus.len() as u64;
        let near = self.cpus[cpu].near();
        let patient = self.cpus[cpu].failures <= NICE_TRIES;
        let moved = self.take_from_busiest(cpu, near, self.machine.nr_migrate, !patient)
            || self.take_from_busiest(cpu, 0..self.cpus.len(), self.machine.nr_migrate, !patient);
        self.cpus[cpu].failures = if moved { 0 } else { self.cpus[cpu].failures + 1 };
    }

    /// Take up to `most` tasks from the busiest CPU of a domain, while it has clearly more than this one.
    fn take_from_busiest(&mut self, cpu: usize, domain: Range<usize>, most: usize, hot: bool) -> bool {
        let busiest = self.crowded.heaviest(domain, cpu, &self.weights);
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

    /// Move the task that has waited longest from one CPU to another. `hot` includes tasks that ran a moment
    /// ago.
    fn take(&mut self, from: usize, to: usize, hot: bool) -> bool {
        self.account(from);
        self.account(to);
        let cost = self.machine.migration_cost_ns;
        let now = self.now;
        let source = &self.cpus[from].queue;
        // A buddy is about to run on its CPU, with its data in the cache (CACHE_HOT_BUDDY).
        let keeps = self.policy.placement().cache_hot_buddy && !self.idle.contains(to);
        let movable = source.waiting.iter().filter(|each| {
            let buddy = keeps && [source.next, source.last].contains(&Some(each.task));
            let cool = each.ran_until_ns == 0 || each.ran_until_ns.saturating_add(cost) <= now;
            !each.delayed && (hot || (cool && !buddy))
        });
        let Some(task) = movable.min_by_key(|each| each.order).map(|each| each.task) else { return false };
        let (source, target) = pair(&mut self.cpus, from, to);
        let Some(entry) = self.policy.detach(&mut source.queue, task, Departure::Move) else { return false };
        self.policy.attach(&mut target.queue, entry, Arrival::Moved);
        self.counted(from);
        self.counted(to);
        self.migrated(task as usize, to);
        true
    }
}
