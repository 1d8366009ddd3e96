#!/usr/bin/env bash
# Someone who runs memglot for a team: one shared file, private things that stay private, backups that are proved.
set -eu

mkdir shared backups
printf 'a passphrase that the team knows\n' > passphrase
ann() { MEMGLOT_STORE="$HOME/ann.db" memglot "$@"; }
bob() { MEMGLOT_STORE="$HOME/bob.db" memglot "$@"; }

# Ann and Bob each have a store of their own. What they share travels in one file.
ann add "Invoices are sent on the first of the month" --tag billing
ann add "The salary review is in March" --scope people
ann scope sensitive people
bob add "Staging is reset every Monday" --tag ops

# Sensitive scopes leave the store only encrypted.
ann sync shared/memories.json --passphrase-file=passphrase
test "$(grep -c 'salary' shared/memories.json)" = 0
bob sync shared/memories.json --passphrase-file=passphrase
bob search salary review | tee found
grep -q "March" found

# Both changed the same memory: the later edit wins, and the other one is in the history.
id=$(ann search invoices --format ids --limit 1)
ann update "$id" --content "Invoices are sent on the second of the month"
bob update "$id" --content "Invoices are sent on the last day of the month"
ann sync shared/memories.json --passphrase-file=passphrase
bob sync shared/memories.json --passphrase-file=passphrase
ann sync shared/memories.json --passphrase-file=passphrase
ann get "$id" | grep -q "last day"
ann history "$id" | tee versions
grep -q "second of the month" versions

# Each night: a verified backup, and only the newest of each of the last days and weeks is kept.
ann backup backups --keep 7d,4w
ann doctor
ann audit verify
memglot verify backups/*.db

# The disk of Ann's machine breaks.
rm ann.db*
ann restore backups/*.db
ann list | tee found
grep -q "Invoices" found
