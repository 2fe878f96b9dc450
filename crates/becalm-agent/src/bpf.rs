//! Programs in the kernel (bpf(2)): context switches for the recorder, as an alternative to groups of counters, and
//! who ran while programs waited for a CPU, and who used the network.
//!
//! They are in `bpf/switches.bpf.c` and `bpf/waits.bpf.c`. `make bpf` compiles them and builds the agent with them
//! inside: no file is loaded, and an agent built without them reports that.
//! crates/becalm-core/src/source/switches/bpf.rs reads the records of switches.

#[cfg(feature = "bpf")]
mod loading;
#[cfg(feature = "bpf")]
mod programs;
#[cfg(feature = "bpf")]
mod waits;

use becalm_core::source::switches::feed::Feed;
use becalm_core::source::switches::recorder::RecordError;

use crate::wait_counter::WaitCounter;

/// The alternatives, which are appended to every reason.
const RECORDED: &str = "Without BPF the same is recorded: leave --by bpf out.";
const ESTIMATED: &str = "Without BPF becalm estimates who slowed a program: leave --by bpf out.";

/// Load the programs of the recorder, without recording yet.
///
/// # Errors
/// Returns the reason if they cannot be loaded, and the alternative.
#[cfg(feature = "bpf")]
pub fn feed() -> Result<Box<dyn Feed>, RecordError> {
    match programs::Programs::load() {
        Ok(programs) => Ok(Box::new(programs)),
        Err(error) => Err(with(error, RECORDED)),
    }
}

/// Load the programs that count waits; they count from now on.
///
/// # Errors
/// Returns the reason if they cannot be loaded, and the alternative.
#[cfg(feature = "bpf")]
pub fn waits() -> Result<Box<dyn WaitCounter>, RecordError> {
    match waits::Waits::load() {
        Ok(waits) => Ok(Box::new(waits)),
        Err(error) => Err(with(error, ESTIMATED)),
    }
}

#[cfg(feature = "bpf")]
fn with(error: RecordError, alternative: &str) -> RecordError {
    match error {
        RecordError::Refused(why) => RecordError::Refused(format!("{why} {alternative}")),
        RecordError::Unsupported(why) => RecordError::Unsupported(format!("{why} {alternative}")),
        other => other,
    }
}

/// Return the error of an agent that was built without the programs.
#[cfg(not(feature = "bpf"))]
pub fn feed() -> Result<Box<dyn Feed>, RecordError> {
    Err(without(RECORDED))
}

/// Return the error of an agent that was built without the programs.
#[cfg(not(feature = "bpf"))]
pub fn waits() -> Result<Box<dyn WaitCounter>, RecordError> {
    Err(without(ESTIMATED))
}

#[cfg(not(feature = "bpf"))]
fn without(alternative: &str) -> RecordError {
    RecordError::Unsupported(format!(
        "This agent of becalm was built without BPF. `make bpf` in becalm's source builds one with it, where clang and \
         libbpf's headers are (on Debian: apt-get install clang libbpf-dev). {alternative}"
    ))
}

#[cfg(all(test, not(feature = "bpf")))]
mod tests {
    use super::*;

    #[test]
    fn an_agent_built_without_bpf_reports_the_build_command_and_the_alternative() {
        let Err(RecordError::Unsupported(why)) = feed() else { panic!("there is none") };
        assert!(why.contains("make bpf") && why.contains("clang") && why.ends_with(RECORDED), "{why}");
        let Err(RecordError::Unsupported(why)) = waits() else { panic!("there is none") };
        assert!(why.ends_with(ESTIMATED), "{why}");
    }
}
