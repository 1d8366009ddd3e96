#!/usr/bin/env bash
# A data person with a large table: look first, import, continue an import that stopped, and undo.
set -eu

# A table with its own column names. Yours has a million rows; this one has 3,000.
echo "ticket,text,labels,opened" > rows.csv
seq 3000 | sed 's/.*/&,Ticket &: the customer asks for a refund,refund,2024-05-01/' >> rows.csv

# See how the columns are read, and what an import would do. This writes nothing.
map="content=text,tags=labels,created_at=opened"
memglot import rows.csv --map "$map" --tree archive.tickets --dry-run | tee found
grep -q "3,\?000" found
test ! -e .local/share/memglot

# An import that stopped after the first third is continued by the same command: what is stored is skipped.
head -n 1001 rows.csv > third.csv
memglot import third.csv --map "$map" --tree archive.tickets --no-embed
memglot import rows.csv --map "$map" --tree archive.tickets --no-embed | tee found
grep -q "imported 2,\?000, merged 0, skipped 1,\?000, failed 0" found

# The memories are found by keyword at once, and by meaning as soon as they have vectors.
memglot search refund 2718 --tree archive --limit 1 | tee hits
grep -q "Ticket 2718" hits
memglot embed
memglot stats

# It was the wrong file: the import is undone, and the space is given back.
id=$(sed -n 's/^import \([^;]*\);.*/\1/p' found)
memglot undo "$id" | tee undone
grep -q "removed 2,\?000 memories" undone
memglot compact
memglot doctor
memglot list --tree archive --limit 1 | tee left
grep -q "Ticket" left
