//! The kind of machine: a physical one, a guest among others, or a container.

use serde_json::{json, Value};

use super::read::{field, Known, Machine, Subject};
use super::system;

const DMI: &str = "sys/class/dmi/id";

/// The DMI names of machines that exist only as guests (systemd, src/basic/virt.c).
const DMI_NAMES: &[(&str, &str)] = &[
    ("KVM", "KVM"),
    ("QEMU", "QEMU"),
    ("OpenStack", "KVM"),
    ("Google Compute Engine", "KVM"),
    ("VMware", "VMware"),
    ("VMW", "VMware"),
    ("innotek GmbH", "VirtualBox"),
    ("VirtualBox", "VirtualBox"),
    ("Xen", "Xen"),
    ("Bochs", "Bochs"),
    ("Parallels", "Parallels"),
    ("BHYVE", "bhyve"),
    ("Hyper-V", "Hyper-V"),
    ("Apple Virtualization", "Apple Virtualization"),
];

/// The signatures in CPUID leaf 0x40000000.
const SIGNATURES: &[(&str, &str)] = &[
    ("KVMKVMKVM", "KVM"),
    ("Linux KVM Hv", "KVM"),
    ("TCGTCGTCGTCG", "QEMU (software emulation)"),
    ("VMwareVMware", "VMware"),
    ("Microsoft Hv", "Hyper-V"),
    ("XenVMMXenVMM", "Xen"),
    ("bhyve bhyve ", "bhyve"),
    ("VBoxVBoxVBox", "VirtualBox"),
];

/// Collect whether it is a guest, of which hypervisor, and in which container.
pub fn collect(machine: &Machine) -> Value {
    let mut facts = Subject::default();
    let vendor = machine.line(&format!("{DMI}/sys_vendor"));
    let product = machine.line(&format!("{DMI}/product_name"));
    let name = hypervisor(machine, &vendor, &product);
    facts.put("guest", guest(machine, &name));
    facts.put("hypervisor", name);
    facts.put("system_vendor", vendor);
    facts.put("product", product);
    facts.put("container", Ok(container(machine)));
    facts.put("windows_subsystem", windows(machine));
    facts.finish()
}

fn guest(machine: &Machine, name: &Known<String>) -> Known<bool> {
    if name.is_ok() {
        return Ok(true);
    }
    let info = machine.text("proc/cpuinfo")?;
    match field(&info, "flags") {
        Some(flags) => Ok(flags.split_whitespace().any(|flag| flag == "hypervisor")),
        None => Err("this kind of processor has no hypervisor flag, and nothing else shows it".to_owned()),
    }
}

fn hypervisor(machine: &Machine, vendor: &Known<String>, product: &Known<String>) -> Known<String> {
    if let Ok(kind) = machine.line("sys/hypervisor/type") {
        // Xen's first domain counts, too: it shares the processor with the others.
        return Ok(if kind == "xen" { "Xen".to_owned() } else { kind });
    }
    let signature = if machine.live { system::hypervisor_signature() } else { Err(String::new()) };
    if let Ok(signature) = &signature {
        let known = SIGNATURES.iter().find(|(text, _)| signature.trim() == text.trim());
        return Ok(known.map_or_else(|| signature.clone(), |(_, name)| (*name).to_owned()));
    }
    let says =
        |text: &str| [vendor, product].iter().any(|dmi| dmi.as_ref().is_ok_and(|dmi| dmi.starts_with(text)));
    if let Some((_, name)) = DMI_NAMES.iter().find(|(text, _)| says(text)) {
        return Ok((*name).to_owned());
    }
    // Amazon's own hardware has the same vendor; its types end in ".metal" or ".metal-24xl".
    if says("Amazon EC2") && product.as_ref().is_ok_and(|product| !product.contains(".metal")) {
        return Ok("KVM".to_owned());
    }
    let hyper_v = says("Microsoft Corporation")
        && product.as_ref().is_ok_and(|product| product.starts_with("Virtual Machine"));
    if hyper_v {
        return Ok("Hyper-V".to_owned());
    }
    let clocks =
        machine.line("sys/devices/system/clocksource/clocksource0/available_clocksource").unwrap_or_default();
    let by_clock = [("kvm-clock", "KVM"), ("hyperv_clocksource", "Hyper-V"), ("xen", "Xen")];
    if let Some((_, name)) =
        by_clock.iter().find(|(clock, _)| clocks.split(' ').any(|word| word.starts_with(clock)))
    {
        return Ok((*name).to_owned());
    }
    Err(match signature {
        Err(reason) if !reason.is_empty() => reason,
        _ => "neither DMI, /sys/hypervisor nor the clocksources name one".to_owned(),
    })
}

/// The namespaces that every container runtime creates, with the inode numbers of the first ones, which are
/// fixed (Linux, include/linux/proc_ns.h).
const FIRST_NAMESPACES: &[&str] = &["pid:[4026531836]", "uts:[4026531838]", "ipc:[4026531839]"];

/// Return the kind of container and the evidence; null if there is none.
fn container(machine: &Machine) -> Value {
    if FIRST_NAMESPACES.iter().all(|first| in_namespace(machine, first)) {
        // A virtual machine's image made from a container's still has the marks of a container.
        return Value::Null;
    }
    let found = |kind: &str, by: &str| json!({"kind": kind, "evidence": by});
    for (path, kind) in
        [(".dockerenv", "Docker"), ("run/.containerenv", "Podman"), ("run/systemd/container", "systemd")]
    {
        if machine.exists(path) {
            return found(kind, &format!("/{path}"));
        }
    }
    let group = machine.text("proc/self/cgroup").unwrap_or_default();
    for (word, kind) in
        [("kubepods", "Kubernetes"), ("docker", "Docker"), ("libpod", "Podman"), ("lxc", "LXC")]
    {
        if group.split(['/', ':', '-', '.']).any(|part| part == word) {
            return found(kind, "/proc/self/cgroup");
        }
    }
    Value::Null
}

fn in_namespace(machine: &Machine, wanted: &str) -> bool {
    let kind = wanted.split(':').next().unwrap_or_default();
    let link = std::fs::read_link(machine.path(&format!("proc/self/ns/{kind}")));
    link.is_ok_and(|target| target.as_os_str() == wanted)
}

fn windows(machine: &Machine) -> Known<bool> {
    Ok(machine.line("proc/sys/kernel/osrelease")?.to_lowercase().contains("microsoft"))
}
