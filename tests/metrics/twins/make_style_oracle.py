"""Write `style_oracle.json`: comparisons with known styles, and the fit of statsmodels' logit.

    python -m venv /tmp/oracle && /tmp/oracle/bin/pip install statsmodels
    /tmp/oracle/bin/python tests/metrics/twins/make_style_oracle.py

It imports nothing of this project, so that the oracle is independent. statsmodels is not needed to
run the tests.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import statsmodels
import statsmodels.api as sm

ITEMS, SEED = 25, 5
STRENGTH, WEIGHTS = np.array([0.6, 0.2, -0.2, -0.6]), np.array([0.5, 0.2, -0.2, 0.0])


def main() -> None:
    rng = np.random.default_rng(SEED)
    counts = rng.integers(5, 60, (ITEMS, 4, 4))
    shown = [(k, a, b) for k in range(ITEMS) for a in range(4) for b in range(4) if a != b]
    item, first, second = np.array(shown).T
    one, two = counts[item, first], counts[item, second]
    gap = (one - two) / (one + two)
    style = gap / gap.std(axis=0)
    eta = STRENGTH[first] - STRENGTH[second] + style @ WEIGHTS
    won = (rng.random(len(eta)) < 1 / (1 + np.exp(-eta))).astype(int)
    models = np.eye(4)[first] - np.eye(4)[second]
    design = np.concatenate([models[:, 1:], style], axis=1)  # strengths minus that of m1
    clustered = sm.Logit(won, design).fit(
        disp=0, method="newton", tol=1e-12, cov_type="cluster",
        cov_kwds={"groups": item, "use_correction": False},
    )  # fmt: skip
    found = {
        "made_by": f"statsmodels {statsmodels.__version__}, Logit, clusters: items, no correction",
        "counts": counts.tolist(),
        "shown": "every ordered pair of m1 to m4, item by item",
        "first_wins": "".join(map(str, won)),
        "strengths_minus_m1": clustered.params[:3].tolist(),
        "weights": clustered.params[3:].tolist(),
        "errors": clustered.bse.tolist(),
    }
    path = Path(__file__).with_name("style_oracle.json")
    path.write_text(json.dumps(found, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
