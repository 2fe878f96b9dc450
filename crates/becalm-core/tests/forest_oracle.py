"""The answer of scikit-learn's isolation forest in the clear case of src/clock/filter/forest.rs, whose test checks it.

    pip install scikit-learn==1.9.1 && python crates/becalm-core/tests/forest_oracle.py

Random generators differ, so distributions of scores and decisions are compared, over ten seeds, and no digits.
"""

import numpy as np
from sklearn.ensemble import IsolationForest

index = np.arange(2000)


def part(step: float) -> np.ndarray:
    return (index * step) % 1


wall = 100 + 4 * part(0.618033988749895) + 4 * part(0.414213562373095)
odd = index % 200 == 100
wall = wall + np.where(odd, 300 + index / 4, 0)
rows = np.column_stack([1.5 * wall + part(0.732050807568877), wall])
scores = [IsolationForest(n_estimators=100, random_state=seed).fit(rows).score_samples(rows) for seed in range(10)]


def say(name: str, values: list[float]) -> None:
    print(f'        ("{name}", {np.mean(values):.4}),  // {min(values):.4} to {max(values):.4}')


say("mean of odd", [score[odd].mean() for score in scores])
say("highest of odd", [score[odd].max() for score in scores])
say("mean of plain", [score[~odd].mean() for score in scores])
for share in (0.01, 0.5, 0.99):
    say(f"{100 * share:.0f} % of plain", [np.sort(score[~odd])[int(1989 * share)] for score in scores])
print(f"// highest of the odd {max(score[odd].max() for score in scores):.4}")
print(f"// lowest of the plain {min(score[~odd].min() for score in scores):.4}")
