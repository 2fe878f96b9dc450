//! The detector on generated streams: no count is lost or counted twice, and the way a stream is cut does not
//! matter.
#![allow(clippy::expect_used)]

use becalm_sim::spots::account::Closing;
use becalm_sim::spots::rules::Change;
use becalm_sim::spots::synthetic::{Synthetic, EVICTOR, PROGRAM};
use becalm_sim::spots::window::Counts;
use becalm_sim::spots::{answer, Detection, Found, Question, Record, Rules, What, IDLE};
use proptest::prelude::*;

const MS: u64 = 1_000_000;

fn found(question: Question, records: &[Record]) -> Found {
    let mut detection = Detection::new(Question { windows: true, ..question }).expect("sound rules");
    detection.feed(records);
    detection.finish()
}

fn with(rules: Rules) -> Question {
    Question { rules, ..Question::default() }
}

fn in_time(least_references: u64) -> Question {
    with(Rules { least_references, change: Change::Jump { factor: 10.0 }, ..Rules::default() })
}

fn switch(ms: u64, cpu: u32, out: u32, to: u32, counts: (u64, u64)) -> Record {
    Record::switch(ms * MS, cpu, (out, to), true, counts)
}

fn tick(ms: u64, cpu: u32, counts: (u64, u64)) -> Record {
    Record::new(ms * MS, cpu, What::Tick, counts)
}

/// One step of a generated stream.
#[derive(Debug, Clone)]
struct Step {
    kind: u8,
    cpu: u32,
    task: u32,
    length: u64,
    counts: (u64, u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (0u8..16, 0u32..4, 1u32..6, 0u64..4 * MS, (0u64..5_000, 0u64..2_000))
        .prop_map(|(kind, cpu, task, length, counts)| Step { kind, cpu, task, length, counts });
    prop::collection::vec(step, 1..200)
}

/// Return a stream as a machine could produce it, and the total advance of its counters between related
/// records.
fn stream(steps: &[Step]) -> (Vec<Record>, Counts) {
    let (mut now, mut counters, mut runs) = (0, [(0, 0); 4], [IDLE; 4]);
    let (mut known, mut sum) = ([None; 4], (0, 0));
    let mut records = Vec::new();
    for step in steps {
        let at = step.cpu as usize;
        now += step.length;
        counters[at].0 += step.counts.0;
        counters[at].1 += step.counts.1.min(step.counts.0);
        let free = !runs.contains(&step.task);
        let what = match step.kind {
            0..=5 => {
                let out = runs[at];
                runs[at] = if free { step.task } else { IDLE };
                What::Switch { out, to: runs[at], preempted: step.kind % 2 == 0 }
            }
            6 => What::Fork { parent: runs[at], child: 10 + step.task, process: 10 + step.task },
            7 => What::Exit { task: step.task },
            8 => What::Exec { task: step.task },
            9 => What::Moved { task: step.task, from: step.cpu, to: (step.cpu + 1) % 4 },
            10 if step.length % 4 == 0 => What::Lost,
            11 if step.length % 4 == 0 => What::Offline,
            12 if step.length % 4 == 0 => {
                counters[at] = (0, 0);
                What::Tick
            }
            _ => What::Tick,
        };
        if let Some((references, misses)) = known[at] {
            let (r, m): (u64, u64) = counters[at];
            if r >= references && m >= misses {
                sum = (sum.0 + r - references, sum.1 + m - misses);
            }
        }
        known[at] = (what != What::Offline).then_some(counters[at]);
        records.push(Record::new(now, step.cpu, what, counters[at]));
    }
    (records, sum.into())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_count_belongs_to_exactly_one_owner(steps in steps(), late in any::<bool>()) {
        let (records, sum) = stream(&steps);
        let closing = if late { Closing::WhenItRuns } else { Closing::InTime };
        let llc = vec![vec![0, 1], vec![2, 3]];
        let found = found(Question { llc, ..with(Rules { closing, ..Rules::default() }) }, &records);
        let own = found.programs.iter().fold(Counts::default(), |sum, each| sum + each.own);
        prop_assert_eq!(own + found.idle + found.unattributed, sum);
        for (number, program) in found.programs.iter().enumerate() {
            let windows: Vec<_> = found.windows.iter().map(|each| each.0).filter(|each| each.program == number).collect();
            let own = windows.iter().fold(Counts::default(), |sum, each| sum + each.own);
            let others = windows.iter().fold(Counts::default(), |sum, each| sum + each.others);
            prop_assert_eq!((own, others), (program.own, program.others));
            prop_assert!(windows.windows(2).all(|pair| pair[0].end_ns <= pair[1].start_ns));
            prop_assert!(windows.iter().all(|each| each.start_ns <= each.end_ns));
        }
    }

    #[test]
    fn a_stream_in_pieces_gives_the_result_of_the_whole(steps in steps(), cut in 0usize..200) {
        let (records, _) = stream(&steps);
        let whole = found(in_time(0), &records);
        let mut detection = Detection::new(Question { windows: true, ..in_time(0) }).expect("sound rules");
        let (first, rest) = records.split_at(cut.min(records.len()));
        detection.feed(first);
        detection.feed(rest);
        prop_assert_eq!(detection.finish(), whole.clone());
        prop_assert_eq!(found(in_time(0), &records), whole);
    }

    #[test]
    fn no_stream_causes_a_panic(records in prop::collection::vec((any::<u64>(), 0u32..3, 0u8..9, 0u32..4, 0u32..4, any::<(u64, u64)>()), 0..60)) {
        let records: Vec<Record> = records.into_iter().map(|(time_ns, cpu, kind, a, b, counts)| {
            let what = match kind {
                0..=2 => What::Switch { out: a, to: b, preempted: true },
                3 => What::Fork { parent: a, child: b, process: a },
                4 => What::Exit { task: a },
                5 => What::Moved { task: a, from: cpu, to: b },
                6 => What::Lost,
                7 => What::Offline,
                _ => What::Tick,
            };
            Record::new(time_ns, cpu, what, counts)
        }).collect();
        found(in_time(0), &records);
        found(with(Rules::published()), &records);
    }
}

#[test]
fn own_and_others_are_split_at_the_switches() {
    let records = [
        switch(0, 0, IDLE, 7, (0, 0)),
        tick(0, 1, (0, 0)),
        tick(2, 0, (100, 1)),
        switch(3, 0, 7, 8, (150, 2)),
        tick(4, 1, (1_000, 900)),
        tick(6, 0, (200, 3)),
        switch(7, 0, 8, 7, (250, 4)),
        tick(13, 0, (300, 5)),
    ];
    let found = found(in_time(0), &records);
    let of = |task| found.programs.iter().find(|each| each.task == task).expect("seen");
    assert_eq!((of(7).own, of(7).others), ((200, 3).into(), (1_100, 902).into()));
    assert_eq!((of(8).own, of(8).others), ((100, 2).into(), (50, 1).into()));
    let windows: Vec<_> = found.windows.iter().map(|each| each.0).filter(|each| each.program == 0).collect();
    assert_eq!((windows[0].start_ns, windows[0].end_ns), (0, 6 * MS), "in time, by the other's record");
    assert_eq!((windows[0].own, windows[0].others), ((150, 2).into(), (1_050, 901).into()));
    let late = self::found(with(Rules::published()), &records);
    assert_eq!(late.windows[0].0.end_ns, 7 * MS, "published: when it runs again");
}

#[test]
fn threads_of_a_process_do_not_count_as_others() {
    let thread = |child| Record::new(0, 0, What::Fork { parent: 0, child, process: 7 }, (0, 0));
    let records = [
        thread(7),
        thread(8),
        switch(0, 0, IDLE, 7, (0, 0)),
        switch(0, 1, IDLE, 8, (0, 0)),
        switch(1, 0, 7, 9, (10, 0)),
        tick(2, 1, (500, 500)),
        switch(4, 0, 9, 7, (40, 0)),
        tick(5, 1, (600, 600)),
    ];
    let found = found(in_time(0), &records);
    assert_eq!((found.programs[0].task, found.programs[0].process), (7, 7));
    assert_eq!(found.programs[0].others, (30, 0).into(), "of 9 alone, and not of thread 8");
}

#[test]
fn lost_records_make_windows_unknown_and_not_empty() {
    let mut records = vec![
        switch(0, 0, IDLE, 7, (0, 0)),
        switch(0, 1, IDLE, 8, (0, 0)),
        tick(6, 0, (100, 1)),
        tick(6, 1, (100, 1)),
        switch(7, 0, 7, 9, (200, 2)),
    ];
    let lost = Record::new(9 * MS, 0, What::Lost, (5_000, 4_000));
    records.extend([
        lost,
        switch(10, 0, 9, 7, (5_100, 4_001)),
        tick(13, 1, (200, 2)),
        tick(16, 0, (5_200, 4_002)),
    ]);
    let found = found(in_time(0), &records);
    let known = |task| {
        let number = found.programs.iter().position(|each| each.task == task).expect("seen");
        found
            .windows
            .iter()
            .filter(|each| each.0.program == number)
            .map(|each| each.0.known)
            .collect::<Vec<_>>()
    };
    assert_eq!(known(7)[..2], [true, false], "it may have run in what was lost");
    assert_eq!(known(8)[..2], [true, true], "it ran elsewhere all the time");
    assert_eq!((found.trouble.lost, found.unattributed), (1, (4_800, 3_998).into()));
    assert!(found.spots.is_empty(), "an unknown window is neither high nor low: {:?}", found.spots);
}

#[test]
fn an_id_that_is_given_again_is_another_program() {
    let fork = |ms: u64| Record::new(ms * MS, 0, What::Fork { parent: 1, child: 7, process: 7 }, (ms, 0));
    let exit = Record::new(4 * MS, 0, What::Exit { task: 7 }, (4, 0));
    let records = [
        fork(0),
        switch(1, 0, 1, 7, (1, 0)),
        exit,
        switch(4, 0, 7, 1, (4, 0)),
        fork(6),
        switch(7, 0, 1, 7, (7, 0)),
        tick(9, 0, (9, 0)),
        fork(9),
        switch(9, 0, 7, IDLE, (9, 0)),
    ];
    let found = found(in_time(0), &records);
    let sevens: Vec<_> = found.programs.iter().filter(|each| each.task == 7).collect();
    assert_eq!(sevens.iter().map(|each| each.from_ns / MS).collect::<Vec<_>>(), [0, 6, 9]);
    assert_eq!((sevens[0].own.references, sevens[0].ended, sevens[0].until_ns), (3, true, 4 * MS));
    assert_eq!(found.spots.iter().filter(|each| each.kind == 0).count(), 3, "each begins with a spot");
}

#[test]
fn a_task_that_ends_within_a_window_has_its_counts_and_no_spot() {
    let records = [
        switch(0, 0, IDLE, 7, (0, 0)),
        tick(5, 0, (10_000, 100)),
        tick(10, 0, (20_000, 200)),
        Record::new(11 * MS, 0, What::Exit { task: 7 }, (20_300, 220)),
        switch(11, 0, 7, 8, (20_400, 230)),
        tick(16, 0, (30_000, 5_000)),
    ];
    let found = found(in_time(225), &records);
    let seven = &found.programs[0];
    assert_eq!(
        (seven.task, seven.own, seven.ended, seven.until_ns),
        (7, (20_400, 230).into(), true, 11 * MS)
    );
    let last = found.windows.iter().rfind(|each| each.0.program == 0).expect("its last one");
    assert_eq!((last.0.start_ns, last.0.end_ns, last.0.known), (10 * MS, 11 * MS, true));
    assert!(found.spots.iter().all(|each| each.program != 0 || each.kind == 0), "{:?}", found.spots);
}

#[test]
fn clock_steps_and_offline_cpus_are_reported() {
    let records = [
        switch(100, 0, IDLE, 7, (0, 0)),
        tick(106, 0, (10, 0)),
        tick(50, 0, (20, 0)),
        tick(56, 0, (30, 0)),
        Record::new(58 * MS, 0, What::Offline, (35, 0)),
        switch(70, 0, IDLE, 7, (3, 0)),
        tick(76, 0, (5, 0)),
        tick(5_000, 0, (6, 0)),
    ];
    let found = found(in_time(0), &records);
    assert_eq!((found.trouble.clock_steps, found.trouble.offline), (2, 1));
    assert_eq!(found.programs[0].own, (38, 0).into());
    let known: Vec<bool> = found.windows.iter().map(|each| each.0.known).collect();
    assert!(known[0]);
    assert!(known[1..3].iter().all(|each| !each), "{known:?}");
}

#[test]
fn counts_of_programs_on_unrecorded_cpus_are_unknown() {
    let moved = Record::new(8 * MS, 0, What::Moved { task: 7, from: 0, to: 3 }, (20, 0));
    let records = [
        switch(0, 0, IDLE, 7, (0, 0)),
        switch(7, 0, 7, 8, (10, 0)),
        moved,
        switch(30, 0, 8, 7, (90, 0)),
        tick(36, 0, (95, 0)),
    ];
    let found = found(Question { recorded: Some(vec![0, 1]), ..in_time(0) }, &records);
    assert_eq!(found.trouble.unseen, 1);
    let known: Vec<bool> =
        found.windows.iter().filter(|each| each.0.program == 0).map(|each| each.0.known).collect();
    assert_eq!(known[..3], [true, false, true]);
    assert_eq!(found.migrations.len(), 2, "there and back");
}

#[test]
fn an_eviction_is_one_spot_with_a_length_or_as_published_one_per_window() {
    let (records, truth) =
        Synthetic { seconds: 4.0, noise: 0.0, bursts: 0.0, ..Synthetic::default() }.stream();
    let ours = found(with(Rules::default()), &records);
    let published = found(with(Rules::published()), &records);
    let number = ours.programs.iter().position(|each| each.task == PROGRAM).expect("seen");
    let of = |found: &Found, kind| {
        found.spots.iter().filter(|each| each.kind == kind && each.program == number).count()
    };
    let changes = truth.iter().filter(|each| each.kind == 1).count();
    let long = truth.iter().filter(|each| each.kind == 2 && each.until_ns - each.from_ns > 12 * MS).count();
    assert!(changes > 3 && long > 2, "{truth:?}");
    assert!(of(&ours, 1) >= changes - 1 && of(&ours, 1) <= changes + 1, "{} of {changes}", of(&ours, 1));
    assert!(of(&ours, 2) >= long, "{} of {long}", of(&ours, 2));
    assert!(of(&published, 1) > changes, "refills look like changes: {} of {changes}", of(&published, 1));
    assert!(ours.states.iter().any(|each| each.kind == 2 && each.until_ns - each.from_ns > 5 * MS));
    assert!(ours.programs.iter().any(|each| each.task == EVICTOR));
}

#[test]
fn equal_seeds_give_equal_streams() {
    let of = |seed| Synthetic { seed, seconds: 1.0, ..Synthetic::default() }.stream();
    assert_eq!(of(3), of(3));
    assert_ne!(of(3).0, of(4).0);
}

#[test]
fn a_line_is_answered_with_its_thresholds_or_a_sentence() {
    let found =
        serde_json::to_value(answer(r#"{"from": {"synthetic": {"seconds": 4}}}"#)).expect("plain data");
    assert_eq!(found["spots"]["question"]["rules"]["window_ns"], 5 * MS);
    assert!(found["spots"]["truth"].as_array().is_some_and(|each| !each.is_empty()));
    for (line, why) in [
        ("", "not a request"),
        (r#"{"from": {"synthetic": {"seconds": -1}}}"#, "seconds of a synthetic stream"),
        (r#"{"from": {"synthetic": {"seconds": 1e9}}}"#, "records"),
        (r#"{"from": {"records": []}, "question": {"llc": [[0, 1], [1]]}}"#, "CPU 1 has two"),
        (
            r#"{"from": {"counted": {"task": 1, "windows": [[5, 1, 0, 0, 0, 0, true]]}}}"#,
            "Window 1 ends before",
        ),
    ] {
        let found = serde_json::to_value(answer(line)).expect("plain data");
        let message = found["error"].as_str().expect("an error").to_owned();
        assert!(message.contains(why), "{message}");
    }
}
