#!/usr/bin/env bash
# Install the programs of tests/peers/ into a folder: `install.sh FOLDER`.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
target=$(cd "$1" && pwd)

command -v npm >/dev/null || { echo "make test-peers needs Node.js with npm" >&2; exit 1; }
for python in "${PEERS_PYTHON:-python3}" /usr/bin/python3 /opt/homebrew/bin/python3 ""; do
    "${python:-false}" -c 'import sqlite3; sqlite3.connect(":memory:").enable_load_extension(True)' 2>/dev/null && break
done
[ -n "$python" ] || {
    echo "make test-peers needs a Python whose sqlite3 loads extensions; set PEERS_PYTHON to its path" >&2
    exit 1
}

cp "$here"/package.json "$here"/package-lock.json "$here"/.npmrc "$target"
(cd "$target" && npm ci --loglevel=error)

pip=("$target/python/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --only-binary :all:)
"$python" -m venv --clear "$target/python"
"${pip[@]}" --requirement "$here/requirements.txt"
grep '^mcp' "$here/mcp-memory-service.txt" | while read -r line; do
    version=${line#*==}
    version=${version%% *}
    rm -rf "$target/mcp-memory-service/$version"
    "${pip[@]}" --target "$target/mcp-memory-service/$version" --requirement <(echo "$line")
done
