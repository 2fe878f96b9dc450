//! Invariants of a queue under EEVDF after any history: lags sum to zero, and a picked task has a lag of at
//! least 0.
#![allow(clippy::unwrap_used)]

use becalm_sim::policy::{Arrival, Departure, Eevdf, Entry, Policy, Queue};
use proptest::prelude::*;

#[derive(Debug, Clone)]
enum Act {
    Come(i8, u64),
    Run(u64),
    Sleep,
    Wake(usize),
    Leave(usize),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        3 => (-20..20i8, prop_oneof![Just(0u64), 100_000..100_000_000u64])
            .prop_map(|(nice, slice)| Act::Come(nice, slice)),
        2 => (1..20_000_000u64).prop_map(Act::Run),
        1 => Just(Act::Sleep),
        1 => (0..16usize).prop_map(Act::Wake),
        1 => (0..64usize).prop_map(Act::Leave),
    ]
}

/// Return the sum of weight times lag relative to the exact mean; `moment` is the sum of weight times virtual
/// time.
fn weighted_lags(queue: &Queue) -> i128 {
    let all = queue.waiting.iter().chain(&queue.current);
    let weight: i128 = all.clone().map(|each| i128::from(each.weight)).sum();
    let moment: i128 = all.clone().map(|each| i128::from(each.weight) * i128::from(each.v)).sum();
    assert_eq!((weight, moment), (i128::from(queue.weight), queue.moment), "sums are kept up");
    // Multiplied by the total weight, so that nothing is rounded: the sum of w (M - v W) over all tasks.
    all.map(|each| i128::from(each.weight) * (queue.moment - i128::from(each.v) * weight)).sum()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn lags_sum_to_zero_and_only_the_eligible_are_picked(acts in prop::collection::vec(act(), 1..160), shortest in any::<bool>()) {
        let policy = Eevdf { least_protected_ns: shortest.then_some(700_000), ..Eevdf::default() };
        let (mut queue, mut asleep, mut gone) = (Queue::default(), Vec::new(), Vec::<Entry>::new());
        let mut next = 0;
        for act in acts {
            match act {
                Act::Come(nice, slice_ns) => {
                    let weight = becalm_sim::weight::of_nice(nice);
                    policy.attach(&mut queue, Entry { task: next, weight, slice_ns, ..Entry::default() }, Arrival::New);
                    next += 1;
                }
                Act::Run(ns) => {
                    policy.account(&mut queue, ns);
                }
                Act::Sleep => {
                    if let Some(task) = queue.running() {
                        gone.extend(policy.detach(&mut queue, task, Departure::Sleep));
                    }
                }
                Act::Wake(which) if !gone.is_empty() => {
                    let entry = gone.swap_remove(which % gone.len());
                    policy.attach(&mut queue, entry, Arrival::Woken);
                }
                Act::Leave(which) if !queue.waiting.is_empty() => {
                    let task = queue.waiting[which % queue.waiting.len()].task;
                    policy.detach(&mut queue, task, Departure::Exit);
                }
                _ => {}
            }
            prop_assert_eq!(weighted_lags(&queue), 0);
            let eligible = (0..queue.waiting.len()).filter(|&at| queue.eligible(queue.waiting[at].v));
            let by = |&at: &usize| (queue.waiting[at].deadline, queue.waiting[at].order);
            prop_assert_eq!(queue.earliest(), eligible.min_by_key(by), "{:?}", queue);
            policy.pick(&mut queue, &mut asleep);
            gone.append(&mut asleep);
            prop_assert_eq!(weighted_lags(&queue), 0);
            if let Some(current) = &queue.current {
                prop_assert!(!current.delayed);
                // A mean that was rounded down may leave no task eligible: then the one furthest behind is
                // picked.
                let least = queue.waiting.iter().all(|each| each.v >= current.v);
                prop_assert!(queue.eligible(current.v) || least, "{:?}", queue);
            } else {
                prop_assert_eq!(queue.count(), 0);
            }
        }
    }

    #[test]
    fn waiting_tasks_without_deadlines_are_in_order_of_virtual_time(acts in prop::collection::vec((0..4u8, -50..50i64, any::<prop::sample::Index>()), 1..120)) {
        let mut queue = Queue::default();
        for (task, (act, v, which)) in acts.into_iter().enumerate() {
            let task = task as u32;
            let waits = |queue: &Queue| queue.waiting[which.index(queue.waiting.len())].task;
            match act {
                0 | 1 => queue.push(Entry { task, weight: 1024, slice_ns: u64::from(act) * 5, v, ..Entry::default() }),
                2 if !queue.waiting.is_empty() => {
                    let gone = waits(&queue);
                    prop_assert_eq!(queue.take(gone).map(|each| each.task), Some(gone));
                    prop_assert_eq!(queue.position(gone), None);
                }
                3 if !queue.waiting.is_empty() => {
                    let runs = waits(&queue);
                    queue.switch_to(queue.position(runs).unwrap());
                    prop_assert_eq!(queue.running(), Some(runs));
                }
                _ => {}
            }
            let least = queue.waiting.iter().min_by_key(|each| (each.v, each.order));
            prop_assert_eq!(queue.first(), least);
            prop_assert_eq!(weighted_lags(&queue), 0);
            let slices = queue.waiting.iter().map(|each| if each.slice_ns > 0 { each.slice_ns } else { 9 }).min();
            prop_assert_eq!(queue.shortest_slice(9), slices);
            for each in &queue.waiting {
                prop_assert_eq!(queue.find(each.task), Some(each));
            }
        }
    }
}
