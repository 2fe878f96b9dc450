//! The mapping of a task's virtual pages to physical ones: drawn at random by a seed, in sequence, or
//! identical.

use serde::{Deserialize, Serialize};

use crate::random::Random;

/// The placement of pages, which determines the cache sets that a page competes for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pages {
    #[default]
    Random,
    Sequence,
    /// Physical addresses equal virtual ones, as in simulators without pages.
    Virtual,
}

/// The number of pages of a machine.
const FRAMES: u32 = 1 << 22;

const NONE: u32 = u32::MAX;

/// The memory of a machine.
#[derive(Debug)]
pub struct Memory {
    pages: Pages,
    shift: u32,
    used: Vec<u64>,
    free: u32,
    next: u32,
    random: Random,
}

/// The pages of a task, indexed by virtual page number.
#[derive(Debug, Default)]
pub struct Space(Vec<u32>);

impl Memory {
    /// Create a memory with this page size.
    ///
    /// # Errors
    /// Returns a sentence if the page size is invalid.
    pub fn new(pages: Pages, page_bytes: u64, seed: u64) -> Result<Self, String> {
        if !page_bytes.is_power_of_two() || !(64..=1 << 30).contains(&page_bytes) {
            return Err(format!(
                "A page has a power of two of 64 bytes or more, at most 1 GiB, not {page_bytes}."
            ));
        }
        Ok(Self {
            pages,
            shift: page_bytes.trailing_zeros(),
            used: vec![0; (FRAMES / 64) as usize],
            free: FRAMES,
            next: 0,
            random: Random::new(seed),
        })
    }

    /// Return the physical address of a virtual one.
    ///
    /// # Errors
    /// Returns a sentence if no page is free.
    #[inline]
    pub fn physical(&mut self, space: &mut Space, address: u64) -> Result<u64, String> {
        if self.pages == Pages::Virtual {
            return Ok(address);
        }
        let page = (address >> self.shift) as usize;
        let frame = match space.0.get(page) {
            Some(&frame) if frame != NONE => frame,
            _ => self.place(space, page)?,
        };
        Ok(u64::from(frame) << self.shift | address & ((1 << self.shift) - 1))
    }

    #[cold]
    fn place(&mut self, space: &mut Space, page: usize) -> Result<u32, String> {
        if self.free == 0 || page >= FRAMES as usize * 16 {
            return Err(format!("The tasks use more than {FRAMES} pages. Simulate fewer or smaller ones."));
        }
        let mut frame = self.draw();
        while self.used[frame as usize / 64] >> (frame % 64) & 1 == 1 {
            frame = if self.free < FRAMES / 2 { (frame + 1) % FRAMES } else { self.draw() };
        }
        self.used[frame as usize / 64] |= 1 << (frame % 64);
        self.free -= 1;
        if space.0.len() <= page {
            space.0.resize(page + 1, NONE);
        }
        space.0[page] = frame;
        Ok(frame)
    }

    fn draw(&mut self) -> u32 {
        if self.pages == Pages::Random {
            return (self.random.draw() % u64::from(FRAMES)) as u32;
        }
        self.next = (self.next + 1) % FRAMES;
        (self.next + FRAMES - 1) % FRAMES
    }

    /// Free the pages of a range of bytes.
    pub fn release(&mut self, space: &mut Space, address: u64, bytes: u64) {
        let (first, after) = (address >> self.shift, (address + bytes).div_ceil(1 << self.shift));
        for page in first..after {
            let Some(frame) = space.0.get_mut(page as usize) else { return };
            let frame = std::mem::replace(frame, NONE);
            if frame != NONE {
                self.used[frame as usize / 64] &= !(1 << (frame % 64));
                self.free += 1;
            }
        }
    }

    pub fn page_bytes(&self) -> u64 {
        1 << self.shift
    }

    pub fn pages(&self) -> Pages {
        self.pages
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_keep_their_place_and_do_not_overlap() {
        for pages in [Pages::Random, Pages::Sequence] {
            let mut memory = Memory::new(pages, 4096, 7).expect("sound");
            let (mut one, mut other) = (Space::default(), Space::default());
            let mut seen = std::collections::HashSet::new();
            for page in 0..500 {
                for space in [&mut one, &mut other] {
                    let at = memory.physical(space, page * 4096 + 5).expect("room");
                    assert_eq!((at % 4096, at), (5, memory.physical(space, page * 4096 + 5).expect("room")));
                    assert!(seen.insert(at));
                }
            }
            let free = memory.free;
            memory.release(&mut one, 0, 500 * 4096);
            assert_eq!(memory.free, free + 500);
        }
    }

    #[test]
    fn equal_seeds_give_equal_places() {
        let place = |seed| {
            let (mut memory, mut space) =
                (Memory::new(Pages::Random, 4096, seed).expect("sound"), Space::default());
            (0..50).map(|page| memory.physical(&mut space, page << 12).expect("room")).collect::<Vec<_>>()
        };
        assert_eq!(place(1), place(1));
        assert_ne!(place(1), place(2));
        assert!(Memory::new(Pages::Random, 1000, 0).is_err());
    }
}
