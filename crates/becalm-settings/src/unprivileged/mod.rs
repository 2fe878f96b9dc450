//! Code for processes with the rights of their user: a `directory` that looks like a machine, where files are
//! opened `beneath` it and the kernel's reactions are `played` when a value is `acted` on; the `cores` of a
//! machine; and the holder of its `locks`.

mod acted;
mod beneath;
mod cores;
pub mod directory;
pub mod locks;
pub mod played;
