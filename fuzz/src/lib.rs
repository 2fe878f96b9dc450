//! Fuzz targets, each of which takes any bytes: no panic, no endless work, no unbounded memory, and no write
//! outside of the directory that stands for the machine.
//!
//! `make fuzz` and `cargo +nightly fuzz run TARGET` (libFuzzer, guided by coverage) run the same functions as
//! `main` (blind, without a C++ compiler). Another target needs a function, a row here, a file in
//! `fuzz_targets/` and its `[[bin]]`.

mod agent;
pub mod guided;
pub mod machine;
pub mod mutate;
mod readers;
mod recordings;
mod records;
mod regions;
pub mod runner;
mod seeds;
mod watch;

pub use agent::{protocol, settings};
pub use readers::{boot_loader, facts, load_sources};
pub use recordings::perf_data;
pub use records::{boot_record, journal};
pub use regions::regions;

/// A fuzz target.
pub struct Target {
    pub name: &'static str,
    /// A description of its input.
    pub what: &'static str,
    /// The function to run. It returns a number for the result: inputs with a new number are kept and changed
    /// further.
    pub run: fn(&[u8]) -> u64,
    /// The seed inputs.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

pub const TARGETS: &[Target] = &[
    Target { name: "protocol", what: "requests of the protocol", run: protocol, seeds: agent::requests },
    Target {
        name: "settings",
        what: "settings of a request, and what they mean on a machine",
        run: settings,
        seeds: agent::settings_seeds,
    },
    Target {
        name: "journal",
        what: "the journal, and restoring what it lists",
        run: journal,
        seeds: records::journals,
    },
    Target {
        name: "boot_record",
        what: "the record of a boot entry, and removing what it lists",
        run: boot_record,
        seeds: records::boot_records,
    },
    Target {
        name: "boot_loader",
        what: "menus, environment blocks, entries and firmware variables of boot loaders",
        run: boot_loader,
        seeds: readers::boot_seeds,
    },
    Target {
        name: "load_sources",
        what: "the kernel's files that load records are made of",
        run: load_sources,
        seeds: readers::load_seeds,
    },
    Target {
        name: "facts",
        what: "the kernel's files that facts and states of knobs are made of",
        run: facts,
        seeds: readers::fact_seeds,
    },
    Target {
        name: "regions",
        what: "files of timed regions, with wrong checksums and with right ones",
        run: regions,
        seeds: regions::region_seeds,
    },
    Target {
        name: "perf_data",
        what: "files of perf record, and what the kernel writes into its buffers",
        run: perf_data,
        seeds: recordings::recording_seeds,
    },
];

/// Return a number for a result: the hash of a sentence's first letters, up to what it quotes.
pub fn class(words: &str) -> u64 {
    let sentence = words.bytes().take(40).take_while(|byte| !matches!(byte, b'"' | b'`'));
    hash(sentence.filter(u8::is_ascii_alphabetic))
}

/// Return a number for an input.
pub fn digest(input: &[u8]) -> u64 {
    hash(input.iter().copied())
}

/// Compute the FNV-1a hash (Fowler, Noll and Vo).
fn hash(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
