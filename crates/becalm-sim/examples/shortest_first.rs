//! An example of a user's scheduler: the task that has run least since it woke goes first, and keeps the CPU
//! for at most two ms.
//!
//!     cargo run --release --example shortest_first
//!
//! It prints the time of hackbench under this policy, under CFS and under EEVDF. A policy is one type with a
//! few small functions; the simulation does the rest. Here an entry's `v` is the time it has run since it
//! woke, and `lag` is not used.

use becalm_sim::policy::{Arrival, Departure, Entry, Policy, Queue};
use becalm_sim::simulation::{Limits, Simulation};
use becalm_sim::workload::Hackbench;
use becalm_sim::{Cfs, Eevdf, Machine, Summary};

/// The longest time that a task runs while others wait, ns.
const TURN_NS: u64 = 2_000_000;

struct ShortestFirst;

impl Policy for ShortestFirst {
    fn attach(&self, queue: &mut Queue, mut entry: Entry, how: Arrival) {
        if how != Arrival::Moved {
            entry.v = 0;
        }
        queue.push(entry);
    }

    fn detach(&self, queue: &mut Queue, task: u32, _how: Departure) -> Option<Entry> {
        queue.remove(task)
    }

    fn revive(&self, _queue: &mut Queue, _task: u32) {}

    fn account(&self, queue: &mut Queue, ran_ns: u64) -> bool {
        queue.advance(ran_ns);
        queue.ran_ns >= TURN_NS && !queue.waiting.is_empty()
    }

    fn tick(&self, _queue: &mut Queue) -> bool {
        false
    }

    fn preempts(&self, queue: &mut Queue, task: u32) -> bool {
        let ran = |entry: Option<&Entry>| entry.map_or(0, |entry| entry.v);
        ran(queue.find(task)) + (TURN_NS as i64) < ran(queue.current.as_ref())
    }

    fn pick(&self, queue: &mut Queue, _asleep: &mut Vec<Entry>) {
        queue.put_back();
        let first = queue.waiting.iter().min_by_key(|each| (each.v, each.order)).map(|each| each.task);
        if let Some(task) = first {
            queue.run(task);
        }
    }

    fn yielded(&self, queue: &mut Queue) {
        queue.advance(TURN_NS);
    }

    fn moved_asleep(&self, _entry: &mut Entry, _from: &Queue, _to: &Queue) {}
}

fn hackbench<P: Policy>(policy: &P) -> Result<Summary, Box<dyn std::error::Error>> {
    let (workload, machine) =
        (Hackbench { groups: 5, ..Hackbench::default() }.workload(), Machine::default());
    Ok(Simulation::new(&workload, &machine, policy, 1, Limits::default())?.run()?)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let found = [
        ("shortest first", hackbench(&ShortestFirst)?),
        ("cfs", hackbench(&Cfs::scaled(2))?),
        ("eevdf", hackbench(&Eevdf::scaled(2, 250))?),
    ];
    for (name, summary) in found {
        let (end, wait) = (summary.end_ns as f64 / 1e6, summary.wait.p99_ns as f64 / 1e6);
        println!("{name:15} {end:8.1} ms, {:8} switches, 99 % wait less than {wait:.1} ms", summary.switches);
    }
    Ok(())
}

#[test]
fn all_messages_are_sent_and_times_add_up() {
    let found = hackbench(&ShortestFirst).unwrap();
    assert_eq!((found.messages, found.finished), (200_000, true));
    assert_eq!(found.run_ns + found.overhead_ns + found.idle_ns, 2 * found.end_ns);
}
