"""Listeners of measurements that remember what they heard."""

from becalm.results.progress import Quiet


class Heard(Quiet):
    """A listener that keeps warnings, states of a search and the result."""

    def __init__(self):
        self.warnings, self.states, self.end = [], [], None

    def warned(self, sentence):
        self.warnings.append(sentence)

    def searching(self, state):
        self.states.append(state)

    def ended(self, verdict):
        self.end = verdict
