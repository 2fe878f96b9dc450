//! Properties that most rows of the table have in common.

use super::super::domain::ON_OFF;
use super::super::row::{Form, Group, Knob, Privileged, Scope};
use super::of_process::BeforeRun;

pub const PLAIN: Form = Form(&[]);
pub const ON_IS_1: Form = Form(&[("on", "1"), ("off", "0")]);

/// The row on which the others are based.
pub const ROW: Knob = Knob {
    name: "",
    scope: Scope::Live,
    group: Group::Normal,
    domain: ON_OFF,
    act: &BeforeRun,
    tuned_value: None,
    order: 50,
    requires: &[],
    conflicts: &[],
    moves: &[],
    restricts_cpus: false,
    rationale: "",
    costs: "",
    privilege: "root",
    privileged: Privileged::All,
    absent: "this kernel does not have it",
    kernels: (None, None),
    elsewhere: "",
    source: "",
};
