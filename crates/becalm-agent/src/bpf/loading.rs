//! Loading programs into the kernel, and the reasons why it takes none.

use std::error::Error;
use std::io;
use std::os::unix::fs::MetadataExt;

use aya::programs::{BtfTracePoint, FExit, Program};
use aya::{Btf, Ebpf};
use becalm_core::source::switches::recorder::RecordError;

/// The inode of the initial PID namespace (include/linux/proc_ns.h, PROC_PID_INIT_INO).
const FIRST_PIDS: u64 = 0xEFFF_FFFC;

/// Return the kernel's own types, by which programs find members of its structures.
pub fn kernel_types() -> Result<Btf, RecordError> {
    // Programs see process ids of the initial PID namespace.
    if std::fs::metadata("/proc/self/ns/pid").is_ok_and(|pids| pids.ino() != FIRST_PIDS) {
        return Err(RecordError::Unsupported(
            "BPF reports process IDs that are not those of this container (its own PID namespace)."
                .to_owned(),
        ));
    }
    Btf::from_sys_fs().map_err(|error| {
        RecordError::Unsupported(format!(
            "This kernel does not describe its own types, which BPF needs: /sys/kernel/btf/vmlinux cannot be read \
             ({error}; CONFIG_DEBUG_INFO_BTF)."
        ))
    })
}

/// Load programs and attach them to these tracepoints, all or none.
pub fn attach(loaded: &mut Ebpf, btf: &Btf, tracepoints: &[(&str, &str)]) -> Result<(), Box<dyn Error>> {
    all_or_none(loaded, tracepoints, |program, tracepoint| {
        let program: &mut BtfTracePoint = program.try_into()?;
        program.load(tracepoint, btf)?;
        program.attach()?;
        Ok(())
    })
}

/// Load programs and attach them to the ends of these functions of the kernel, all or none.
pub fn attach_to_ends(
    loaded: &mut Ebpf,
    btf: &Btf,
    functions: &[(&str, &str)],
) -> Result<(), Box<dyn Error>> {
    all_or_none(loaded, functions, |program, function| {
        let program: &mut FExit = program.try_into()?;
        program.load(function, btf)?;
        program.attach()?;
        Ok(())
    })
}

/// Attach programs to their places; unload them again where one cannot be attached.
fn all_or_none(
    loaded: &mut Ebpf,
    places: &[(&str, &str)],
    attach_one: impl Fn(&mut Program, &str) -> Result<(), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let attached = places.iter().try_for_each(|(name, place)| {
        attach_one(loaded.program_mut(name).ok_or_else(|| missing(name))?, place)
    });
    if attached.is_err() {
        for (name, _) in places {
            let _ = match loaded.program_mut(name) {
                Some(Program::BtfTracePoint(program)) => program.unload(),
                Some(Program::FExit(program)) => program.unload(),
                _ => Ok(()),
            };
        }
    }
    attached
}

/// Return the error for a program or map that is not in the compiled object.
pub fn missing(name: &str) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("{name} is not in the compiled programs"))
}

/// Return why the kernel rejected the programs.
pub fn why(error: &(dyn Error + 'static)) -> RecordError {
    let (mut cause, mut code) = (Some(error), None);
    while let Some(error) = cause {
        code = code.or(error.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error));
        cause = error.source();
    }
    // SAFETY: it cannot fail.
    let root = unsafe { libc::geteuid() } == 0;
    match code {
        Some(libc::EPERM) if !root => RecordError::Refused(
            "The kernel lets nobody but root have programs in it (CAP_BPF and CAP_PERFMON). Run becalm as root.".to_owned(),
),
        Some(libc::EPERM) => RecordError::Unsupported(
            "The kernel takes no BPF programs, not even of root: it is locked down, or this is a container without \
             CAP_BPF and CAP_PERFMON.".to_owned(),
),
        Some(libc::ENOSYS) => RecordError::Unsupported(
            "This kernel was built without BPF (CONFIG_BPF_SYSCALL).".to_owned(),
),
        _ => {
            let text = error.to_string();
            let last: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).rev().take(3).collect();
            let reasons: String = last.into_iter().rev().collect::<Vec<_>>().join("; ").chars().take(300).collect();
            RecordError::Unsupported(format!(
                "The kernel does not take becalm's BPF programs, which need Linux 5.18 or later: {reasons}."
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_to_load_has_a_reason() {
        let message = |code| why(&io::Error::from_raw_os_error(code)).to_string();
        // SAFETY: it cannot fail.
        let root = unsafe { libc::geteuid() } == 0;
        assert!(message(libc::EPERM).contains(if root { "locked down" } else { "as root" }));
        assert!(message(libc::ENOSYS).contains("CONFIG_BPF_SYSCALL"));
        assert!(message(libc::EACCES).contains("Linux 5.18"));
    }
}
