# Sourced by the `prepare` of each foreign client: tells a registry that cannot be reached from everything else that can fail.

# run_or_skip DIRECTORY REASON COMMAND...: runs it. If it fails for want of a network, DIRECTORY/skipped has the reason and
# the script ends with 77, which ctest counts as skipped; else it fails with the command's own words.
run_or_skip() {
  local directory=$1 reason=$2 log="$1/prepare.log"
  shift 2
  "$@" >"$log" 2>&1 </dev/null && return 0
  cat "$log" >&2
  if grep -qiE "$unreachable" "$log"; then
    echo "$reason" | tee "$directory/skipped"
    exit 77
  fi
  return 1
}

# How Maven, pip, npm and Go say it. A registry that answers, with whatever, is reached.
unreachable='unknown ?host|temporary failure in name resolution|name or service not known|no route to host|network is unreachable'
unreachable+='|connection refused|connect(ion)? timed out|enotfound|eai_again|econnrefused|etimedout|enetunreach|ehostunreach'
unreachable+='|failed to establish a new connection|no such host|i/o timeout'
