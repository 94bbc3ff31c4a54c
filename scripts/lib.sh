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

# Sources under clang-format's care.
c_sources() {
	git ls-files '*.c' '*.h' | while read -r f; do [ -f "$f" ] && echo "$f"; done
}

# quietly NAME COMMAND...: the output goes to build/log/NAME.log and is shown when the command fails.
quietly() {
	log=build/log/$1.log
	shift
	mkdir -p build/log
	if ! "$@" >"$log" 2>&1; then
		tail -n 40 "$log" >&2
		die "failed: $* (whole log: $log)"
	fi
}

now_s() {
	date +%s
}
