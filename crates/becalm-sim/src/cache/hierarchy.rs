//! Processors with private caches and shared last-level caches: one access at a time, and the counts.
//!
//! An access looks for its line in L1 (of data, or of instructions if there is one), in L2 if there is one,
//! then in the last-level cache. An access that straddles two lines counts once in each level and misses
//! there if either line does, as in cachegrind (cg_sim.c). An inclusive last-level cache removes evicted
//! lines from private caches, too (Intel until Broadwell). Copies in other caches exist only for tasks that
//! have migrated; a write invalidates them.

use serde::{Deserialize, Serialize};

use super::level::{Level, Outcome, Replacement, Size, LINE};

/// The geometry of a machine. Cycles are those of loads that hit in a level; the defaults are those of the
/// thesis's Core i5-2400.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Geometry {
    pub cpus: usize,
    /// The number of last-level caches, among which the processors are divided evenly in order.
    pub llcs: usize,
    /// The instruction cache; without one, fetches are ignored.
    pub l1i: Option<Size>,
    pub l1: Size,
    pub l2: Option<Size>,
    pub llc: Size,
    pub replacement: Replacement,
    /// Whether a line evicted from the last-level cache is removed from the private ones, too.
    pub inclusive: bool,
    pub cycles: Cycles,
    pub mhz: u64,
}

/// The cycles of an access by the level in which it hits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Cycles {
    pub l1: u32,
    pub l2: u32,
    pub llc: u32,
    pub memory: u32,
}

impl Default for Cycles {
    fn default() -> Self {
        Self { l1: 4, l2: 10, llc: 40, memory: 300 }
    }
}

impl Default for Geometry {
    fn default() -> Self {
        Self {
            cpus: 4,
            llcs: 1,
            l1i: None,
            l1: Size { bytes: 32 << 10, ways: 8 },
            l2: Some(Size { bytes: 256 << 10, ways: 8 }),
            llc: Size { bytes: 6 << 20, ways: 12 },
            replacement: Replacement::Lru,
            inclusive: true,
            cycles: Cycles::default(),
            mhz: 3_100,
        }
    }
}

impl Geometry {
    /// Check the geometry.
    ///
    /// # Errors
    /// Returns a sentence about the first invalid value.
    pub fn check(&self) -> Result<(), String> {
        if !(1..=64).contains(&self.cpus) {
            return Err(format!("A simulated machine has 1 to 64 CPUs, not {}.", self.cpus));
        }
        if self.llcs == 0 || !self.cpus.is_multiple_of(self.llcs) {
            return Err(format!("{} last-level caches cannot share {} CPUs evenly.", self.llcs, self.cpus));
        }
        if !(1..=100_000).contains(&self.mhz) {
            return Err(format!("A clock has 1 to 100,000 MHz, not {}.", self.mhz));
        }
        self.l1i.map_or(Ok(()), |size| size.check("L1 of instructions"))?;
        self.l1.check("L1")?;
        self.l2.map_or(Ok(()), |size| size.check("L2"))?;
        self.llc.check("last-level cache")
    }

    /// Return the last-level cache of a processor.
    pub fn llc_of(&self, cpu: usize) -> usize {
        cpu / (self.cpus / self.llcs)
    }
}

/// The kind of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Read,
    Write,
    Fetch,
}

/// The level in which a line was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    L1,
    L2,
    Llc,
    Memory,
}

/// The counts of data or of instructions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    pub l1_misses: u64,
    /// References of the last-level cache.
    pub references: u64,
    /// Misses of the last-level cache.
    pub misses: u64,
}

#[derive(Debug)]
struct Private {
    l1i: Option<Level>,
    l1: Level,
    l2: Option<Level>,
    data: Tally,
    instructions: Tally,
}

/// The caches of a machine.
#[derive(Debug)]
pub struct Hierarchy {
    geometry: Geometry,
    private: Vec<Private>,
    shared: Vec<Level>,
}

impl Hierarchy {
    /// Create empty caches with a checked geometry.
    pub fn new(geometry: &Geometry, seed: u64) -> Self {
        let mut number = 0;
        let mut level = |size: Size| {
            number += 1;
            Level::new(size, geometry.replacement, seed.wrapping_mul(1_000).wrapping_add(number))
        };
        let private = (0..geometry.cpus).map(|_| Private {
            l1i: geometry.l1i.map(&mut level),
            l1: level(geometry.l1),
            l2: geometry.l2.map(&mut level),
            data: Tally::default(),
            instructions: Tally::default(),
        });
        let private = private.collect();
        let shared = (0..geometry.llcs).map(|_| level(geometry.llc)).collect();
        Self { geometry: geometry.clone(), private, shared }
    }

    /// Return the references and misses of the last-level cache by a processor.
    pub fn counts(&self, cpu: usize) -> (u64, u64) {
        let Private { data, instructions, .. } = &self.private[cpu];
        (data.references + instructions.references, data.misses + instructions.misses)
    }

    /// Return the counts of a processor for data and for instructions.
    pub fn tallies(&self, cpu: usize) -> (Tally, Tally) {
        (self.private[cpu].data, self.private[cpu].instructions)
    }

    /// Access `size` bytes at a physical address, and return the level in which they were found. `elsewhere`
    /// has the bits of other processors that may hold copies.
    #[inline]
    pub fn access(&mut self, cpu: usize, address: u64, size: u8, kind: Kind, elsewhere: u64) -> Found {
        let line = address / LINE;
        let last = (address + u64::from(size).clamp(1, LINE) - 1) / LINE;
        if kind == Kind::Write && elsewhere != 0 {
            self.take_out(cpu, line, elsewhere);
            if last != line {
                self.take_out(cpu, last, elsewhere);
            }
        }
        let private = &mut self.private[cpu];
        let l1 = match (kind, &mut private.l1i) {
            (Kind::Fetch, None) => return Found::L1,
            (Kind::Fetch, Some(l1i)) => l1i,
            _ => &mut private.l1,
        };
        let mut hit = l1.access(line, 0) == Outcome::Hit;
        if last != line {
            hit &= l1.access(last, 0) == Outcome::Hit;
        }
        if hit {
            return Found::L1;
        }
        self.beyond(cpu, line, last, kind)
    }

    fn beyond(&mut self, cpu: usize, line: u64, last: u64, kind: Kind) -> Found {
        let private = &mut self.private[cpu];
        let tally = if kind == Kind::Fetch { &mut private.instructions } else { &mut private.data };
        tally.l1_misses += 1;
        if let Some(l2) = &mut private.l2 {
            let mut hit = l2.access(line, 0) == Outcome::Hit;
            if last != line {
                hit &= l2.access(last, 0) == Outcome::Hit;
            }
            if hit {
                return Found::L2;
            }
        }
        tally.references += 1;
        let mut hit = self.shared(cpu, line);
        if last != line {
            hit &= self.shared(cpu, last);
        }
        if hit {
            return Found::Llc;
        }
        let private = &mut self.private[cpu];
        let tally = if kind == Kind::Fetch { &mut private.instructions } else { &mut private.data };
        tally.misses += 1;
        Found::Memory
    }

    fn shared(&mut self, cpu: usize, line: u64) -> bool {
        let number = self.geometry.llc_of(cpu);
        let first = number * (self.geometry.cpus / self.geometry.llcs);
        let who = 1u16 << ((cpu - first) % 16);
        match self.shared[number].access(line, who) {
            Outcome::Hit => return true,
            Outcome::Miss(Some((gone, had))) if self.geometry.inclusive => {
                let after = first + self.geometry.cpus / self.geometry.llcs;
                for each in (first..after).filter(|each| had >> ((each - first) % 16) & 1 == 1) {
                    self.private[each].remove(gone);
                }
            }
            Outcome::Miss(_) => {}
        }
        false
    }

    fn take_out(&mut self, cpu: usize, line: u64, elsewhere: u64) {
        let own = self.geometry.llc_of(cpu);
        for each in (0..self.geometry.cpus).filter(|&each| each != cpu && elsewhere >> each & 1 == 1) {
            self.private[each].remove(line);
            let llc = self.geometry.llc_of(each);
            if llc != own {
                self.shared[llc].remove(line);
            }
        }
    }
}

impl Private {
    fn remove(&mut self, line: u64) {
        self.l1.remove(line);
        if let Some(l1i) = &mut self.l1i {
            l1i.remove(line);
        }
        if let Some(l2) = &mut self.l2 {
            l2.remove(line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small(llcs: usize) -> Hierarchy {
        let geometry = Geometry {
            cpus: 2,
            llcs,
            l1: Size { bytes: 128, ways: 2 },
            l2: Some(Size { bytes: 256, ways: 4 }),
            llc: Size { bytes: 512, ways: 8 },
            ..Geometry::default()
        };
        geometry.check().expect("sound");
        Hierarchy::new(&geometry, 0)
    }

    fn read(machine: &mut Hierarchy, cpu: usize, line: u64) -> Found {
        machine.access(cpu, line * LINE, 4, Kind::Read, 0)
    }

    #[test]
    fn a_line_is_found_where_it_still_is() {
        let mut machine = small(1);
        let found: Vec<Found> = (0..3).map(|line| read(&mut machine, 0, line)).collect();
        assert_eq!(found, [Found::Memory; 3]);
        assert_eq!([read(&mut machine, 0, 2), read(&mut machine, 0, 0)], [Found::L1, Found::L2]);
        assert_eq!([read(&mut machine, 1, 0), read(&mut machine, 1, 0)], [Found::Llc, Found::L1]);
        assert_eq!((machine.counts(0), machine.counts(1)), ((3, 3), (1, 0)));
    }

    #[test]
    fn evictions_from_an_inclusive_cache_reach_the_private_ones() {
        let mut machine = small(1);
        read(&mut machine, 0, 0);
        for line in 1..9 {
            read(&mut machine, 1, line);
        }
        assert_eq!(read(&mut machine, 0, 0), Found::Memory, "CPU 0 did nothing meanwhile");
        let mut loose = small(1);
        loose.geometry.inclusive = false;
        read(&mut loose, 0, 0);
        for line in 1..9 {
            read(&mut loose, 1, line);
        }
        assert_eq!(read(&mut loose, 0, 0), Found::L1);
    }

    #[test]
    fn a_write_invalidates_copies_elsewhere() {
        let mut machine = small(2);
        read(&mut machine, 0, 3);
        read(&mut machine, 1, 3);
        machine.access(1, 3 * LINE, 4, Kind::Write, 1);
        assert_eq!(read(&mut machine, 0, 3), Found::Memory);
        assert_eq!(read(&mut machine, 1, 3), Found::L1);
    }

    #[test]
    fn an_access_to_two_lines_counts_once() {
        let mut machine = small(1);
        read(&mut machine, 0, 1);
        assert_eq!(machine.access(0, 62, 4, Kind::Read, 0), Found::Memory, "line 0 was not there");
        assert_eq!(machine.counts(0), (2, 2));
        assert_eq!(machine.access(0, 62, 4, Kind::Read, 0), Found::L1);
    }

    #[test]
    fn an_invalid_geometry_is_rejected() {
        let odd = Geometry { cpus: 4, llcs: 3, ..Geometry::default() };
        assert!(odd.check().expect_err("uneven").contains("evenly"));
        let odd = Geometry { cpus: 65, ..Geometry::default() };
        assert!(odd.check().expect_err("many").contains("1 to 64"));
    }
}
