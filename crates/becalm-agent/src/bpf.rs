//! Switches as programs in the kernel tell them (bpf(2)): one more feed of the recorder, beside groups of counters.
//!
//! The programs are `bpf/switches.bpf.c`. `make bpf` compiles them and builds the agent with them inside: no file is loaded,
//! and what is not built with them says so. crates/becalm-core/src/source/switches/bpf.rs reads what they write.

#[cfg(feature = "bpf")]
mod programs;

use becalm_core::source::switches::feed::Feed;
use becalm_core::source::switches::recorder::RecordError;

/// What every reason ends with.
const WITHOUT: &str = "Without BPF the same is recorded: leave --by bpf out.";

/// Load the programs; nothing is recorded yet. An error says why that cannot be, and what can.
#[cfg(feature = "bpf")]
pub fn feed() -> Result<Box<dyn Feed>, RecordError> {
    match programs::Programs::load() {
        Ok(programs) => Ok(Box::new(programs)),
        Err(RecordError::Refused(why)) => Err(RecordError::Refused(format!("{why} {WITHOUT}"))),
        Err(RecordError::Unsupported(why)) => Err(RecordError::Unsupported(format!("{why} {WITHOUT}"))),
        Err(other) => Err(other),
    }
}

/// Load the programs, which are not there.
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
    fn an_agent_without_it_says_how_to_build_one_and_what_to_do_else() {
        let Err(RecordError::Unsupported(why)) = feed() else { panic!("there is none") };
        assert!(why.contains("make bpf") && why.contains("clang") && why.ends_with(WITHOUT), "{why}");
    }
}
