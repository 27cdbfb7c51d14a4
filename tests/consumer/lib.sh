# Sourced by the consumer tests, which get from ctest: SOURCE (the project), BUILD (its build tree), WORK (a directory of
# theirs), CXX (the compiler).
set -euo pipefail

hello="$SOURCE/examples/hello.cpp"
fail() { echo "FAILED: $*" >&2; exit 1; }

# An empty directory for this test.
fresh() { rm -rf "$1" && mkdir -p "$1"; }

# cmake without what the environment of the test itself might lend it.
configure() {
  env -u CMAKE_PREFIX_PATH -u PKG_CONFIG_PATH -u LD_LIBRARY_PATH \
    cmake -G Ninja -DCMAKE_CXX_COMPILER="$CXX" -DCMAKE_CXX_STANDARD=20 "$@"
}

# run_hello PROGRAM: on the embedded store; the word of the README must come out.
run_hello() {
  local store output
  store=$(mktemp -d)
  output=$(HOLDFAST_STORE="sqlite://$store/locks.db" "$1") || { rm -rf "$store"; fail "$1 ended with $?: $output"; }
  rm -rf "$store"
  echo "$output"
  [[ "$output" =~ ^"one at a time"$'\n'token\ [0-9]+$ ]] || fail "$1 printed something else"
}

# The flags of a .pc file below PREFIX, and of nothing else on this machine but the system's own.
pkg_flags() {
  local prefix=$1 where
  shift
  where=$(dirname "$(find "$prefix" -name holdfast.pc)")
  PKG_CONFIG_PATH=$where pkg-config "$@"
}
