//! The runner, which tries a target for some seconds in a child process and works with any toolchain: it
//! detects what kills that process.
//!
//! The search is guided not by coverage but by results: an input with a new result is kept and changed
//! further. Equal seeds try equal inputs in the same order.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::machine::{project, scratch};
use crate::mutate::{Mutator, LONGEST};
use crate::{seeds, Target};

/// The time after which an input counts as hanging, in seconds.
const PATIENCE_S: u32 = 10;

/// The memory that a target may map, many times what it needs.
const MEMORY_BYTES: u64 = 2 << 30;

/// The unprivileged account `nobody`, for a runner started by root.
const NOBODY: u32 = 65_534;

/// The outcome of running a target.
pub struct Outcome {
    pub inputs: u64,
    pub results: u64,
    /// The kind of failure and the path of its input; None if there was none.
    pub failure: Option<(String, PathBuf)>,
}

/// The memory that parent and child share, in which the child reports its progress.
#[repr(C)]
struct Shared {
    inputs: u64,
    results: u64,
    length: usize,
    input: [u8; LONGEST],
}

/// Run a target for this time.
pub fn run(target: &Target, seed: u64, time: Duration) -> Outcome {
    let shared = share();
    let seeds = seeds::all(target);
    // SAFETY: this process has one thread.
    let child = unsafe { libc::fork() };
    if child == 0 {
        try_inputs(target, seed, time, &seeds, shared);
        // SAFETY: ends this process without the parent's handlers.
        unsafe { libc::_exit(0) };
    }
    assert!(child > 0, "no process can be made: {}", std::io::Error::last_os_error());
    let mut status = 0;
    // SAFETY: waits for the child just made.
    unsafe { libc::waitpid(child, &mut status, 0) };
    drop(fs::remove_dir_all(scratch(child as u32)));
    let failure = ended(status).map(|words| (words, keep(target, &shared.input[..shared.length])));
    let outcome = Outcome { inputs: shared.inputs, results: shared.results, failure };
    // SAFETY: mapped by `share`, not used again.
    unsafe { libc::munmap(std::ptr::from_mut(shared).cast(), size_of::<Shared>()) };
    outcome
}

fn share() -> &'static mut Shared {
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping of zeros, which are a value of `Shared`; `run` unmaps it.
    unsafe {
        let place = libc::mmap(std::ptr::null_mut(), size_of::<Shared>(), protection, flags, -1, 0);
        assert!(place != libc::MAP_FAILED, "no memory: {}", std::io::Error::last_os_error());
        &mut *place.cast::<Shared>()
    }
}

fn try_inputs(target: &Target, seed: u64, time: Duration, seeds: &[Vec<u8>], shared: &mut Shared) {
    (target.run)(&seeds[seeds.len() - 1]);
    confine();
    let started = Instant::now();
    let mut mutator = Mutator::new(seed, seeds);
    let mut corpus = seeds.to_vec();
    let mut seen = HashSet::new();
    let mut first = seeds.iter();
    while let Some(input) = first.next().cloned().or_else(|| {
        let some = |mutator: &mut Mutator| mutator.random.below(corpus.len());
        let (one, other) = (some(&mut mutator), some(&mut mutator));
        (started.elapsed() < time).then(|| mutator.change(&corpus[one], &corpus[other]))
    }) {
        let input = &input[..input.len().min(LONGEST)];
        shared.length = input.len();
        shared.input[..input.len()].copy_from_slice(input);
        // SAFETY: a timer whose signal ends this process.
        unsafe { libc::alarm(PATIENCE_S) };
        let result = (target.run)(input);
        shared.inputs += 1;
        if seen.insert(result) {
            shared.results += 1;
            corpus.push(input.to_vec());
        }
    }
}

/// Limit memory and give up root's privileges.
fn confine() {
    let limit = libc::rlimit { rlim_cur: MEMORY_BYTES, rlim_max: MEMORY_BYTES };
    // SAFETY: a valid structure, a constant resource.
    unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) };
    give_up_rights();
}

/// Become `nobody`, so that a target that escapes from its machine cannot change files of others.
pub fn give_up_rights() {
    // SAFETY: no pointers.
    if unsafe { libc::geteuid() } == 0 {
        hand_over(&scratch(std::process::id()));
        // SAFETY: no groups are given; no pointers are kept.
        let done =
            unsafe { libc::setgroups(0, std::ptr::null()) | libc::setgid(NOBODY) | libc::setuid(NOBODY) };
        assert!(done == 0, "root's rights cannot be given up: {}", std::io::Error::last_os_error());
    }
}

fn hand_over(path: &Path) {
    drop(chown(path, Some(NOBODY), Some(NOBODY)));
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        hand_over(&entry.path());
    }
}

fn ended(status: i32) -> Option<String> {
    match (libc::WIFSIGNALED(status), libc::WTERMSIG(status), libc::WEXITSTATUS(status)) {
        (true, libc::SIGALRM, _) => Some(format!("took more than {PATIENCE_S} s")),
        (true, signal, _) => Some(format!("was ended by signal {signal}")),
        (false, _, 0) => None,
        (false, ..) => Some("panicked".to_owned()),
    }
}

fn keep(target: &Target, input: &[u8]) -> PathBuf {
    let directory = project().join("fuzz/artifacts").join(target.name);
    let path = directory.join(format!("{:016x}", crate::digest(input)));
    let kept = fs::create_dir_all(&directory).and_then(|()| fs::write(&path, input));
    kept.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    path
}
