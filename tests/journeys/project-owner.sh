#!/usr/bin/env bash
# Someone who keeps the knowledge of a project in its repository, by hand and with checks before each commit.
set -eu

git config --global user.name Ann
git config --global user.email ann@example.org
git init -q -b main shop
cd shop
mkdir -p src/billing
echo "QUEUE = []" > src/billing/retry.py
printf '# Shop\n\nInvoices for small shops.\n' > README.md
git add -A
git commit -qm "Begin"

# A memory for the project, and the first things to know.
memglot repo init
memglot repo add feature "Webhook retries" --body "Failed webhooks are sent again." --stage building --anchor src/billing/
memglot repo add decision "Inline retries" --body "Retries run in the request handler." --anchor src/billing/
memglot repo add question "Who owns retries?" --body "Nobody is paged when they stop." --affects webhook

# A decision was replaced, and the question has an answer. The beginning of an id is enough.
echo "Inline retries blocked requests for seconds." |
    memglot repo add decision "Retries run in the worker" --body - --anchor src/billing/ --tag queue
memglot repo supersede inline retries-run --reason "requests were blocked"
memglot repo close who-owns --answer retries-run
memglot repo list | tee found
grep -q "superseded" found
memglot repo query "webhooks that failed" | tee found
grep -q "Failed webhooks are sent again" found

# An editor is as good as options.
cat > editor <<'END'
sed -i 's/building/shipped/' "$1"
END
EDITOR="sh editor" memglot repo edit webhook-retries
memglot repo status | tee found
grep -q "shipped: Webhook retries" found
rm editor found

# The map is in the README as well, and the rest of it is as it was.
cp README.md before
memglot repo map --readme
head -n 3 README.md | cmp - before
grep -q "retries-run-in-the-worker" README.md
rm before

# Check before each commit, and in CI.
printf '#!/bin/sh\nexec memglot repo check --strict\n' > .git/hooks/pre-commit
chmod +x .git/hooks/pre-commit
git add -A
git commit -qm "Add project memory"
memglot repo sync

# The code moves: the commit is refused until memory knows.
git mv src/billing src/payments
test "$(git commit -qm 'Move billing' > refused 2>&1; echo $?)" = 1
grep -q "matches no files" refused
for id in webhook-retries retries-run; do memglot repo edit "$id" --anchor src/payments/; done
rm refused
git add -A
git commit -qm "Move billing"

# Somebody edits a note in the browser. It is adopted as it is.
echo "Inline retries blocked requests for up to nine seconds." > .memory/memory/retries-run-in-the-worker.md
memglot repo sync --adopt | tee found
grep -q "adopted   decision.retries-run-in-the-worker" found
rm found
memglot repo query "how long were requests blocked" | tee ../found
grep -q "nine seconds" ../found
git add -A
memglot repo check --strict
