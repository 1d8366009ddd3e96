#!/usr/bin/env bash
# Someone who edits notes in Obsidian, and the same memories in memglot.
set -eu

mkdir -p vault/.obsidian "vault/Work/Big plans" vault/Daily
printf -- '---\n# my plans\ntags: [work]\ncreated: 2024-05-01\nrating: 7\n---\nShip the billing service, see [[Retries]].\n' > "vault/Work/Big plans/Billing.md"
printf 'Retries run in the worker. #work\n' > vault/Work/Retries.md
printf 'Rain all day.\n' > vault/Daily/2024-05-02.md
printf 'Sunny.\n' > vault/Daily/2024-05-03.md
cp -R vault before

# The notes come in: with their folders as the tree, and the dates that they say.
memglot import vault --tree-from folders
memglot list --source obsidian --tree Work | tee found
grep -q "Billing" found
memglot list --until 2024-06 | tee found
grep -q "Billing" found

# Writing them back changes nothing.
memglot export vault --format obsidian
diff -r --exclude .memglot.json before vault

# An edit here changes one line there.
id=$(memglot search billing service --limit 1 --format ids)
memglot update "$id" --add-tag urgent
memglot export vault --format obsidian
diff "before/Work/Big plans/Billing.md" "vault/Work/Big plans/Billing.md" > changed || test $? -eq 1
grep -q "^> tags: \[work, urgent\]$" changed
test "$(grep -c '^[<>]' changed)" -eq 2

# An edit in Obsidian comes in, and is edited here again.
printf 'Retries run in the scheduler. #work\n' > vault/Work/Retries.md
memglot import vault
id=$(memglot search scheduler --limit 1 --format ids)
memglot update "$id" --content "#work Retries run in the scheduler, three times."
memglot export vault --format obsidian
grep -q "scheduler, three times" vault/Work/Retries.md

# An edit that was not imported is never replaced.
printf 'Rain all day, and thunder.\n' > vault/Daily/2024-05-02.md
memglot export vault --format obsidian
grep -q "thunder" vault/Daily/2024-05-02.md

# A deleted note is deleted here too, when asked to, and can be restored.
rm vault/Daily/2024-05-03.md
memglot import vault --prune --dry-run 2>&1 | tee found
grep -q "would delete 1 memory whose notes are gone from the vault: Daily/2024-05-03.md" found
memglot import vault --prune | tee found
memglot list | tee left
if grep -q "2024-05-03" left; then exit 1; fi
id=$(sed -n 's/^import \([^;]*\);.*/\1/p' found)
memglot undo "$id"
memglot list | tee left
grep -q "2024-05-03" left

# A folder that lost most of its notes, such as a disk that is not mounted, deletes nothing.
mkdir -p unmounted && mv vault/Work vault/Daily unmounted
memglot import vault --prune --format obsidian 2>&1 | tee found
grep -q "deleted nothing" found
memglot list --source obsidian | tee left
grep -q "Billing" left
