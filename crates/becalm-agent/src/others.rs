//! The activity of others around runs: the CPU time that they took, the bytes that they moved from and to storage and
//! the memory by which they grew. Each interval has an `others` event, with a reading at its end and further ones within
//! long runs (`becalm_core::source::others`).
//!
//! Readings are taken between runs, so long after the last one that reading takes a thousandth of a CPU, and
//! within a run once per second at most. An interval that is too short at the end of a block continues in the
//! next block if that follows at once.

use becalm_core::exec::tree::own;
use becalm_core::source::activity::{Consumer, Interval, MemoryChange, Mover, NAMED};
use becalm_core::source::affinity::Cpus;
use becalm_core::source::others::{group, name, Others as Processes};
use becalm_core::source::switches::recorder::RecordError;
use becalm_core::source::taskstats::Task;
use becalm_core::source::traffic::{Disks, Traffic};
use becalm_core::time::{AnyClock, Clock};
use serde_json::{json, Map, Value};
use std::path::Path;

use crate::bpf;
use crate::wait_counter::{CountedWaits, NetworkTraffic, WaitCounter};

/// The shortest interval, ns.
const LEAST_NS: i64 = 100_000_000;

/// The shortest interval in multiples of the cost of a reading.
const SHARE: i64 = 1000;

/// The gap between runs up to which the activity of others in between counts as theirs during the runs, ns.
const GAP_NS: i64 = 20_000_000;

/// The intervals of a block.
pub struct Others {
    processes: Processes,
    clock: AnyClock,
    /// The end of the last reading, at which the next interval begins.
    read_ns: Option<i64>,
    cost_ns: i64,
    /// The first run since the last reading.
    first: Option<u64>,
    readings: Vec<Value>,
    /// The end of the last run, while an interval is open.
    ended_ns: i64,
    /// Whether nothing was reported yet.
    silent: bool,
    /// The CPU time and the wait of the running program at the last reading.
    own: (u64, u64),
    disks: Disks,
    /// The bytes that the programs moved since others were last reported; None if those of one are not known.
    own_traffic: Option<Traffic>,
    /// The CPU time that reading has taken since the last call of `spent_ns`.
    spent_ns: i64,
    /// The counter of whom programs wait for, where it was asked for.
    waits: Option<Box<dyn WaitCounter>>,
}

impl Others {
    /// Open the sources; None if this machine has no CPU clocks of processes.
    pub fn open(clock: &AnyClock) -> Option<Self> {
        let processes = Processes::open(own()).ok()?;
        let (clock, readings) = (clock.clone(), Vec::new());
        Some(Self {
            processes,
            clock,
            read_ns: None,
            cost_ns: 0,
            first: None,
            readings,
            ended_ns: 0,
            silent: true,
            own: (0, 0),
            disks: Disks::new(Path::new("/")),
            own_traffic: Some(Traffic::default()),
            spent_ns: 0,
            waits: None,
        })
    }

    /// Count whom programs wait for, from now on.
    ///
    /// # Errors
    /// Returns the reason if the kernel takes no program for it.
    pub fn count_waits(&mut self) -> Result<(), RecordError> {
        if self.waits.is_none() {
            let mut waits = bpf::waits()?;
            waits.begin(own());
            self.waits = Some(waits);
        }
        Ok(())
    }

    /// Begin a block: activity before it counts for nobody, unless a block has just ended whose interval was
    /// too short.
    pub fn block(&mut self) {
        self.processes.starters(own());
        if let Some(waits) = &mut self.waits {
            waits.begin(own());
        }
        if self.first.is_none() || self.clock.now_ns() - self.ended_ns > GAP_NS {
            (self.read_ns, self.first) = (None, None);
            self.own_traffic = Some(Traffic::default());
            self.readings.clear();
        }
    }

    /// Prepare for a run that is about to start.
    pub fn before(&mut self, seq: u64) {
        self.own = (0, 0);
        if self.first.is_some() {
            return;
        }
        let late = self.read_ns.is_none_or(|read_ns| self.clock.now_ns() - read_ns > GAP_NS);
        if late && self.may_read() {
            self.timed(|processes, _| processes.begin());
            self.disks.active();
            if let Some(waits) = &mut self.waits {
                waits.take();
                waits.traffic();
            }
        }
        self.first = Some(seq);
    }

    /// Look at a run that goes on.
    pub fn look(&mut self, shared: Option<&Cpus>) {
        if self.first.is_none() || !self.may_read() {
            return;
        }
        let (interval_ns, interval, own) = self.timed(|processes, interval_ns| {
            let interval = processes.interval(interval_ns, shared);
            (interval_ns, interval, processes.own_times())
        });
        let moved =
            own.map(|(exec, wait)| (exec.saturating_sub(self.own.0), wait.saturating_sub(self.own.1)));
        self.own = own.unwrap_or(self.own);
        self.readings.push(reading(interval_ns, interval, moved));
    }

    /// Register a program that has ended and was not reaped: its traffic, and that of the children that it
    /// waited for, is complete.
    pub fn program(&mut self, pid: u32) {
        let traffic = Traffic::of(Path::new("/"), pid).ok();
        self.own_traffic = self.own_traffic.zip(traffic).map(|(mut sum, traffic)| {
            sum.add(traffic);
            sum
        });
    }

    /// Register threads that have ended and belong to none of the programs.
    pub fn ended(&mut self, tasks: impl Iterator<Item = Task>) {
        tasks.for_each(|task| self.processes.ended(&task));
    }

    /// Register the end of the run `last`. Return the fields of the event if a reading is due or the block
    /// ends.
    pub fn after(&mut self, last: u64, ends: bool, shared: Option<&Cpus>) -> Option<Map<String, Value>> {
        let first = self.first?;
        if !(self.may_read() || ends && self.silent) {
            self.ended_ns = self.clock.now_ns();
            return None;
        }
        self.silent = false;
        let (interval_ns, interval) =
            self.timed(|processes, interval_ns| (interval_ns, processes.interval(interval_ns, shared)));
        self.first = None;
        let mut readings = std::mem::take(&mut self.readings);
        readings.push(reading(interval_ns, interval, None));
        let own = self.own_traffic.replace(Traffic::default());
        let event = json!({
            "event": "others", "first": first, "last": last, "readings": readings, "disks": self.disks.active(),
            "own_traffic": own.map(|own| [own.read, own.written]),
        });
        let Value::Object(mut fields) = event else { return None };
        if let Some(waits) = &mut self.waits {
            fields.insert("waits".to_owned(), waits_json(waits.take()));
            if let Some(traffic) = waits.traffic() {
                fields.insert("network".to_owned(), traffic_json(traffic));
            }
        }
        Some(fields)
    }

    /// Return the CPU time that reading has taken since the last call, ns.
    pub fn spent_ns(&mut self) -> i64 {
        std::mem::take(&mut self.spent_ns)
    }

    fn may_read(&self) -> bool {
        let least_ns = LEAST_NS.max(self.cost_ns.saturating_mul(SHARE));
        self.read_ns.is_none_or(|read_ns| self.clock.now_ns() - read_ns >= least_ns)
    }

    /// Read, passing the time since the last reading, and record the cost.
    fn timed<T>(&mut self, read: impl FnOnce(&mut Processes, u64) -> T) -> T {
        let (now_ns, cpu_ns) = (self.clock.now_ns(), self.clock.cpu_ns());
        let since_ns = self.read_ns.map_or(0, |read_ns| now_ns - read_ns);
        let found = read(&mut self.processes, u64::try_from(since_ns).unwrap_or(0));
        self.read_ns = Some(now_ns);
        self.cost_ns = self.clock.cpu_ns() - cpu_ns;
        self.spent_ns += self.cost_ns;
        found
    }
}

/// The waits of an interval: whom the programs waited for, the longest first.
fn waits_json(waits: CountedWaits) -> Value {
    let CountedWaits { by_process, own_ns, idle_ns, unknown_ns } = waits;
    let rest_ns: u64 = by_process.iter().skip(NAMED).map(|(_, _, ns)| ns).sum();
    let row = |(pid, task, ns): (u32, String, u64)| json!([pid, called(pid, task), group(pid), ns, 1]);
    let rows: Vec<Value> = by_process.into_iter().take(NAMED).map(row).collect();
    json!({"taken": rows, "rest_ns": rest_ns, "own_ns": own_ns, "idle_ns": idle_ns, "unknown_ns": unknown_ns})
}

/// The traffic of an interval over the network, the most first.
fn traffic_json(traffic: NetworkTraffic) -> Value {
    let NetworkTraffic { by_process, own: (received, sent), rest_bytes } = traffic;
    let rest: u64 = by_process.iter().skip(NAMED).map(|(_, _, received, sent)| received + sent).sum();
    let row = |(pid, task, received, sent): (u32, String, u64, u64)| {
        json!([pid, called(pid, task), group(pid), received, sent])
    };
    let rows: Vec<Value> = by_process.into_iter().take(NAMED).map(row).collect();
    json!({"movers": rows, "rest_bytes": rest_bytes + rest, "own": [received, sent]})
}

/// Return the name of a process; of one that has ended, that of its task.
fn called(pid: u32, task: String) -> String {
    Some(name(pid)).filter(|name| !name.is_empty()).unwrap_or(task)
}

fn reading(interval_ns: u64, interval: Interval, own: Option<(u64, u64)>) -> Value {
    let row = |Consumer { pid, name, group, cpu_ns, count }| json!([pid, name, group, cpu_ns, count]);
    let consumers: Vec<Value> = interval.consumers.into_iter().map(row).collect();
    let mover =
        |Mover { pid, name, group, traffic }| json!([pid, name, group, traffic.read, traffic.written]);
    let movers: Vec<Value> = interval.movers.into_iter().map(mover).collect();
    let change = |MemoryChange { pid, name, group, bytes }| json!([pid, name, group, bytes]);
    let changes: Vec<Value> = interval.memory_changes.into_iter().map(change).collect();
    let (exec_ns, wait_ns) = own.unzip();
    json!({
        "interval_ns": interval_ns, "exec_ns": exec_ns, "wait_ns": wait_ns, "rest_ns": interval.rest_ns,
        "elsewhere_ns": interval.elsewhere_ns, "taken": consumers, "movers": movers, "unread": interval.unread,
        "memory_changes": changes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counted_waits_beyond_the_longest_are_one_sum() {
        // No process has such a number, so each is named by its task.
        let process = |at: u64| (u32::MAX - at as u32, format!("task{at}"), 1000 - at);
        let by_process = (0..NAMED as u64 + 2).map(process).collect();
        let waits = CountedWaits { by_process, own_ns: 5, idle_ns: 6, unknown_ns: 7 };
        let value = waits_json(waits);
        let taken = value["taken"].as_array().unwrap();
        assert_eq!((taken.len(), &taken[0]), (NAMED, &json!([u32::MAX, "task0", "", 1000, 1])));
        let rest = (0..2).map(|at| 1000 - NAMED as u64 - at).sum::<u64>();
        assert_eq!(value["rest_ns"], json!(rest));
        assert_eq!(
            (&value["own_ns"], &value["idle_ns"], &value["unknown_ns"]),
            (&json!(5), &json!(6), &json!(7))
        );
    }

    #[test]
    fn traffic_beyond_the_most_is_one_sum() {
        let process = |at: u64| (u32::MAX - at as u32, format!("task{at}"), 1000 - at, 1);
        let by_process = (0..NAMED as u64 + 1).map(process).collect();
        let value = traffic_json(NetworkTraffic { by_process, own: (3, 4), rest_bytes: 10 });
        let movers = value["movers"].as_array().unwrap();
        assert_eq!((movers.len(), &movers[0]), (NAMED, &json!([u32::MAX, "task0", "", 1000, 1])));
        assert_eq!((&value["rest_bytes"], &value["own"]), (&json!(1011 - NAMED as u64), &json!([3, 4])));
    }
}
