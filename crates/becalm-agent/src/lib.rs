//! The part of the agent that has no side effects: its protocol, also for what tries to break it (`fuzz/`).

pub mod protocol;
