"""Sentences about a survey of many machines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from becalm.units import join_names
from becalm.wording.numbers import counted, percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from becalm.results.survey import Outlier, SurveyResult


def named(outlier: Outlier) -> str:
    """Return the sentence about one machine that differs from its peers."""
    low, high = outlier.size.low, outlier.size.high
    than = f"than its {counted(outlier.peers, 'peer')} at {outlier.work}"
    if outlier.how == "slower":
        half = (high - low) / 2
        ends = f"{percent(low, half)} to {percent(high, half)} %"
        return f"{outlier.host} is {percent(outlier.size.value, half)} % slower ({ends}) {than}."
    return (
        f"{outlier.host} varies {outlier.size.value:.2g} times as much ({low:.2g} to {high:.2g}) "
        f"as its {counted(outlier.peers, 'peer')} at {outlier.work}."
    )


def busy(host: str, share: float) -> str:
    """Return the sentence about other load on a surveyed machine."""
    return (
        f"{host} was not idle: the work waited {percent(share)} % of its time for a CPU. Its result includes the "
        "effect of that load."
    )


def few(kind: str, count: int, least: int) -> str:
    """Return the sentence about too few machines of a kind."""
    return (
        f"{kind}: {counted(count, 'machine')} of that kind {'is' if count == 1 else 'are'} too few to tell an outlier "
        f"from usual differences; it takes {least}. They are listed, and none of them is flagged."
    )


def surveyed(result: SurveyResult, short: Sequence[str] = ()) -> str:
    """Return all sentences, one per line. `short`: machines that were interrupted during their loops."""
    judged = {row.host for row in result.rows if row.slower_q is not None}
    lines = [outlier.sentence for outlier in result.named]
    share = percent(result.rate, 0.1)
    if judged:
        odd = len({outlier.host for outlier in result.named})
        rest = f"at most {share} % of such statements are wrong on average" if result.named else "none is an outlier"
        lines.append(
            f"{odd} of {counted(len(judged), 'machine')} flagged as slower or noisier than their peers; {rest}."
        )
    if result.lost:
        lines.append(f"{counted(len(result.lost), 'machine')} returned no result: {join_names(result.lost)}.")
    if result.interrupted or short:
        fewer = f"; {join_names(short)} gave fewer loops than requested" if short else ""
        lines.append(f"Interrupted; the result is of what was measured until then{fewer}.")
    if not judged:
        hosts = {row.host for row in result.rows}
        lines.insert(0, f"{counted(len(hosts), 'machine')} measured, too few of a kind to flag an outlier.")
    return "\n".join(lines)
