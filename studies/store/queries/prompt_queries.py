"""Prompts of a study, in the versions that its calls were planned with."""

from typing import Any

from studies.store.rows import STUDY_ID
from studies.store.store_file import StoreFile


class PromptQueries(StoreFile):
    def prompt_yaml(self, sha: str) -> str | None:
        """Return the YAML of the prompt version with this hash; None if it is not stored."""
        row = self.read("SELECT yaml FROM prompts WHERE sha=?", (sha,)).fetchone()
        return row[0] if row else None

    def planned_prompt_yaml(self, study: str, prompt: str) -> str | None:
        """Return the YAML of a prompt in the version that a study's calls were planned with; None
        if the study has no calls with this prompt."""
        row = self.read(
            "SELECT yaml FROM prompts WHERE name=? AND sha IN (SELECT r.prompt_sha FROM plan p "
            f"JOIN requests r USING(key) WHERE p.study={STUDY_ID} AND p.prompt=? LIMIT 1)",
            (prompt, study, prompt),
        ).fetchone()
        return row[0] if row else None

    def yaml_of_only_version(self, study: str, name: str) -> str | None:
        """Return the YAML of the prompt `name` if the whole store has exactly one version of it,
        else None. It is for recorded verdicts, which do not state the version. `study` has
        no effect here; in `VisitorStore` it decides whether the visitor may read the prompt."""
        rows = self.read("SELECT yaml FROM prompts WHERE name=? LIMIT 2", (name,)).fetchall()
        return rows[0][0] if len(rows) == 1 else None

    def planned_prompt_texts(self, study: str) -> list[str]:
        """Return the YAML of all prompts that the study's calls use, in the order of the plan."""
        rows = self.read(
            "SELECT t.yaml FROM prompts t JOIN (SELECT r.prompt_sha, min(p.position) AS place "
            "FROM plan p JOIN requests r USING(key) WHERE p.origin='live' AND "
            f"p.study={STUDY_ID} GROUP BY 1) ON sha=prompt_sha ORDER BY place",
            (study,),
        )
        return [text for (text,) in rows]

    def scale_of_prompt(self, study: str, prompt: str) -> tuple[str, ...]:
        """Return the options that a prompt declares, from the lowest to the highest; empty if it
        declares none or the store does not have its text."""
        return scale_in_prompt_yaml(self._used_yaml(study, prompt))

    def prompts_with_reference(self, study: str) -> frozenset[str]:
        """Return the names of the prompts of a study's calls that show a reference answer."""
        rows = self.read(f"SELECT DISTINCT prompt FROM plan WHERE study={STUDY_ID}", (study,))
        names = [name for (name,) in rows]
        return frozenset(one for one in names if "$reference" in self._used_yaml(study, one))

    def _used_yaml(self, study: str, prompt: str) -> str:
        planned = self.planned_prompt_yaml(study, prompt)
        return planned or self.yaml_of_only_version(study, prompt) or ""


def scale_in_prompt_yaml(text: str) -> tuple[str, ...]:
    """Return the options in the key `scale` of a prompt's YAML; empty for invalid YAML or without a
    list in this key."""
    import yaml  # not needed to measure a table

    from studies.spec.yaml_text import BoundedYamlLoader

    try:
        read: Any = yaml.load(text, BoundedYamlLoader)
    except yaml.YAMLError:
        return ()
    scale = read.get("scale") if isinstance(read, dict) else None
    return tuple(str(option) for option in scale) if isinstance(scale, list) else ()
