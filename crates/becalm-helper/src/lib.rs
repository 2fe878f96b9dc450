//! Settings of the machine for an agent that is not root: a `server` answers each `request` of a
//! `conversation` with the `caller`. Processes of the caller get a `priority` or a group.

pub mod caller;
pub mod conversation;
mod priority;
pub mod request;
pub mod server;
