//! The kernel `memeater`: increments every word of a buffer, from end to end and again: all of its lines are
//! read, changed and written back, one after the other.

use std::hint::black_box;

use super::{measured, Done, Given};

/// Make a number of increments, from the beginning of a buffer on.
pub fn eat(buffer: &mut [u64], increments: u64) {
    let mut left = increments;
    while left > 0 {
        let now = left.min(buffer.len() as u64);
        for word in &mut buffer[..now as usize] {
            *word = word.wrapping_add(1);
        }
        black_box(&mut *buffer);
        left -= now;
    }
}

/// Return a buffer of `bytes` bytes that has been touched.
pub fn buffer(bytes: u64) -> Vec<u64> {
    let mut made = vec![1; (bytes as usize / size_of::<u64>()).max(1)];
    black_box(&mut made);
    made
}

pub fn run(given: &Given) -> Done {
    let mut buffer = buffer(given.number("size"));
    let work = given.amount("work");
    measured(work, || {
        eat(&mut buffer, work);
        buffer.iter().fold(0, |sum: u64, word| sum.wrapping_add(*word))
    })
}

#[cfg(test)]
mod tests {
    use super::super::table::tests::checksum;

    #[test]
    fn the_checksum_is_the_number_of_increments_and_of_words() {
        assert_eq!(checksum("memeater", &[("size", 4096), ("work", 1300)]), 1300 + 512);
    }
}
