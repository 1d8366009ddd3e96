#!/usr/bin/env bash
# Someone with two laptops and a folder that both can see.
set -eu

mkdir "$HOME/Dropbox"

# Each laptop has a store of its own.
office() { MEMGLOT_STORE="$HOME/office.db" memglot "$@"; }
home() { MEMGLOT_STORE="$HOME/home.db" memglot "$@"; }

office add "Retries run in the worker, not in the web process" --tag decision
office sync ~/Dropbox

home add "The staging database is reset every Monday" --tag ops
home sync ~/Dropbox | tee found
grep -q "received 1 new" found
grep -q "sent 1 new" found
home list | tee found
grep -q "Retries run in the worker" found
grep -q "staging database" found

# Back in the office, the other half arrives, and nothing is left to send.
office sync ~/Dropbox | tee found
grep -q "received 1 new" found
grep -q "sent nothing" found
office list | grep -q "staging database"

# An export would replace what the other laptop wrote; sync merges it.
home add "Standups are at ten" --tag ops
home sync ~/Dropbox
if office sync export --out="$HOME/Dropbox/memories.json" 2> refused; then exit 1; fi
grep -q "contains 1 memory or edit that this store has not seen" refused
grep -q "memglot sync" refused
office sync ~/Dropbox
office list | grep -q "Standups"

# Syncing again writes nothing, so the folder has nothing to upload.
before="$(ls -l --time-style=full-iso "$HOME/Dropbox/memories.json")"
office sync ~/Dropbox
home sync ~/Dropbox
test "$before" = "$(ls -l --time-style=full-iso "$HOME/Dropbox/memories.json")"
