//! The effect of each kernel feature, on and off, and programs that were measured as a whole.
#![allow(clippy::unwrap_used)]

use becalm_sim::policy::{cfs, eevdf, Cfs, Eevdf, Policy};
use becalm_sim::simulation::Limits;
use becalm_sim::workload::measured::{Kind, Measured, Waits};
use becalm_sim::workload::{Class, Hackbench, Step, TaskDefinition, Workload};
use becalm_sim::{Machine, Simulation, Summary};
use serde::de::DeserializeOwned;
use serde::Serialize;
use serde_json::Value;

fn task(name: &str, program: u32) -> TaskDefinition {
    let name = name.to_owned();
    TaskDefinition { name, program, channel: 0, nice: 0, class: Class::Other, slice_ns: 0, start_ns: 0 }
}

fn free(cpus: usize) -> Machine {
    Machine { cpus, switch_ns: 0, wakeup_ns: 0, migration_ns: 0, ..Machine::default() }
}

fn run<P: Policy>(workload: &Workload, machine: &Machine, policy: &P) -> Summary {
    let limits = Limits { spans: 100_000, ..Limits::default() };
    let found = Simulation::new(workload, machine, policy, 1, limits).unwrap().run().unwrap();
    assert_eq!(found.run_ns + found.overhead_ns + found.idle_ns, found.cpus as u64 * found.end_ns);
    found
}

/// Return programs of one kind with this number of threads each; next to another program each is slowed to
/// 0.528.
fn measured(programs: u32, threads: u32, alone: f64, solo_ns: u64) -> Workload {
    let tasks = (0..programs * threads).map(|number| task("thread", number / threads)).collect();
    Workload {
        programs: (0..programs).map(|number| vec![Step::Advance(number)]).collect(),
        tasks,
        lengths: vec![vec![solo_ns]],
        kinds: vec![Kind { alone, alongside: vec![0.528] }],
        measured: (0..programs).map(|_| Measured { kind: 0, solo: 0 }).collect(),
        ..Workload::default()
    }
}

fn both(workload: &Workload, machine: &Machine) -> [Summary; 2] {
    let cpus = machine.cpus;
    [run(workload, machine, &Cfs::scaled(cpus)), run(workload, machine, &Eevdf::scaled(cpus, machine.hz))]
}

const SECOND: u64 = 1_000_000_000;

#[test]
fn measured_programs_take_the_time_of_the_source() {
    // Anderson (2013), 3.2, Deg = 0.528: one group takes its time alone, two that never share a tick 1.894
    // times that, and 20 18.94 times. Progress is updated at ticks, so it is off by at most one.
    let near = |found: &Summary, times: f64| {
        let off = found.end_ns as f64 / SECOND as f64 - times;
        assert!((-0.000_001..=0.0041).contains(&off), "{times}: {}", found.end_ns);
    };
    for found in both(&measured(1, 2, 0.5, SECOND), &free(2)) {
        near(&found, 1.0);
    }
    for found in both(&measured(1, 1, 1.0, SECOND), &free(2)) {
        near(&found, 1.0);
    }
    for found in both(&measured(2, 1, 1.0, SECOND), &free(2)) {
        near(&found, 1.894);
    }
    for found in both(&measured(20, 1, 1.0, SECOND), &free(2)) {
        // One of the last two may be alone for some turns.
        let times = found.end_ns as f64 / SECOND as f64;
        assert!((times / 18.94 - 1.0).abs() < 0.01, "{times}");
    }
}

/// Return programs of one kind whose threads run a share of the time and wait for the rest of it.
fn waiting(programs: u32, threads: u32, running: f64, alongside: f64) -> Workload {
    let busy = f64::from(threads) * running;
    let kinds = vec![Kind { alone: 1.0 / busy, alongside: vec![alongside] }];
    let waits = vec![Waits { running, burst_ns: 1_000_000 }];
    Workload { kinds, waits, ..measured(programs, threads, 1.0 / busy, SECOND) }
}

#[test]
fn a_waiting_program_takes_its_time_alone_and_leaves_the_cpu_to_others() {
    for found in both(&waiting(1, 1, 0.25, 4.0), &free(2)) {
        assert!((found.end_ns as f64 / SECOND as f64 - 1.0).abs() < 0.006, "{}", found.end_ns);
        assert!((found.run_ns as f64 / SECOND as f64 - 0.25).abs() < 0.006, "{}", found.run_ns);
    }
    // Three programs need 0.75 of one CPU: each waits for it at times, and none is faster than alone.
    for found in both(&waiting(3, 1, 0.25, 4.0), &free(1)) {
        assert!((1.0..1.6).contains(&(found.end_ns as f64 / SECOND as f64)), "{}", found.end_ns);
    }
    // Six programs need 1.5 CPUs: the CPU is the bottleneck.
    for found in both(&waiting(6, 1, 0.25, 4.0), &free(1)) {
        assert!((1.49..1.6).contains(&(found.end_ns as f64 / SECOND as f64)), "{}", found.end_ns);
    }
}

#[test]
fn a_measured_program_is_never_faster_than_alone() {
    // Four threads, measured with two busy CPUs, on eight CPUs; and a speed next to others above 1.
    for found in both(&measured(1, 4, 0.5, SECOND), &free(8)) {
        assert!(found.end_ns >= SECOND && found.end_ns < SECOND + 5_000_000, "{}", found.end_ns);
        assert!(found.run_ns <= 2 * SECOND + 40_000_000, "it waits when its work is done: {}", found.run_ns);
    }
    for found in both(&waiting(2, 1, 0.5, 3.0), &free(2)) {
        assert!(found.end_ns >= SECOND && found.end_ns < SECOND + 5_000_000, "{}", found.end_ns);
    }
}

#[test]
fn threads_of_many_groups_do_not_run_in_lockstep() {
    // Anderson (2013), 3.2: a thread meets one of its own group in a twentieth of all ticks and then advances
    // it by 1/2 of a tick, otherwise by 0.528: 20 groups take 20 / (2 (0.05 x 0.5 + 0.95 x 0.528)) = 18.99
    // times as long as one.
    for running in [1.0, 0.05] {
        let workload = Workload {
            kinds: vec![Kind { alone: 0.5, alongside: vec![0.528] }],
            waits: vec![Waits { running, burst_ns: 1_000_000 }],
            ..measured(20, 40, 0.5, SECOND / 5)
        };
        let (machine, policy) = (free(2), Cfs::scaled(2));
        let ends: Vec<u64> = (1..4)
            .map(|seed| {
                let one = Simulation::new(&workload, &machine, &policy, seed, Limits::default()).unwrap();
                one.run().unwrap().end_ns
            })
            .collect();
        assert!(ends[0] != ends[1] && ends[1] != ends[2], "seeds differ: {ends:?}");
        let times = ends.iter().sum::<u64>() as f64 / 3.0 / (SECOND / 5) as f64;
        assert!((times / 18.99 - 1.0).abs() < 0.015, "{running}: {times}");
    }
}

#[test]
fn lengths_are_drawn_from_their_quantiles_by_the_seed() {
    let program = vec![Step::Repeat(2_000), Step::ComputeDrawn(0), Step::SleepDrawn(1), Step::End];
    let workload = Workload {
        programs: vec![program],
        tasks: vec![task("drawn", 0)],
        lengths: vec![vec![10_000, 20_000, 60_000], vec![5_000]],
        ..Workload::default()
    };
    let found = run(&workload, &free(1), &Cfs::default());
    // Half of them is uniform from 10 to 20 us and half from 20 to 60 us: the mean is 27.5, the standard
    // deviation 14.8.
    let mean = found.run_ns as f64 / 2_000.0;
    assert!((mean / 27_500.0 - 1.0).abs() < 0.05, "{mean}");
    assert_eq!(found.idle_ns, 2_000 * 5_000);
    assert_eq!(run(&workload, &free(1), &Cfs::default()), found);
    let (machine, policy) = (free(1), Cfs::default());
    let other = Simulation::new(&workload, &machine, &policy, 2, Limits::default()).unwrap();
    assert_ne!(other.run().unwrap().run_ns, found.run_ns);
}

/// Return the turns of two spinners on one CPU, ns, without the last ones.
fn turns<P: Policy>(policy: &P) -> Vec<u64> {
    let workload = Workload {
        programs: vec![vec![Step::Compute(100_000_000)]],
        tasks: vec![task("a", 0), task("b", 0)],
        ..Workload::default()
    };
    let spans = run(&workload, &free(1), policy).spans;
    let mut turns: Vec<(u32, u64)> = Vec::new();
    for span in spans {
        match turns.last_mut() {
            Some((task, length)) if *task == span.task => *length += span.to_ns - span.from_ns,
            _ => turns.push((span.task, span.to_ns - span.from_ns)),
        }
    }
    turns[1..turns.len() - 2].iter().map(|&(_, length)| length).collect()
}

#[test]
fn hrtick_ends_slices_to_the_nanosecond_and_ticks_do_not() {
    let cfs = |hrtick| Cfs { features: cfs::Features { hrtick, ..Default::default() }, ..Cfs::default() };
    assert!(turns(&cfs(true)).iter().all(|&turn| turn == 3_000_000), "{:?}", turns(&cfs(true)));
    assert!(turns(&cfs(false)).iter().all(|&turn| turn % 4_000_000 == 0), "{:?}", turns(&cfs(false)));
    let eevdf =
        |hrtick| Eevdf { features: eevdf::Features { hrtick, ..Default::default() }, ..Eevdf::default() };
    assert!(turns(&eevdf(true)).iter().all(|&turn| turn == 700_000), "{:?}", turns(&eevdf(true)));
    assert!(turns(&eevdf(false)).iter().all(|&turn| turn % 4_000_000 == 0));
}

/// Return the number of migrations of a reader that slept on CPU 0, next to a spinner of this niceness, and
/// is woken from CPU 1, where `more` others run.
fn moves(features: cfs::Features, nice: i8, more: usize) -> u64 {
    let programs = vec![
        vec![Step::Receive(0), Step::Compute(1_000_000)],
        vec![Step::Compute(100_000_000)],
        vec![Step::Compute(5_000_000), Step::Send(0), Step::Compute(100_000_000)],
    ];
    let spinner = TaskDefinition { nice, ..task("spinner", 1) };
    let mut tasks = vec![task("reader", 0)];
    tasks.extend((0..more).map(|_| task("alongside", 1)));
    tasks.extend([spinner, task("writer", 2)]);
    let workload = Workload { programs, tasks, room: vec![1], ..Workload::default() };
    run(&workload, &free(2), &Cfs { features, ..Cfs::scaled(2) }).per_task[0].migrations
}

#[test]
fn the_features_decide_where_a_wakee_runs() {
    let features =
        |wa_idle, wa_weight, wa_bias| cfs::Features { wa_idle, wa_weight, wa_bias, ..Default::default() };
    // Next to two spinners the writer's CPU has less to do: 1024 + 1024 against 2501 without bias, or 2048
    // with it.
    assert_eq!(moves(features(false, true, false), -4, 1), 1);
    assert_eq!(moves(features(false, false, true), -4, 1), 0, "nothing draws it there");
}

#[test]
fn from_6_17_on_a_shorter_slice_ends_protection() {
    let workload = Workload {
        programs: vec![vec![Step::Compute(40_000_000)]],
        tasks: vec![
            TaskDefinition { slice_ns: 20_000_000, ..task("long", 0) },
            TaskDefinition { slice_ns: 1_000_000, ..task("short", 0) },
        ],
        ..Workload::default()
    };
    let longest = |least_protected_ns| {
        let policy = Eevdf { least_protected_ns, ..Eevdf::default() };
        let found = run(&workload, &Machine { hz: 1000, ..free(1) }, &policy);
        found.spans.iter().filter(|span| span.task == 0).map(|span| span.to_ns - span.from_ns).max().unwrap()
    };
    assert!(longest(None) >= 19_000_000, "{}", longest(None));
    assert!(longest(Some(700_000)) < longest(None), "{}", longest(Some(700_000)));
}

/// Return workloads and machines among which every feature makes a difference somewhere.
fn cases() -> Vec<(Workload, Machine)> {
    let bench =
        |groups, fan, loops, room| Hackbench { groups, fan, loops, room, ..Hackbench::default() }.workload();
    let apart = Machine { llc_cpus: 1, migration_cost_ns: 50_000, ..Machine::default() };
    let dear = Machine { cpus: 3, switch_ns: 20_000, write_ns: 20_000, ..apart.clone() };
    let phases = vec![Step::Repeat(20), Step::Compute(3_000_000), Step::Sleep(2_000_000), Step::End];
    let tasks = (0..9).map(|number| TaskDefinition {
        nice: [0, 5, 19][number as usize % 3],
        slice_ns: [0, 200_000, 9_000_000][number as usize % 3],
        start_ns: u64::from(number) * 500_000,
        ..task("phases", number % 2)
    });
    let mixed = Workload {
        programs: vec![phases, vec![Step::Compute(50_000_000)]],
        tasks: tasks.collect(),
        ..Workload::default()
    };
    vec![
        (mixed, free(2)),
        (bench(2, 20, 20, 270), Machine::default()),
        (bench(4, 5, 10, 4), Machine { cpus: 4, ..Machine::default() }),
        (bench(8, 2, 18, 1), Machine { cpus: 13, ..apart.clone() }),
        (bench(7, 3, 19, 1), dear),
        (bench(4, 12, 10, 1), Machine { cpus: 4, wakeup_ns: 20_000, migration_cost_ns: 500_000, ..apart }),
        (bench(2, 2, 10, 1), Machine { cpus: 3, migration_cost_ns: 0, ..Machine::default() }),
        (
            bench(6, 12, 27, 1),
            Machine { cpus: 13, llc_cpus: 4, wakeup_ns: 20_000, migration_ns: 1, ..Machine::default() },
        ),
    ]
}

/// Return the features of a policy that change nothing in any case, whether wakees are next buddies or not.
fn without_effect<F, P>(policy: impl Fn(F, usize) -> P) -> Vec<String>
where
    F: Default + Serialize + DeserializeOwned,
    P: Policy,
{
    let (cases, usual) = (cases(), serde_json::to_value(F::default()).unwrap());
    let flipped = |features: &Value, name: &str| {
        let mut features = features.clone();
        features[name] = Value::Bool(!features[name].as_bool().unwrap());
        features
    };
    let made = |features: &Value, cpus| policy(serde_json::from_value(features.clone()).unwrap(), cpus);
    let bases = [usual.clone(), flipped(&usual, "NEXT_BUDDY")];
    let limits = Limits { until_ns: 100_000_000, ..Limits::default() };
    let played = |features: &Value, (workload, machine): &(Workload, Machine)| {
        Simulation::new(workload, machine, &made(features, machine.cpus), 1, limits).unwrap().run().unwrap()
    };
    let names = usual.as_object().unwrap().keys().cloned();
    let idle = |name: &String| {
        !bases.iter().any(|base| {
            let other = flipped(base, name);
            cases.iter().any(|case| played(base, case) != played(&other, case))
        })
    };
    names.filter(idle).collect()
}

#[test]
fn every_feature_makes_a_difference() {
    let found = without_effect(|features, cpus| Cfs { features, ..Cfs::scaled(cpus) });
    assert_eq!(found, Vec::<String>::new());
    let found = without_effect(|features, cpus| Eevdf { features, ..Eevdf::scaled(cpus, 250) });
    assert_eq!(found, Vec::<String>::new());
}

/// The kernel's try_to_wake_up runs on the waker's time, so a waker with little work stays behind and is
/// preempted.
#[test]
fn wake_ups_are_charged_to_the_waker() {
    let workload = Hackbench { groups: 4, loops: 20, ..Hackbench::default() }.workload();
    let dear = Machine {
        cpus: 2,
        write_ns: 17_000,
        read_ns: 17_000,
        wakeup_ns: 20_000,
        switch_ns: 38_000,
        ..Machine::default()
    };
    let at_once = Cfs { wakeup_granularity_ns: 0, ..Cfs::scaled(2) };
    let found = run(&workload, &dear, &at_once);
    assert!(found.preemptions > 32_000 / 5, "{} of 32,000 messages took the CPU at once", found.preemptions);
}
