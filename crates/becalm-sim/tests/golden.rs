//! Published schedules, reproduced by the policies without a machine and its costs.

use becalm_sim::policy::{Arrival, Cfs, Departure, Eevdf, Entry, Policy, Queue};

/// Return the schedule of tasks (name, weight, request) whose virtual times are 0, 1, 2, 3 in order of name,
/// in quanta of 8 units, and their virtual times.
fn trace(tasks: &[(char, u32, u64)], quanta: usize) -> (String, Vec<f64>) {
    trace_by(1_000, 8_000, tasks, 8 * quanta as u64 * 1_000)
}

/// Return the schedule with units of `unit` ns, accounted every `step` ns until `until`.
fn trace_by(unit: u64, step: u64, tasks: &[(char, u32, u64)], until: u64) -> (String, Vec<f64>) {
    let policy = Eevdf { base_slice_ns: 8 * unit, tick_ns: 8 * unit, ..Eevdf::default() };
    let mut queue = Queue::default();
    for (number, &(_, weight, request)) in tasks.iter().enumerate() {
        let (v, slice) = ((number as u64 * unit) as i64, request * unit);
        let entry = Entry {
            task: number as u32,
            weight: 1024 * weight,
            slice_ns: slice,
            v,
            deadline: v + (slice / u64::from(weight)) as i64,
            ..Entry::default()
        };
        queue.push(entry);
    }
    let (mut schedule, mut means, mut choose) = (String::new(), Vec::new(), true);
    for now in (0..until).step_by(step as usize) {
        if choose {
            means.push(queue.moment as f64 / queue.weight as f64 / unit as f64);
            policy.pick(&mut queue, &mut Vec::new());
        }
        let running = queue.current.as_ref().map_or(0, |each| each.task as usize);
        if now % (8 * unit) == 0 {
            schedule.push(tasks[running].0);
        }
        choose = policy.account(&mut queue, step);
    }
    (schedule, means)
}

#[test]
fn the_schedules_of_the_commit_that_introduced_slices_per_task() {
    // The message of commit 857b158dc5e8, whose second example has 8.25 and 12.25 by mistake for 9.25 and
    // 13.25.
    let (schedule, means) = trace(&[('A', 1, 8), ('B', 1, 8), ('C', 1, 8), ('D', 1, 8)], 4);
    assert_eq!((schedule.as_str(), means), ("ABCD", vec![1.5, 3.5, 5.5, 7.5]));
    let (schedule, means) = trace(&[('A', 1, 16), ('B', 1, 16), ('C', 2, 16)], 8);
    assert_eq!((schedule.as_str(), means), ("AACCBBCC", vec![1.25, 5.25, 9.25, 13.25]));
    let (schedule, means) = trace(&[('A', 1, 16), ('B', 1, 8), ('C', 1, 16), ('D', 1, 16)], 8);
    assert_eq!((schedule.as_str(), means), ("BAACCBDD", vec![1.5, 3.5, 7.5, 11.5, 13.5]));
}

#[test]
fn a_schedule_depends_neither_on_the_unit_of_time_nor_on_the_accounting_step() {
    // Stoica & Abdel-Wahab 1995: A with weight 3 requests 24, B with weight 1 requests 16. A's first request
    // ends at virtual time 8, when the mean is 6.25; after B's it is 10.25.
    let tasks = [('A', 3, 24), ('B', 1, 16)];
    for unit in [1, 5, 7, 10, 100, 999, 1_000, 1_000_000] {
        for parts in [1, 2, 4, 8] {
            let (schedule, means) = trace_by(unit, 8 * unit / parts, &tasks, 64 * unit);
            assert_eq!(schedule, "AAABBAAA", "unit {unit}, {parts} parts");
            assert_eq!(means[..3], [0.25, 6.25, 10.25]);
        }
    }
}

#[test]
fn weights_without_a_common_divisor_share_time_in_proportion() {
    let tasks = [('A', 7, 24), ('B', 3, 16), ('C', 1, 8)];
    let (schedule, _) = trace_by(1_000, 1_000, &tasks, 8 * 1_100 * 1_000);
    let count = |name| schedule.chars().filter(|&each| each == name).count();
    for (name, share) in [('A', 700), ('B', 300), ('C', 100)] {
        assert!(count(name).abs_diff(share) <= 4, "{name}: {}", count(name));
    }
}

/// Return the turns of equal spinners under CFS, ns, at this number of ticks per second.
fn turns(hz: u64, count: u32) -> Vec<u64> {
    let policy = Cfs::default();
    let mut queue = Queue::default();
    for task in 0..count {
        queue.push(Entry { task, weight: 1024, ..Entry::default() });
    }
    policy.pick(&mut queue, &mut Vec::new());
    let (mut found, mut length) = (Vec::new(), 0);
    for _ in 0..200 {
        policy.account(&mut queue, 1_000_000_000 / hz);
        length += 1_000_000_000 / hz;
        if policy.tick(&mut queue) {
            found.push(length);
            length = 0;
            policy.pick(&mut queue, &mut Vec::new());
        }
    }
    found
}

#[test]
fn three_spinners_under_cfs_take_turns_of_three_ms_and_not_of_two() {
    // The time run must exceed the slice of 2 ms strictly, and ticks come every ms; at 250 Hz every 4 ms.
    assert!(turns(1000, 3).iter().all(|&each| each == 3_000_000));
    assert!(turns(250, 3).iter().all(|&each| each == 4_000_000));
}

#[test]
fn lag_survives_sleep_and_is_bounded() {
    let policy = Eevdf { features: no_delay(), ..Eevdf::default() };
    let mut queue = Queue::default();
    for task in 0..3 {
        policy.attach(&mut queue, Entry { task, weight: 1024, ..Entry::default() }, Arrival::New);
    }
    policy.pick(&mut queue, &mut Vec::new());
    policy.account(&mut queue, 300_000);
    let running = queue.current.as_ref().map_or(9, |each| each.task);
    let left = policy.detach(&mut queue, running, Departure::Sleep).unwrap();
    assert_eq!(left.lag, -200_000, "it has had 0.3 ms, its share was 0.1");
    let before = queue.mean_v();
    policy.attach(&mut queue, left, Arrival::Woken);
    let back = queue.find(running).unwrap();
    assert!(
        (queue.mean_v() - back.v + 200_000).abs() <= 1,
        "its coming moves the mean, which is made up for"
    );
    assert!(queue.mean_v() >= before);
    // A task that ran much too long keeps a lag of at most two slices.
    let mut queue = Queue::default();
    for task in 0..2 {
        policy.attach(&mut queue, Entry { task, weight: 1024, ..Entry::default() }, Arrival::New);
    }
    policy.pick(&mut queue, &mut Vec::new());
    policy.account(&mut queue, 900_000_000);
    let running = queue.current.as_ref().map_or(9, |each| each.task);
    assert_eq!(policy.detach(&mut queue, running, Departure::Sleep).unwrap().lag, -4_000_000);
}

fn no_delay() -> becalm_sim::policy::eevdf::Features {
    becalm_sim::policy::eevdf::Features { delay_dequeue: false, ..Default::default() }
}

#[test]
fn a_sleeper_with_negative_lag_stays_queued_until_it_is_picked() {
    let policy = Eevdf::default();
    let mut queue = Queue::default();
    for task in 0..2 {
        policy.attach(&mut queue, Entry { task, weight: 1024, ..Entry::default() }, Arrival::New);
    }
    policy.pick(&mut queue, &mut Vec::new());
    policy.account(&mut queue, 500_000);
    let first = queue.current.as_ref().map_or(9, |each| each.task);
    assert_eq!(policy.detach(&mut queue, first, Departure::Sleep), None);
    assert_eq!(queue.count(), 2);
    let mut asleep = Vec::new();
    policy.pick(&mut queue, &mut asleep);
    let second = queue.current.as_ref().map_or(9, |each| each.task);
    assert_ne!(first, second);
    policy.account(&mut queue, 5_000_000);
    policy.pick(&mut queue, &mut asleep);
    assert_eq!(asleep.iter().map(|each| (each.task, each.lag)).collect::<Vec<_>>(), [(first, 0)]);
    assert_eq!(queue.count(), 1);
}
