//! A set-associative cache with least-recently-used or random replacement.

use serde::{Deserialize, Serialize};

use crate::random::Random;

/// The length of a line in bytes.
pub const LINE: u64 = 64;

/// The mask of the line number in a word; the high bits are the processors of a shared cache that fetched the
/// line.
const NUMBER: u64 = (1 << 48) - 1;

/// The word of a way without a line.
const EMPTY: u64 = NUMBER;

/// The size of a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Size {
    pub bytes: u64,
    pub ways: usize,
}

/// The replacement policy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Replacement {
    #[default]
    Lru,
    Random,
}

/// The outcome of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Hit,
    /// The line was missing and has been inserted; carries the evicted line, if any, with the processors that
    /// had fetched it.
    Miss(Option<(u64, u16)>),
}

impl Size {
    /// Check the size of the level with this name.
    ///
    /// # Errors
    /// Returns a sentence about an invalid size.
    pub fn check(self, name: &str) -> Result<(), String> {
        let Self { bytes, ways } = self;
        if !(1..=64).contains(&ways) || bytes > 1 << 32 {
            return Err(format!(
                "The {name} has {bytes} bytes in {ways} ways: at most 4 GiB in 1 to 64 ways."
            ));
        }
        let set = ways as u64 * LINE;
        if bytes == 0 || !bytes.is_multiple_of(set) {
            return Err(format!(
                "The {name} has {bytes} bytes: {ways} ways of 64-byte lines are a multiple of {set}."
            ));
        }
        Ok(())
    }
}

/// A cache. The first way of a set is the most recently used one.
#[derive(Debug, Clone)]
pub struct Level {
    sets: u64,
    /// The mask of the set number, if the number of sets is a power of two.
    mask: Option<u64>,
    ways: usize,
    words: Vec<u64>,
    random: Option<Random>,
}

impl Level {
    /// Create an empty cache of a checked size.
    pub fn new(size: Size, replacement: Replacement, seed: u64) -> Self {
        let sets = size.bytes / LINE / size.ways as u64;
        Self {
            sets,
            mask: sets.is_power_of_two().then(|| sets - 1),
            ways: size.ways,
            words: vec![EMPTY; (size.bytes / LINE) as usize],
            random: (replacement == Replacement::Random).then(|| Random::new(seed)),
        }
    }

    #[inline]
    fn set(&mut self, line: u64) -> &mut [u64] {
        let number = self.mask.map_or_else(|| line % self.sets, |mask| line & mask) as usize;
        &mut self.words[number * self.ways..(number + 1) * self.ways]
    }

    /// Access a line on behalf of the processor with the bit `who`.
    #[inline]
    pub fn access(&mut self, line: u64, who: u16) -> Outcome {
        let bit = u64::from(who) << 48;
        let first = &mut self.set(line)[0];
        if *first & NUMBER == line {
            *first |= bit;
            return Outcome::Hit;
        }
        self.search(line, bit)
    }

    fn search(&mut self, line: u64, bit: u64) -> Outcome {
        if self.random.is_some() {
            return self.search_at_random(line, bit);
        }
        // One pass searches and moves: each word goes one way further, up to the place of the line or the
        // end.
        let set = self.set(line);
        let mut carried = line | bit;
        for each in set.iter_mut() {
            std::mem::swap(each, &mut carried);
            if carried & NUMBER == line {
                set[0] |= carried;
                return Outcome::Hit;
            }
        }
        gone(carried)
    }

    fn search_at_random(&mut self, line: u64, bit: u64) -> Outcome {
        let set = self.set(line);
        if let Some(at) = set.iter().position(|each| each & NUMBER == line) {
            set[at] |= bit;
            return Outcome::Hit;
        }
        let (ways, free) = (set.len() as u64, set.iter().position(|&each| each == EMPTY));
        let drawn = self.random.as_mut().map_or(0, |random| (random.draw() % ways) as usize);
        gone(std::mem::replace(&mut self.set(line)[free.unwrap_or(drawn)], line | bit))
    }

    /// Remove a line.
    pub fn remove(&mut self, line: u64) {
        let set = self.set(line);
        if let Some(at) = set.iter().position(|each| each & NUMBER == line) {
            set[at] = EMPTY;
            set[at..].rotate_left(1);
        }
    }

    /// Return the number of lines in the cache.
    pub fn held(&self) -> usize {
        self.words.iter().filter(|&&each| each != EMPTY).count()
    }
}

fn gone(word: u64) -> Outcome {
    Outcome::Miss((word != EMPTY).then_some((word & NUMBER, (word >> 48) as u16)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(bytes: u64, ways: usize, replacement: Replacement) -> Level {
        Level::new(Size { bytes, ways }, replacement, 1)
    }

    #[test]
    fn the_least_recently_used_line_is_evicted() {
        let mut found = level(256, 2, Replacement::Lru);
        for line in [0, 2, 0] {
            found.access(line, 1);
        }
        assert_eq!(found.access(4, 2), Outcome::Miss(Some((2, 1))), "set 0 had lines 0 and 2");
        assert_eq!(found.access(0, 2), Outcome::Hit);
        assert_eq!(found.access(6, 0), Outcome::Miss(Some((4, 2))));
        assert_eq!(found.access(8, 0), Outcome::Miss(Some((0, 3))), "two had it");
        assert_eq!(found.access(1, 0), Outcome::Miss(None), "another set");
    }

    #[test]
    fn a_removed_line_makes_room() {
        let mut found = level(256, 4, Replacement::Lru);
        for line in 0..4 {
            found.access(line, 0);
        }
        found.remove(2);
        assert_eq!((found.held(), found.access(9, 0)), (3, Outcome::Miss(None)));
        assert_eq!(found.access(2, 0), Outcome::Miss(Some((0, 0))));
    }

    #[test]
    fn random_replacement_evicts_from_each_way() {
        let mut found = level(256, 4, Replacement::Random);
        let mut gone = [0; 4];
        for line in 0..4_000 {
            if let Outcome::Miss(Some((old, _))) = found.access(line, 0) {
                gone[usize::from(line - old > 4)] += 1;
            }
        }
        assert!(gone[1] > 500, "with least recent use none would stay longer than four: {gone:?}");
        assert_eq!(found.held(), 4);
    }

    #[test]
    fn sets_need_not_be_a_power_of_two() {
        let mut found = level(3 * 64, 1, Replacement::Lru);
        assert_eq!(found.access(7, 0), Outcome::Miss(None));
        assert_eq!(found.access(10, 0), Outcome::Miss(Some((7, 0))));
        assert!(Size { bytes: 100, ways: 1 }.check("L1").expect_err("no lines").contains("multiple of 64"));
    }
}
