# shellcheck shell=sh disable=SC2034,SC3013
# lib.sh - what the scripts share. Sourced from the top of the repository.

SAMPLES=tests/data/profiles
SAMPLE=$SAMPLES/tf_inputbound_steps
CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/stepscope

die() {
	echo "$(basename "$0"): $*" >&2
	exit 1
}

have() {
	command -v "$1" >/dev/null 2>&1
}

# A python environment outside the tree, by name; scripts/bootstrap makes it.
venv_of() {
	echo "$CACHE/venv-$1"
}

# quietly NAME COMMAND...: the output goes to build/log/NAME.log and is shown when the command fails. What takes long says how far it is.
quietly() {
	log=build/log/$1.log
	shift
	mkdir -p build/log
	: >"$log"
	show_progress "$log" &
	ticker=$!
	status=0
	"$@" >"$log" 2>&1 || status=$?
	kill "$ticker" 2>/dev/null || true
	wait "$ticker" 2>/dev/null || true
	[ ! -t 2 ] || printf '\r\033[K' >&2
	if [ $status != 0 ]; then
		tail -n 40 "$log" >&2
		die "failed: $* (whole log: $log)"
	fi
}

# show_progress LOG: every second a line that replaces the last one in a terminal, elsewhere a line every ten seconds.
show_progress() {
	begin=$(now_s)
	[ -t 2 ] && every=1 || every=10
	while sleep "$every" >/dev/null 2>&1; do
		text="  $(basename "$1" .log), $(($(now_s) - begin)) s$(progress_of "$1") (log: $1)"
		[ -t 2 ] && printf '\r\033[K%s' "$text" >&2 || echo "$text" >&2
	done
}

# How far apt or ninja is, by what it has printed.
progress_of() {
	awk '
		/ newly installed, / { total = $3 }
		/^Get:[0-9]/ { fetched++ }
		/^Unpacking / { unpacked++ }
		/^Setting up / { done++ }
		match($0, /^\[[0-9]+\/[0-9]+\]|^\[ *[0-9]+%\]/) { step = substr($0, 2, RLENGTH - 2) }
		END {
			if (done)
				print ": " done " of " total " packages installed"
			else if (unpacked)
				print ": " unpacked " of " total " packages unpacked"
			else if (fetched)
				print ": " fetched " of " (total ? total " packages" : "the lists") " fetched"
			else if (step != "")
				print ": " step
		}' "$1" 2>/dev/null || true
}

now_s() {
	date +%s
}

# Distributions that ship an older Node get a newer one from npm, below the cache (scripts/bootstrap node).
use_node() {
	[ ! -x "$CACHE/node/node_modules/.bin/node" ] || PATH="$CACHE/node/node_modules/.bin:$PATH"
}

node_major() {
	major=$(node --version 2>/dev/null | sed -n 's/^v\([0-9]*\)\..*/\1/p')
	echo "${major:-0}"
}

# The page's own packages, as web/package-lock.json pins them.
node_packages() {
	if [ ! -e web/node_modules/.package-lock.json ] ||
		[ web/package-lock.json -nt web/node_modules/.package-lock.json ]; then
		echo "installing the page's packages"
		quietly npm-ci npm --prefix web ci --no-audit --no-fund
		touch web/node_modules/.package-lock.json
	fi
}
