//! The programs in the kernel that count who ran while tasks of the measured programs waited (bpf/waits.bpf.c).

use std::error::Error;

use aya::maps::{Array, HashMap, MapData};
use aya::{Btf, Ebpf, EbpfLoader, Pod};
use becalm_core::source::switches::recorder::RecordError;

use super::loading::{attach, kernel_types, missing, why};
use crate::wait_counter::{CountedWaits, WaitCounter};

/// The object file compiled by `make bpf`.
const OBJECT: &[u8] = aya::include_bytes_aligned!(concat!(env!("BECALM_BPF_OBJECTS"), "/waits.bpf.o"));

/// The programs, with the tracepoints to which they attach.
const TRACEPOINTS: [(&str, &str); 5] = [
    ("wakes", "sched_wakeup"),
    ("begins", "sched_wakeup_new"),
    ("switches", "sched_switch"),
    ("migrates", "sched_migrate_task"),
    ("forks", "sched_process_fork"),
];

/// The places in `totals`.
const OWN: u32 = 0;
const IDLE: u32 = 1;
const UNKNOWN: u32 = 2;

/// The time of a process, `struct charged`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Charged {
    ns: u64,
    name: [u8; 16],
}

// SAFETY: two plain arrays of integers without padding.
unsafe impl Pod for Charged {}

/// The programs and their maps.
pub struct Waits {
    /// The handle that keeps the programs loaded.
    _loaded: Ebpf,
    starters: HashMap<MapData, u32, u32>,
    others: HashMap<MapData, u32, Charged>,
    totals: Array<MapData, u64>,
}

impl Waits {
    /// Load and attach the programs.
    pub fn load() -> Result<Self, RecordError> {
        let btf = kernel_types()?;
        Self::loaded(&btf).map_err(|error| why(error.as_ref()))
    }

    fn loaded(btf: &Btf) -> Result<Self, Box<dyn Error>> {
        let cpus = aya::util::nr_cpus().map_err(|(_, error)| error)?;
        let mut loader = EbpfLoader::new();
        loader.btf(Some(btf)).map_max_entries("logs", cpus as u32);
        let mut loaded = loader.load(OBJECT)?;
        attach(&mut loaded, btf, &TRACEPOINTS)?;
        let mut take = |name: &str| loaded.take_map(name).ok_or_else(|| missing(name));
        let (starters, others, totals) = (take("starters")?, take("others")?, take("totals")?);
        Ok(Self {
            _loaded: loaded,
            starters: HashMap::try_from(starters)?,
            others: HashMap::try_from(others)?,
            totals: Array::try_from(totals)?,
        })
    }

    fn total(&mut self, place: u32) -> u64 {
        let total = self.totals.get(&place, 0).unwrap_or(0);
        // What is added in between is lost: a switch or two.
        let _ = self.totals.set(place, 0, 0);
        total
    }
}

impl WaitCounter for Waits {
    fn begin(&mut self, starters: [u32; 3]) {
        for pid in starters {
            // One that is known already stays.
            let _ = self.starters.insert(pid, 1, 0);
        }
    }

    fn take(&mut self) -> CountedWaits {
        let pids: Vec<u32> = self.others.keys().flatten().collect();
        let mut by_process = Vec::new();
        for pid in pids {
            let Ok(Charged { ns, name }) = self.others.get(&pid, 0) else { continue };
            let _ = self.others.remove(&pid);
            let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
            by_process.push((pid, String::from_utf8_lossy(name).into_owned(), ns));
        }
        by_process.sort_unstable_by_key(|(pid, _, ns)| (std::cmp::Reverse(*ns), *pid));
        let (own_ns, idle_ns, unknown_ns) = (self.total(OWN), self.total(IDLE), self.total(UNKNOWN));
        CountedWaits { by_process, own_ns, idle_ns, unknown_ns }
    }
}
