#!/bin/sh
# Makes studies of the recorded demo anew. Run from the checkout: make demo [STUDIES="second options single twins"]
set -eu
python=${1:-.venv/bin/python}
studies=${2:-pairs}
store=${3:-build/demo.db}
cat <<'HOW'
How the demo was recorded (details: assets/demo/README.md):
  pairs                    SmolLM2-135M-Instruct, Q8_0, Apache-2.0, the embedded judge of this machine;
                           temperature 0; 15 November 2026
  second, options, single, twins  Qwen2.5-Coder-1.5B-Instruct, q4_k_m, Apache-2.0, weights of SHA-256 cc324af0…;
                           Batch files answered on a GPU on 17 November 2026: one token with its
                           probabilities (second, twins), temperature 0.7 and 400 tokens (options, single)
The last four ask an OpenAI-compatible server with these weights at http://127.0.0.1:8000/v1.
HOW
mkdir -p "$(dirname "$store")"
for study in $studies; do
    echo "Recording $study"
    "$python" -m judges run "assets/demo/$study.yaml" --store "$store"
    name=$(sed -n 's/^name: //p' "assets/demo/$study.yaml")
    "$python" -m studies export "$name" --store "$store" | gzip -9 -n > "assets/demo/$study.jsonl.gz"
done
