"""The result Calibration: costs of a simulated scheduler fitted to real runs, and their accuracy for other runs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from becalm.nouns.result import Documented
from becalm.results.simulate import NOT_MODELLED


class Costs(msgspec.Struct, frozen=True):
    """The fitted costs, ns: of a message written or read, a task woken, a switch between tasks."""

    message_ns: float
    wakeup_ns: float
    switch_ns: float

    @property
    def options(self) -> dict[str, int]:
        """The costs as options of a simulated host: whole ns, at least 1."""
        message, wakeup, switch = (
            max(1, round(cost_ns)) for cost_ns in (self.message_ns, self.wakeup_ns, self.switch_ns)
        )
        return {"write_ns": message, "read_ns": message, "wakeup_ns": wakeup, "switch_ns": switch}


COSTS = Costs.__struct_fields__
USUAL = Costs(1000.0, 1000.0, 2000.0)
"""The default costs of the model."""


class Size(msgspec.Struct, frozen=True):
    """Real and simulated runs with a number of groups, ns.

    - `error_ns`: the standard error of the real mean
    - `fitted`: whether the costs were fitted to it, so that it is not a prediction
    - `policy`: the policy of the tasks; batch tasks preempt nobody when they wake, so that the difference between the
      policies shows the cost of a switch
    """

    DERIVED = ("residual",)

    groups: int
    measured_ns: float
    error_ns: float
    simulated_ns: float
    fitted: bool
    policy: str = "other"
    simulated_error_ns: float = 0.0
    """Standard error of the simulated mean over its seeds."""

    @property
    def residual(self) -> float:
        """Simulated over measured, less 1."""
        return self.simulated_ns / self.measured_ns - 1

    @property
    def noise(self) -> float:
        """Standard error of the measured mean, relative."""
        return self.error_ns / self.measured_ns

    @property
    def beyond_noise(self) -> float:
        """The relative error of the simulation that two standard errors do not explain; at least 0."""
        error = math.hypot(self.noise, self.simulated_error_ns / self.measured_ns)
        return max(0.0, abs(self.residual) - 2 * error)


class Bootstrapped(msgspec.Struct, frozen=True):
    """Predictions of groups as programs measured as a whole (Anderson 2013, ch. 3): by the time of one group, and by
    `speed`, the speed of a group next to another over its speed alone. `times`: groups with the time, ns."""

    speed: float
    times: tuple[tuple[int, float], ...]
    r_squared: float | None
    adjusted: float | None

    def time(self, groups: int) -> float | None:
        """Return the predicted time of this number of groups, ns; None where it was not predicted."""
        return dict(self.times).get(groups)


FAILED, DOUBTFUL = 0.25, 0.1
"""The errors of fitted costs, as parts of the measured time, above which the costs are useless, and doubtful."""

DROWNED, NOISY = 0.3, 0.15
"""The relative standard errors of measured means from which a fit is impossible, and imprecise."""


class Calibration(Documented, frozen=True):
    """Costs fitted to a host. `simulator`: the simulated host with these costs. `loops`: messages of each pair.

    `r_squared`: of the line of real over simulated times, `adjusted` for its two coefficients; `possible`: the largest
    that the noise of the real means allows. R² is near 1 for anything that grows with the groups, so judge by `worst`,
    the largest residual of a prediction; None for three sizes or fewer.
    """

    KIND = "calibration"
    DERIVED = ("outcome", "worst", "not_modelled")

    host: str
    simulator: str
    loops: int
    costs: Costs
    sizes: tuple[Size, ...]
    r_squared: float | None
    possible: float | None
    not_reached: tuple[int, ...] = ()
    """The numbers of groups with fewer than two runs at the end of the budget."""
    adjusted: float | None = None
    bootstrapped: Bootstrapped | None = None
    """The predictions; None where one group was not measured."""
    not_modelled = NOT_MODELLED

    @property
    def fitted(self) -> Sequence[Size]:
        """The sizes to which the costs were fitted."""
        return [size for size in self.sizes if size.fitted]

    @property
    def outcome(self) -> str:
        """The verdict of the fitted sizes on the costs: "fits", "doubtful" or "failed"."""
        off = max((size.beyond_noise for size in self.fitted), default=math.inf)
        noise = max((size.noise for size in self.fitted), default=math.inf)
        if off > FAILED or noise > DROWNED:
            return "failed"
        return "doubtful" if off > DOUBTFUL or noise > NOISY else "fits"

    @property
    def exit_code(self) -> int:
        """The exit code: 0, or 5 where the costs do not even explain the runs to which they were fitted."""
        return 5 if self.outcome == "failed" else 0

    @property
    def predicted(self) -> Sequence[Size]:
        """The sizes to which nothing was fitted."""
        return [size for size in self.sizes if not size.fitted]

    @property
    def worst(self) -> float | None:
        """The largest residual of a prediction, without its sign; None where nothing was predicted."""
        return max((abs(size.residual) for size in self.predicted), default=None)
