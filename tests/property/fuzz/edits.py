"""Edited documents: any value replaced, removed, doubled or nested, any text cut and spliced."""

import copy
import json

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from tests.samples import samples


def examples(usual: int, long: int) -> settings:
    """Return the settings of a test that tries `usual` inputs, or `long` in the long profile."""
    return settings(
        max_examples=samples(usual, long),
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )


ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([0, -1, 1, 2**31, 2**63 - 1, 2**63, -(2**63) - 1, 2**64, 10**400, 0.5, -0.0, 1e308, 1e-320]),
    st.sampled_from([float("nan"), float("inf"), float("-inf")]),
    st.sampled_from(["", "x", "0", "None", "\x1b[31m", "<script>", "\0", "\ud800", "../../x", "a" * 300, "é\u202e"]),
    st.sampled_from([[], {}, [[]], {"a": {}}, [None], [0, 0]]),
    st.text(max_size=8),
    st.integers(),
    st.floats(),
)
"""Values that no program would write there."""


def places(value, path=()):
    """Yield the paths of all values in a JSON value, itself included."""
    yield path
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in below:
        yield from places(part, (*path, key))


@st.composite
def edited(draw, value):
    """Draw a JSON value with one to three edits."""
    changed = copy.deepcopy(value)
    for _ in range(draw(st.integers(1, 3))):
        paths = list(places(changed))
        path = paths[draw(st.integers(0, len(paths) - 1))]
        if not path:
            continue
        holder = changed
        for key in path[:-1]:
            holder = holder[key]
        match draw(st.sampled_from(["replace", "replace", "remove", "double", "nest", "swap"])):
            case "replace":
                holder[path[-1]] = copy.deepcopy(draw(ODD))
            case "remove":
                del holder[path[-1]]
            case "double" if isinstance(holder, list):
                holder.append(copy.deepcopy(holder[path[-1]]))
            case "nest":
                holder[path[-1]] = [holder[path[-1]]]
            case _:
                other = paths[draw(st.integers(0, len(paths) - 1))]
                part = value
                try:
                    for key in other:
                        part = part[key]
                except (KeyError, IndexError, TypeError):
                    continue
                holder[path[-1]] = copy.deepcopy(part)
    return changed


@st.composite
def damaged(draw, text):
    """Draw a text of which pieces are cut out, doubled or replaced."""
    for _ in range(draw(st.integers(1, 4))):
        begin = draw(st.integers(0, len(text)))
        end = min(len(text), begin + draw(st.integers(0, 40)))
        piece = draw(
            st.one_of(st.text(max_size=6), st.just(text[begin:end] * 2), st.sampled_from(["[" * 3000, "9" * 400]))
        )
        text = text[:begin] + piece + text[end:]
    return text


def as_text(value):
    """Return JSON as Python writes it: NaN and lone surrogates, too."""
    return json.dumps(value)
