//! Statistics of measurements and of two sets of them.

/// Return a sorted copy.
pub fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

/// Return the quantile of sorted values, the lower one if it falls between two; NaN of none.
pub fn quantile(sorted: &[f64], share: f64) -> f64 {
    match sorted.len() {
        0 => f64::NAN,
        many => sorted[((many - 1) as f64 * share) as usize],
    }
}

/// Return the median of values in any order.
pub fn median(values: &[f64]) -> f64 {
    quantile(&sorted(values), 0.5)
}

/// Return the median distance from a centre, without any factor.
pub fn median_distance(values: &[f64], centre: f64) -> f64 {
    median(&values.iter().map(|value| (value - centre).abs()).collect::<Vec<_>>())
}

/// Return the standard deviation; NaN of fewer than two values.
pub fn deviation(values: &[f64]) -> f64 {
    let many = values.len() as f64;
    if values.len() < 2 {
        return f64::NAN;
    }
    let mean = values.iter().sum::<f64>() / many;
    let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    (squares / (many - 1.0)).sqrt()
}

/// The number of blocks of neighbouring measurements by which a standard error is estimated.
const BLOCKS: usize = 20;

/// Return the standard error of a standard deviation, over it: the larger of that of independent measurements
/// with this kurtosis, and that from blocks of neighbours, since measurements may resemble those before them.
/// 0 if nothing varies.
pub fn deviation_error(values: &[f64]) -> f64 {
    let many = values.len() as f64;
    let mean = values.iter().sum::<f64>() / many;
    let squares: Vec<f64> = values.iter().map(|value| (value - mean).powi(2)).collect();
    let variance = squares.iter().sum::<f64>() / many;
    if variance == 0.0 || variance.is_nan() {
        return 0.0;
    }
    let kurtosis = squares.iter().map(|square| square * square).sum::<f64>() / many / (variance * variance);
    let independent = 0.5 * ((kurtosis - 1.0).max(0.0) / many).sqrt();
    let block = values.len() / BLOCKS;
    if block < 2 {
        return independent;
    }
    let of = |block: &[f64]| block.iter().sum::<f64>() / block.len() as f64;
    let blocks: Vec<f64> = squares.chunks_exact(block).map(of).collect();
    let blocked = 0.5 * deviation(&blocks) / (blocks.len() as f64).sqrt() / variance;
    f64::max(independent, blocked)
}

/// Return the standard deviation over the mean after the cost is subtracted; NaN of fewer than two values,
/// infinite if the mean is not positive.
pub fn variation(values: &[f64], cost: f64) -> f64 {
    let deviation = deviation(values);
    let mean = values.iter().sum::<f64>() / values.len() as f64 - cost;
    if deviation.is_nan() || mean > 0.0 {
        deviation / mean
    } else {
        f64::INFINITY
    }
}

/// Return the share of the longer's measurements that are not above all of the shorter's. A tie counts:
/// otherwise two constant sets on a coarse counter would be distinguished.
pub fn overlap(shorter: &[f64], longer: &[f64]) -> f64 {
    let largest = shorter.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    longer.iter().filter(|value| **value <= largest).count() as f64 / longer.len() as f64
}

/// The distance of two sets: the probability that one of the longer is above one of the shorter, ties half
/// (area under the ROC curve), and the smallest share of wrong decisions of any threshold (both sets have the
/// same weight).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Separation {
    /// The area under the ROC curve: 0.5 is chance.
    pub area: f64,
    /// The error of the best threshold: 0.5 is chance.
    pub error: f64,
}

/// Return how well two sets can be distinguished.
pub fn separation(shorter: &[f64], longer: &[f64]) -> Separation {
    let (short, long) = (sorted(shorter), sorted(longer));
    let (mut below, mut at, mut area) = (0, 0, 0.0);
    let mut best = 0.5;
    let mut index = 0;
    while index < long.len() {
        let value = long[index];
        let ties = long[index..].iter().take_while(|other| **other == value).count();
        while below < short.len() && short[below] < value {
            below += 1;
        }
        at = at.max(below);
        while at < short.len() && short[at] <= value {
            at += 1;
        }
        area += ties as f64 * (below + at) as f64 / 2.0;
        // With a threshold just below this value the wrong ones are the shorter's from here on and the
        // longer's before here.
        best = f64::min(best, wrong(short.len() - below, short.len(), index, long.len()));
        index += ties;
        best = f64::min(best, wrong(short.len() - at, short.len(), index, long.len()));
    }
    Separation { area: area / (short.len() as f64 * long.len() as f64), error: best }
}

fn wrong(above: usize, shorter: usize, below: usize, longer: usize) -> f64 {
    (above as f64 / shorter as f64 + below as f64 / longer as f64) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_cases_by_hand() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median_distance(&[1.0, 2.0, 3.0, 10.0, 2.0], 2.0), 1.0);
        // Mean 12, standard deviation 2, cost 2.
        assert!((variation(&[10.0, 12.0, 14.0], 2.0) - 0.2).abs() < 1e-12);
        assert_eq!(variation(&[5.0, 5.0], 5.0), f64::INFINITY);
        assert!(variation(&[5.0], 0.0).is_nan() && quantile(&[], 0.5).is_nan());
    }

    #[test]
    fn the_error_of_a_deviation_by_hand() {
        // Two values are equally frequent: kurtosis 1, and each pair of neighbours has both.
        let even: Vec<f64> = (0..1_000).map(|turn| f64::from(turn % 2)).collect();
        assert!(deviation_error(&even) < 1e-9);
        // One in ten is 1: p(1 − p) = 0.09, kurtosis 1/0.09 − 3 = 8.11.
        let few: Vec<f64> = (0..1_000).map(|turn| f64::from(u8::from(turn % 10 == 0))).collect();
        assert!((deviation_error(&few) - 0.5 * (7.111_f64 / 1_000.0).sqrt()).abs() < 1e-4);
        // Equal values are in a row: two of the twenty blocks have all of them.
        let locked: Vec<f64> = (0..1_000).map(|turn| f64::from(u8::from(turn < 100))).collect();
        assert!(deviation_error(&locked) > 0.2);
        assert_eq!(deviation_error(&[5.0; 100]), 0.0);
    }

    #[test]
    fn a_tie_is_an_overlap() {
        assert_eq!(overlap(&[10.0; 4], &[10.0; 4]), 1.0);
        assert_eq!(overlap(&[1.0, 2.0], &[2.0, 3.0, 4.0, 5.0]), 0.25);
        assert_eq!(overlap(&[1.0, 2.0], &[3.0, 4.0]), 0.0);
    }

    #[test]
    fn separation_by_hand() {
        let same = separation(&[1.0; 3], &[1.0; 3]);
        assert_eq!((same.area, same.error), (0.5, 0.5));
        let apart = separation(&[1.0, 2.0], &[3.0, 4.0]);
        assert_eq!((apart.area, apart.error), (1.0, 0.0));
        // Pairs (1,2) (1,4) (3,4) are right, (3,2) is wrong; a cut between 1 and 2 gives one error of four.
        let crossed = separation(&[1.0, 3.0], &[2.0, 4.0]);
        assert_eq!((crossed.area, crossed.error), (0.75, 0.25));
        let reversed = separation(&[3.0, 4.0], &[1.0, 2.0]);
        assert_eq!((reversed.area, reversed.error), (0.0, 0.5));
    }
}
