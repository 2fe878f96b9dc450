//! Tests with a real file of perf, the same file through a pipe, files put together by hand, and files that
//! are cut.

use std::io::Cursor;

use super::super::record::{Record, What};
use super::{read, PerfError, Summary};
use crate::samples::samples;

/// A file of Debian's perf 6.1 (x86): page faults, minor faults, all tasks of two CPUs; names of the machine were
/// removed.
const FILE: &[u8] = include_bytes!("../../../../tests/vectors/faults.perf.data");

fn all(bytes: &[u8]) -> Result<(Vec<Record>, Summary), PerfError> {
    let mut records = Vec::new();
    let summary = read(Cursor::new(bytes), |each| records.push(*each))?;
    Ok((records, summary))
}

fn words(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap())
}

/// Return the same file as it comes through a pipe: attributes as records, then the data.
fn piped(bytes: &[u8]) -> Vec<u8> {
    let (each, attributes, size, data, length) =
        (words(bytes, 16), words(bytes, 24), words(bytes, 32), words(bytes, 40), words(bytes, 48));
    let mut out = bytes[..8].to_vec();
    out.extend(16_u64.to_ne_bytes());
    for number in 0..size / each {
        let at = (attributes + number * each) as usize;
        let body = each as usize - 16;
        let (ids, count) = (words(bytes, at + body) as usize, words(bytes, at + body + 8) as usize);
        let length = 8 + body + count;
        out.extend(64_u32.to_ne_bytes());
        out.extend(0_u16.to_ne_bytes());
        out.extend((length as u16).to_ne_bytes());
        out.extend(&bytes[at..at + body]);
        out.extend(&bytes[ids..ids + count]);
    }
    out.extend(&bytes[data as usize..(data + length) as usize]);
    out
}

/// A group of switches, references, misses with ids 1, 2, 3 on CPU 0, through a pipe.
struct Made(Vec<u8>);

/// The bits IDENTIFIER, TID, TIME, READ, CPU.
const TYPE: u64 = 1 << 16 | 1 << 1 | 1 << 2 | 1 << 4 | 1 << 7;

impl Made {
    fn new(kind: u32, configs: [u64; 2], period: u64) -> Self {
        let mut made = Self([&b"PERFILE2"[..], &16_u64.to_ne_bytes()].concat());
        for (id, kind, config, period) in
            [(1, 1, 3, period), (2, kind, configs[0], 0), (3, kind, configs[1], 0)]
        {
            // The formats both times, ID, GROUP; and sample_id_all.
            let size_and_kind = u64::from(kind) | 64 << 32;
            made.put(64, 0, &[size_and_kind, config, period, TYPE, 15, 1 << 18, 0, 0, id]);
        }
        made
    }

    fn put(&mut self, kind: u32, misc: u16, body: &[u64]) {
        self.0.extend(kind.to_ne_bytes());
        self.0.extend(misc.to_ne_bytes());
        self.0.extend((8 + 8 * body.len() as u16).to_ne_bytes());
        body.iter().for_each(|word| self.0.extend(word.to_ne_bytes()));
    }

    /// Add a switch from one task to another; `away` is the time for which others used the counters.
    fn switch(&mut self, time: u64, out: u64, to: u64, references: u64, away: u64) {
        let thread = |task: u64| task | task << 32;
        let counts = [3, 1000 + away, 1000, time, 1, references, 2, references / 2, 3];
        self.put(9, 0, &[&[1, thread(out), time, 0][..], &counts].concat());
        self.put(15, 1 << 13, &[thread(to), thread(out), time, 0, 1]);
    }
}

#[test]
fn a_real_file_has_switches_that_follow_each_other_on_each_cpu() {
    let (records, summary) = all(FILE).unwrap();
    assert_eq!(records.len() as u64, summary.records);
    assert_eq!(
        (summary.references.name.as_str(), summary.misses.name.as_str()),
        ("page-faults", "minor-faults")
    );
    assert!(!summary.miss_ratio && summary.processor.contains(','), "{}", summary.processor);
    assert_eq!(summary.trouble, super::super::Trouble::default());
    assert!(records.iter().map(|each| each.time_ns).is_sorted());
    for cpu in [0, 1] {
        let of_cpu: Vec<_> = records.iter().filter(|each| each.cpu == cpu).collect();
        assert!(of_cpu.iter().map(|each| each.references).is_sorted());
        let mut runs = None;
        let mut switches = 0;
        for each in of_cpu {
            if let What::Switch { out, to, .. } = each.what {
                assert!(runs.is_none_or(|runs| runs == out), "{each:?} while {runs:?} ran");
                runs = Some(to);
                switches += 1;
            }
        }
        assert!(switches >= 5, "CPU {cpu} has {switches}");
    }
    let count = |is: fn(&What) -> bool| records.iter().filter(|each| is(&each.what)).count();
    // sh, sleep.
    assert!(count(|what| matches!(what, What::Exec(_))) >= 2);
    assert!(count(|what| matches!(what, What::Exit(_))) >= 2);
    assert!(count(|what| matches!(what, What::Fork { parent: 1.., .. })) >= 1);
    assert!(records.iter().any(|each| each.references > 100));
}

#[test]
fn through_a_pipe_it_is_the_same() {
    let (records, summary) = all(FILE).unwrap();
    let (again, other) = all(&piped(FILE)).unwrap();
    assert_eq!(records, again);
    assert_eq!(summary.trouble, other.trouble);
    assert_eq!(other.processor, "", "a pipe has no such header");
}

#[test]
fn a_file_that_is_cut_or_changed_is_refused_in_words_or_read_as_far_as_it_goes() {
    let end = (words(FILE, 40) + words(FILE, 48)) as usize;
    for length in (0..end).step_by(samples(997, 97)) {
        let message = all(&FILE[..length]).map(|_| ()).expect_err("its header says more").to_string();
        assert!(message.contains("byte") || message.contains("PERFILE2"), "{message}");
    }
    let pipe = piped(FILE);
    for length in (0..pipe.len()).step_by(samples(997, 97)) {
        if let Err(error) = all(&pipe[..length]) {
            assert!(error.to_string().len() > 20, "{error}");
        }
    }
    for at in (0..400).step_by(samples(7, 1)) {
        let mut wrong = FILE.to_vec();
        wrong[at] ^= 0xff;
        let _ = all(&wrong);
    }
    let mut swapped = FILE.to_vec();
    swapped[..8].reverse();
    assert!(matches!(all(&swapped), Err(PerfError::Order)));
}

#[test]
fn lost_records_and_shared_counters_are_reported() {
    let mut made = Made::new(0, [2, 3], 1);
    made.switch(10, 7, 8, 100, 0);
    made.put(2, 0, &[1, 40, 7 | 7 << 32, 12, 0, 1]);
    made.switch(20, 9, 7, 300, 0);
    made.switch(30, 7, 9, 400, 50);
    let (records, summary) = all(&made.0).unwrap();
    let whats: Vec<What> = records.iter().map(|each| each.what).collect();
    assert!(whats.contains(&What::Lost) && whats.contains(&What::Offline), "{whats:?}");
    assert_eq!((summary.trouble.lost, summary.trouble.shared), (40, 1));
    assert!(summary.miss_ratio);
    let last = records.last().unwrap();
    assert_eq!((last.references, last.misses), (400, 200), "and nothing is scaled");
}

#[test]
fn names_and_levels_of_counted_events_are_the_processors() {
    let mut made = Made::new(0, [3, 2], 1);
    made.switch(10, 7, 8, 100, 0);
    let (records, summary) = all(&made.0).unwrap();
    assert_eq!(summary.references.name, "cache-references", "whichever was named first");
    assert_eq!(records.last().unwrap().references, 50);
    assert!(summary.references.level.contains("does not name the processor"));
    let mut raw = Made::new(4, [0x4f2e, 0x412e], 1);
    raw.switch(10, 7, 8, 100, 0);
    assert_eq!(all(&raw.0).unwrap().1.references.name, "event type 4 config 0x4f2e");
}

#[test]
fn a_file_that_lacks_data_is_refused_with_the_perf_command() {
    let message = |made: Made| all(&made.0).map(|_| ()).unwrap_err().to_string();
    let mut sampled = Made::new(0, [2, 3], 4000);
    sampled.switch(10, 7, 8, 100, 0);
    assert!(message(sampled).contains("context-switches with a period of 1"));
    let mut alone = Made::new(0, [2, 3], 1);
    alone.put(9, 0, &[1, 7, 10, 0, 3, 1, 1, 5, 1, 6, 2, 7, 3]);
    let lacks = message(alone);
    assert!(lacks.contains("--switch-events") && lacks.contains("perf record -a -c 1"), "{lacks}");
    let mut compressed = Made::new(0, [2, 3], 1);
    compressed.put(81, 0, &[0; 4]);
    let why = message(compressed);
    assert!(why.contains("without -z") && why.contains("through a pipe"), "{why}");
    assert!(message(Made::new(0, [2, 3], 1)).contains("no records"));
    // Compression and damage are more useful to know than what is lacking.
    let mut lacking = Made::new(0, [2, 3], 4000);
    lacking.switch(10, 7, 8, 100, 0);
    let cut = Made([&lacking.0[..], &[9, 0, 0, 0, 0, 0, 200, 0]].concat());
    lacking.put(81, 0, &[0; 4]);
    assert!(message(lacking).contains("without -z"));
    assert!(message(cut).contains("damaged or cut at byte"));
    let mut real = FILE.to_vec();
    let period = words(FILE, 24) as usize + 16;
    real[period..period + 8].copy_from_slice(&4000_u64.to_ne_bytes());
    assert!(all(&real).unwrap_err().to_string().contains("a period of 1"));
    let why = all(&real[..real.len() - 7]).unwrap_err().to_string();
    assert!(why.contains("damaged or cut at byte"), "{why}");
    // The error names both things that are missing, and nothing that is there.
    let mut plain = Made::new(0, [2, 3], 4000);
    plain.switch(10, 7, 8, 100, 0);
    let why = message(plain);
    assert!(
        why.contains("no group led by") && why.contains(", no records of who") && !why.contains("no time"),
        "{why}"
    );
}
