//! What this machine's counters can do, asked from the processor and the kernel; never guessed from a vendor's name.

use core::fmt;

/// Why a clock cannot be used here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unusable {
    /// The processor does not have the instruction.
    NoInstruction,
    /// The process has been forbidden to read the counter (PR_SET_TSC): a read is SIGSEGV.
    Forbidden,
    /// The counter did not advance, or went backwards, while it was calibrated.
    NotRunning,
    /// The kernel has no such counter, or does not give it: the number of its error.
    Refused(i32),
    /// The counter can be read by system calls only: the kernel does not let user space read it.
    NotForUserSpace,
    /// The kernel has the counter, but has not put it on the processor: others use all that there are.
    NotScheduled,
    /// The kernel chose a counter that is not known here.
    UnknownCounter,
}

impl fmt::Display for Unusable {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoInstruction => text.write_str("the processor has no rdtscp"),
            Self::Forbidden => text.write_str("this process is forbidden to read the counter (PR_SET_TSC)"),
            Self::NotRunning => text.write_str("the counter does not run forward"),
            Self::Refused(libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV | libc::EINVAL) => {
                text.write_str("the kernel has no hardware counter of cycles here, as in most virtual machines")
            }
            Self::Refused(libc::EACCES | libc::EPERM) => text.write_str(
                "the kernel does not permit it: kernel.perf_event_paranoid is above 2, or a filter of system calls \
                 forbids perf_event_open",
            ),
            Self::Refused(libc::ENOSYS) => text.write_str("the kernel has no perf_event_open"),
            Self::Refused(number) => write!(text, "perf_event_open: error {number}"),
            Self::NotForUserSpace => text.write_str(if cfg!(target_arch = "aarch64") {
                "user space may not read the counter: sysctl kernel.perf_user_access=1, Linux 5.17 and later"
            } else {
                "user space may not read the counter: /sys/bus/event_source/devices/cpu/rdpmc is 0"
            }),
            Self::NotScheduled => text.write_str("all counters of the processor are in use"),
            Self::UnknownCounter => text.write_str("the kernel counts cycles with a counter that cannot be read from here"),
        }
    }
}

impl core::error::Error for Unusable {}

/// What the processor says of its wall clock. None: it cannot be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Abilities {
    /// The counter runs at one rate, whatever the core's clock does and sleeps (x86-64: CPUID 8000_0007h EDX bit 8;
    /// a hypervisor may hide it. Armv8: always).
    pub invariant: Option<bool>,
    /// Under a hypervisor (x86-64: CPUID 1 ECX bit 31).
    pub hypervisor: Option<bool>,
    /// `lfence` holds back what follows it by the processor's own word (CPUID 8000_0021h EAX bit 2, which AMD has;
    /// elsewhere it is the manual's).
    pub fence_announced: Option<bool>,
    /// Has the instruction `serialize` (CPUID 7 EDX bit 14).
    pub serialize: Option<bool>,
    /// The frequency as the processor or firmware announces it, in Hz (x86-64: CPUID 15h; Armv8: CNTFRQ_EL0).
    pub announced_hz: Option<u64>,
}

/// What the processor says, and whether the wall clock can be read at all.
#[cfg(target_arch = "x86_64")]
pub fn wall() -> (Abilities, Result<(), Unusable>) {
    use core::arch::x86_64::{__cpuid, __cpuid_count, CpuidResult};
    let leaf = |number: u32| -> Option<CpuidResult> {
        // `cpuid` itself has always been there on x86-64. (Rust 1.87 has it as an unsafe function.)
        #[allow(unused_unsafe)]
        // SAFETY: see above.
        unsafe {
            (__cpuid(number & 0x8000_0000).eax >= number).then(|| __cpuid_count(number, 0))
        }
    };
    let bit = |number: u32, register: fn(CpuidResult) -> u32, bit: u32| {
        leaf(number).map(|found| register(found) >> bit & 1 == 1)
    };
    let announced_hz = leaf(0x15).and_then(|found| {
        let known = found.eax != 0 && found.ebx != 0 && found.ecx != 0;
        known.then(|| u64::from(found.ecx) * u64::from(found.ebx) / u64::from(found.eax))
    });
    let abilities = Abilities {
        invariant: bit(0x8000_0007, |found| found.edx, 8).or(Some(false)),
        hypervisor: bit(1, |found| found.ecx, 31),
        fence_announced: bit(0x8000_0021, |found| found.eax, 2),
        serialize: bit(7, |found| found.edx, 14).or(Some(false)),
        announced_hz,
    };
    let usable = match bit(0x8000_0001, |found| found.edx, 27) {
        Some(true) if forbidden() => Err(Unusable::Forbidden),
        Some(true) => Ok(()),
        _ => Err(Unusable::NoInstruction),
    };
    (abilities, usable)
}

/// Whether a read of the counter is SIGSEGV in this process (prctl(2), PR_GET_TSC).
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
fn forbidden() -> bool {
    let mut mode: libc::c_int = 0;
    // SAFETY: the call writes one int.
    let status = unsafe { libc::prctl(libc::PR_GET_TSC, core::ptr::from_mut(&mut mode), 0, 0, 0) };
    status == 0 && mode == libc::PR_TSC_SIGSEGV
}

#[cfg(all(target_arch = "x86_64", not(target_os = "linux")))]
fn forbidden() -> bool {
    false
}

/// What the processor says: an Armv8 counter always runs at one rate.
#[cfg(target_arch = "aarch64")]
pub fn wall() -> (Abilities, Result<(), Unusable>) {
    let announced = crate::instructions::aarch64::announced_hz();
    let abilities = Abilities {
        invariant: Some(true),
        announced_hz: (announced != 0).then_some(announced),
        ..Abilities::default()
    };
    (abilities, Ok(()))
}

/// Elsewhere the operating system's clock is read, and nothing is known of what is below.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub fn wall() -> (Abilities, Result<(), Unusable>) {
    (Abilities::default(), Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_sentences() {
        let refused = Unusable::Refused(libc::ENOENT).to_string();
        assert!(refused.contains("virtual machines"), "{refused}");
        assert!(Unusable::Refused(libc::EACCES).to_string().contains("perf_event_paranoid"));
        assert_eq!(Unusable::Refused(77).to_string(), "perf_event_open: error 77");
    }

    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    #[test]
    fn the_kernel_sees_the_same_flags() {
        let info = std::fs::read_to_string("/proc/cpuinfo").unwrap();
        let flags = info.lines().find(|line| line.starts_with("flags")).unwrap();
        let has = |flag: &str| flags.split_whitespace().any(|word| word == flag);
        let (abilities, usable) = wall();
        assert_eq!(usable.is_ok(), has("rdtscp"));
        assert_eq!(abilities.hypervisor, Some(has("hypervisor")));
        // The kernel may know of it by other means.
        assert!(abilities.invariant != Some(true) || has("constant_tsc"));
    }

    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    #[test]
    fn a_process_that_may_not_read_the_counter_is_told_so() {
        // In a child: the switch holds for the thread, and others of this process time things.
        // SAFETY: between fork and _exit the child makes system calls and reads only.
        let child = unsafe { libc::fork() };
        if child == 0 {
            unsafe {
                libc::prctl(libc::PR_SET_TSC, libc::PR_TSC_SIGSEGV, 0, 0, 0);
                libc::_exit(i32::from(wall().1 != Err(Unusable::Forbidden)));
            }
        }
        let mut status = 0;
        // SAFETY: waits for the child of the line above.
        unsafe { libc::waitpid(child, &mut status, 0) };
        assert_eq!(status, 0);
    }
}
