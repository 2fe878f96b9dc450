//! Knobs of one file of each CPU, all with the same value.

use super::super::domain::Kind;
use super::super::draft::Draft;
use super::super::row::{Act, Form, Knob};
use super::super::tree::Tree;
use super::value::{each_cpu, read, same};

/// A knob of this file below `/sys/devices/system/cpu/cpuN`, for every CPU.
#[derive(Debug)]
pub struct EachCpu {
    pub file: &'static str,
    pub form: Form,
}

impl Act for EachCpu {
    fn state(&self, tree: &Tree, knob: &Knob) -> Result<String, String> {
        let paths = each_cpu(tree, self.file);
        let values = paths.iter().map(|path| read(tree, path, self.form)).collect::<Result<_, _>>()?;
        same(values).ok_or_else(|| knob.absent.to_owned())
    }

    fn resolve(&self, draft: &mut Draft, knob: &'static Knob, value: &str) -> Result<(), String> {
        if let Kind::Listed { path } = knob.domain.kind {
            listed(draft.tree, path, value)?;
        }
        for path in draft.each_online(self.file) {
            draft.file(knob.name, &path, self.form.spelled(value));
        }
        Ok(())
    }
}

fn listed(tree: &Tree, path: &str, value: &str) -> Result<(), String> {
    let text = tree.read(path).unwrap_or_default();
    let known: Vec<&str> = text.split_ascii_whitespace().collect();
    match known.is_empty() || known.contains(&value) {
        true => Ok(()),
        false => Err(format!("this machine has no {value:?}, only {}", known.join(", "))),
    }
}
