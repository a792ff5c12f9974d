"""Heading of the form: the question of the study."""

from __future__ import annotations

from components.study.file.lenient_study import LenientStudy, judge_name
from studies.files.upload_names import original_name


def study_question(study: LenientStudy) -> str:
    """The question that the study answers, worded for its numbers of judges and prompts."""
    where = data_name(study)
    judges = [judge_name(judge) for judge in study.judges]
    if len(judges) > 1:
        return f"Which judge is even-handed on {where}?"
    if len(study.prompts) > 1 and judges:
        return f"Which prompt makes {judges[0]} even-handed on {where}?"
    return f"Is {judges[0]} even-handed on {where}?" if judges else f"No judge selected for {where}"


def data_name(study: LenientStudy) -> str:
    source = study.source
    if source == "probe":
        return "the probe set"
    if source.startswith("hub:"):
        return source[4:].partition("@")[0]
    return original_name(source)
