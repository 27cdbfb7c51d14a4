# Private servers on the loopback, for scripts/bench. Sourced, never run.

holdfast_server_pids=()
holdfast_server_port= # of the server started last

# holdfast_start_server KIND DIRECTORY: one more redis, etcd, zookeeper, postgres or mariadb, its files below DIRECTORY. It ends with this script, however
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

# It refuses to run as root. The folder above is ours alone: its user must get through.
holdfast_launch_postgres() {
  local as=() bin
  bin=$(echo /usr/lib/postgresql/*/bin | tr ' ' '\n' | sort -V | tail -n 1)
  if [ "$(id -u)" -eq 0 ]; then
    as=(setpriv --reuid=postgres --regid=postgres --clear-groups --pdeathsig TERM)
    chmod 711 "$2/.."
    chown postgres:postgres "$2"
  fi
  cd "$2" || return 1
  "${as[@]}" "$bin/initdb" -D "$2/data" -U postgres -A trust --no-sync --no-locale -E UTF8 || return 1
  exec "${as[@]}" "$bin/postgres" -D "$2/data" -p "$1" -c listen_addresses=127.0.0.1 -c "unix_socket_directories=$2" \
    -c fsync=off -c synchronous_commit=off -c full_page_writes=off -c dynamic_shared_memory_type=mmap
}

# As root it must be told who it is.
holdfast_launch_mariadb() {
  local as=()
  [ "$(id -u)" -eq 0 ] && as=(--user=root)
  mariadb-install-db --no-defaults "${as[@]}" --datadir="$2/data" --auth-root-authentication-method=normal --skip-test-db \
    --skip-name-resolve || return 1
  mkdir "$2/data/holdfast"
  exec setpriv --pdeathsig TERM mariadbd --no-defaults "${as[@]}" --datadir="$2/data" --socket="$2/s" --pid-file="$2/pid" \
    --bind-address=127.0.0.1 --port="$1" --skip-name-resolve --skip-log-bin --innodb-flush-log-at-trx-commit=0 \
    --innodb-flush-method=nosync --innodb-buffer-pool-size=64M --performance-schema=OFF
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

holdfast_probe_postgres() { [ "$(head -n 1 /proc/"$2"/cwd/postmaster.pid)" = "$2" ] && pg_isready -q -h 127.0.0.1 -p "$1"; }
holdfast_probe_mariadb() {
  local id
  id=$(mariadb --no-defaults -N -h 127.0.0.1 -P "$1" -u root -e 'SELECT @@pid_file') && [ "$(cat "$id")" = "$2" ]
}

holdfast_stop_servers() {
  local pid
  for pid in "${holdfast_server_pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${holdfast_server_pids[@]}"; do wait "$pid" 2>/dev/null || true; done
  holdfast_server_pids=()
}
