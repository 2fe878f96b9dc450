//! Context switches reported by programs in the kernel (bpf(2)), as an alternative source of the recorder
//! next to groups of counters.
//!
//! The programs are in `bpf/switches.bpf.c`. `make bpf` compiles them and builds the agent with them inside:
//! no file is loaded, and an agent built without them reports that.
//! crates/becalm-core/src/source/switches/bpf.rs reads their records.

#[cfg(feature = "bpf")]
mod programs;

use becalm_core::source::switches::feed::Feed;
use becalm_core::source::switches::recorder::RecordError;

/// The alternative, which is appended to every reason.
const WITHOUT: &str = "Without BPF the same is recorded: leave --by bpf out.";

/// Load the programs, without recording yet.
///
/// # Errors
/// Returns the reason if they cannot be loaded, and the alternative.
#[cfg(feature = "bpf")]
pub fn feed() -> Result<Box<dyn Feed>, RecordError> {
    match programs::Programs::load() {
        Ok(programs) => Ok(Box::new(programs)),
        Err(RecordError::Refused(why)) => Err(RecordError::Refused(format!("{why} {WITHOUT}"))),
        Err(RecordError::Unsupported(why)) => Err(RecordError::Unsupported(format!("{why} {WITHOUT}"))),
        Err(other) => Err(other),
    }
}

/// Return the error of an agent that was built without the programs.
#[cfg(not(feature = "bpf"))]
pub fn feed() -> Result<Box<dyn Feed>, RecordError> {
    Err(RecordError::Unsupported(format!(
        "This agent of becalm was built without BPF. `make bpf` in becalm's source builds one with it, where clang and \
         libbpf's headers are (on Debian: apt-get install clang libbpf-dev). {WITHOUT}"
    )))
}

#[cfg(all(test, not(feature = "bpf")))]
mod tests {
    use super::*;

    #[test]
    fn an_agent_built_without_bpf_reports_the_build_command_and_the_alternative() {
        let Err(RecordError::Unsupported(why)) = feed() else { panic!("there is none") };
        assert!(why.contains("make bpf") && why.contains("clang") && why.ends_with(WITHOUT), "{why}");
    }
}
