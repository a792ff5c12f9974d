#!/bin/sh
# Makes the recorded demo anew: one to two hours on two cores. Run from the checkout: make demo
# `second` fetches 1.1 GB of weights from the Hub the first time.
set -eu
python=${1:-.venv/bin/python}
store=${2:-build/demo.db}
mkdir -p build
for study in pairs options remedies second; do
    "$python" -m judges run "assets/demo/$study.yaml" --store "$store"
done
"$python" -m studies export "Probe set, embedded judge" --store "$store" > assets/demo/pairs.jsonl
"$python" -m studies export "Probe set, four options" --store "$store" > assets/demo/options.jsonl
"$python" -m studies export "Probe set, simulated judges" --store "$store" > assets/demo/remedies.jsonl
"$python" -m studies export "Probe set, Qwen 1.5B judge" --store "$store" > assets/demo/second.jsonl
