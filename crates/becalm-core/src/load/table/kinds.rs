//! Kinds of columns, on which the rows of the table are based.

use crate::load::column::{Column, Each, Form, Kind, Pooling, Subject, Take};

/// A column of the record itself.
pub const RECORD: Column = Column {
    name: "",
    unit: "",
    form: Form::Integer,
    subject: Subject::Record,
    kind: Kind::State,
    source: "agent",
    pooling: Pooling::First,
    always: true,
    metric: "",
    meaning: "",
    take: Take::Given,
};

/// A column of the machine.
pub const MACHINE: Column = Column {
    subject: Subject::Machine,
    kind: Kind::Difference,
    pooling: Pooling::Sum,
    always: false,
    ..RECORD
};

/// A column from the kernel's accounts of finished tasks.
pub const TASKS: Column = Column { subject: Subject::Programs, source: "taskstats", unit: "ns", ..MACHINE };

/// A column of the control group around the programs.
pub const GROUP: Column = Column { subject: Subject::Programs, source: "group", unit: "ns", ..MACHINE };

/// A column of the CPUs that the programs may use.
pub const OWN_CPUS: Column = Column { subject: Subject::Programs, source: "stat", ..MACHINE };

/// A column that the processor counted for the programs.
pub const COUNTED: Column = Column { subject: Subject::Programs, source: "counters", ..MACHINE };

/// A column that is known in every record.
pub const ALWAYS: Column = Column { subject: Subject::Programs, ..RECORD };

/// Add up counters.
pub const fn sum(of: &'static [&'static str], each: Each) -> Take {
    Take::Sum { of, each, wraps: false }
}

/// Add up counters of which the kernel prints 32 bits.
pub const fn sum32(of: &'static [&'static str], each: Each) -> Take {
    Take::Sum { of, each, wraps: true }
}
