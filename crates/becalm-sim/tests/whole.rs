//! Invariants of complete simulations of any workload.
#![allow(clippy::unwrap_used)]

use becalm_sim::policy::{Cfs, Eevdf, Policy};
use becalm_sim::simulation::Limits;
use becalm_sim::workload::{Class, Hackbench, Step, TaskDefinition, Workload};
use becalm_sim::{Machine, Simulation, SimulationError, Summary};
use proptest::prelude::*;

fn task(name: &str, program: u32) -> TaskDefinition {
    let name = name.to_owned();
    TaskDefinition { name, program, channel: 0, nice: 0, class: Class::Other, slice_ns: 0, start_ns: 0 }
}

fn spinners(nices: &[i8], ns: u64) -> Workload {
    let tasks = nices.iter().map(|&nice| TaskDefinition { nice, ..task("spinner", 0) }).collect();
    Workload { programs: vec![vec![Step::Compute(ns)]], tasks, room: vec![], ..Workload::default() }
}

fn free(cpus: usize) -> Machine {
    Machine { cpus, switch_ns: 0, wakeup_ns: 0, migration_ns: 0, ..Machine::default() }
}

fn run<P: Policy>(workload: &Workload, machine: &Machine, policy: &P) -> Summary {
    Simulation::new(workload, machine, policy, 1, Limits::default()).unwrap().run().unwrap()
}

fn adds_up(found: &Summary) {
    assert_eq!(
        found.run_ns + found.overhead_ns + found.idle_ns,
        found.cpus as u64 * found.end_ns,
        "{found:?}"
    );
}

#[test]
fn a_program_alone_takes_its_time() {
    let found = run(&spinners(&[0], 50_000_000), &free(1), &Cfs::default());
    assert_eq!(
        (found.end_ns, found.run_ns, found.finished, found.switches),
        (50_000_000, 50_000_000, true, 1)
    );
    adds_up(&found);
    let found = run(&spinners(&[0], 50_000_000), &Machine::default(), &Eevdf::default());
    assert_eq!(found.end_ns, 50_002_000, "and one switch");
    adds_up(&found);
}

#[test]
fn spinners_share_by_weight_under_both() {
    let (workload, machine) = (spinners(&[0, 5], 20_000_000_000), free(1));
    let limits = Limits { until_ns: 10_000_000_000, ..Limits::default() };
    for found in [
        Simulation::new(&workload, &machine, &Cfs::default(), 1, limits).unwrap().run().unwrap(),
        Simulation::new(&workload, &machine, &Eevdf::default(), 1, limits).unwrap().run().unwrap(),
    ] {
        let ratio = found.per_task[0].run_ns as f64 / found.per_task[1].run_ns as f64;
        assert!((ratio / (1024.0 / 335.0) - 1.0).abs() < 0.02, "{ratio}");
        assert!(!found.finished && found.fairness > 0.999);
        adds_up(&found);
    }
}

#[test]
fn four_spinners_on_two_cpus_take_twice_as_long() {
    for found in [
        run(&spinners(&[0; 4], 1_000_000_000), &free(2), &Cfs::scaled(2)),
        run(&spinners(&[0; 4], 1_000_000_000), &free(2), &Eevdf::scaled(2, 250)),
    ] {
        assert_eq!(found.end_ns, 2_000_000_000);
        assert_eq!(found.idle_ns, 0);
        adds_up(&found);
    }
}

#[test]
fn three_spinners_on_two_cpus_keep_both_busy_until_one_is_left() {
    for found in [
        run(&spinners(&[0; 3], 1_000_000_000), &free(2), &Cfs::scaled(2)),
        run(&spinners(&[0; 3], 1_000_000_000), &free(2), &Eevdf::scaled(2, 250)),
    ] {
        assert!(found.end_ns >= 1_500_000_000 && found.end_ns <= 2_000_000_000, "{found:?}");
        adds_up(&found);
    }
}

#[test]
fn hackbench_sends_all_its_messages() {
    let bench = Hackbench { groups: 3, fan: 5, loops: 20, room: 2, ..Hackbench::default() };
    for machine in [
        Machine { cpus: 1, ..Machine::default() },
        Machine::default(),
        Machine { cpus: 8, llc_cpus: 4, ..Machine::default() },
    ] {
        for found in [
            run(&bench.workload(), &machine, &Cfs::scaled(machine.cpus)),
            run(&bench.workload(), &machine, &Eevdf::scaled(machine.cpus, 250)),
        ] {
            assert_eq!(found.messages, bench.messages());
            assert_eq!(found.tasks_ended, 30);
            // Every message is written once and read once.
            assert_eq!(found.run_ns, 2 * bench.messages() * 1_000);
            assert!(found.wakeups > 0 && found.switches > 30);
            adds_up(&found);
        }
    }
}

#[test]
fn equal_seeds_give_equal_bytes_and_others_do_not() {
    let (bench, machine) = (
        Hackbench { groups: 2, fan: 4, loops: 10, room: 3, ..Hackbench::default() }.workload(),
        Machine { jitter: 0.2, ..Machine::default() },
    );
    let policy = Eevdf::scaled(2, 250);
    let made = |seed| {
        let found =
            Simulation::new(&bench, &machine, &policy, seed, Limits::default()).unwrap().run().unwrap();
        serde_json::to_string(&found).unwrap()
    };
    assert_eq!(made(5), made(5));
    assert_ne!(made(5), made(6));
}

#[test]
fn sleepers_wake_in_time_and_latency_comes_from_other_tasks() {
    let program = vec![Step::Repeat(10), Step::Sleep(10_000_000), Step::Compute(1_000_000), Step::End];
    let workload = Workload {
        programs: vec![program],
        tasks: vec![task("periodic", 0)],
        room: vec![],
        ..Workload::default()
    };
    let found = run(&workload, &free(1), &Eevdf::default());
    assert_eq!((found.end_ns, found.idle_ns, found.wakeups), (110_000_000, 100_000_000, 10));
    adds_up(&found);
}

/// Return the number of migrations of a reader that slept on CPU 0, next to a spinner of this niceness, and
/// is woken from CPU 1.
fn moves_of_a_reader(nice: i8) -> u64 {
    let programs = vec![
        vec![Step::Receive(0), Step::Compute(1_000_000)],
        vec![Step::Compute(100_000_000)],
        vec![Step::Compute(5_000_000), Step::Send(0), Step::Compute(100_000_000)],
    ];
    // Tasks are created on the CPU with the least load: the reader and the second spinner on CPU 0.
    let spinner = TaskDefinition { nice, ..task("spinner", 1) };
    let tasks = vec![task("reader", 0), task("spinner", 1), spinner, task("writer", 2)];
    let found =
        run(&Workload { programs, tasks, room: vec![1], ..Workload::default() }, &free(2), &Cfs::scaled(2));
    adds_up(&found);
    found.per_task[0].migrations
}

#[test]
fn a_task_wakes_on_the_wakers_cpu_when_that_has_less_to_do_than_its_own() {
    // The writer is about to wait and does not count: 1024 + 1024 on its CPU, 2501 or 1024 on the reader's.
    assert_eq!(moves_of_a_reader(-4), 1);
    assert_eq!(moves_of_a_reader(0), 0);
}

#[test]
fn a_deadlock_names_the_waiting_tasks() {
    let programs = vec![vec![Step::Receive(0)], vec![Step::Send(1), Step::Send(1)]];
    let workload = Workload {
        programs,
        tasks: vec![task("reader", 0), task("writer", 1)],
        room: vec![1, 1],
        ..Workload::default()
    };
    let machine = Machine::default();
    let stuck = Simulation::new(&workload, &machine, &Cfs::default(), 1, Limits::default()).unwrap().run();
    let why = stuck.unwrap_err().to_string();
    assert!(
        why.contains("reader waits for a message in channel 0 and nobody who is left writes into it"),
        "{why}"
    );
    assert!(why.contains("writer waits for room in channel 1 and nobody who is left reads from it"), "{why}");
    let programs = vec![vec![Step::Receive(0), Step::Send(1)], vec![Step::Receive(1), Step::Send(0)]];
    let workload = Workload {
        programs,
        tasks: vec![task("hen", 0), task("egg", 1)],
        room: vec![1, 1],
        channels: vec!["eggs".into(), "hens".into()],
        ..Workload::default()
    };
    let stuck = Simulation::new(&workload, &machine, &Eevdf::default(), 1, Limits::default()).unwrap().run();
    let why = stuck.unwrap_err().to_string();
    assert!(
        why.contains("hen waits for a message in eggs from egg; egg waits for a message in hens from hen"),
        "{why}"
    );
}

#[test]
fn endless_steps_without_time_are_detected() {
    let programs = vec![vec![Step::Repeat(u64::MAX), Step::Compute(0), Step::End]];
    let workload = Workload { programs, tasks: vec![task("busy", 0)], room: vec![], ..Workload::default() };
    let machine = Machine::default();
    let stuck = Simulation::new(&workload, &machine, &Cfs::default(), 1, Limits::default()).unwrap().run();
    assert_eq!(stuck.unwrap_err(), SimulationError::Timeless { task: "busy".into() });
}

#[test]
fn endless_yields_are_detected_if_they_take_no_time() {
    let programs = vec![vec![Step::Repeat(u64::MAX), Step::Yield, Step::End]];
    let alone =
        Workload { programs: programs.clone(), tasks: vec![task("polite", 0)], ..Workload::default() };
    let machine = Machine { cpus: 1, ..Machine::default() };
    let limits = Limits { until_ns: 10_000_000, ..Limits::default() };
    let policy = Eevdf::default();
    let stuck = Simulation::new(&alone, &machine, &policy, 1, limits).unwrap().run();
    assert_eq!(stuck.unwrap_err(), SimulationError::Timeless { task: "polite".into() });
    let tasks = vec![task("polite", 0), task("too", 0)];
    let both = Workload { programs, tasks, ..Workload::default() };
    let found = Simulation::new(&both, &machine, &policy, 1, limits).unwrap().run().unwrap();
    assert!(found.end_ns == 10_000_000 && found.switches > 1000, "{found:?}");
}

#[test]
fn senders_of_a_full_socket_wake_together_when_a_quarter_is_left() {
    let sender = vec![Step::Repeat(40), Step::Send(0), Step::End];
    let receiver = vec![Step::Repeat(80), Step::Receive(0), Step::Compute(3_000), Step::End];
    let workload = |drained: Vec<u32>| Workload {
        programs: vec![sender.clone(), receiver.clone()],
        tasks: vec![task("receiver", 1), task("one", 0), task("other", 0)],
        room: vec![8],
        drained,
        ..Workload::default()
    };
    let found = [vec![], vec![2]].map(|drained| run(&workload(drained), &free(1), &Eevdf::default()));
    // Each message read wakes one sender, or the sixth wakes both.
    assert!(2 * found[1].wakeups < found[0].wakeups, "{} {}", found[1].wakeups, found[0].wakeups);
    for each in &found {
        assert_eq!((each.messages, each.finished), (80, true));
        adds_up(each);
    }
    let mut wrong = workload(vec![8]);
    assert!(wrong.check().is_err(), "it is full then");
    wrong.drained = vec![1, 1];
    assert!(wrong.check().unwrap_err().to_string().contains("2 channels say when"));
}

#[test]
fn a_stopped_simulation_has_a_summary_of_the_time_so_far() {
    let (bench, machine) = (Hackbench::default().workload(), Machine::default());
    let limits = Limits { events: 5_000, spans: 10, ..Limits::default() };
    let found = Simulation::new(&bench, &machine, &Eevdf::scaled(2, 250), 1, limits).unwrap().run().unwrap();
    assert!(!found.finished && found.events == 5_000 && found.messages > 0);
    assert_eq!(found.spans.len(), 10);
    assert!(found.spans_dropped > 0);
    adds_up(&found);
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (1..5_000_000u64).prop_map(Step::Compute),
        (1..5_000_000u64).prop_map(Step::Sleep),
        Just(Step::Yield),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn time_adds_up_and_everybody_gets_through(
        programs in prop::collection::vec(prop::collection::vec(step(), 1..8), 1..4),
        tasks in prop::collection::vec((0..4u32, -20..20i8, 0..3u8, 0..3_000_000u64), 1..12),
        cpus in 1..6usize,
        eevdf in any::<bool>(),
    ) {
        let count = programs.len() as u32;
        let tasks = tasks.into_iter().map(|(program, nice, class, start_ns)| TaskDefinition {
            nice,
            start_ns,
            class: [Class::Other, Class::Batch, Class::Idle][class as usize],
            ..task("any", program % count)
        }).collect();
        let workload = Workload { programs, tasks, room: vec![], ..Workload::default() };
        let machine = Machine { cpus, ..Machine::default() };
        let found = if eevdf { run(&workload, &machine, &Eevdf::scaled(cpus, 250)) } else { run(&workload, &machine, &Cfs::scaled(cpus)) };
        adds_up(&found);
        prop_assert!(found.finished);
        let wanted: u64 = workload.tasks.iter().flat_map(|task| &workload.programs[task.program as usize]).map(|step| match step {
            Step::Compute(ns) => *ns,
            _ => 0,
        }).sum();
        prop_assert_eq!(found.run_ns, wanted);
        let again = if eevdf { run(&workload, &machine, &Eevdf::scaled(cpus, 250)) } else { run(&workload, &machine, &Cfs::scaled(cpus)) };
        prop_assert_eq!(serde_json::to_string(&found).unwrap(), serde_json::to_string(&again).unwrap());
    }

    /// With any number of spinners, no task waits longer than several times the turns of all others.
    #[test]
    fn nobody_starves(nices in prop::collection::vec(-20..20i8, 2..10), eevdf in any::<bool>()) {
        let workload = spinners(&nices, 1_000_000_000_000);
        let limits = Limits { until_ns: 120_000_000_000, ..Limits::default() };
        let machine = free(1);
        let found = if eevdf {
            Simulation::new(&workload, &machine, &Eevdf::scaled(1, 250), 1, limits).unwrap().run().unwrap()
        } else {
            Simulation::new(&workload, &machine, &Cfs::scaled(1), 1, limits).unwrap().run().unwrap()
        };
        for (task, nice) in found.per_task.iter().zip(&nices) {
            let all: u64 = nices.iter().map(|&each| u64::from(becalm_sim::weight::of_nice(each))).sum();
            let share = becalm_sim::weight::of_nice(*nice) as f64 / all as f64;
            // Ticks are 4 ms: a task whose share is below one tick may have run for none or one.
            let (wanted, slack) = (share * 120e9, 20e6);
            prop_assert!((task.run_ns as f64 - wanted).abs() <= slack + 0.02 * wanted, "{} {} {}", nice, task.run_ns, wanted);
        }
    }
}
