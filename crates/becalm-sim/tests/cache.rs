//! The cache simulator on inputs with exactly known results: the thesis's three-by-three matrices, migrated
//! phases, equal seeds.
#![allow(clippy::expect_used)]

use becalm_sim::cache::hierarchy::{Geometry, Hierarchy};
use becalm_sim::cache::level::Size;
use becalm_sim::cache::matrixmult::{Matrixmult, Outcome};
use becalm_sim::cache::memory::{Memory, Pages, Space};
use becalm_sim::cache::micro::{Asked, Phases};
use becalm_sim::cache::program::Step;
use becalm_sim::cache::request::Cache;
use becalm_sim::cache::{answer, simulate, Answer, Simulated};
use becalm_sim::spots::record::What;
use becalm_sim::spots::window::Counts;
use serde_json::{json, Value};

fn played(request: Value) -> Simulated {
    let asked: Cache = serde_json::from_value(request).expect("a request");
    simulate(&asked).expect("it can be simulated")
}

/// Return the misses for each element of C, with the program moved to cold caches before one of them.
fn misses(moved_before: Option<usize>) -> Vec<u64> {
    let geometry = Geometry { cpus: 2, llcs: 2, ..Geometry::default() };
    let mut caches = Hierarchy::new(&geometry, 0);
    let mut memory = Memory::new(Pages::Sequence, 4096, 0).expect("sound");
    let mut space = Space::default();
    let of = Matrixmult {
        n: 3,
        repeats: 1,
        result: Outcome::Freed,
        row_bytes: Some(64),
        prepared: false,
        pause: 0,
        work: 0,
    };
    let mut program = Asked::Matrixmult(of).begin(4096, false).expect("sound");
    let mut steps = Vec::new();
    while program.fill(&mut steps, 0).expect("no file") {}
    steps.retain(|each| matches!(each, Step::Access { .. }));
    assert_eq!(steps.len(), 63);
    let mut found = Vec::new();
    for (number, element) in steps.chunks(7).enumerate() {
        let moved = moved_before.is_some_and(|before| number + 1 >= before);
        let (cpu, elsewhere) = if moved { (1, 1) } else { (0, 0) };
        let before = caches.counts(cpu).1;
        for step in element {
            let &Step::Access { address, size, kind, .. } = step else { continue };
            let address = memory.physical(&mut space, address).expect("room");
            caches.access(cpu, address, size, kind, elsewhere);
        }
        found.push(caches.counts(cpu).1 - before);
    }
    found
}

#[test]
fn three_by_three_misses_as_in_the_thesis() {
    assert_eq!(misses(None), [5, 0, 0, 2, 0, 0, 2, 0, 0]);
    let more = |before| misses(Some(before)).iter().sum::<u64>() - 9;
    assert_eq!([2, 4, 7].map(more), [5, 3, 3]);
    assert_eq!([1, 3, 5, 6, 8, 9].map(more), [0, 5, 5, 5, 5, 5]);
}

fn phases(moves: Value) -> (u64, u64) {
    let found = played(json!({
        "machine": {"cpus": 2},
        "pages": "sequence",
        "tasks": [{"program": {"phases": {"bytes": 128 << 10, "sweeps": 20, "phases": 1}}, "moves": moves}],
    }));
    found.cpus.iter().fold((0, 0), |sum, (data, _)| (sum.0 + data.references, sum.1 + data.misses))
}

#[test]
fn a_migrated_phase_fills_the_other_cache() {
    assert_eq!(phases(json!([])), (2_048, 2_048));
    assert_eq!(phases(json!([{"when": {"accesses": 20_480}, "to": 1}])), (4_096, 2_048));
    assert_eq!(phases(json!([{"when": {"accesses": 0}, "to": 1}])), (2_048, 2_048), "at its boundary");
}

#[test]
fn a_migration_between_two_phases_costs_nothing() {
    let moved = |at: u64| {
        let found = played(json!({
            "machine": {"cpus": 2},
            "pages": "sequence",
            "tasks": [{
                "program": {"phases": {"bytes": 128 << 10, "sweeps": 20, "phases": 2}},
                "moves": [{"when": {"accesses": at}, "to": 1}],
            }],
        }));
        found.cpus.iter().map(|(data, _)| data.references).sum::<u64>()
    };
    assert_eq!([moved(40_960), moved(20_480), moved(61_440)], [4_096, 6_144, 6_144]);
}

fn busy(seed: u64, replacement: &str) -> Value {
    json!({
        "machine": {
            "cpus": 2, "replacement": replacement, "l1": {"bytes": 2048, "ways": 8}, "l2": {"bytes": 16384, "ways": 8},
            "llc": {"bytes": 98304, "ways": 12},
        },
        "seed": seed, "page_bytes": 512, "slice_ns": 100_000, "tick_ns": 20_000, "records": true,
        "question": {"windows": true},
        "tasks": [
            {"program": {"matrixmult": {"n": 48, "repeats": 3}}},
            {"program": {"memeater": {"bytes": 200_000}}, "from_ns": 300_000, "until_ns": 1_500_000},
            {"program": {"change": {"bytes": 50_000, "period_ns": 400_000}}, "cpu": 1, "until_ns": 2_000_000},
        ],
        "every": [{"task": 0, "mean_ns": 700_000, "cpus": [0, 1], "how": "at_once"}],
    })
}

#[test]
fn equal_seeds_make_equal_streams() {
    for replacement in ["lru", "random"] {
        let one = played(busy(5, replacement));
        assert_eq!(one, played(busy(5, replacement)));
        assert_ne!(one.records, played(busy(6, replacement)).records);
        assert!(one.tasks[0].moved.len() > 2, "{:?}", one.tasks[0].moved);
    }
}

#[test]
fn records_form_a_consistent_stream() {
    let found = played(busy(1, "lru"));
    let records = found.records.expect("asked for");
    assert!(records.windows(2).all(|pair| pair[0].time_ns <= pair[1].time_ns));
    for cpu in 0..2 {
        let own: Vec<_> = records.iter().filter(|each| each.cpu == cpu).collect();
        assert!(own.windows(2).all(|pair| pair[0].references <= pair[1].references));
        let mut runs = 0;
        for record in own {
            if let What::Switch { out, to, .. } = record.what {
                assert_eq!(out, runs);
                runs = to;
            }
        }
    }
    let detection = found.found.expect("asked for");
    assert_eq!(detection.trouble, Default::default());
    let own = detection.programs.iter().fold(Counts::default(), |sum, each| sum + each.own);
    let counted = found
        .cpus
        .iter()
        .fold(Counts::default(), |sum, (data, _)| sum + Counts::new(data.references, data.misses));
    assert_eq!(own + detection.idle + detection.unattributed, counted, "each access belongs to somebody");
    assert_eq!(detection.migrations.len(), found.tasks[0].moved.len());
    assert_eq!(detection.marks.iter().filter(|each| detection.programs[each.program].task == 1).count(), 3);
}

#[test]
fn others_evict_from_a_shared_cache() {
    let eaten = |bytes: u64, cpu: usize| {
        let found = played(json!({
            "machine": {"cpus": 2, "l2": {"bytes": 65_536, "ways": 8}, "llc": {"bytes": 393_216, "ways": 12}},
            "tasks": [
                {"program": {"phases": {"bytes": 150_000, "sweeps": 5, "phases": 1, "work": 1_000}}},
                {"program": {"memeater": {"bytes": bytes}}, "cpu": cpu},
            ],
        }));
        found.cpus[0].0.misses
    };
    assert!(eaten(4 << 20, 1) > 3 * eaten(4_096, 1), "{} {}", eaten(4 << 20, 1), eaten(4_096, 1));
}

#[test]
fn invalid_requests_are_rejected_with_a_reason() {
    let why = |request: Value| match answer(&request.to_string()) {
        Answer::Error(why) => why,
        Answer::Cache(_) => panic!("{request} was simulated"),
    };
    let burner = json!({"program": {"cpuburner": {}}});
    assert!(why(json!({"tasks": []})).contains("not 0"));
    assert!(why(json!({"tasks": [burner]})).contains("No task ends by itself"));
    assert!(why(json!({"tasks": [{"program": {"cpuburner": {}}, "cpu": 9}]})).contains("no CPU 9"));
    assert!(why(json!({"tasks": [{"program": {"phases": {"bytes": 0, "sweeps": 1, "phases": 1}}}]}))
        .contains("64 bytes"));
    assert!(
        why(json!({"tasks": [{"program": {"matrixmult": {"n": 0, "repeats": 1}}}]})).contains("1 to 16384")
    );
    assert!(why(json!({"tasks": [{"program": {"trace": {"path": "/nowhere/t"}}}]})).contains("/nowhere/t"));
    assert!(why(json!({"tasks": [burner], "until_ns": 9, "page_bytes": 77})).contains("power of two"));
    assert!(why(json!({"tasks": [burner], "until_ns": 9, "machine": {"llc": {"bytes": 5, "ways": 1}}}))
        .contains("last-level"));
    assert!(why(json!({"tasks": [burner], "until_ns": 9, "every": [{"task": 3, "mean_ns": 1, "cpus": [0, 1], "how": "at_once"}]}))
        .contains("again and again"));
    assert!(why(json!({"tasks": [burner], "nonsense": 1})).contains("not a request"));
}

#[test]
fn an_endless_task_ends_at_the_time_limit() {
    let found = played(json!({"tasks": [{"program": {"cpuburner": {}}}], "until_ns": 5_000_000}));
    assert!(found.cut && (5_000_000..5_100_000).contains(&found.until_ns), "{}", found.until_ns);
    assert_eq!((found.accesses, found.tasks[0].ended_ns), (0, None));
}

#[test]
fn phases_are_a_program_of_a_request() {
    let asked = Asked::Phases(Phases { bytes: 64, sweeps: 1, phases: 0, work: 0 });
    assert!(asked.endless());
    assert_eq!(serde_json::to_value(&asked).expect("plain")["phases"]["sweeps"], 1);
    assert_eq!(Size { bytes: 64, ways: 1 }.check("L1"), Ok(()));
}
