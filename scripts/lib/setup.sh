# What scripts/demo, scripts/test and scripts/bench share: installing packages and building a preset.
# Sourced, never run. Works on a bare Debian 12 as root, or with sudo; wants no systemd.

holdfast_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

# The packages of a group. One line per group: a store that is added later adds its client library to `build` and its
# server to `test`.
holdfast_packages() {
  case "$1" in
    build) echo "cmake ninja-build g++ pkg-config libsqlite3-dev libhiredis-dev libssl-dev" \
      "libgrpc++-dev protobuf-compiler-grpc libprotobuf-dev libzookeeper-mt-dev libpq-dev libmariadb-dev" ;;
    test) echo "libgtest-dev nlohmann-json3-dev libasio-dev sqlite3 redis-server etcd-server etcd-client libzookeeper-java" \
      "postgresql-15 pgbouncer mariadb-server memcached" \
      "openssl dpkg-dev procps util-linux man-db" \
      "clang-19 libclang-rt-19-dev clang-format-19 clang-tidy-19 openjdk-17-jdk-headless maven python3-venv" \
      "$(holdfast_node) $(holdfast_go)" ;;
    bench) echo "util-linux redis-server etcd-server etcd-client libzookeeper-java openjdk-17-jre-headless postgresql-15 mariadb-server" ;;
    peers) echo "openjdk-17-jdk-headless maven python3-venv $(holdfast_go)" ;;
    *) echo "holdfast_packages: no such group: $1" >&2; return 1 ;;
  esac
}

# Node.js from elsewhere brings npm along and cannot be installed beside Debian's.
holdfast_node() {
  command -v npm >/dev/null && command -v node >/dev/null || echo "nodejs npm"
}

# Go from elsewhere will do, and may be newer.
holdfast_go() {
  command -v go >/dev/null || echo golang-go
}

holdfast_as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}

holdfast_is_installed() {
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# holdfast_install GROUP...: installs what is missing, after saying so. Nothing missing: nothing said, nothing done.
holdfast_install() {
  local group package packages missing=()
  for group in "$@"; do
    packages=$(holdfast_packages "$group") || return 1
    for package in $packages; do
      holdfast_is_installed "$package" || missing+=("$package")
    done
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  echo "Installing with apt-get: ${missing[*]}"
  if ! command -v apt-get >/dev/null; then
    echo "There is no apt-get here: install these by hand, then run this again." >&2
    return 1
  fi
  if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
    echo "That needs root or sudo." >&2
    return 1
  fi
  holdfast_apt "${missing[@]}"
}

# A server package starts its daemon when it is installed, with or without systemd, unless policy-rc.d says no. Tests start
# servers of their own. A policy of ours goes again; one that was there stays.
holdfast_apt() (
  local policy=/usr/sbin/policy-rc.d log
  log=$(mktemp)
  trap 'rm -f "$log"' EXIT
  if [ ! -e "$policy" ]; then
    trap 'rm -f "$log"; holdfast_as_root rm -f "$policy"' EXIT
    printf '#!/bin/sh\nexit 101\n' | holdfast_as_root tee "$policy" >/dev/null
    holdfast_as_root chmod +x "$policy"
  fi
  # Nor is a cluster of databases wanted that nobody asked for.
  if [[ " $* " == *" postgresql-15 "* ]] && [ ! -e /etc/postgresql-common/createcluster.conf ]; then
    holdfast_as_root mkdir -p /etc/postgresql-common
    echo 'create_main_cluster = false' | holdfast_as_root tee /etc/postgresql-common/createcluster.conf >/dev/null
  fi
  # Package lists are missing on a fresh machine and old on many others.
  holdfast_as_root apt-get -o DPkg::Lock::Timeout=400 -q update >"$log" 2>&1 ||
    echo "apt-get update failed; going on with the package lists there are."
  if ! holdfast_as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=400 -qq -y \
    --no-install-recommends install "$@" >"$log" 2>&1 </dev/null; then
    tail -n 20 "$log" >&2
    return 1
  fi
)

# holdfast_build PRESET [CMAKE-ARGUMENT...] [-- BUILD-ARGUMENT...]: configures build/PRESET and builds it. Quiet unless it fails.
holdfast_build() {
  local preset=$1 configure=() log
  shift
  while [ $# -gt 0 ] && [ "$1" != -- ]; do configure+=("$1"); shift; done
  [ $# -gt 0 ] && shift
  # A second build is then a matter of seconds, in another clone too; nothing needs it.
  export CCACHE_BASEDIR=$holdfast_root CCACHE_NOHASHDIR=1
  command -v ccache >/dev/null && configure+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  mkdir -p "$holdfast_root/build/$preset"
  log="$holdfast_root/build/$preset/build.log"
  if ! (cd "$holdfast_root" && cmake --preset "$preset" "${configure[@]}" && cmake --build --preset "$preset" "$@") \
    >"$log" 2>&1 </dev/null; then
    grep -E 'error|Error|FAILED' "$log" | head -n 20 >&2
    tail -n 30 "$log" >&2
    echo "Building preset $preset failed; the whole log is $log" >&2
    return 1
  fi
}
