//! The kernel `triad`: a = b + s·c over three arrays, as in STREAM (McCalpin 1995). It moves as many lines as
//! the memory can deliver, in a predictable order: it uses much of what is shared.

use std::hint::black_box;

use super::{measured, Done, Given};

const S: f64 = 3.0;

pub fn run(given: &Given) -> Done {
    let length = given.number("size") as usize / (3 * size_of::<f64>());
    let b: Vec<f64> = (0..length).map(|index| (index % 1024) as f64).collect();
    let c: Vec<f64> = (0..length).map(|index| (index % 7) as f64).collect();
    let mut a = vec![1.0; length];
    let work = given.number("work");
    measured(work, || {
        let mut left = work as usize;
        while left > 0 {
            let now = left.min(length);
            // Each pass computes the same numbers: the compiler must not find that out.
            let (b, c) = (black_box(&b), black_box(&c));
            for ((a, b), c) in a[..now].iter_mut().zip(b).zip(c) {
                *a = *b + S * *c;
            }
            black_box(&mut a);
            left -= now;
        }
        a.iter().fold(0, |sum: u64, value| sum.wrapping_add(*value as u64))
    })
}

#[cfg(test)]
mod tests {
    use super::super::table::tests::checksum;

    #[test]
    fn the_checksum_is_the_sum_of_the_first_array() {
        let wanted = |done: usize| -> u64 {
            (0..170).map(|index| if index < done { (index % 1024 + 3 * (index % 7)) as u64 } else { 1 }).sum()
        };
        // 4096 bytes are three arrays of 170 numbers.
        assert_eq!(checksum("triad", &[("size", 4096), ("work", 510)]), wanted(170));
        assert_eq!(checksum("triad", &[("size", 4096), ("work", 100)]), wanted(100));
    }
}
