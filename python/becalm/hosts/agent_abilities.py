"""The abilities of machines that are reached through an agent, and the reasons for those that are missing."""

from __future__ import annotations

from becalm.hosts.abilities import YES, Ability, Can

NO_RIGHTS = Can(False, "they need root", "with --sudo they can be changed")
AT_BOOT = Can(False, "set at boot: this host does not reboot during a study")
NO_WAY_BACK = Can(
    False, "a conversation ends with its agent", "finished runs are stored; continue a search with becalm tune --resume"
)

EMULATED = Can(
    False,
    "its processor is emulated",
    "a virtual machine that is started with KVM runs on the processor itself",
)
EMULATOR = "QEMU (software emulation)"
"""The name in the facts of QEMU's emulation, known by its signature (CPUID leaf 0x40000000, TCGTCGTCGTCG); KVM has
another one. Processors other than x86 have no such signature, so emulation is not detected there."""

ABLE = {
    **dict.fromkeys(Ability, YES),
    Ability.REBOOT: AT_BOOT,
    Ability.RECONNECT: NO_WAY_BACK,
}
"""The abilities of any machine whose agent has the necessary rights."""
