//! Once warm, a sample of everything allocates nothing, and neither does a sampler.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use becalm_core::source::course::Course;
use becalm_core::source::file::Place;
use becalm_core::source::resident::Resident;
use becalm_core::source::sampler::{Sampler, STATES};
use becalm_core::source::snapshot::Snapshot;
use becalm_core::source::Reader;

struct Counting;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

/// The count of all threads.
static TOTAL: AtomicU64 = AtomicU64::new(0);

fn count() {
    COUNT.with(|count| count.set(count.get() + 1));
    TOTAL.fetch_add(1, Ordering::Relaxed);
}

// SAFETY: hands everything on to the system's allocator; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        System.alloc(layout)
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        System.dealloc(pointer, layout);
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        System.realloc(pointer, layout, size)
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations of each of 40 samples after the first two.
fn allocations(root: &Path) -> Vec<u64> {
    let mut reader = Reader::all(&Place::new(root));
    let mut snapshots = [Snapshot::default(), Snapshot::default()];
    snapshots.iter_mut().for_each(|snapshot| reader.sample(snapshot));
    let count = |turn: usize| {
        let before = COUNT.with(Cell::get);
        reader.sample(&mut snapshots[turn % 2]);
        COUNT.with(Cell::get) - before
    };
    (0..40).map(count).collect()
}

#[test]
fn recorded_machines_never() {
    for machine in ["guest-6.18", "server-4.18", "desktop-6.1", "old-2.6.32"] {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/load").join(machine);
        assert_eq!(allocations(&root).iter().max(), Some(&0), "{machine}");
    }
}

#[test]
fn this_machine_not_unless_it_changes() {
    assert_eq!(allocations(Path::new("/")).iter().min(), Some(&0));
}

#[test]
fn the_counter_counts() {
    let before = COUNT.with(Cell::get);
    drop(std::hint::black_box(vec![0_u8; 100]));
    assert!(COUNT.with(Cell::get) > before);
}

/// Other tests of this file allocate meanwhile, and the machine may change: two samples in which nobody did suffice.
#[test]
fn a_sampler_takes_samples_without_allocating() {
    let mut sampler = Sampler::start(&Place::new(Path::new("/")), &STATES, 1_000_000, 1024).unwrap();
    // The time is a limit for a broken sampler, not an expectation.
    let end = Instant::now() + Duration::from_secs(300);
    let mut quiet = false;
    while !quiet && Instant::now() < end {
        let (samples, allocations) = (sampler.account().samples, TOTAL.load(Ordering::Relaxed));
        while sampler.account().samples < samples + 2 && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(5));
        }
        quiet = TOTAL.load(Ordering::Relaxed) == allocations && sampler.account().samples >= samples + 2;
    }
    sampler.stop();
    assert!(quiet);
}

#[test]
fn the_memory_of_programs_is_looked_at_without_any() {
    let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let (mut resident, mut course) = (Resident::default(), Course::default());
    let own = std::process::id() as i32;
    let before = COUNT.with(Cell::get);
    for place in 1..=600 {
        course.take(place * 10_000_000, resident.below(own), 0);
    }
    let after = COUNT.with(Cell::get);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(after - before, 0);
    assert!(course.largest() > 0);
}
