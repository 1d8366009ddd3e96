#!/usr/bin/env bash
# Someone with two laptops and a folder that both can see.
set -eu

shared="$HOME/shared"
mkdir "$shared"

# Each laptop has a store of its own.
office() { MEMGLOT_STORE="$HOME/office.db" memglot "$@"; }
home() { MEMGLOT_STORE="$HOME/home.db" memglot "$@"; }

office add "Retries run in the worker, not in the web process" --tag decision
office sync export --out="$shared/memories.json"

home add "The staging database is reset every Monday" --tag ops
home sync import --from="$shared/memories.json"
home list | tee found
grep -q "Retries run in the worker" found
grep -q "staging database" found
