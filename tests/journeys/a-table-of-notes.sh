#!/usr/bin/env bash
# A data person: notes in a spreadsheet and in an application's database become memories, once.
set -eu

memglot import notes.csv --map auto --yes
memglot search queue | grep -q "Redis"
memglot tags | grep -q "infra"

memglot import app.json --map content=message.text,created_at=ts,tags=labels
memglot list --since 2024-05 --until 2024-06 | grep -q "Friday"

# The next export of the same spreadsheet adds only what is new.
echo '"Invoices go out on Mondays",office,2024-07-01,4' >> notes.csv
memglot import notes.csv --map auto --yes | grep -q "imported 1, merged 0, skipped 3"

memglot update --where "tag:infra" --add-tag reviewed --yes
memglot export out.csv --tag reviewed
grep -q "Redis" out.csv
