"""Comparisons on which a remedy earns another credit (1 if right, ½ if undecided, 0 if wrong) than
the rule "one call" (the verdict of a single call of the judge)."""

import numpy as np
import pandas as pd

from metrics.estimation import row_selection
from metrics.remedies import remedy_study, rule_sets, rule_table
from studies.spec.combine_rules import JUDGE_SEPARATOR


def rule_key(rule: rule_sets.Rule) -> str:
    """Return the text that identifies a rule in a page address and under `combine` in a study file:
    the rule's id and, for a jury (several judges that decide together), the judges."""
    judges = [judge for judge, _ in rule.members]
    return JUDGE_SEPARATOR.join([rule.id, *judges]) if len(judges) > 1 else rule.id


def rows_changed_by_rule_mask(
    frame: pd.DataFrame, judge: str, prompt: str, key: str
) -> row_selection.Mask:
    """Mask of the judge's rows on comparisons for which a rule's credit differs from that of the
    rule "one call".

    `key` identifies the rule (`rule_key`), one of those shown for this judge and prompt. An empty
    prompt means the judge's first prompt. With an unknown judge or rule no row is selected.
    """
    nothing = np.zeros(len(frame), bool)
    study = remedy_study.build_remedy_study(frame)
    rater = study.rater_index(judge, prompt)
    if rater is None or not study.grid.size:
        return nothing
    rules = study.rules_shown_for_rater(rater)
    rule = next((one for one in rules if rule_key(one) == key), None)
    if rule is None:
        return nothing
    known_winner = study.grid.known_winner
    gap = np.abs(rule.decisions.credit(known_winner) - rules[0].decisions.credit(known_winner))
    case, cases = row_selection.group_codes(frame, ("item", "comparison"))
    changed = np.zeros(cases, bool)
    changed[case[study.grid.row[gap > rule_table.SAME_CREDIT]]] = True
    own = (frame["judge"] == judge) & (frame["prompt"] == study.raters[rater][1])
    return np.asarray(changed[case] & own.to_numpy(), np.bool_)
