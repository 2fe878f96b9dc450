use super::*;
use crate::spots::detect::{Detection, Question};
use crate::spots::record::{Record, What, IDLE};
use crate::spots::synthetic::{Synthetic, PROGRAM};
use crate::spots::wait;

const MS: u64 = 1_000_000;

fn wanted(at_ns: u64) -> Wanted {
    Wanted { process: PROGRAM, at_ns, bounded: true, kinds: all() }
}

/// Feed records one by one, register the move when its time has come, and return the decision.
fn watched(records: &[Record], question: &Question, wanted: Wanted) -> Option<Decided> {
    let mut detection = Detection::new(question.clone()).expect("defaults");
    let mut watch = Watch::new(question.waiting.clone(), wanted.process);
    let first = records.partition_point(|each| each.time_ns <= wanted.at_ns);
    detection.feed(&records[..first]);
    let (windows, spots) = detection.ready();
    watch.follow(&windows, &spots, detection.programs());
    let mut found = watch.want(wanted);
    for record in &records[first..] {
        if found.is_some() {
            break;
        }
        detection.feed([record]);
        let (windows, spots) = detection.ready();
        found = watch.follow(&windows, &spots, detection.programs());
    }
    found
}

#[test]
fn records_one_by_one_give_the_decision_of_the_whole_stream() {
    let mut seen = std::collections::HashSet::new();
    for seed in 0..60 {
        let asked = Synthetic { seed, seconds: 3.0, references_per_ms: 40_000.0, ..Synthetic::default() };
        let (records, _) = asked.stream();
        let at_ns = 900 * MS + seed * 17 * MS;
        let waiting = Waiting { reuse: [0.8, 0.0, 0.95][seed as usize % 3], ..Waiting::default() };
        let mut question = Question { tasks: Some(vec![PROGRAM]), waiting, ..Question::default() };
        let found = watched(&records, &question, wanted(at_ns)).expect("decided");
        question.wanted = vec![wait::Wanted { task: PROGRAM, at_ns }];
        let mut detection = Detection::new(question).expect("defaults");
        detection.feed(&records);
        let all = detection.finish();
        let decision = all.decisions[0];
        seen.insert(format!("{:?}", decision.why));
        assert_eq!(
            (found.why, found.moved_ns),
            (decision.why, decision.moved_ns),
            "seed {seed}: {found:?} {decision:?}"
        );
        assert_eq!(
            (found.longest_ns, found.least_ns),
            (decision.longest_ns, decision.least_ns),
            "seed {seed}"
        );
    }
    assert!(seen.len() >= 3, "{seen:?}");
}

/// Return the records of two threads of process 7 on two CPUs, with these references per ms, one of which
/// misses at a time.
fn threads(rates: [u64; 2], misses_at: u64, who: usize) -> Vec<Record> {
    let mut records = Vec::new();
    for (cpu, thread) in [(0, 7), (1, 8)] {
        records.push(Record::new(0, cpu, What::Fork { parent: 0, child: thread, process: 7 }, (0, 0)));
        records.push(Record::switch(1, cpu, (IDLE, thread), false, (0, 0)));
    }
    let mut counts = [(0, 0), (0, 0)];
    for ms in 1..400_u64 {
        for cpu in 0..2 {
            counts[cpu].0 += rates[cpu];
            counts[cpu].1 +=
                if cpu == who && (misses_at..misses_at + 5).contains(&ms) { rates[cpu] / 2 } else { 0 };
            records.push(Record::new(ms * MS + cpu as u64, cpu as u32, What::Tick, counts[cpu]));
        }
    }
    records
}

#[test]
fn a_spot_of_the_leading_thread_is_one_of_the_process() {
    let question = Question::default();
    let asked = |kinds: &[u8]| Wanted { process: 7, at_ns: 100 * MS, bounded: true, kinds: kinds.to_vec() };
    let leading = watched(&threads([900_000, 10_000], 130, 0), &question, asked(&[1])).expect("decided");
    assert_eq!((leading.why, leading.task), (Why::Spot, Some(7)));
    assert!((130 * MS..142 * MS).contains(&leading.moved_ns), "{leading:?}");
    let minor = watched(&threads([900_000, 10_000], 130, 1), &question, asked(&[1])).expect("decided");
    assert_eq!((minor.why, minor.moved_ns), (Why::HardLimit, 200 * MS), "its own 1 % is not what is moved");
    let other = watched(&threads([900_000, 10_000], 130, 0), &question, asked(&[2])).expect("decided");
    assert_eq!(other.why, Why::HardLimit, "type 1 was not asked for");
}

#[test]
fn the_worth_of_waiting_is_counted_over_both_threads() {
    let question = Question::default();
    let asked = Wanted { process: 7, at_ns: 100 * MS, bounded: true, kinds: all() };
    // The 50,000 hits per ms of a thread are worth 0.65 ms, which is too little; those of both are enough.
    let one = watched(&threads([50_000, 0], 1_000, 0), &question, asked.clone()).expect("decided");
    assert_eq!((one.why, one.moved_ns), (Why::NotWorthWaiting, 100 * MS));
    let both = watched(&threads([50_000, 50_000], 1_000, 0), &question, asked).expect("decided");
    assert_eq!(both.why, Why::HardLimit);
    assert!(both.longest_ns > 100e6, "{both:?}");
}

#[test]
fn an_end_or_an_exec_needs_no_window() {
    let asked = || Wanted { process: 7, at_ns: 100 * MS, bounded: false, kinds: all() };
    let mut records = threads([900_000, 900_000], 1_000, 0);
    let at = records.partition_point(|each| each.time_ns < 131 * MS + 500_000);
    let counts = (131 * 900_000, 0);
    records.insert(at, Record::new(131 * MS + 500_000, 0, What::Exec { task: 7 }, counts));
    let found = watched(&records, &Question::default(), asked()).expect("decided");
    assert_eq!((found.why, found.moved_ns), (Why::Spot, 131 * MS + 500_000));
    assert_eq!(found.spot.map(|each| each.kind), Some(0));
    let mut ends = threads([900_000, 900_000], 1_000, 0);
    ends.truncate(at);
    for (cpu, thread) in [(0, 7), (1, 8)] {
        ends.push(Record::new(132 * MS, cpu, What::Exit { task: thread }, counts));
        ends.push(Record::switch(132 * MS + 1, cpu, (thread, IDLE), false, counts));
    }
    let found = watched(&ends, &Question::default(), asked()).expect("decided");
    assert_eq!(found.why, Why::Ended);
}

#[test]
fn a_new_thread_is_not_a_spot_of_its_process() {
    let mut records = threads([900_000, 900_000], 1_000, 0);
    let at = records.partition_point(|each| each.time_ns < 131 * MS + 500_000);
    let fork = What::Fork { parent: 7, child: 9, process: 7 };
    records.insert(at, Record::new(131 * MS + 500_000, 0, fork, (131 * 900_000, 0)));
    let asked = Wanted { process: 7, at_ns: 100 * MS, bounded: false, kinds: all() };
    assert_eq!(watched(&records, &Question::default(), asked).expect("decided").why, Why::HardLimit);
}

#[test]
fn lost_records_end_a_bounded_wait() {
    let mut records = threads([900_000, 900_000], 1_000, 0);
    let at = records.partition_point(|each| each.time_ns < 131 * MS + 500_000);
    records.insert(at, Record::new(131 * MS + 500_000, 0, What::Lost, (131 * 900_000, 0)));
    let asked = Wanted { process: 7, at_ns: 100 * MS, bounded: true, kinds: all() };
    let found = watched(&records, &Question::default(), asked.clone()).expect("decided");
    assert_eq!(found.why, Why::Unknown);
    assert!((126 * MS..=132 * MS).contains(&found.moved_ns), "{found:?}");
    let asked = Wanted { bounded: false, ..asked };
    assert_eq!(watched(&records, &Question::default(), asked).expect("decided").why, Why::HardLimit);
}
