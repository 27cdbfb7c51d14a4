# Private Redis servers on the loopback, for scripts/bench. Sourced, never run.

holdfast_redis_pids=()
holdfast_redis_port= # of the server started last

# holdfast_start_redis DIRECTORY: one more server, without persistence, its files below DIRECTORY. It ends with this script, however
# that ends.
holdfast_start_redis() {
  local attempt port pid home
  for attempt in 1 2 3 4 5 6 7 8 9 10; do
    port=$((20000 + RANDOM % 12000))
    home=$1/redis-$port
    mkdir "$home" 2>/dev/null || continue
    setpriv --pdeathsig TERM redis-server --bind 127.0.0.1 --port "$port" --dir "$home" --save '' --appendonly no \
      >"$home/log" 2>&1 </dev/null &
    pid=$!
    if holdfast_redis_answers "$port" "$pid"; then
      holdfast_redis_pids+=("$pid")
      holdfast_redis_port=$port
      return 0
    fi
    kill "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
  done
  echo "redis-server does not start:" >&2
  tail -n 5 "$home/log" >&2
  return 1
}

# A port may be another server's: then ours is gone soon, and what answers has another process id.
holdfast_redis_answers() {
  local until=$((SECONDS + 10))
  while kill -0 "$2" 2>/dev/null && [ "$SECONDS" -lt "$until" ]; do
    redis-cli -p "$1" info server 2>/dev/null | grep -q "^process_id:$2[^0-9]*\$" && return 0
    sleep 0.05
  done
  return 1
}

holdfast_stop_redis() {
  local pid
  for pid in "${holdfast_redis_pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${holdfast_redis_pids[@]}"; do wait "$pid" 2>/dev/null || true; done
  holdfast_redis_pids=()
}
