#!/bin/sh
# test.sh - types, pure modules, and the page in a real browser.
#	web/test.sh STEPSCOPE LOGDIR [OUT]	against the built program; screenshots go to OUT (build/web)
#	web/test.sh				against made-up answers
#	web/test.sh --pure			types and pure modules alone, without a browser
#	web/test.sh --firefox STEPSCOPE LOGDIR	the parts of the browser's tests that reach most of the page, in Firefox
# The last line is "N passed, N failed".
set -u
pure=no
[ "${1:-}" != --pure ] || pure=yes
fox=no
if [ "${1:-}" = --firefox ]; then
	fox=yes
	shift
fi
root=$(cd "$(dirname "$0")/.." && pwd)
absolute() { case $1 in /*) printf '%s' "$1" ;; *) printf '%s/%s' "$PWD" "$1" ;; esac; }
if [ $# -ge 2 ]; then
	STEPSCOPE=$(absolute "$1")
	LOGDIR=$(absolute "$2")
	export STEPSCOPE LOGDIR
fi
WEB_OUT=$(absolute "${3:-$root/build/web}")
export WEB_OUT
cd "$root/web" || exit 1

passed=0
failed=0

# Of the output of node's test runner in $log: each test that failed, where and why. A group says nothing of its own,
# and a file that did not load has its reason before its name.
failures_of() {
	awk '
		/^ *(# Subtest: .*\.mjs|ok .*)$/ { next }
		/^# / { if (!/^# Subtest: /) before = before "  " substr($0, 3) "\n"; next }
		/^ *not ok / { at = match($0, /not/); block = substr($0, at) "\n"; group = alone = 0; next }
		block == "" { before = ""; next }
		/^ *\.\.\.$/ {
			if (!group)
				printf "%s", (alone ? before : "") block
			block = before = ""
			next
		}
		/failureType: .*subtestsFailed/ { group = 1 }
		/^ *exitCode: / { alone = 1 }
		match($0, /[^ ]/) == at + 2 { key = $1; lines = 0 }
		key ~ /^(location|error|stack):$/ && lines++ < (key == "stack:" ? 5 : 16) { block = block substr($0, at) "\n" }
	' "$log"
}

tally() {	# tally NAME: adds up the counts of node's test runner; a run without any is a failure
	p=$(sed -n 's/^# pass //p' "$log" | tail -n 1)
	f=$(sed -n 's/^# fail //p' "$log" | tail -n 1)
	c=$(sed -n 's/^# cancelled //p' "$log" | tail -n 1)
	f=$((${f:-0} + ${c:-0}))
	[ "${p:-0}" -gt 0 ] || f=$((f + 1))
	passed=$((passed + ${p:-0}))
	failed=$((failed + f))
	sed -n 's/^# \\# page/# page/p' "$log"
	[ "$f" = 0 ] || { echo "$1 failed:"; failures_of | grep . || tail -n 25 "$log"; } >>"$failures"
}

# The end, which the runner of all tests shows: what failed, and the counts.
counts() {
	cat "$failures"
	echo "$passed passed, $failed failed"
	[ "$failed" = 0 ]
}

log=$(mktemp) && failures=$(mktemp) || exit 1
trap 'rm -f "$log" "$failures"' EXIT
[ -d node_modules ] || npm ci --no-audit --no-fund >"$log" 2>&1 || { cat "$log"; echo "0 passed, 1 failed"; exit 1; }

# In Firefox: menu and palette, the timeline's moments, frames and bands.
if [ $fox = yes ]; then
	if ! command -v firefox-esr >/dev/null && ! command -v firefox >/dev/null; then
		echo "skipped: Firefox is not installed (apt-get install firefox-esr), so nothing was run in it"
		echo "0 passed, 0 failed"
		exit 0
	fi
	BROWSER=firefox node --test --test-reporter=tap --test-concurrency=1 ../tests/web/shell.test.mjs ../tests/web/stretches.test.mjs \
		../tests/web/moments.test.mjs >"$log" 2>&1
	tally "Firefox"
	counts
	exit
fi

if npx --no-install tsc --noEmit >"$log" 2>&1; then
	passed=$((passed + 1))
else
	failed=$((failed + 1))
	cat "$log" >>"$failures"
fi
node build.mjs --tests && node --test --test-reporter=tap build/test/*.test.mjs >"$log" 2>&1
tally "pure modules"
if [ $pure = no ]; then
	node build.mjs || failed=$((failed + 1))	# what the server of made-up answers shows
	node --test --test-reporter=tap --test-concurrency=1 ../tests/web/*.test.mjs >"$log" 2>&1
	tally "browser"
fi
counts
