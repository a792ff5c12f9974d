#!/bin/sh
# Makes the recorded demo anew: about an hour on two cores. Run from the checkout: make demo
set -eu
python=${1:-.venv/bin/python}
store=${2:-build/demo.db}
mkdir -p build
for study in pairs options remedies; do
    "$python" -m judges run "assets/demo/$study.yaml" --store "$store"
done
"$python" -m studies export "Probe set, embedded judge" --store "$store" > assets/demo/pairs.jsonl
"$python" -m studies export "Probe set, four options" --store "$store" > assets/demo/options.jsonl
"$python" -m studies export "Probe set, simulated judges" --store "$store" > assets/demo/remedies.jsonl
