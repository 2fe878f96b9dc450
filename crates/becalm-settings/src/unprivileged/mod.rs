//! Code for processes with the rights of their user: a `directory` that looks like a machine, where files are
//! opened `beneath` it and the kernel is `played` as it is `acted` on, the `cores` of a machine, and whoever `locks` it.

mod acted;
mod beneath;
mod cores;
pub mod directory;
pub mod locks;
pub mod played;
