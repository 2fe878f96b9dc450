//! Pressure stall information of the machine and of the process's own control group
//! (Documentation/accounting/psi.rst).

use super::bytes::{hundredths, lines, number, split_once, Words};
use super::file::{Buffer, Kept, Place};
use super::interface::Source;
use super::layout::{counter, state, Column, Columns, Record, UNKNOWN};
use super::membership::Membership;

/// The time for which some or all tasks waited, and its share of the last 10, 60 and 300 s in hundredths of a
/// percent.
static PRESSURE: [Column; 4] =
    [counter("total_us"), state("avg10_hundredths"), state("avg60_hundredths"), state("avg300_hundredths")];

const RESOURCES: [&str; 4] = ["cpu", "io", "memory", "irq"];

struct Psi {
    place: Place,
    machine: Vec<Kept>,
    membership: Membership,
    group: Vec<Kept>,
}

/// Create the source, without opening anything yet.
pub fn open(place: &Place) -> Box<dyn Source> {
    let machine = RESOURCES.map(|name| Kept::new(place, &format!("proc/pressure/{name}")));
    Box::new(Psi {
        place: place.clone(),
        machine: machine.into(),
        membership: Membership::new(place),
        group: Vec::new(),
    })
}

impl Source for Psi {
    fn read(&mut self, buffer: &mut Buffer, record: &mut Record<'_>) {
        for (file, name) in self.machine.iter_mut().zip(RESOURCES) {
            let Some(text) = record.text(file, buffer) else { continue };
            for line in lines(text) {
                // "full" of the machine's CPUs is not defined; the kernel prints zeros for old readers.
                if name == "cpu" && line.starts_with(b"full") {
                    continue;
                }
                pressure("", name, line, record);
            }
        }
        if self.place.brief.is_some() {
            return;
        }
        match self.membership.refresh(buffer) {
            Ok(true) => self.find_group(),
            Ok(false) => {}
            Err(reason) => {
                record.missing(reason);
                return;
            }
        }
        for (file, name) in self.group.iter_mut().zip(RESOURCES) {
            let Some(text) = record.text(file, buffer) else { continue };
            lines(text).for_each(|line| pressure("group.", name, line, record));
        }
    }
}

impl Psi {
    fn find_group(&mut self) {
        let unified = self.membership.groups().iter().find(|group| group.controllers.is_empty());
        self.group = unified.map_or(Vec::new(), |group| {
            let file = |name| Kept::new(&self.place, &format!("{}/{name}.pressure", group.directory));
            RESOURCES.map(file).into()
        });
    }
}

/// Parse a line such as "some avg10=6.41 avg60=6.49 avg300=11.20 total=2173464534".
fn pressure(whose: &str, resource: &str, line: &[u8], record: &mut Record<'_>) {
    let mut words = Words(line);
    let Some(kind @ (b"some" | b"full")) = words.next() else { return };
    let row = record.row(&[whose.as_bytes(), resource.as_bytes(), b".", kind], Columns::Fixed(&PRESSURE));
    for word in words {
        let Some((name, value)) = split_once(word, b'=') else { continue };
        match name {
            b"total" => row[0] = number(value).unwrap_or(UNKNOWN),
            b"avg10" => row[1] = hundredths(value).unwrap_or(UNKNOWN),
            b"avg60" => row[2] = hundredths(value).unwrap_or(UNKNOWN),
            b"avg300" => row[3] = hundredths(value).unwrap_or(UNKNOWN),
            _ => {}
        }
    }
}
