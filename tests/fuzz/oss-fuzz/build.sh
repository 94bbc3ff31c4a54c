#!/bin/bash -eu
# build.sh - the fuzzers as OSS-Fuzz wants them: it says how to compile in CC, CFLAGS and LIB_FUZZING_ENGINE and where to put
# them in OUT. Each comes with its corpus, its dictionary and, in lib/, the libraries that the machine which runs it lacks.
#
# To try it: OUT=/tmp/out WORK=/tmp/work CC=clang CFLAGS="-O1 -g -fsanitize=address,fuzzer-no-link" \
#	LIB_FUZZING_ENGINE=-fsanitize=fuzzer tests/fuzz/oss-fuzz/build.sh
# In the image this is $SRC/build.sh, called in the sources; else it lies in them.
[ -f tests/fuzz/targets ] || cd "$(dirname "$0")/../../.."
: "${OUT:?where the fuzzers go}" "${WORK:?where they are built}" "${LIB_FUZZING_ENGINE:?what runs them, for the linker}"
mkdir -p "$OUT/lib" "$WORK"

cmake -S . -B "$WORK/build" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_COMPILER="${CC:-clang}" -DCMAKE_C_FLAGS="${CFLAGS:-}" \
	-DCMAKE_EXE_LINKER_FLAGS="-Wl,--as-needed -Wl,-rpath,\$ORIGIN/lib" -DSS_WERROR=OFF "-DSS_PAGE=$PWD/web/page.bin" \
	"-DSS_FUZZING_ENGINE=$LIB_FUZZING_ENGINE"
cmake --build "$WORK/build" --parallel "$(nproc)" --target fuzzers

awk '!/^#/ && NF { print $1, $2 }' tests/fuzz/targets | while read -r name dictionary; do
	bin=$WORK/build/tests/fuzz/fuzz_$name
	cp "$bin" "$OUT/"
	[ "$dictionary" = - ] || cp "tests/fuzz/$dictionary" "$OUT/fuzz_$name.dict"
	rm -rf "$WORK/seeds"
	scripts/fuzz --seeds "$name" "$WORK/seeds"
	rm -f "$OUT/fuzz_${name}_seed_corpus.zip"
	(cd "$WORK/seeds" && python3 -m zipfile -c "$OUT/fuzz_${name}_seed_corpus.zip" .)
	# Not those of the C library and the compiler, which every machine has.
	ldd "$bin" | awk '/=> \// && !/\/(libc|libm|libdl|librt|libpthread|libgcc_s|libstdc\+\+)\.so/ { print $3 }' | xargs -r cp -t "$OUT/lib"
done
