# Private servers on the loopback, for scripts/bench. Sourced, never run.

holdfast_server_pids=()
holdfast_server_port= # of the server started last

# holdfast_start_server KIND DIRECTORY: one more redis, etcd or zookeeper, its files below DIRECTORY. It ends with this script, however
# that ends.
holdfast_start_server() {
  local attempt port pid home
  for attempt in 1 2 3 4 5 6 7 8 9 10; do
    port=$((20000 + RANDOM % 12000))
    home=$2/$1-$port
    mkdir "$home" 2>/dev/null || continue
    "holdfast_launch_$1" "$port" "$home" >"$home/log" 2>&1 </dev/null &
    pid=$!
    if holdfast_server_answers "$1" "$port" "$pid"; then
      holdfast_server_pids+=("$pid")
      holdfast_server_port=$port
      return 0
    fi
    kill "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
  done
  echo "$1 does not start:" >&2
  tail -n 5 "$home/log" >&2
  return 1
}

# holdfast_launch_KIND PORT DIRECTORY: becomes the server. Nothing waits for a disk: that would hide what is measured.
holdfast_launch_redis() {
  exec setpriv --pdeathsig TERM redis-server --bind 127.0.0.1 --port "$1" --dir "$2" --save '' --appendonly no
}

holdfast_launch_etcd() {
  local client=http://127.0.0.1:$1 peer=http://127.0.0.1:$(($1 + 12000))
  exec setpriv --pdeathsig TERM etcd --name bench --data-dir "$2/data" --unsafe-no-fsync --logger zap --log-level error \
    --listen-client-urls "$client" --advertise-client-urls "$client" --listen-peer-urls "$peer" \
    --initial-advertise-peer-urls "$peer" --initial-cluster "bench=$peer"
}

holdfast_launch_zookeeper() {
  local jars=/usr/share/java
  printf '%s\n' tickTime=2000 "dataDir=$2/data" "clientPort=$1" clientPortAddress=127.0.0.1 maxClientCnxns=0 \
    admin.enableServer=false forceSync=no '4lw.commands.whitelist=srvr' >"$2/zoo.cfg"
  printf '%s\n' 'log4j.rootLogger=WARN, out' log4j.appender.out=org.apache.log4j.ConsoleAppender \
    log4j.appender.out.layout=org.apache.log4j.SimpleLayout >"$2/log4j.properties"
  exec setpriv --pdeathsig TERM java -Xmx512m -XX:+UseSerialGC -Dzookeeper.jmx.log4j.disable=true \
    -cp "$2:$jars/zookeeper.jar:$jars/slf4j-log4j12.jar:$jars/log4j-1.2.jar" \
    org.apache.zookeeper.server.ZooKeeperServerMain "$2/zoo.cfg"
}

# A port may be another server's: then ours is gone soon, and what answers is not ours.
holdfast_server_answers() {
  local until=$((SECONDS + 20))
  while kill -0 "$3" 2>/dev/null && [ "$SECONDS" -lt "$until" ]; do
    "holdfast_probe_$1" "$2" "$3" 2>/dev/null && kill -0 "$3" 2>/dev/null && return 0
    sleep 0.05
  done
  return 1
}

holdfast_probe_redis() { redis-cli -p "$1" info server | grep -q "^process_id:$2[^0-9]*\$"; }
holdfast_probe_etcd() { ETCDCTL_API=3 etcdctl --endpoints "127.0.0.1:$1" endpoint health --command-timeout 1s >/dev/null; }
holdfast_probe_zookeeper() {
  local said
  exec 9<>"/dev/tcp/127.0.0.1/$1" || return 1
  printf srvr >&9
  said=$(timeout 1 cat <&9)
  exec 9>&-
  [[ $said == *Mode:* ]]
}

holdfast_stop_servers() {
  local pid
  for pid in "${holdfast_server_pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${holdfast_server_pids[@]}"; do wait "$pid" 2>/dev/null || true; done
  holdfast_server_pids=()
}
