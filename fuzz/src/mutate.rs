//! Mutation of inputs: boundary values, words of other inputs, and pieces that are repeated, removed or
//! combined.

/// A pseudo-random number generator with the same output everywhere (splitmix64, Steele, Lea and Flood 2014).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Return a number below `end`; 0 for an empty range.
    pub fn below(&mut self, end: usize) -> usize {
        if end == 0 {
            0
        } else {
            (self.number() % end as u64) as usize
        }
    }
}

/// The length to which inputs are cut, in bytes: short ones reach the same code, and sooner.
pub const LONGEST: usize = 1 << 16;

const EDGES: [&str; 22] = [
    "0",
    "-1",
    "1",
    "127",
    "255",
    "256",
    "32768",
    "65535",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "1e308",
    "1e999",
    "-0",
    "0.5",
    "99999999999999999999999999999999999999",
    "4095",
];

const PIECES: [&[u8]; 24] = [
    b"\0",
    b"\xff",
    b"\xff\xfe",
    b"\r\n",
    b"\n",
    b"\n\n",
    b" ",
    b"\t",
    b"..",
    b"/../",
    b"\"",
    b"'",
    b"\\",
    b"\\u0000",
    b"$",
    b"{",
    b"}",
    b"null",
    b"true",
    b"[]",
    b"{}",
    b":",
    b",",
    b"=",
];

/// A mutator of inputs, with the words of the seed inputs.
pub struct Mutator {
    pub random: Random,
    words: Vec<Vec<u8>>,
}

impl Mutator {
    pub fn new(seed: u64, seeds: &[Vec<u8>]) -> Self {
        let word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
        let mut words: Vec<Vec<u8>> = seeds
            .iter()
            .flat_map(|seed| seed.split(move |byte| !word(byte)))
            .filter(|piece| (1..40).contains(&piece.len()))
            .map(<[u8]>::to_vec)
            .collect();
        words.sort_unstable();
        words.dedup();
        Self { random: Random::new(seed), words }
    }

    /// Return a mutated input, derived from one or two.
    pub fn change(&mut self, input: &[u8], other: &[u8]) -> Vec<u8> {
        let mut bytes = input.to_vec();
        for _ in 0..=self.random.below(5) {
            self.once(&mut bytes, other);
        }
        bytes.truncate(LONGEST);
        bytes
    }

    fn once(&mut self, bytes: &mut Vec<u8>, other: &[u8]) {
        let at = self.random.below(bytes.len() + 1);
        let end = (at + 1 + self.random.below(16)).min(bytes.len());
        let piece = match self.random.below(12) {
            0 => return flip(bytes, at, self.random.number()),
            1 => return drop(bytes.drain(at.min(end)..end)),
            2 => return bytes.truncate(at),
            3 => return self.number(bytes, at),
            4 => return self.nested(bytes, at),
            5 => {
                let from = self.random.below(bytes.len());
                let length = self.random.below(bytes.len() - from.min(bytes.len())).min(4_096);
                bytes[from..from + length].repeat(1 + self.random.below(3))
            }
            6 => {
                let from = self.random.below(other.len());
                other[from..(from + self.random.below(256)).min(other.len())].to_vec()
            }
            7 => {
                bytes.truncate(at);
                other[self.random.below(other.len())..].to_vec()
            }
            8 | 9 => self.words.get(self.random.below(self.words.len())).cloned().unwrap_or_default(),
            10 => EDGES[self.random.below(EDGES.len())].into(),
            _ => PIECES[self.random.below(PIECES.len())].into(),
        };
        // The piece replaces something or is inserted.
        let end = if self.random.below(2) == 0 { at } else { end.max(at) };
        drop(bytes.splice(at.min(bytes.len())..end.min(bytes.len()).max(at.min(bytes.len())), piece));
    }

    /// Replace the next number by a boundary value.
    fn number(&mut self, bytes: &mut Vec<u8>, at: usize) {
        let digit = |byte: &u8| byte.is_ascii_digit();
        let Some(from) = bytes[at..].iter().position(digit).map(|found| at + found) else { return };
        let end =
            bytes[from..].iter().position(|byte| !digit(byte)).map_or(bytes.len(), |length| from + length);
        drop(bytes.splice(from..end, EDGES[self.random.below(EDGES.len())].bytes()));
    }

    /// Insert deep nesting or a very long run of one byte.
    fn nested(&mut self, bytes: &mut Vec<u8>, at: usize) {
        let open = [b"[".as_slice(), b"{\"a\":", b"(", b" ", b"9", b"\xc3\xa9", b"a/"][self.random.below(7)];
        let times = 1 << self.random.below(13);
        drop(bytes.splice(at..at, open.repeat(times)));
    }
}

fn flip(bytes: &mut [u8], at: usize, by: u64) {
    if let Some(byte) = bytes.get_mut(at) {
        *byte ^= (by as u8).max(1);
    }
}
