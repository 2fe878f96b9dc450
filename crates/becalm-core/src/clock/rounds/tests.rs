//! Tests with disturbed searches, and with failed checks of the chain.

use std::cell::Cell as Counter;
use std::sync::Arc;

use super::*;
use crate::clock::caches::available;
use crate::clock::timer::measure::Measured;
use crate::facts::read::Machine;
use crate::time::ScriptedClock;

/// A timer of one tick per addition, of which the first search is disturbed: each search measures the cost of
/// an empty region once.
#[derive(Default)]
struct Disturbed {
    searches: Counter<u32>,
    measured: Counter<i64>,
}

impl Measure for Disturbed {
    fn empty(&self, many: usize, _: &mut Buffer) -> Vec<i64> {
        self.searches.set(self.searches.get() + 1);
        vec![0; many]
    }

    fn work(&self, lengths: &[u64], order: &[usize], _: &mut Buffer, _: i64) -> Measured {
        let mut values = vec![Vec::new(); lengths.len()];
        for index in order {
            self.measured.set(self.measured.get() + 1);
            let length = lengths[*index] as i64;
            let noise = self.measured.get() * 7_919 % 101 * length / 50;
            values[*index].push(length + if self.searches.get() < 2 { noise } else { 0 });
        }
        Measured { values, disturbed: vec![Vec::new(); lengths.len()] }
    }
}

/// Return a clock that advances by a tenth of a millisecond at each reading.
fn played_time() -> AnyClock {
    AnyClock::Scripted(Arc::new(ScriptedClock::new(0, 100_000, 0)))
}

#[test]
fn a_search_that_was_disturbed_is_made_again_within_its_time() {
    let Ok(clock) = Clock::open() else { return };
    let machine = Machine::new(std::path::Path::new("/"));
    let flush = crate::clock::caches::rows(&machine, 0, available(&machine)).swap_remove(0);
    let meaning = "disturbed at first";
    let timer: Ready =
        (Description { name: "disturbed", unit: Unit::Ticks, meaning }, Box::<Disturbed>::default());
    let rounds = Rounds {
        timers: &[timer],
        flushes: &[(flush, Duration::ZERO)],
        clock: &clock,
        filter: Filter::Robust,
        published: false,
        seed: 1,
        cpu: 0,
        time: played_time(),
        begun_ns: 0,
        budget: Duration::from_secs(10),
        check: || Ok(Check { addition_ns: 0.3, ratio: 3.0 }),
    };
    let mut events = Vec::new();
    rounds
        .measure(vec![(0, 0)], &mut |event| {
            events.push(event.clone());
            Ok(())
        })
        .unwrap();
    let (Some(Event::Cell(first)), Some(Event::Cell(last))) = (events.first(), events.last()) else {
        panic!("{events:?}")
    };
    assert!(first.answered() && first.tries > 1, "{first:?}");
    // The disturbed cell is then searched as often as all others: the least counts, and the disturbed search
    // is only in the range.
    let t_min = last.t_min.unwrap();
    assert!(last.tries >= first.tries + SEARCHES - 1 && last.repetitions > 1, "{last:?}");
    assert!(t_min.ns <= t_min.typical_ns && t_min.typical_ns <= t_min.range_ns.1, "{last:?}");
    assert!(last.elapsed_ns > first.elapsed_ns, "{last:?}");
}

#[test]
fn a_chain_that_is_none_leaves_a_cell_out_with_the_reason() {
    let Ok(clock) = Clock::open() else { return };
    let machine = Machine::new(std::path::Path::new("/"));
    let flush = crate::clock::caches::rows(&machine, 0, available(&machine)).swap_remove(0);
    let timer: Ready =
        (Description { name: "disturbed", unit: Unit::Ticks, meaning: "" }, Box::<Disturbed>::default());
    let rounds = Rounds {
        timers: &[timer],
        flushes: &[(flush, Duration::ZERO)],
        clock: &clock,
        filter: Filter::Robust,
        published: true,
        seed: 1,
        cpu: 0,
        time: played_time(),
        begun_ns: 0,
        budget: Duration::from_secs(10),
        check: || Err(Refused::Chain { ratio: 11.0 }),
    };
    let mut events = Vec::new();
    rounds
        .measure(vec![(0, 0)], &mut |event| {
            events.push(event.clone());
            Ok(())
        })
        .unwrap();
    let [Event::Absent { timer: Some("disturbed"), reason, .. }] = &events[..] else { panic!("{events:?}") };
    assert!(reason.contains("additions"), "{reason}");
}
