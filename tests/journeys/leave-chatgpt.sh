#!/usr/bin/env bash
# Someone who leaves ChatGPT for a vault of notes.
set -eu

# The downloaded export comes in, and a second time nothing changes.
memglot import conversations.json
memglot import conversations.json | tee again
grep -q "nothing changed" again

# Everything can be found.
memglot search night train to Rome | tee found
grep -q "night train from Vienna" found

# The vault is readable: folders and names are titles, and tags are valid in Obsidian.
memglot export vault --format obsidian
test -f "vault/episodic/Trip to Rome/Trip to Rome.md"
test -f "vault/episodic/Trip to Rome/Trip to Rome 2.md"
test -f "vault/episodic/2024/2024.md"
grep -q "^#Trip-to-Rome$" "vault/episodic/Trip to Rome/Trip to Rome.md"
grep -q "^#_2024$" "vault/episodic/2024/2024.md"
memglot verify vault

# Or each conversation is one note.
memglot export chats --format obsidian --one-note-per conversation
grep -q "Trastevere" "chats/episodic/Trip to Rome.md"

# Both come back as the same memories.
memglot --store copy.db import chats
memglot diff conversations.json copy.db | tee differences
memglot --store copy.db list --format ids > copied
memglot list --format ids > original
diff original copied

# An edit in a note reaches its memory, and the next export keeps the rest.
sed -i.old "s/after eight/after nine/" "chats/episodic/Trip to Rome.md"
rm "chats/episodic/Trip to Rome.md.old"
memglot import chats
memglot search "after nine" | tee found
grep -q "Trastevere, after nine" found
memglot list --source chatgpt --tag "Trip to Rome" | tee found
grep -q "Trip to Rome" found
