//! Files of `perf record -a -c 1 -e '{context-switches,cache-references:u,cache-misses:u}:S' --switch-events`, as records.
//!
//! `file` reads header, attributes and records, from files and through a pipe, one record at a time; `layout`
//! has the fields of an event's records; `order` sorts by time, as far as perf's FINISHED_ROUND requires;
//! `read` combines them. Nothing in a file is trusted: lengths are bounded, and so is memory (`order::MOST`
//! records). Source: tools/perf/Documentation/perf.data-file-format.txt, and linux/perf_event.h.

mod file;
mod layout;
mod order;
mod read;
#[cfg(test)]
mod tests;

pub use read::{read, Counted, Summary};

/// The reason why a file is not read: the end of a sentence, after the file's name.
#[derive(Debug, thiserror::Error)]
pub enum PerfError {
    #[error("cannot be read: {0}")]
    System(#[from] std::io::Error),
    #[error("is not a file of perf: it does not begin with PERFILE2")]
    Magic,
    #[error("is perf.data of a machine of the other byte order. Record it on a machine like this one")]
    Order,
    #[error("is damaged or cut at byte {at}: {what}")]
    Damaged { at: u64, what: &'static str },
    #[error("came through a pipe (perf record -o -), and it {0}")]
    Piped(Box<PerfError>),
    #[error("is compressed (perf record -z). Record it again without -z")]
    Compressed,
    #[error("has no {0}. Record it by: perf record -a -c 1 -e '{{context-switches,cache-references:u,cache-misses:u}}:S' --switch-events")]
    Lacks(String),
}
