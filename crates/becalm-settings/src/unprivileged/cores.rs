//! The cores of a machine, read from its files.

use crate::cpus::{self, Cpus};
use crate::tree::{Tree, CPU};

impl Tree {
    /// Return the CPUs that can be switched on and off.
    pub fn switchable_cpus(&self) -> Cpus {
        let present = self.numbered(CPU, "cpu").into_iter();
        present.filter(|cpu| self.exists(&format!("{CPU}/cpu{cpu}/online"))).collect()
    }

    /// Return the first core: the hardware threads that share a core with the first CPU.
    pub fn first_core(&self) -> Cpus {
        self.core("first-core")
    }

    /// Return the CPUs of a value: a core by its name ("first-core", "last-core"), or a list.
    pub fn core(&self, value: &str) -> Cpus {
        let (_, online) = self.cpus();
        let one = match value {
            "first-core" => online.first().copied(),
            "last-core" => online.last().copied(),
            list => return cpus::parse(list).unwrap_or_default(),
        };
        let Some(one) = one else { return Cpus::from([0]) };
        let siblings = ["core_cpus_list", "thread_siblings_list"].iter().find_map(|name| {
            let text = self.read(&format!("{CPU}/cpu{one}/topology/{name}")).ok()?;
            cpus::parse(&text)
        });
        siblings.map_or(Cpus::from([one]), |set| set.intersection(&online).copied().collect())
    }

    /// Return the CPUs that have been isolated from the scheduler since the boot.
    pub fn isolated(&self) -> Cpus {
        self.read(&format!("{CPU}/isolated")).ok().and_then(|text| cpus::parse(&text)).unwrap_or_default()
    }
}
