#!/usr/bin/env bash
# The tour of `make demo`: shows and runs each command in a folder of its own.
set -euo pipefail
examples="$(cd "$(dirname "$0")" && pwd)"
demo="$examples/../demo"
rm -rf "$demo"
mkdir "$demo"
cp -r "$examples" "$demo/examples"
cd "$demo"
export MEMGLOT_STORE=memories.db

show() {
    printf '\n$ %s\n' "$*"
    "$@"
}

may_fail() {
    local expected="$1" status=0
    shift
    show "$@" || status=$?
    printf '(exit status %s)\n' "$status"
    [ "$status" -eq "$expected" ]
}

may_fail 1 memglot import examples/agent-notes.ndjson examples/decisions.yaml examples/notes
show memglot search "deploys friday"
show memglot search 清空缓存
show memglot tree
show memglot export vault --format markdown
show memglot verify vault
show memglot convert vault notes.yaml --report
show memglot export memories.ndjson
show memglot verify memories.ndjson
head -n 2 memories.ndjson > cut.ndjson
may_fail 1 memglot verify cut.ndjson
show memglot import vault
show memglot sync memories.json
show memglot --store laptop.db sync memories.json
show memglot sync diff-with-remote --from=memories.json
show memglot diff memories.db laptop.db
show memglot mcp tools
HOME="$PWD/home" show memglot mcp install cursor --dry-run
show memglot doctor
show memglot stats

export MEMORY_HOME="$PWD/home"
mkdir shop
cd shop
git init -q -b main
show memglot repo init --no-agent-guidance
show memglot repo save --stdin < ../examples/project-memory.json
show memglot repo query "who sends failed webhooks again?"
show memglot repo status
show memglot --store ../memories.db import .
printf '\nAll files are in %s\n' "demo/"
