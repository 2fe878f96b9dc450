//! The cheapest set of a given size by branch and bound, which solves the pricing problem of a column
//! generation.
//!
//! The cost of a set is the sum of its pairs' costs in both directions, minus the prices of its items. A node
//! of the search is an incomplete set; completing it costs at least the sum of its cheapest candidates, each
//! with half of its cheapest pairs (as in Gilmore 1962 and Lawler 1963 for quadratic assignment).

use std::time::Instant;

/// The number of successive best sets that are kept.
const KEPT: usize = 24;
/// The number of nodes between two looks at the clock.
const PERIOD: u32 = 1_024;

/// The result: the sets that were the best so far, the best one last, its value, and a lower bound of all
/// values.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    pub sets: Vec<Vec<usize>>,
    pub value: f64,
    pub bound: f64,
}

struct Search<'a> {
    both: &'a [Vec<f64>],
    size: usize,
    /// Half of the sum of each item's cheapest pairs, indexed by the item and by the number of pairs.
    half: Vec<Vec<f64>>,
    chosen: Vec<usize>,
    best: f64,
    sets: Vec<Vec<usize>>,
    /// The smallest bound of the nodes that were left out for lack of time.
    open: f64,
    until: Instant,
    nodes: u32,
    late: bool,
}

/// Return the cheapest set of `size` items; if time runs out, the best one so far and a bound of the rest.
///
/// `both` is a square matrix of the cost of each pair in both directions.
pub fn cheapest(both: &[Vec<f64>], prices: &[f64], size: usize, until: Instant) -> Found {
    let items = prices.len();
    let half = (0..items)
        .map(|each| {
            let mut pairs: Vec<f64> =
                (0..items).filter(|&other| other != each).map(|other| both[each][other]).collect();
            pairs.sort_by(f64::total_cmp);
            let mut sum = 0.0;
            std::iter::once(0.0)
                .chain(pairs.into_iter().map(|pair| {
                    sum += pair / 2.0;
                    sum
                }))
                .collect()
        })
        .collect();
    let mut search = Search {
        both,
        size,
        half,
        chosen: Vec::new(),
        best: f64::INFINITY,
        sets: Vec::new(),
        open: f64::INFINITY,
        until,
        nodes: 0,
        late: false,
    };
    let candidates: Vec<(f64, usize)> =
        prices.iter().enumerate().map(|(item, price)| (-price, item)).collect();
    search.visit(0.0, candidates);
    Found { value: search.best, bound: search.best.min(search.open), sets: search.sets }
}

impl Search<'_> {
    /// Complete the chosen set with candidates, each given with its cost next to the chosen items.
    fn visit(&mut self, cost: f64, mut candidates: Vec<(f64, usize)>) {
        let missing = self.size - self.chosen.len();
        if missing == 0 {
            if cost < self.best {
                self.best = cost;
                self.sets.push(self.chosen.clone());
                if self.sets.len() > KEPT {
                    self.sets.remove(0);
                }
            }
            return;
        }
        let half = std::mem::take(&mut self.half);
        let least = |each: &(f64, usize)| each.0 + half[each.1][missing - 1];
        candidates.sort_by(|one, other| least(one).total_cmp(&least(other)));
        let leasts: Vec<f64> = candidates.iter().map(least).collect();
        self.half = half;
        for first in 0..(candidates.len() + 1).saturating_sub(missing) {
            // Earlier candidates are excluded from here on, so the set is completed from the later ones.
            let bound = cost + leasts[first..first + missing].iter().sum::<f64>();
            if bound >= self.best {
                return;
            }
            if self.over() {
                self.open = self.open.min(bound);
                return;
            }
            let (own, item) = candidates[first];
            let row = &self.both[item];
            let rest =
                candidates[first + 1..].iter().map(|&(cost, other)| (cost + row[other], other)).collect();
            self.chosen.push(item);
            self.visit(cost + own, rest);
            self.chosen.pop();
        }
    }

    fn over(&mut self) -> bool {
        self.nodes += 1;
        if self.nodes.is_multiple_of(PERIOD) {
            self.late |= Instant::now() >= self.until;
        }
        self.late
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use std::time::Duration;

    #[test]
    fn the_set_is_the_cheapest_of_all() {
        let mut random = Random::new(3);
        for (items, size) in [(6, 1), (7, 3), (10, 4), (9, 9)] {
            let half: Vec<Vec<f64>> =
                (0..items).map(|_| (0..items).map(|_| random.share()).collect()).collect();
            let cost = |one: usize, other: usize| {
                if one == other {
                    0.0
                } else {
                    half[one][other] + half[other][one]
                }
            };
            let both: Vec<Vec<f64>> =
                (0..items).map(|one| (0..items).map(|other| cost(one, other)).collect()).collect();
            let prices: Vec<f64> = (0..items).map(|_| random.share()).collect();
            let found = cheapest(&both, &prices, size, Instant::now() + Duration::from_secs(60));
            let worth = |set: u32| -> f64 {
                let chosen: Vec<usize> = (0..items).filter(|item| set >> item & 1 == 1).collect();
                let pairs: f64 = chosen
                    .iter()
                    .flat_map(|&a| chosen.iter().map(move |&b| (a, b)))
                    .map(|(a, b)| both[a][b])
                    .sum();
                pairs / 2.0 - chosen.iter().map(|&item| prices[item]).sum::<f64>()
            };
            let least = (0..1u32 << items)
                .filter(|set| set.count_ones() as usize == size)
                .map(worth)
                .fold(f64::INFINITY, f64::min);
            assert!((found.value - least).abs() < 1e-12 && found.bound == found.value, "{found:?} {least}");
            assert!(
                (worth(found.sets.last().unwrap().iter().fold(0, |all, item| all | 1 << item)) - least).abs()
                    < 1e-12
            );
        }
    }

    #[test]
    fn out_of_time_the_bound_is_below_the_best_value() {
        let both = vec![vec![1.0; 30]; 30];
        let prices: Vec<f64> = (0..30).map(|item| f64::from(item) / 100.0).collect();
        let found = cheapest(&both, &prices, 8, Instant::now());
        assert!(found.bound <= found.value);
    }
}
