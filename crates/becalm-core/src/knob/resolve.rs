//! From settings to changes: which places get which values on this machine, in which order, or why that cannot be.
//!
//! `resolve` is asked when settings are defined or held. It changes nothing.

use std::collections::BTreeMap;

use super::affected::affected;
use super::cpus::{self, Cpus};
use super::cpuset::{self, Cpuset};
use super::place::{Place, RUNNING, STOPPED};
use super::row::{Act, Domain, Knob};
use super::settings::SettingError;
use super::state::{self, highest, hotplug, interrupt_default, interrupt_files, rivals};
use super::swap;
use super::tree::{chosen, Tree, CPU};

/// One write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub knob: &'static str,
    pub place: Place,
    pub value: String,
    /// Whether the setting fails when this write does; single interrupts may refuse.
    pub required: bool,
}

/// All that settings mean on this machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    pub writes: Vec<Change>,
    /// Places that the writes change as a side effect, to be put back when all writes are.
    pub watched: Vec<Place>,
    /// CPUs that tasks lose meanwhile. Those bound to them are looked up when it comes to that: tasks come and go.
    pub taken: Cpus,
    /// The group that the program joins.
    pub join: Option<Cpuset>,
}

/// Values of knobs that act on the machine itself, by name.
pub type Values = BTreeMap<&'static str, (&'static Knob, String)>;

/// The changes that values mean, in the order of application.
pub fn resolve(tree: &Tree, values: &Values) -> Result<Changes, SettingError> {
    let (_, online) = tree.cpus();
    let mut state = Resolving { tree, online, isolated: Cpus::new(), changes: Changes::default() };
    let mut ordered: Vec<&(&'static Knob, String)> = values.values().collect();
    ordered.sort_by_key(|(knob, _)| (knob.order, knob.name));
    if let Some((_, value)) = values.get("isolation") {
        state.isolated = state.core(value);
    } else {
        // Kept free since the boot: what goes away from the program goes away from there.
        state.isolated = tree.isolated();
    }
    for (knob, value) in ordered {
        state.add(knob, value).map_err(|reason| SettingError::Unsupported { name: knob.name, reason })?;
    }
    Ok(state.changes)
}

struct Resolving<'a> {
    tree: &'a Tree,
    /// CPUs that will be online when the knob at hand is set.
    online: Cpus,
    isolated: Cpus,
    changes: Changes,
}

impl Resolving<'_> {
    fn add(&mut self, knob: &'static Knob, value: &str) -> Result<(), String> {
        // What the machine lacks is said in the same words as in the list of knobs.
        state::state(self.tree, knob)?;
        match knob.act {
            Act::Process | Act::BeforeRun => {}
            Act::File(files) => {
                if let Some((path, form)) = files.iter().find(|(path, _)| self.tree.exists(path)) {
                    self.choice(path, &form.spelled(value))?;
                    self.file(knob, path, form.spelled(value));
                }
            }
            Act::EachCpu(file, form) => {
                if let Domain::Listed(path) = knob.domain {
                    self.listed(path, value)?;
                }
                for path in self.each_online(file) {
                    self.file(knob, &path, form.spelled(value));
                }
                if knob.name == "governor" {
                    // The performance governor takes this over while it is on.
                    let preference = self.each_online("cpufreq/energy_performance_preference");
                    self.watch(preference.into_iter().map(|path| Place::File { path }));
                }
            }
            Act::FrequencyFloor => {
                for path in self.each_online("cpufreq/scaling_min_freq") {
                    let wanted =
                        if value == "max" { highest(self.tree, &path) } else { Some(value.to_owned()) };
                    let wanted =
                        wanted.ok_or_else(|| format!("there is no cpuinfo_max_freq beside {path}"))?;
                    self.file(knob, &path, wanted);
                }
            }
            Act::Smt => self.smt(knob, value),
            Act::OnlineCpus => self.online(knob, value)?,
            Act::Swap => {
                for (area, _) in swap::areas(self.tree).map_err(|error| error.to_string())? {
                    if value == swap::OFF {
                        // A file that was deleted while it is on, or is in another mount namespace.
                        if !self.tree.exists(&area) {
                            return Err(format!(
                                "the swap area {area} has no file of that name any more, so it could not be switched \
                                 on again"
                            ));
                        }
                        self.push(knob, Place::Swap { area }, swap::OFF);
                    }
                }
            }
            Act::Isolation => self.isolation(knob)?,
            Act::Interrupts => self.interrupts(knob, value)?,
            Act::Latency => self.push(knob, Place::Latency, value),
            Act::Services => {
                let wanted = if value == "pause" { STOPPED } else { RUNNING };
                for place in rivals(self.tree) {
                    self.push(knob, place, wanted);
                }
            }
            Act::Boot(_) => {
                return Err("it is set at boot, and this host does not reboot during a study".to_owned())
            }
        }
        Ok(())
    }

    fn push(&mut self, knob: &'static Knob, place: Place, value: &str) {
        self.changes.writes.push(Change { knob: knob.name, place, value: value.to_owned(), required: true });
    }

    fn file(&mut self, knob: &'static Knob, path: &str, value: String) {
        self.push(knob, Place::File { path: path.to_owned() }, &value);
    }

    fn watch(&mut self, places: impl IntoIterator<Item = Place>) {
        for place in places {
            if !self.changes.watched.contains(&place) {
                self.changes.watched.push(place);
            }
        }
    }

    /// CPUs go offline.
    fn take(&mut self, gone: &Cpus) {
        self.watch(affected(self.tree, gone));
        self.changes.taken.extend(gone);
    }

    /// Files that list their choices in brackets take no others.
    fn choice(&self, path: &str, value: &str) -> Result<(), String> {
        let text = self.tree.read(path).unwrap_or_default();
        let words: Vec<&str> =
            text.split_ascii_whitespace().map(|word| word.trim_matches(['[', ']'])).collect();
        if chosen(&text) == text || words.contains(&value) {
            return Ok(());
        }
        Err(format!("{path} knows only {}", words.join(", ")))
    }

    fn listed(&self, path: &str, value: &str) -> Result<(), String> {
        let text = self.tree.read(path).unwrap_or_default();
        let known: Vec<&str> = text.split_ascii_whitespace().collect();
        match known.is_empty() || known.contains(&value) {
            true => Ok(()),
            false => Err(format!("this machine has no {value:?}, only {}", known.join(", "))),
        }
    }

    fn each_online(&self, file: &str) -> Vec<String> {
        let online = |cpu: &u32| self.online.contains(cpu);
        let paths = self.tree.numbered(CPU, "cpu").into_iter().filter(online);
        paths.map(|cpu| format!("{CPU}/cpu{cpu}/{file}")).filter(|path| self.tree.exists(path)).collect()
    }

    fn core(&self, value: &str) -> Cpus {
        let wanted = self.tree.core(value);
        wanted.intersection(&self.online).copied().collect()
    }

    fn smt(&mut self, knob: &'static Knob, value: &str) {
        // Switching it on brings every sibling online, also those that somebody had taken offline.
        let (present, _) = self.tree.cpus();
        let switches = hotplug(self.tree, &present);
        self.watch(switches.iter().map(|cpu| Place::File { path: format!("{CPU}/cpu{cpu}/online") }));
        if value == "off" {
            // The first thread of every core stays.
            let siblings = |cpu: &u32| {
                let text = self.tree.read(&format!("{CPU}/cpu{cpu}/topology/thread_siblings_list")).ok()?;
                cpus::parse(&text)?.first().copied()
            };
            let kept: Cpus = self
                .online
                .iter()
                .copied()
                .filter(|cpu| siblings(cpu).is_none_or(|first| first == *cpu))
                .collect();
            let gone = self.online.difference(&kept).copied().collect();
            self.take(&gone);
            self.online = kept;
        }
        self.file(knob, &format!("{CPU}/smt/control"), value.to_owned());
    }

    fn online(&mut self, knob: &'static Knob, value: &str) -> Result<(), String> {
        let (present, _) = self.tree.cpus();
        let kept = match value {
            "all" => present.clone(),
            "first" => present.first().copied().into_iter().collect(),
            list => cpus::parse(list).unwrap_or_default(),
        };
        if kept.intersection(&present).next().is_none() {
            return Err(format!(
                "none of the CPUs {value} is present: this machine has {}",
                cpus::list(&present)
            ));
        }
        let switchable = hotplug(self.tree, &present);
        let gone: Cpus = switchable.difference(&kept).copied().collect();
        self.take(&gone);
        let (_, before) = self.tree.cpus();
        let no_siblings = before != self.online || state::smt(self.tree).is_some_and(|smt| smt == "off");
        for cpu in switchable {
            let wanted = if kept.contains(&cpu) { "1" } else { "0" };
            // With SMT off a sibling cannot come online: one that goes with it is not asked to, and which of the others
            // are siblings cannot be seen.
            if wanted == "1" && before.contains(&cpu) && !self.online.contains(&cpu) {
                continue;
            }
            self.changes.writes.push(Change {
                knob: knob.name,
                place: Place::File { path: format!("{CPU}/cpu{cpu}/online") },
                value: wanted.to_owned(),
                required: wanted == "0" || before.contains(&cpu) || !no_siblings,
            });
            if wanted == "1" && !no_siblings {
                self.online.insert(cpu);
            }
        }
        self.online = self.online.difference(&gone).copied().collect();
        Ok(())
    }

    /// Everywhere but on the isolated CPUs (now or since the boot) or, without any, on the first core.
    fn away(&self) -> Result<Cpus, String> {
        let kept = if self.isolated.is_empty() { self.tree.first_core() } else { self.isolated.clone() };
        let away: Cpus = self.online.difference(&kept).copied().collect();
        match away.is_empty() {
            true => Err(format!("no CPU is online besides {}", cpus::list(&kept))),
            false => Ok(away),
        }
    }

    fn interrupts(&mut self, knob: &'static Knob, value: &str) -> Result<(), String> {
        let wanted = match value {
            "away" => self.away()?,
            "all" => self.online.clone(),
            list => cpus::parse(list).unwrap_or_default(),
        };
        if wanted.intersection(&self.online).next().is_none() {
            return Err(format!("none of the CPUs {value} is online"));
        }
        let mask = cpus::mask(&wanted);
        self.push(knob, Place::Mask { path: interrupt_default(knob).to_owned() }, &mask);
        if knob.name == "irq_affinity" {
            for irq in interrupt_files(self.tree) {
                let place = Place::Mask { path: irq };
                self.changes.writes.push(Change {
                    knob: knob.name,
                    place,
                    value: mask.clone(),
                    required: false,
                });
            }
        }
        Ok(())
    }

    fn isolation(&mut self, knob: &'static Knob) -> Result<(), String> {
        let version = cpuset::version(self.tree)?;
        let root = cpuset::hierarchy(version);
        let rest: Cpus = self.online.difference(&self.isolated).copied().collect();
        if self.isolated.is_empty() || rest.is_empty() {
            return Err(format!(
                "of the CPUs {} none would be left for the others",
                cpus::list(&self.online)
            ));
        }
        let file = if version == 2 { "cpuset.mems.effective" } else { "cpuset.mems" };
        let mems = self.tree.read(&format!("{root}/{file}")).ok().filter(|text| !text.is_empty());
        let set = |name: &str, cpus: &Cpus, gather| Cpuset {
            path: format!("{root}/{name}"),
            version,
            cpus: cpus::list(cpus),
            mems: mems.clone().unwrap_or("0".to_owned()),
            gather,
        };
        let own = set("becalm-isolated", &self.isolated, false);
        // On v1 every task is moved, and leaves its own CPUs behind.
        self.changes.taken.extend(if version == 1 { &self.online } else { &self.isolated });
        if version == 2 {
            let control = format!("{root}/cgroup.subtree_control");
            let on = self.tree.read(&control).unwrap_or_default();
            if !on.split_ascii_whitespace().any(|name| name == "cpuset") {
                self.push(knob, Place::Controller { path: control }, "on");
            }
            self.push(knob, Place::Cpuset(own.clone()), cpuset::PRESENT);
        } else {
            // Children may not have what their parent lacks: the deepest first.
            for (path, held) in cpuset::others(self.tree).into_iter().rev() {
                let left: Cpus = held.difference(&self.isolated).copied().collect();
                if left != held && !left.is_empty() {
                    self.file(knob, &path, cpus::list(&left));
                }
            }
            self.push(knob, Place::Cpuset(set("becalm-rest", &rest, true)), cpuset::PRESENT);
            self.push(knob, Place::Cpuset(own.clone()), cpuset::PRESENT);
            // Each set becomes a scheduling domain of its own.
            self.file(knob, &format!("{root}/cpuset.sched_load_balance"), "0".to_owned());
        }
        self.changes.join = Some(own);
        Ok(())
    }
}
