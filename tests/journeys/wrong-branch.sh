#!/usr/bin/env bash
# Someone who deletes the wrong branch of the tree, notices it a little later, and gets it back on both laptops.
set -eu

laptop() { MEMGLOT_STORE="$HOME/laptop.db" memglot "$@"; }
desktop() { MEMGLOT_STORE="$HOME/desktop.db" memglot "$@"; }
exchange() {
    laptop sync export --out=laptop.json --force
    desktop sync import --from=laptop.json
    desktop sync export --out=desktop.json --force
    laptop sync import --from=desktop.json
}

laptop add "Deploys run on Fridays" --tree work.ops --tag deploy
laptop add "Retries run in the worker, not in the web process" --tree work.queue
laptop add "The old office was in Lisbon" --tree work.old
laptop add "Tea at four" --tree home
exchange

# The branch to delete was work.old.
laptop delete-tree work | tee deleted
grep -q "deleted 3 memories" deleted
laptop add "Coffee at nine" --tree home
exchange
desktop list | tee found
grep -q "2 memories" found

# Nothing is undone without a question, and there is nobody to answer it here.
if laptop undo 2> refused; then exit 1; fi
cat refused
grep -q "this would undo the last operation" refused

laptop undo --list | tee operations
id=$(grep 'deleted 3 memories in `work`' operations | cut -c 1-8)
laptop undo "$id" | tee undone
grep -q "restored 3 memories" undone
laptop list | tee found
grep -q "5 memories" found
laptop search deploys | tee found
grep -q "Deploys run on Fridays" found

# The other laptop gets the branch back, too.
exchange
desktop list --tree work | tee found
grep -q "3 memories" found

# Now the right branch; and one that was right after all can be deleted again by undoing the undo.
laptop delete-tree work.old
laptop undo --yes
laptop undo --list | tee operations
id=$(head -n 1 operations | cut -c 1-8)
laptop undo "$id" | tee undone
grep -q "removed 1 memory" undone
exchange
desktop list --tree work | tee found
grep -q "2 memories" found
laptop doctor
