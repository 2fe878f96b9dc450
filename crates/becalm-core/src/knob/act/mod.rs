//! Ways of acting, one file each. A row of the catalogue names one, with what distinguishes it from other rows that act
//! in the same way. One more way is one file here and the row that uses it.

mod each_cpu;
mod file;
mod frequency_floor;
mod interrupts;
mod isolation;
mod latency;
mod next_boot;
mod of_process;
mod online_cpus;
mod services;
mod smt;
mod swap_areas;

pub use each_cpu::EachCpu;
pub use file::File;
pub use frequency_floor::FrequencyFloor;
pub use interrupts::Interrupts;
pub use isolation::Isolation;
pub use latency::Latency;
pub use next_boot::AtBoot;
pub use of_process::{BeforeRun, EnvironmentSize, InChild};
pub use online_cpus::OnlineCpus;
pub use services::Services;
pub use smt::Smt;
pub use swap_areas::SwapAreas;

use super::place::Place;
use super::row::Form;
use super::tree::{chosen, Tree, CPU};

/// Where the kernel shows what is not for programs. Closed to ordinary users.
const DEBUGFS: &str = "/sys/kernel/debug";

/// The value in a file, in the knob's spelling.
fn read(tree: &Tree, path: &str, form: Form) -> Result<String, String> {
    match tree.read(path) {
        Ok(text) => Ok(form.read(chosen(&text))),
        // Root may read all files; EPERM is the kernel's own no (Documentation: lockdown, LOCKDOWN_DEBUGFS).
        Err(error) if error.raw_os_error() == Some(libc::EPERM) && path.starts_with(DEBUGFS) => Err(format!(
            "the kernel's lockdown refuses {path}: boot without it (lockdown=none, or secure boot off)"
        )),
        Err(error) => Err(format!("{path} cannot be read: {error}")),
    }
}

/// One value, or all of them when they differ; None when there are none.
fn same(mut values: Vec<String>) -> Option<String> {
    values.dedup();
    (!values.is_empty()).then(|| values.join(", "))
}

/// Whether a place is this file of a CPU.
fn is_each_cpu(place: &Place, file: &str) -> bool {
    let of_cpu = |path: &str| {
        let (cpu, rest) = path.strip_prefix(CPU)?.strip_prefix("/cpu")?.split_once('/')?;
        Some(cpu.parse::<u32>().is_ok() && rest == file)
    };
    matches!(place, Place::File { path } if of_cpu(path) == Some(true))
}

/// This file of every CPU that has it.
fn each_cpu(tree: &Tree, file: &str) -> Vec<String> {
    let paths = tree.numbered(CPU, "cpu").into_iter().map(|cpu| format!("{CPU}/cpu{cpu}/{file}"));
    paths.filter(|path| tree.exists(path)).collect()
}
