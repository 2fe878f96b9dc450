//! The few facts that only a system call returns: clock resolution, slices, hypervisor.

use std::io;
use std::mem;

use super::read::Known;

/// Return the resolution of a clock in ns, clock_getres(2).
pub fn resolution_ns(clock: libc::clockid_t) -> Known<i64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live timespec.
    match unsafe { libc::clock_getres(clock, &mut time) } {
        0 => Ok(time.tv_sec * 1_000_000_000 + time.tv_nsec),
        _ => Err(format!("clock_getres: {}", io::Error::last_os_error())),
    }
}

/// The first published size of struct sched_attr of sched_setattr(2) (SCHED_ATTR_SIZE_VER0).
#[repr(C)]
#[derive(Default)]
struct SchedulingAttributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime_ns: u64,
    deadline_ns: u64,
    period_ns: u64,
}

/// Return this process's slice in ns. Kernels without per-task slices report 0 for an ordinary task.
pub fn slice_ns() -> Known<u64> {
    let mut attributes = SchedulingAttributes::default();
    let size = mem::size_of::<SchedulingAttributes>() as u32;
    // SAFETY: the pointer is to a live struct of the size given; pid 0 is this process.
    if unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &mut attributes, size, 0) } != 0 {
        return Err(format!("sched_getattr: {}", io::Error::last_os_error()));
    }
    const FAIR: [i32; 2] = [libc::SCHED_OTHER, libc::SCHED_BATCH];
    if !FAIR.contains(&(attributes.policy as i32)) {
        return Err("the agent itself does not run under an ordinary scheduling policy".to_owned());
    }
    Ok(attributes.runtime_ns)
}

/// Check whether address randomisation can be switched off for a child, by doing it: the system call filter
/// of a container shows nowhere else. It takes effect only at the next execve, and is undone at once.
pub fn try_fixed_addresses() -> Known<()> {
    const ASK: libc::c_ulong = 0xffff_ffff;
    // SAFETY: personality(2) reads and sets one number of this process.
    let before = unsafe { libc::personality(ASK) };
    if before < 0 {
        return Err(format!("personality: {}", io::Error::last_os_error()));
    }
    let wanted = before as libc::c_ulong | libc::ADDR_NO_RANDOMIZE as libc::c_ulong;
    // SAFETY: as above.
    if unsafe { libc::personality(wanted) } < 0 {
        return Err(format!("personality: {}: a sandbox forbids it", io::Error::last_os_error()));
    }
    // SAFETY: as above; puts the former value back.
    unsafe { libc::personality(before as libc::c_ulong) };
    Ok(())
}

/// Return the signature that a hypervisor leaves in CPUID leaf 0x40000000, such as "KVMKVMKVM".
#[cfg(target_arch = "x86_64")]
pub fn hypervisor_signature() -> Known<String> {
    use std::arch::x86_64::__cpuid;
    // Leaf 1, ECX bit 31 shows that the other leaf exists (Linux, arch/x86/include/asm/hypervisor.h).
    #[allow(unused_unsafe, reason = "safe to call from Rust 1.94 on")]
    // SAFETY: the instruction exists on every x86-64.
    let (present, leaf) = unsafe { (__cpuid(1).ecx >> 31 == 1, __cpuid(0x4000_0000)) };
    if !present {
        return Err("the processor does not say that there is a hypervisor".to_owned());
    }
    let bytes: Vec<u8> = [leaf.ebx, leaf.ecx, leaf.edx].into_iter().flat_map(u32::to_le_bytes).collect();
    let text: String =
        bytes.iter().filter(|b| b.is_ascii_graphic() || **b == b' ').map(|b| char::from(*b)).collect();
    match text.trim() {
        "" => Err("the hypervisor does not give its name (CPUID leaf 0x40000000 is empty)".to_owned()),
        name => Ok(name.to_owned()),
    }
}

/// Return an error: only x86 has such a signature.
#[cfg(not(target_arch = "x86_64"))]
pub fn hypervisor_signature() -> Known<String> {
    Err("this kind of processor has no hypervisor signature".to_owned())
}
