//! The header of a file of regions, which stands at its beginning and is repeated at its end.

use std::string::{String, ToString};
use std::vec::Vec;

use super::bytes::{u16_at, u32_at, u64_at};
use super::crc::crc32;
use super::{record, MAGIC, VERSION};
use crate::clock::Source;
use crate::{begin, portable, Clock};

/// The properties of the clock and of the machine, and the names of the regions.
#[derive(Debug, Clone, PartialEq)]
pub struct Header {
    /// The frequency in ticks per second, off by at most `ppm` parts per million.
    pub hz: f64,
    /// The bound on the relative error of the frequency, in parts per million.
    pub ppm: f64,
    /// The step by which the counter advances, in ticks; 0 where it could not be determined.
    pub quantum: f64,
    /// The smallest number of ticks of an empty region.
    pub smallest_cost: i64,
    /// The median number of ticks of an empty region.
    pub median_cost: i64,
    /// The mean number of ticks of an empty region without the longest twentieth, to a thousandth; 0 where it
    /// is not known.
    pub mean_cost: f64,
    /// The counter at the moment `unix_ns`.
    pub ticks: u64,
    /// The moment at which the counter was at `ticks`, in ns of Unix time.
    pub unix_ns: u64,
    /// The flags of becalm_clock.h: 1 system clock, 2 invariant, 4 in a virtual machine, 8 reads are
    /// emulated.
    pub flags: u32,
    /// The process id of the writer.
    pub process: u32,
    /// A hash of the machine id.
    pub machine: String,
    /// The boot id of the machine when the file was written.
    pub boot: String,
    /// The processor's model.
    pub model: String,
    /// The clock's name.
    pub source: String,
    /// The names of the regions, indexed by the number in the records.
    pub names: Vec<String>,
}

/// The number of bytes before the texts.
const FIXED: usize = 88;
/// The highest frequency that is accepted, in ticks per second.
const FASTEST: f64 = 1e12;
/// The length of the longest header that is accepted, in bytes.
const LONGEST: usize = 1 << 20;

impl Header {
    /// Return the header of this process at this moment.
    pub(super) fn of(clock: &Clock, names: &[&str]) -> Header {
        let info = clock.info();
        let (ticks, unix_ns) = moment(clock);
        let flag = |set: bool, bit: u32| if set { bit } else { 0 };
        let flags = flag(info.source == Source::System, 1)
            | flag(info.abilities.invariant == Some(true), 2)
            | flag(info.abilities.hypervisor == Some(true), 4)
            | flag(info.trapped(), 8);
        Header {
            hz: info.calibration.hz,
            ppm: info.calibration.ppm,
            quantum: info.quantum.unwrap_or(0.0),
            smallest_cost: info.smallest_cost,
            median_cost: info.median_cost,
            mean_cost: info.mean_cost,
            ticks,
            unix_ns,
            flags,
            process: std::process::id(),
            machine: super::host::machine(),
            boot: super::host::boot(),
            model: super::host::model(),
            source: info.source.name().to_string(),
            names: names.iter().map(ToString::to_string).collect(),
        }
    }

    /// Return the header as it is stored in a file; None where a text is longer than 65,535 bytes, there are
    /// more names than that, or the whole header takes more than a MiB.
    pub(super) fn bytes(&self) -> Option<Vec<u8>> {
        let mut made = Vec::from(MAGIC);
        made.extend(VERSION.to_le_bytes());
        made.extend((record::BYTES as u16).to_le_bytes());
        made.extend(0_u32.to_le_bytes()); // The length, filled in below.
        for value in [self.hz, self.ppm, self.quantum] {
            made.extend(value.to_le_bytes());
        }
        made.extend(self.smallest_cost.to_le_bytes());
        made.extend(self.median_cost.to_le_bytes());
        made.extend(self.ticks.to_le_bytes());
        made.extend(self.unix_ns.to_le_bytes());
        made.extend(self.flags.to_le_bytes());
        made.extend(self.process.to_le_bytes());
        made.extend(u32::from(u16::try_from(self.names.len()).ok()?).to_le_bytes());
        made.extend(((self.mean_cost * 1e3).round() as u32).to_le_bytes());
        let texts = [&self.machine, &self.boot, &self.model, &self.source];
        for text in texts.into_iter().chain(&self.names) {
            made.extend(u16::try_from(text.len()).ok()?.to_le_bytes());
            made.extend(text.as_bytes());
        }
        let length = u32::try_from(made.len() + 4).ok()?;
        made[12..16].copy_from_slice(&length.to_le_bytes());
        let crc = crc32(&made);
        made.extend(crc.to_le_bytes());
        Some(made).filter(|made| made.len() <= LONGEST)
    }

    /// Parse the header at the beginning of these bytes, and return it with its length. None if it is damaged
    /// or of another version.
    pub(super) fn read(bytes: &[u8]) -> Option<(Header, usize)> {
        let length = u32_at(bytes, 12)? as usize;
        let own = bytes.get(..length).filter(|_| (FIXED + 4..=LONGEST).contains(&length))?;
        let known = own.starts_with(&MAGIC) && u16_at(own, 8)? == VERSION;
        let whole = u32_at(own, length - 4)? == crc32(&own[..length - 4]);
        if !known || !whole || usize::from(u16_at(own, 10)?) != record::BYTES {
            return None;
        }
        let mut at = FIXED;
        let mut text = || {
            let from = at + 2;
            at = from + usize::from(u16_at(own, at)?);
            Some(String::from_utf8_lossy(own.get(from..at)?).into_owned())
        };
        let (machine, boot, model, source) = (text()?, text()?, text()?, text()?);
        let names = (0..u32_at(own, 80)?).map(|_| text()).collect::<Option<Vec<_>>>()?;
        let header = Header {
            hz: f64::from_bits(u64_at(own, 16)?),
            ppm: f64::from_bits(u64_at(own, 24)?),
            quantum: f64::from_bits(u64_at(own, 32)?),
            smallest_cost: u64_at(own, 40)? as i64,
            median_cost: u64_at(own, 48)? as i64,
            mean_cost: f64::from(u32_at(own, 84)?) / 1e3,
            ticks: u64_at(own, 56)?,
            unix_ns: u64_at(own, 64)?,
            flags: u32_at(own, 72)?,
            process: u32_at(own, 76)?,
            machine,
            boot,
            model,
            source,
            names,
        };
        header.possible().then_some((header, length))
    }

    /// Return whether the numbers are plausible for a clock.
    fn possible(&self) -> bool {
        let known = |value: f64| value.is_finite() && value >= 0.0;
        (1.0..=FASTEST).contains(&self.hz)
            && known(self.ppm)
            && known(self.quantum)
            && i64::try_from(self.unix_ns).is_ok()
    }
}

/// Return the counter, and Unix time in ns, at one moment.
pub(super) fn moment(clock: &Clock) -> (u64, u64) {
    let read = || if clock.info().source == Source::System { portable::begin().ticks } else { begin().ticks };
    let before = read();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let half = read().wrapping_sub(before) / 2;
    let ns = now.map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX));
    (before.wrapping_add(half), ns)
}
