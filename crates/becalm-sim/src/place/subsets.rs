//! The best placement of few processes, by dynamic programming over their subsets: chip by chip, the least
//! cost of those placed so far. With two chips this scans all placements.

/// The largest number of items: more have too many subsets for a table.
pub const MOST_ITEMS: usize = 20;

/// The cost of each set of items on one kind of chip, indexed by its bits; infinite if a set is not allowed.
#[derive(Debug, Clone)]
pub struct Table {
    values: Vec<f64>,
    sizes: Vec<u32>,
}

impl Table {
    /// Create a table from sets, each a bit set of its items with its cost.
    pub fn new(items: usize, sets: &[(u32, f64)]) -> Self {
        let mut values = vec![f64::INFINITY; 1 << items];
        let mut sizes = Vec::new();
        for &(set, value) in sets {
            values[set as usize] = value;
            if !sizes.contains(&set.count_ones()) {
                sizes.push(set.count_ones());
            }
        }
        Self { values, sizes }
    }
}

/// Return the least sum over chips and the set on each; None if no placement is allowed.
///
/// `kind` is the index of each chip's table. `alike` means that all chips are equal, so that the lowest
/// remaining item may go to the next one.
pub fn optimal(items: usize, tables: &[Table], kind: &[usize], alike: bool) -> Option<(f64, Vec<u32>)> {
    let all = ((1u64 << items) - 1) as u32;
    let mut cost = vec![f64::INFINITY; 1 << items];
    cost[0] = 0.0;
    let mut chosen: Vec<Vec<u32>> = Vec::with_capacity(kind.len());
    for (chip, &which) in kind.iter().enumerate() {
        let table = &tables[which];
        let mut next = vec![f64::INFINITY; 1 << items];
        let mut from = vec![0u32; 1 << items];
        let last = chip + 1 == kind.len();
        for placed in 0..=all {
            let so_far = cost[placed as usize];
            if so_far == f64::INFINITY {
                continue;
            }
            let free = all & !placed;
            let mut take = |set: u32| {
                let (after, value) = ((placed | set) as usize, so_far + table.values[set as usize]);
                if value < next[after] {
                    (next[after], from[after]) = (value, set);
                }
            };
            if last || free == 0 {
                if free == 0 && alike {
                    // The remaining chips stay empty.
                    next[placed as usize] = so_far;
                } else {
                    take(free);
                }
                continue;
            }
            let first = if alike { free & free.wrapping_neg() } else { 0 };
            for &size in table.sizes.iter().filter(|&&size| size >= first.count_ones()) {
                subsets(free & !first, size - first.count_ones(), first, &mut take);
            }
        }
        cost = next;
        chosen.push(from);
    }
    let least = cost[all as usize];
    if least == f64::INFINITY {
        return None;
    }
    let (mut left, mut sets) = (all, vec![0; kind.len()]);
    for (set, from) in sets.iter_mut().zip(&chosen).rev() {
        *set = from[left as usize];
        left &= !*set;
    }
    Some((least, sets))
}

/// Call `take` with every set of `size` bits of `free`, each joined with `with`.
fn subsets(free: u32, size: u32, with: u32, take: &mut impl FnMut(u32)) {
    if size == 0 {
        return take(with);
    }
    let mut rest = free;
    while rest.count_ones() >= size {
        let bit = rest & rest.wrapping_neg();
        rest &= !bit;
        subsets(rest, size - 1, with | bit, take);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Return the least cost of all placements, by trying each item on each chip.
    fn by_trial(items: usize, tables: &[Table], kind: &[usize], item: usize, sets: &mut Vec<u32>) -> f64 {
        if item == items {
            return kind.iter().zip(&*sets).map(|(&which, &set)| tables[which].values[set as usize]).sum();
        }
        let mut least = f64::INFINITY;
        for chip in 0..kind.len() {
            sets[chip] |= 1 << item;
            least = least.min(by_trial(items, tables, kind, item + 1, sets));
            sets[chip] &= !(1 << item);
        }
        least
    }

    fn drawn(random: &mut Random, items: usize, sizes: &[u32]) -> Table {
        let sets: Vec<(u32, f64)> = (0..1u32 << items)
            .filter(|set| sizes.contains(&set.count_ones()))
            .map(|set| (set, if set == 0 { 0.0 } else { random.share() }))
            .collect();
        Table::new(items, &sets)
    }

    #[test]
    fn the_placement_is_the_cheapest_of_all() {
        let mut random = Random::new(5);
        for (items, sizes, chips) in [
            (6, vec![3], 2),
            (6, vec![2], 3),
            (5, vec![1, 2, 3], 2),
            (4, vec![0, 1, 2, 3], 3),
            (3, vec![1], 3),
        ] {
            let tables = [drawn(&mut random, items, &sizes), drawn(&mut random, items, &sizes)];
            for (kind, alike) in [(vec![0; chips], true), ((0..chips).map(|chip| chip % 2).collect(), false)]
            {
                let (least, sets) = optimal(items, &tables, &kind, alike).unwrap();
                let tried = by_trial(items, &tables, &kind, 0, &mut vec![0; chips]);
                assert!((least - tried).abs() < 1e-12, "{items} {sizes:?} {kind:?}: {least} {tried}");
                assert_eq!(sets.iter().sum::<u32>(), (1 << items) - 1);
            }
        }
    }

    #[test]
    fn without_an_allowed_placement_there_is_none() {
        assert!(optimal(3, &[Table::new(3, &[(0b011, 1.0)])], &[0, 0], true).is_none());
    }
}
