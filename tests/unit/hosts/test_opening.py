"""Whether a host's times are those of a real processor: known of a guest once it has booted."""

import pytest

from becalm import hosts
from becalm.hosts.abilities import YES, Ability, Can


class Guest:
    """Finds out with its boot that /dev/kvm is there in vain."""

    def __init__(self, name, real):
        self.name, self._real, self.booted = name, real, False

    def facts(self):
        self.booted = True
        return {}

    def abilities(self):
        return {Ability.REAL_TIME: self._real if self.booted else YES}


@pytest.mark.parametrize(("real", "said"), [(Can(False, "no KVM"), "no KVM"), (YES, "")])
def test_a_guest_is_asked_when_it_has_booted(real, said):
    guest = Guest("guest:6.1", real)
    assert hosts.emulated(guest) == said


def test_no_other_machine_is_asked_for_it():
    other = Guest("ssh://far", Can(False, "no KVM"))
    assert (hosts.emulated(other), other.booted) == ("", False)
