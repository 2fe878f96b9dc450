//! Settings of a machine as one conversation changes them, and what puts them back: for the agent where it is root, and for
//! `becalm-helper`, which root runs for an agent that is not.
//!
//! `held` has settings on and takes them off (`failure`: why not), an `owner` has put them on, a `guard` outlives whoever was killed, `groups` are those
//! that killed agents left.
//! A `server` answers each `request` of a `conversation` with the `caller`, whose processes get a `priority` or a group.

pub mod caller;
pub mod conversation;
pub mod failure;
pub mod groups;
pub mod guard;
pub mod held;
mod owner;
mod priority;
pub mod request;
pub mod server;
