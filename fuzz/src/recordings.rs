//! A target for files of `perf record`.

use std::fs;
use std::io::Cursor;

use becalm_core::source::switches::perf_data::read;

use crate::class;
use crate::machine::project;

pub fn recording_seeds() -> Vec<Vec<u8>> {
    let path = project().join("crates/becalm-core/tests/vectors/faults.perf.data");
    let whole = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    // A pipe header without records, the beginning of a file, and the whole file.
    let pipe = [&whole[..8], &16_u64.to_ne_bytes()].concat();
    vec![pipe, whole[..1024.min(whole.len())].to_vec(), whole]
}

/// Read a file; the number of records, including those that introduce threads, is at most that of its bytes.
pub fn perf_data(bytes: &[u8]) -> u64 {
    let mut count = 0;
    match read(Cursor::new(bytes), |_| count += 1) {
        Ok(summary) => {
            assert_eq!(summary.records, count);
            assert!(count <= bytes.len() as u64, "{count} records in {} bytes", bytes.len());
            1 + count.min(64)
        }
        Err(error) => class(&error.to_string()),
    }
}
