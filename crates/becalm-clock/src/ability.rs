//! The abilities of this machine's counters, as the processor and the kernel report them; never guessed from a
//! vendor's name.

use core::fmt;

/// The reason why a clock cannot be used here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unusable {
    /// The processor does not have the instruction.
    NoInstruction,
    /// The process is not allowed to read the counter (PR_SET_TSC): a read raises SIGSEGV.
    Forbidden,
    /// The counter did not advance, or went backwards, during calibration.
    NotRunning,
    /// The kernel has no such counter, or refuses to open it; carries the errno.
    Refused(i32),
    /// The counter can be read only by system calls: the kernel does not let user space read it.
    NotForUserSpace,
    /// The kernel has the counter, but has not scheduled it on the processor because others use all that
    /// there are.
    NotScheduled,
    /// The kernel chose a counter that this crate does not know.
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

/// The properties that the processor reports for its wall clock. None means unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Abilities {
    /// The counter runs at a constant rate, whatever the core's frequency and sleep states (x86-64: CPUID
    /// 8000_0007h EDX bit 8, which a hypervisor may hide. Armv8: always).
    pub invariant: Option<bool>,
    /// The machine runs under a hypervisor (x86-64: CPUID 1 ECX bit 31).
    pub hypervisor: Option<bool>,
    /// The processor announces that `lfence` is dispatch serializing (CPUID 8000_0021h EAX bit 2, on AMD;
    /// other vendors guarantee it in the manual only).
    pub fence_announced: Option<bool>,
    /// The processor has the instruction `serialize` (CPUID 7 EDX bit 14).
    pub serialize: Option<bool>,
    /// The frequency that the processor or firmware announces, in Hz (x86-64: CPUID 15h; Armv8: CNTFRQ_EL0).
    pub announced_hz: Option<u64>,
}

/// Return what the processor reports about its wall clock, and whether that clock can be read at all.
#[cfg(target_arch = "x86_64")]
pub fn wall() -> (Abilities, Result<(), Unusable>) {
    use core::arch::x86_64::{__cpuid, __cpuid_count, CpuidResult};
    let leaf = |number: u32| -> Option<CpuidResult> {
        // Every x86-64 processor has `cpuid`. (Rust 1.87 declares it as an unsafe function.)
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

/// Return whether a read of the counter raises SIGSEGV in this process (prctl(2), PR_GET_TSC).
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

/// Return what the processor reports about its wall clock; an Armv8 counter always runs at a constant rate.
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

/// Return no abilities: on other architectures the operating system's clock is read.
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
        // The kernel may detect an invariant counter by other means.
        assert!(abilities.invariant != Some(true) || has("constant_tsc"));
    }

    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    #[test]
    fn a_process_that_may_not_read_the_counter_gets_the_reason() {
        // In a child process, since the switch would break other tests that time.
        // SAFETY: between fork and _exit the child only makes system calls and reads.
        let child = unsafe { libc::fork() };
        if child == 0 {
            unsafe {
                libc::prctl(libc::PR_SET_TSC, libc::PR_TSC_SIGSEGV, 0, 0, 0);
                libc::_exit(i32::from(wall().1 != Err(Unusable::Forbidden)));
            }
        }
        let mut status = 0;
        // SAFETY: waits for the child forked above.
        unsafe { libc::waitpid(child, &mut status, 0) };
        assert_eq!(status, 0);
    }
}
