#!/usr/bin/env bash
# Someone with several coding agents that should share one memory.
set -eu

# What you know already: the agents will find it.
memglot add "Deploys run on Tuesdays, never on Fridays" --tag ops --tree work.deploys

# Look first, then connect each client. The files of the clients keep everything else that is in them.
memglot mcp install claude-code --dry-run
memglot mcp install claude-code
memglot mcp install cursor
memglot mcp install codex
grep -q memglot .claude.json
grep -q memglot .cursor/mcp.json
grep -q memglot .codex/config.toml

# What each agent can do now.
memglot mcp tools | tee tools
grep -q me_memory_search tools

# This is what an agent sends when you ask it about deploys, and what it gets.
cat > question <<'END'
{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"my-agent","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"me_memory_search","arguments":{"semantic":"when do we deploy"}}}
{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"me_memory_create","arguments":{"content":"Ann reviews every deploy","tree":"work.deploys"}}}
END
memglot mcp < question > answer
grep -q "never on Fridays" answer

# What one agent learnt, you and the other agents know.
memglot list --tree work.deploys | tee found
grep -q "Ann reviews every deploy" found

# Secrets that no agent may see.
memglot add "The door code is 4711" --scope private
memglot scope sensitive private
memglot search door code | tee found
grep -q 4711 found
sed 's/when do we deploy/what is the door code/' question > curious
memglot mcp < curious > answer
grep -q "deploys" answer
test "$(grep -c 4711 answer)" = 0

# One client no longer needs it: its file is as it was before.
memglot mcp uninstall cursor
test ! -e .cursor/mcp.json
