"""BibTeX entries of the papers behind the protocols and the ratings."""

from typing import Final

BIBTEX_ENTRIES: Final[dict[str, str]] = {
    "visit-bench": """@inproceedings{bitton2023visitbench,
  title     = {{VisIT-Bench}: A Benchmark for Vision-Language Instruction Following
               Inspired by Real-World Use},
  author    = {Bitton, Yonatan and Bansal, Hritik and Hessel, Jack and others},
  booktitle = {NeurIPS Datasets and Benchmarks},
  year      = {2023}
}""",
    "grade-score": """@article{iourovitski2024gradescore,
  title   = {Grade Score: Quantifying {LLM} Performance in Option Selection},
  author  = {Iourovitski, Dmitri},
  journal = {arXiv preprint},
  year    = {2024}
}""",
    "creation-mmbench": """@article{fang2025creationmmbench,
  title   = {{Creation-MMBench}: Assessing Context-Aware Creative Intelligence in {MLLM}},
  author  = {Fang, Xinyu and others},
  journal = {arXiv preprint},
  year    = {2025}
}""",
    "mt-bench": """@inproceedings{zheng2023judging,
  title     = {Judging {LLM}-as-a-Judge with {MT-Bench} and Chatbot Arena},
  author    = {Zheng, Lianmin and Chiang, Wei-Lin and Sheng, Ying and others},
  booktitle = {NeurIPS Datasets and Benchmarks},
  year      = {2023}
}""",
    "bradley-terry": """@article{bradley1952rank,
  title   = {Rank Analysis of Incomplete Block Designs: {I}. The Method of Paired Comparisons},
  author  = {Bradley, Ralph Allan and Terry, Milton E.},
  journal = {Biometrika},
  volume  = {39},
  number  = {3/4},
  pages   = {324--345},
  year    = {1952}
}""",
}


def bibtex(preset: str, *, pairs: bool) -> str:
    """BibTeX entries for a study: the paper of its preset, if there is one, and, with `pairs` (it
    compares pairs of answers), that of the Bradley–Terry model."""
    names = [preset] if preset in BIBTEX_ENTRIES else []
    names += ["bradley-terry"] if pairs else []
    return "\n\n".join(BIBTEX_ENTRIES[name] for name in names)
