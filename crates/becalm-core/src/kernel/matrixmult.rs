//! The kernel `matrixmult`: products of the same two matrices of 4-byte integers, element by element, row by
//! column, each into a new result that is cleared. A mark precedes each product.

use std::hint::black_box;

use super::{measured, Done, Given};

/// Compute one product, into a new matrix; the matrices are stored row by row.
fn product(a: &[i32], b: &[i32], n: usize) -> Vec<i32> {
    let mut result = Vec::with_capacity(n * n);
    result.resize(n * n, black_box(0));
    for row in 0..n {
        for column in 0..n {
            let along = a[row * n..(row + 1) * n].iter();
            let down = b[column..].iter().step_by(n);
            result[row * n + column] =
                along.zip(down).fold(0, |sum: i32, (one, other)| sum.wrapping_add(one.wrapping_mul(*other)));
        }
    }
    result
}

fn matrix(n: usize, factor: usize) -> Vec<i32> {
    (0..n * n).map(|index| (index * factor % 11) as i32 - 5).collect()
}

/// Return the memory of the two factors and of two results: a new one is computed while the last one still
/// exists.
pub fn memory(given: &Given) -> u64 {
    given.number("n").saturating_mul(given.number("n")).saturating_mul(4 * 4)
}

pub fn run(given: &Given) -> Done {
    let (n, repeats) = (given.number("n") as usize, given.number("repeats"));
    let (a, b) = (matrix(n, 3), matrix(n, 7));
    let mut last = Vec::new();
    measured(repeats, || {
        for _ in 0..repeats {
            given.marks.mark();
            let (a, b) = (black_box(&a), black_box(&b));
            let made = product(a, b, n);
            // The last result is freed now, so that the new one is at another place.
            last = black_box(made);
        }
        last.iter().fold(repeats, |sum: u64, value| sum.wrapping_mul(31).wrapping_add(*value as u64))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_is_that_of_the_rule() {
        assert_eq!(product(&[1, 2, 3, 4], &[5, 6, 7, 8], 2), [19, 22, 43, 50]);
        assert_eq!(product(&[-3], &[7], 1), [-21]);
    }
}
