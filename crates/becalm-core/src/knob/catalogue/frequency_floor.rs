//! The knob of the lowest frequency of each CPU.

use super::super::draft::Draft;
use super::super::row::{Act, Form, Knob};
use super::super::tree::Tree;
use super::value::{each_cpu, read, same};

const FILE: &str = "cpufreq/scaling_min_freq";

/// The knob of each CPU's `scaling_min_freq`, in kHz; max is the CPU's own highest frequency.
#[derive(Debug)]
pub struct FrequencyFloor;

impl Act for FrequencyFloor {
    fn state(&self, tree: &Tree, knob: &Knob) -> Result<String, String> {
        let paths = each_cpu(tree, FILE);
        let highest = paths.iter().all(|path| tree.read(path).ok() == bound(tree, path, "cpuinfo_max_freq"));
        let values = paths.iter().map(|path| read(tree, path, Form(&[]))).collect::<Result<_, _>>()?;
        let value = same(values).ok_or_else(|| knob.absent.to_owned())?;
        Ok(if highest { "max".to_owned() } else { value })
    }

    fn resolve(&self, draft: &mut Draft, knob: &'static Knob, value: &str) -> Result<(), String> {
        for path in draft.each_online(FILE) {
            let wanted = match value {
                "max" => bound(draft.tree, &path, "cpuinfo_max_freq"),
                value => Some(value.to_owned()),
            };
            let wanted = wanted.ok_or_else(|| format!("there is no cpuinfo_max_freq next to {path}"))?;
            draft.file(knob.name, &path, wanted);
        }
        Ok(())
    }

    fn limits(&self, tree: &Tree) -> Option<(i64, i64)> {
        let paths = each_cpu(tree, FILE);
        let all = |name: &str| paths.iter().map(|path| bound(tree, path, name)?.parse().ok()).collect();
        let (lowest, highest): (Option<Vec<i64>>, Option<Vec<i64>>) =
            (all("cpuinfo_min_freq"), all("cpuinfo_max_freq"));
        Some((lowest?.into_iter().max()?, highest?.into_iter().min()?))
    }
}

fn bound(tree: &Tree, scaling_min_freq: &str, name: &str) -> Option<String> {
    tree.read(&scaling_min_freq.replace("scaling_min_freq", name)).ok()
}
