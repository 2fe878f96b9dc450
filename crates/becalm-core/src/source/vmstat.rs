//! The file `/proc/vmstat`: paging, swapping, reclaim and compaction of the whole machine (proc_vmstat(5)).

use super::bytes::{lines, Words};
use super::file::{Buffer, Kept, Place};
use super::interface::Source;
use super::layout::{Kind, Record};

/// The names that begin like those of states but are counts of events (mm/vmstat.c, `vmstat_text`).
const COUNTED: [&[u8]; 7] = [
    b"nr_dirtied",
    b"nr_written",
    b"nr_throttled_written",
    b"nr_vmscan_write",
    b"nr_vmscan_immediate_reclaim",
    b"nr_foll_pin_acquired",
    b"nr_foll_pin_released",
];

/// The file, and the beginnings of the wanted names; None: all.
struct VmStat(Kept, Option<Vec<&'static str>>);

/// Create the source, without opening anything yet.
pub fn open(place: &Place) -> Box<dyn Source> {
    Box::new(VmStat(Kept::new(place, "proc/vmstat"), place.brief.map(|wanted| wanted("vmstat"))))
}

impl Source for VmStat {
    fn read(&mut self, buffer: &mut Buffer, record: &mut Record<'_>) {
        let Some(text) = record.text(&mut self.0, buffer) else { return };
        let begins =
            |line: &[u8], wanted: &[&str]| wanted.iter().any(|start| line.starts_with(start.as_bytes()));
        for line in lines(text).filter(|line| self.1.as_ref().is_none_or(|wanted| begins(line, wanted))) {
            let mut words = Words(line);
            if let Some(name) = words.next() {
                record.value(&[name], kind(name), words.number());
            }
        }
    }
}

/// Return the kind of a name. All names are used as this kernel has them: they come and go with its versions.
fn kind(name: &[u8]) -> Kind {
    let counted = COUNTED.contains(&name) || name.starts_with(b"nr_tlb_");
    if (name.starts_with(b"nr_") && !counted) || name == b"workingset_nodes" {
        Kind::State
    } else {
        Kind::Counter
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_pages_are_states_and_counts_of_events_are_counters() {
        for name in ["nr_free_pages", "nr_dirty", "nr_zone_active_file", "workingset_nodes", "nr_unstable"] {
            assert_eq!(kind(name.as_bytes()), Kind::State, "{name}");
        }
        for name in [
            "pgpgout",
            "pswpout",
            "nr_dirtied",
            "allocstall_normal",
            "workingset_refault",
            "nr_tlb_local_flush_all",
        ] {
            assert_eq!(kind(name.as_bytes()), Kind::Counter, "{name}");
        }
    }
}
