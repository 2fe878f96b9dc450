//! The reader on a small handmade file (tests/unit/files/test_region_codec.py describes every byte of it),
//! cut at each byte and flipped at each bit; and files that are written and read back.

#![allow(clippy::unwrap_used)]

use becalm_clock::regions::{read, Flaw, Writer, MIGRATED, OUT_OF_STEP, SHORTER_THAN_COST, UNKNOWN_CPU};
use becalm_clock::ring::{Full, Record, Ring};
use becalm_clock::{begin, end, Clock, Stamp};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

const FILE: &[u8] = include_bytes!("vectors/small.regions");
/// The ends of the header, of both blocks and of the closing, in bytes.
const ENDS: [usize; 4] = [HEADER, HEADER + 120, HEADER + 240, HEADER + 288];
const HEADER: usize = 162;

#[test]
fn a_handmade_file_is_read() {
    let found = read(FILE);
    assert_eq!(found.flaws, []);
    let header = found.header.as_ref().unwrap();
    assert_eq!((header.hz, header.ppm, header.quantum), (2e9, 1.5, 2.0));
    assert_eq!((header.smallest_cost, header.median_cost, header.mean_cost), (50, 60, 0.0));
    assert_eq!((header.ticks, header.unix_ns), (1_000_000, 1_700_000_000_000_000_000));
    assert_eq!((header.flags, header.process), (6, 4_321));
    assert_eq!((header.machine.as_str(), header.boot.as_str()), ("0123456789abcdef", "a-boot"));
    assert_eq!((header.model.as_str(), header.source.as_str()), ("A Processor", "rdtscp;lfence"));
    assert_eq!(header.names, ["parse", "größe"]);
    let intervals: Vec<_> = found
        .records()
        .map(|each| (each.name, each.start, each.ticks, each.began_on, each.ended_on, each.flags))
        .collect();
    assert_eq!(
        intervals,
        [
            (0, 1_000_100, 400, 0, 0, 0),
            (1, 1_001_000, 10_000, 1, 0, MIGRATED),
            (0, 1_020_000, 40, 0, 0, SHORTER_THAN_COST),
            (0, 1_030_000, 402, 1, 1, 0),
            (1, 1_040_000, -8, 0, 1, MIGRATED | OUT_OF_STEP),
            (7, 1_050_000, 600, UNKNOWN_CPU, UNKNOWN_CPU, 0),
        ]
    );
    assert_eq!(
        found.blocks.iter().map(|each| (each.thread, each.dropped, each.keeps_last)).collect::<Vec<_>>(),
        [(0, 0, false), (3, 17, true)]
    );
    assert_eq!(found.dropped(), 17);
    assert_eq!(found.closing.unwrap().records, 6);
    assert_eq!(found.ns(found.records().next().unwrap()), Some(200.0));
}

#[test]
fn a_truncated_file_keeps_its_intact_blocks() {
    for cut in 0..FILE.len() {
        let found = read(&FILE[..cut]);
        let blocks = ENDS[1..3].iter().filter(|end| cut >= **end).count();
        assert_eq!(found.blocks.len(), blocks, "{cut}");
        assert_eq!(found.header.is_some(), cut >= HEADER, "{cut}");
        assert_eq!(found.closing.is_some(), cut >= ENDS[3], "{cut}");
        assert_eq!(found.flaws.is_empty(), cut == ENDS[3], "{cut}: {:?}", found.flaws);
    }
}

#[test]
fn a_flipped_bit_costs_only_the_block_that_contains_it() {
    let whole = read(FILE);
    for bit in 0..8 * FILE.len() {
        let mut flipped = FILE.to_vec();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let found = read(&flipped);
        let hit = |index: usize| (ENDS[index]..ENDS[index + 1]).contains(&(bit / 8));
        let left: Vec<_> = whole
            .blocks
            .iter()
            .enumerate()
            .filter(|(index, _)| !hit(*index))
            .map(|(_, each)| each.clone())
            .collect();
        assert_eq!(found.blocks, left, "bit {bit}");
        // The second header repeats the first one.
        assert_eq!(found.header, whole.header, "bit {bit}");
        assert!(!found.flaws.is_empty(), "bit {bit}");
        let lost = if hit(0) || hit(1) { vec![Flaw::Lost(3)] } else { vec![] };
        let flaws: Vec<_> =
            found.flaws.iter().copied().filter(|each| matches!(each, Flaw::Lost(_))).collect();
        // Where the closing is damaged, the blocks give the same number.
        assert_eq!(flaws, lost, "bit {bit}");
    }
}

#[test]
fn nested_long_blocks_are_passed_over() {
    // An intact head that announces 65,536 records, with the checksum of no records.
    let mut head = *b"RBLK____________________________________________";
    head[4..].fill(0);
    head[6] = 1;
    head[36..40].copy_from_slice(&[0x83, 0x16, 0xdc, 0x8c]);
    head[44..].copy_from_slice(&[0xcb, 0xb8, 0x7e, 0x4e]);
    let (header, first) = FILE[..ENDS[1]].split_at(HEADER);
    let mut nested = header.to_vec();
    for _ in 0..1_000 {
        nested.extend_from_slice(&head);
    }
    nested.resize(nested.len() + 2_000_000, 0);
    nested.extend_from_slice(first);
    let found = read(&nested);
    assert_eq!(found.records().count(), 3);
    assert_eq!(found.flaws, [Flaw::Damaged(HEADER, nested.len() - HEADER - first.len()), Flaw::NotClosed]);
}

fn place(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("becalm-{}-{name}.regions", std::process::id()));
    let _ = std::fs::remove_file(&path);
    path
}

fn pushed(memory: &mut [Record], full: Full, many: u64) -> Ring<'_> {
    let mut ring = Ring::new(memory, full);
    for turn in 0..many {
        let at = |ticks, processor| Stamp { ticks, processor };
        ring.push((turn % 2) as u32, at(1_000 * turn, 5), at(1_000 * turn + 900 + turn, 5));
    }
    ring
}

#[test]
fn written_regions_are_read_back() {
    let (clock, path) = (Clock::calibrated(1_000_000).unwrap(), place("back"));
    for turn in 0..2 {
        // The second file replaces the first.
        let mut writer = Writer::create(&path, &clock, &["even", "odd"]).unwrap();
        let mut memory = vec![Record::EMPTY; 3_000];
        let mut ring = pushed(&mut memory, Full::DropOldest, 3_005);
        writer.flush(&mut ring, 9).unwrap();
        assert!(ring.is_empty());
        writer.flush(&mut ring, 9).unwrap();
        writer.flush(&mut pushed(&mut [], Full::DropNewest, 4), 10).unwrap();
        writer.close().unwrap();
        let found = read(&std::fs::read(&path).unwrap());
        assert_eq!(found.flaws, [], "{turn}");
        assert_eq!(found.records().count(), 3_000);
        let kept: Vec<_> = found.records().map(|each| each.ticks - 900).collect();
        assert_eq!(kept, (5..3_005).collect::<Vec<_>>());
        assert_eq!(found.blocks.iter().map(|each| each.first).collect::<Vec<_>>(), [0, 1_024, 2_048, 3_000]);
        let dropped: Vec<_> = found.blocks.iter().map(|each| (each.dropped, each.keeps_last)).collect();
        assert_eq!(dropped, [(5, true), (0, true), (0, true), (4, false)]);
        let header = found.header.unwrap();
        assert_eq!(
            (header.names, header.hz),
            (vec!["even".into(), "odd".into()], clock.info().calibration.hz)
        );
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn a_file_of_real_regions_without_closing_is_readable_and_reported() {
    let (clock, path) = (Clock::calibrated(1_000_000).unwrap(), place("open"));
    let mut memory = vec![Record::EMPTY; 100];
    let mut ring = Ring::new(&mut memory, Full::DropNewest);
    for _ in 0..100 {
        let from = begin();
        ring.push(0, from, end());
    }
    Writer::create(&path, &clock, &["nothing"]).unwrap().flush(&mut ring, 0).unwrap();
    let found = read(&std::fs::read(&path).unwrap());
    assert_eq!(found.flaws, [Flaw::NotClosed]);
    assert_eq!(found.records().count(), 100);
    std::fs::remove_file(&path).unwrap();
}

/// Move this thread to a processor, and return false if it may not run there.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
fn moved_to(processor: usize) -> bool {
    // SAFETY: an all-zero set is empty, and it outlives the call.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(processor, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set) == 0
    }
}

/// The test runs in its own thread, since it changes the affinity.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
#[test]
fn a_thread_that_moves_between_begin_and_end_is_seen() {
    let moving = std::thread::spawn(|| {
        let processors: Vec<usize> = (0..64).filter(|each| moved_to(*each)).take(2).collect();
        let &[first, second] = processors.as_slice() else { return };
        let (clock, path) = (Clock::calibrated(1_000_000).unwrap(), place("moved"));
        let mut memory = [Record::EMPTY; 2];
        let mut ring = Ring::new(&mut memory, Full::DropNewest);
        for end_on in [second, first] {
            assert!(moved_to(first));
            let from = clock.begin();
            assert!(moved_to(end_on));
            ring.push(0, from, clock.end());
        }
        let mut writer = Writer::create(&path, &clock, &["moving"]).unwrap();
        writer.flush(&mut ring, 0).unwrap();
        writer.close().unwrap();
        let found = read(&std::fs::read(&path).unwrap());
        let intervals: Vec<_> =
            found.records().map(|each| (each.began_on, each.ended_on, each.flags & MIGRATED)).collect();
        let (first, second) = (first as u16, second as u16);
        assert_eq!(intervals, [(first, second, MIGRATED), (first, first, 0)]);
        std::fs::remove_file(&path).unwrap();
    });
    moving.join().unwrap();
}

#[test]
fn another_file_is_left_as_it_is() {
    let (clock, path) = (Clock::calibrated(1_000_000).unwrap(), place("other"));
    std::fs::write(&path, "my thesis").unwrap();
    assert_eq!(Writer::create(&path, &clock, &[]).unwrap_err().kind(), std::io::ErrorKind::AlreadyExists);
    assert_eq!(std::fs::read(&path).unwrap(), b"my thesis");
    std::fs::remove_file(&path).unwrap();
    let long = "x".repeat(65_536);
    assert_eq!(Writer::create(&path, &clock, &[&long]).unwrap_err().kind(), std::io::ErrorKind::InvalidInput);
    assert!(!path.exists());
}

#[test]
fn a_file_of_another_process_is_kept_and_a_second_one_created() {
    let path = place("shared");
    let alongside = path.with_file_name(format!(
        "{}.{}.regions",
        path.file_stem().unwrap().to_str().unwrap(),
        std::process::id()
    ));
    // A recent file with another process id, as another process leaves it that times at the same time.
    let clock = Clock::open().unwrap();
    std::fs::write(&path, FILE).unwrap();
    let mut first = Writer::create(&path, &clock, &["own"]).unwrap();
    assert_eq!(first.path(), alongside);
    let mut memory = vec![Record::EMPTY; 4];
    let mut ring = pushed(&mut memory, Full::DropNewest, 4);
    first.flush(&mut ring, 0).unwrap();
    // While the first one is open, another gets a third name.
    let second = Writer::create(&path, &clock, &["own"]).unwrap();
    assert_eq!(
        second.path(),
        alongside.with_file_name(
            alongside.file_name().unwrap().to_str().unwrap().replace(".regions", "-2.regions")
        )
    );
    let last = second.path().to_path_buf();
    second.close().unwrap();
    first.close().unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), FILE);
    assert_eq!(read(&std::fs::read(&alongside).unwrap()).records().count(), 4);
    // For a clock opened an hour later, the existing file is from a process that has ended.
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    file.set_modified(std::time::SystemTime::now() - std::time::Duration::from_secs(3600)).unwrap();
    let later = Clock::open().unwrap();
    let writer = Writer::create(&path, &later, &["own"]).unwrap();
    assert_eq!(writer.path(), path);
    writer.close().unwrap();
    for each in [path, alongside, last] {
        std::fs::remove_file(each).unwrap();
    }
}
