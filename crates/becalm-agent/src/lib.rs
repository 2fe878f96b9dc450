//! The part of the agent without side effects: its protocol, which the fuzzer (`fuzz/`) uses, too.

pub mod protocol;
