//! Eviction of code from all caches by special instructions: another way to a cold start than writing much
//! memory, in microseconds instead of milliseconds. It has a separate name, since it displaces only the lines
//! that it names.
//!
//! x86-64: `clflushopt` writes a line back and drops it from every level (Intel SDM volume 2); CPUID leaf 7
//! reports it. Only a fence orders it, so one follows. Armv8: `dc civac` cleans and invalidates to the point
//! of coherency, which Linux permits in user space (SCTLR_EL1.UCI).

use std::fs;

use super::chain;

/// The step of addresses: a line, or a part of one.
const LINE: usize = 64;
/// The bytes of a measuring loop with its reads, which begins at its function's address.
const LOOP: usize = 2_048;
/// The bytes of the chain: 256 additions of three or four bytes and the code around them.
const CHAIN: usize = 1_280;

/// Return why lines cannot be evicted here; None if they can.
pub fn unable() -> Option<&'static str> {
    #[cfg(target_arch = "x86_64")]
    {
        // CLFLUSHOPT is CPUID leaf 7, EBX bit 23. Leaf 0 reports whether leaf 7 exists.
        let has = std::arch::x86_64::__cpuid(0).eax >= 7
            && std::arch::x86_64::__cpuid_count(7, 0).ebx >> 23 & 1 == 1;
        (!has).then_some("this processor has no instruction clflushopt")
    }
    #[cfg(target_arch = "aarch64")]
    {
        None
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        Some("no instruction that evicts a line is known for this architecture")
    }
}

/// The executable memory of this process that may be evicted: its own, and the kernel's vDSO.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Code {
    mapped: Vec<(usize, usize)>,
    vdso: Option<(usize, usize)>,
}

impl Code {
    /// Read the code's address range from /proc/self/maps; None if it cannot be read or nothing can be
    /// evicted.
    pub fn own() -> Option<Code> {
        match unable() {
            Some(_) => None,
            None => Some(Code::of(&fs::read_to_string("/proc/self/maps").ok()?)),
        }
    }

    fn of(maps: &str) -> Code {
        let mut code = Code { mapped: Vec::new(), vdso: None };
        for line in maps.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let (Some(range), Some(rights)) =
                (words.first().and_then(|word| word.split_once('-')), words.get(1))
            else {
                continue;
            };
            let address = |text| usize::from_str_radix(text, 16).ok();
            // A mapping that is not executable has no function, and lines of one that is not readable cannot
            // be evicted.
            if let (Some(from), Some(to), true) =
                (address(range.0), address(range.1), rights.starts_with("r-x"))
            {
                match words.get(5) {
                    Some(&"[vdso]") => code.vdso = Some((from, to)),
                    Some(&"[vsyscall]") => {}
                    _ => code.mapped.push((from, to)),
                }
            }
        }
        code
    }

    /// Return the number of bytes that are evicted with one function.
    pub fn bytes(&self) -> u64 {
        self.ranges(&[Code::of as *const () as usize]).map(|(from, to)| (to - from) as u64).sum()
    }

    /// Return the code to evict: the chain, the vDSO, and these functions, as far as they are mapped.
    fn ranges<'a>(&'a self, functions: &'a [usize]) -> impl Iterator<Item = (usize, usize)> + 'a {
        let chain = (chain::additions as *const () as usize, CHAIN);
        let named = functions.iter().map(|function| (*function, LOOP)).chain([chain]);
        let within = |(from, bytes): (usize, usize)| {
            let (_, end) = self.mapped.iter().find(|(first, last)| (*first..*last).contains(&from))?;
            Some((from, (from + bytes).min(*end)))
        };
        named.filter_map(within).chain(self.vdso)
    }

    /// Evict this code.
    pub fn evict(&self, functions: &[usize]) {
        for (from, to) in self.ranges(functions) {
            for address in (from & !(LINE - 1)..to).step_by(LINE) {
                line(address);
            }
        }
        fence();
    }
}

#[cfg(target_arch = "x86_64")]
fn line(address: usize) {
    // SAFETY: a readable address, on a processor that has the instruction; no value changes.
    unsafe { std::arch::asm!("clflushopt [{}]", in(reg) address, options(nostack, preserves_flags)) };
}

#[cfg(target_arch = "x86_64")]
fn fence() {
    // SAFETY: it orders memory and does nothing else.
    unsafe { std::arch::asm!("mfence", options(nostack, preserves_flags)) };
}

#[cfg(target_arch = "aarch64")]
fn line(address: usize) {
    // SAFETY: a readable address; no value changes.
    unsafe { std::arch::asm!("dc civac, {}", in(reg) address, options(nostack, preserves_flags)) };
}

#[cfg(target_arch = "aarch64")]
fn fence() {
    // SAFETY: it orders memory and does nothing else.
    unsafe { std::arch::asm!("dsb ish", "isb", options(nostack, preserves_flags)) };
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn line(_: usize) {}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn fence() {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_ranges_are_read_from_the_maps() {
        let code = Code::of(
            "1000-2000 r--p 00000000 fe:00 1 /bin/x\n2000-2800 r-xp 00001000 fe:00 1 /bin/x\n\
             7000-9000 r-xp 00000000 00:00 0 [vdso]\nffff000-ffff800 --xp 00000000 00:00 0 [vsyscall]\nrubbish\n",
        );
        assert_eq!(code, Code { mapped: vec![(0x2000, 0x2800)], vdso: Some((0x7000, 0x9000)) });
        // A function near the end of its mapping is evicted up to that end, one elsewhere is not; the vDSO
        // is.
        let ranges: Vec<_> = code.ranges(&[0x2600, 0x5000]).collect();
        assert_eq!(ranges, [(0x2600, 0x2800), (0x7000, 0x9000)]);
    }

    #[test]
    fn this_program_s_code_is_evicted_and_goes_on() {
        let Some(code) = Code::own() else { return assert!(unable().is_some()) };
        assert!(code.ranges(&[]).next().is_some());
        for _ in 0..3 {
            code.evict(&[Code::evict as *const () as usize]);
            chain::additions(300);
        }
    }
}
