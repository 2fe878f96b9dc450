//! A column of a record of load: a row of `table::TABLE`.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

/// The subject of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Subject {
    /// The record itself: its runs, its length, its cost.
    Record,
    /// The whole machine.
    Machine,
    /// The programs that were measured, summed over their runs.
    Programs,
}

/// The kind of a column: a change during the interval, or a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The distance that counters moved, or a sum of events.
    Difference,
    State,
}

/// The way to combine the values of several records into one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Pooling {
    Sum,
    /// The mean, weighted by the records' lengths.
    Mean,
    Max,
    Min,
    /// The value of the first record.
    First,
}

/// The format of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    Integer,
    Real,
    Word,
}

/// The amount of a column's unit per unit of the kernel's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Each {
    One,
    /// A tick of USER_HZ (`source::TICK_NS`).
    Tick,
    Page,
    /// 512 bytes, whatever the disk's own are (Documentation/admin-guide/iostats.rst).
    Sector,
    Millisecond,
    Microsecond,
    /// The largest packet of the number's interface: its MTU when it was first seen.
    Mtu,
}

/// The way from the sources' values to a column. Names are those of the source's values, with one `*` for at
/// least one character; loopback counts only where it is named in full, and of block devices only whole
/// disks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Take {
    /// The sum of counters, whose difference is reported.
    Sum {
        of: &'static [&'static str],
        each: Each,
        /// Whether the kernel prints 32 bits of each: when one begins again, the sum loses 2^32.
        wraps: bool,
    },
    /// The number of values; known while it stays the same.
    Count(&'static str),
    /// The mean of the values, at both ends of the interval.
    Mean(&'static str),
    /// A value that includes the reader itself: the mean over samples within the interval, less one.
    Sampled(&'static str),
    /// A value that the maker of the record provides.
    Given,
}

/// The origin of a column's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Counted,
    State,
    Given,
}

impl Serialize for Take {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (take, each) = match self {
            Self::Sum { each, .. } => ("sum", *each),
            Self::Count(_) => ("count", Each::One),
            Self::Mean(_) => ("mean", Each::One),
            Self::Sampled(_) => ("sampled", Each::One),
            Self::Given => ("given", Each::One),
        };
        let mut fields = serializer.serialize_struct("Take", 3)?;
        fields.serialize_field("take", take)?;
        fields.serialize_field("reads", self.names())?;
        fields.serialize_field("each", &each)?;
        fields.end()
    }
}

impl Take {
    pub(super) const fn role(&self) -> Role {
        match self {
            Self::Sum { .. } => Role::Counted,
            Self::Count(_) | Self::Mean(_) | Self::Sampled(_) => Role::State,
            Self::Given => Role::Given,
        }
    }

    /// Return the names of the source's values that it is computed from.
    pub fn names(&self) -> &[&'static str] {
        match self {
            Self::Sum { of, .. } => of,
            Self::Count(name) | Self::Mean(name) | Self::Sampled(name) => std::slice::from_ref(name),
            Self::Given => &[],
        }
    }
}

/// One column.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Column {
    pub name: &'static str,
    /// The unit; empty for a plain number or a word.
    pub unit: &'static str,
    pub form: Form,
    pub subject: Subject,
    pub kind: Kind,
    /// A source of `source::table`, or another origin: "taskstats" of finished tasks, "group" of the control
    /// group around the programs, "agent" itself.
    pub source: &'static str,
    pub pooling: Pooling,
    /// Whether it is known in every record.
    pub always: bool,
    /// The name of its Prometheus metric, with a label if several columns share one; empty if it is not
    /// exposed.
    pub metric: &'static str,
    pub meaning: &'static str,
    #[serde(flatten)]
    pub take: Take,
}
