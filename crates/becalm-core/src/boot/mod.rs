//! Boots with other kernel parameters: an entry of becalm's in the loader's menu, chosen for the next start only.
//!
//! `words` checks which parameters may be requested. `loader` is the table of boot loaders; each reads the
//! machine's own menu (`grub` with `grub_menu` and `grub_env`, `systemd_boot` with `efi`; `bls` for entries
//! that are files), adds an `entry`, and returns a `plan`: everything that will be written, as data, before
//! anything is. `guard` is the part of it that brings back a machine that comes up unhealthy, `kept` makes
//! every start the entry's, `running` reads what the present kernel was started with. `record` stores the
//! plan on the disk until all is removed, `write` makes and undoes one write, and `arm` does all of it in
//! order.
//!
//! The default entry and the default choice are never changed; the loader uses up the choice for one start
//! before it starts the kernel. So every start after that one, for whatever reason, is as before.

pub mod arm;
mod bls;
mod efi;
mod entry;
mod grub;
mod grub_env;
mod grub_menu;
mod guard;
mod kept;
pub mod loader;
mod mount;
pub mod plan;
pub mod record;
pub mod running;
mod systemd_boot;
pub mod words;
mod write;

/// The reason why a machine's next boot is not chosen. Nothing of becalm's is left, unless the error names
/// it.
#[derive(Debug, thiserror::Error)]
pub enum BootError {
    #[error("The next start of this machine cannot be chosen: {0}.")]
    Unsupported(String),
    #[error("{0}")]
    Word(String),
    #[error("{0}")]
    Domain(String),
    #[error(
        "The parameter {0} can make the machine slow, hot or hard to reach, so it needs consent: --dangerous"
    )]
    Consent(String),
    #[error("{path} cannot be written: {error}. Everything was restored, and the next start uses the usual boot entry.")]
    Refused { path: String, error: std::io::Error },
    #[error("The list of what is written cannot be stored, so nothing was written: {path}: {error}. Free some space or rights there.")]
    Record { path: String, error: std::io::Error },
    #[error("This could not be restored:\n{}\nLook at it, then: becalm reset", .0.join("\n"))]
    Stuck(Vec<String>),
    #[error("{path} cannot be understood, so it is not known what belongs to becalm's boot entry. docs/how-to/reboot.md says what to look for by hand; then remove that file.")]
    Damaged { path: String },
    #[error("This boot cannot be had at every start: {0}.")]
    Keep(String),
    #[error("Every start of this machine is becalm's boot entry with {0}. Restore that first: becalm reset")]
    Kept(String),
    #[error("{0}")]
    System(#[from] std::io::Error),
}

/// The beginning of an entry's mark on the kernel's command line.
pub const MARK: &str = "becalm.boot=";
