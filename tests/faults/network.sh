# Faults of connections and strangers at ports. Sourced by scripts/faults.
# shellcheck shell=bash disable=SC2034,SC2154

fault F5 connections-cut 6 60 seconds 3000 "connections of ranks are reset once a second in the middle of messages" \
    "every byte arrives exactly once, and the job ends with 0"
play_connections_cut() {
    cluster 2 || return
    local closed=0 second
    patterns_start node1:2,node2:2
    for ((second = 0; second < count; second++)); do
        closed=$((closed + $(reset_connections)))
        sleep 1
    done
    patterns_end "connections are reset"
    echo "note $closed connections reset in $count s"
    [ $closed -gt 0 ] || say skip "this kernel resets no connections (CONFIG_INET_DIAG_DESTROY)"
}

fault F7 slow-receiver 100000 1000000 messages 1 "eager messages of 512 bytes to a rank that sleeps, shm and tcp" \
    "sender and receiver stay below 64 MiB, and all messages arrive in order"
play_slow_receiver() {
    cluster 2 || return
    local program device where sleep_s=$((count >= 1000000 ? 30 : 3))
    program=$(compiled tests/faults/slow_receiver.c) || exit
    for where in shm:node1:2 tcp:node1:2 tcp:node1:1,node2:1; do
        device=${where%%:*}
        start --device "$device" -host "${where#*:}" "$program" "$count" $sleep_s
        good "$count messages, $where, asleep for $sleep_s s" $((sleep_s + 60 + count / 5000)) \
            'sender = ([1-5]?[0-9]|6[0-3]) MiB, receiver = ([1-5]?[0-9]|6[0-3]) MiB, wrong = 0'
        echo "note ${where%%:*}: $(cut -d, -f1,2 "$T/out")"
    done
}

fault F10 strangers 1000 10000 connections 10 \
    "garbage, silence, a byte a second, replayed and altered handshakes, a flood, at every port of a job" \
    "the port closes all of them, the job goes on, 16 MiB and 64 descriptors more at most"
play_strangers() {
    cluster 2 || return
    local recorder port ports k host visitors=() wrong=''
    stranger node1 record "$T/record" eth0 >"$T/recorder" &
    recorder=$!
    until grep -q ready "$T/recorder"; do sleep 0.05; done
    patterns_start node1:1,node2:1
    kill -TERM "$(of 1 'stranger.py record' | tail -n 1)"
    wait $recorder
    watch_start
    for k in 1 2; do
        ports=$(open_ports $k)
        for port in $ports; do
            host=node$k
            stranger node$((3 - k)) visit "$T/record" $host "$port" >"$T/visit.$k.$port" &
            visitors+=($!)
            stranger node$((3 - k)) flood $host "$port" "$count" >"$T/flood.$k.$port" &
            visitors+=($!)
        done
    done
    wait_all "${visitors[@]}"
    [ ${#visitors[@]} -ge 4 ] || wrong+=" only ${#visitors[@]} visitors;"
    # Each line is: way, connections, how many of them the port has closed.
    wrong+=$(awk '$2 != $3 { printf " %s: %s of %s closed;", $1, $3, $2 }' "$T"/visit.* "$T"/flood.*)
    cat "$T"/visit.* "$T"/flood.* >/dev/null || wrong+=" a visitor wrote nothing;"
    watch_end 16384 64
    verdict "strangers at $((${#visitors[@]} / 2)) ports" "$wrong"
    awk '{ all[$1] += $2 } END { printf "note"; for (way in all) printf " %s %s", all[way], way; print "" }' \
        "$T"/visit.* "$T"/flood.*
    patterns_end "the job with strangers"
    rust_tests calls::strangers_prove_nothing_and_do_not_disturb
}

fault F11 damaged-frames 6 60 seconds 3000 "frames lost, repeated, overtaken, and changed where no checksum shows it" \
    "every byte is right; SUIRO_TCP_CRYPT=full finds changed bytes; the job ends with 0"
play_damaged_frames() {
    cluster 2 || return
    local what spoiled
    for what in "lose" "reorder" "change"; do
        patterns_start node1:1,node2:1 -x "SUIRO_TCP_CRYPT=$([ $what = change ] && echo full || echo auth)"
        case $what in
        lose) scripts/hosts delay node2 0.1 1% ;;
        # A frame of 64 KiB in 2,000: more often, no long message passes without one.
        *) scripts/hosts spoil node2 0.5 $what ;;
        esac
        sleep "$count"
        spoiled=$(scripts/hosts status | sed -n 's/.* spoiled \([0-9]*\).*/\1/p')
        scripts/hosts delay node2 0
        patterns_end "frames: $what"
        [ $what = lose ] || [ "${spoiled:-0}" -gt 0 ] || say FAIL "no frame was spoiled"
        [ $what = lose ] || echo "note $what: $spoiled frames"
    done
}

fault - ports 1000 10000 connections 12 "garbage, floods, slow connections at a port of MPI_Open_port; wrong secrets" \
    "wrong secrets fail with MPI_ERR_PORT; the job's ranks work on; the right name connects; memory is bounded"
play_ports() {
    cluster 2 || return
    local program port wrong='' visitors=() job_of_port end=0
    program=$(compiled tests/faults/open_port.c) || exit
    start -host node1:2,node2:1 "$program" accept "$T/port"
    job_of_port=$job
    until [ -e "$T/port" ] || [ $((end += 1)) -gt 200 ]; do sleep 0.05; done
    echo '[]' >"$T/record"
    watch_start
    for port in $(open_ports 1); do
        stranger node2 visit "$T/record" node1 "$port" >"$T/visit.$port" &
        visitors+=($!)
        stranger node2 flood node1 "$port" "$count" >"$T/flood.$port" &
        visitors+=($!)
    done
    on node2 "$bin/mpirun" -n 1 "$program" wrong "$T/port" >"$T/wrong" 2>"$T/err.wrong" &
    visitors+=($!)
    wait_all "${visitors[@]}"
    wrong+=$(awk '$2 != $3 { printf " %s: %s of %s closed;", $1, $3, $2 }' "$T"/visit.* "$T"/flood.*)
    echo "note wrong names: $(cat "$T/wrong")"
    watch_end 16384 64
    verdict "strangers at a port" "$wrong$(cat "$T/err.wrong")"
    # The name is still worth something.
    wrong=
    on node2 timeout 30 "$bin/mpirun" -n 1 "$program" connect "$T/port" >"$T/err.connect" 2>&1 ||
        wrong=" $(cat "$T/err.connect")"
    verdict "the right name connects" "$wrong"
    rm -f "$T/port"
    job=$job_of_port
    good "the job with the port" 30 "accepted = 1, wrong = 0"
}

# patterns_start HOSTS [OPTIONS]: a job that compares every byte, and has begun to.
patterns_start() {
    local program hosts=$1
    shift
    program=$(compiled tests/data/patterns.c) || exit
    rm -f "$T/end"
    start "$@" -host "$hosts" "$program" "$T/end"
    says "under way"
}
patterns_end() {
    touch "$T/end"
    good "$1" 90 "wrong = 0"
    rm -f "$T/end"
}

# stranger NODE WORDS...: tests/hosts/stranger.py there.
stranger() {
    local node=$1
    shift
    on "$node" python3 tests/hosts/stranger.py "$@"
}

# open_ports NODE: the TCP ports there at which something listens, except the daemon of the hosts.
open_ports() { on "node$1" ss -Htln | awk '{ sub(/.*:/, "", $4); if ($4 != 514) print $4 }' | sort -u; }

# reset_connections: resets the connections of ranks on node1; prints how many.
reset_connections() {
    local from to
    on node1 ss -Htnp state established | grep '"patterns"' | while read -r _ _ from to _; do
        on node1 ss -HKtn sport = ":${from##*:}" dport = ":${to##*:}" | grep -v '^Netid'
    done | grep -c .
}

# watch_start: remembers memory (KiB) and descriptors of each rank, and watches their peak.
watch_start() {
    local k pid
    for k in "${all_nodes[@]}"; do for pid in $(ranks "$k"); do usage_of "$pid"; done; done >"$T/usage"
    ( while usage_all >>"$T/usage"; do sleep 0.2; done ) &
    watcher=$!
}
usage_all() {
    local pid
    cut -d' ' -f1 "$T/usage" | sort -u | while read -r pid; do usage_of "$pid"; done
}
usage_of() { echo "$1 $(awk '/^VmRSS/ { print $2 }' "/proc/$1/status") $(find "/proc/$1/fd" -type l | wc -l)"; }

# watch_end KIB DESCRIPTORS: adds to `wrong` each rank that had so many more meanwhile.
watch_end() {
    kill -- -"$watcher"
    wait "$watcher" 2>/dev/null
    [ -s "$T/usage" ] || wrong+=" no rank was watched;"
    wrong+=$(awk -v kib="$1" -v open="$2" '
        !($1 in first_kib) { first_kib[$1] = $2; first_open[$1] = $3 }
        $2 - first_kib[$1] > more_kib { more_kib = $2 - first_kib[$1] }
        $3 - first_open[$1] > more_open { more_open = $3 - first_open[$1] }
        END {
            if (more_kib > kib) printf " %d KiB more;", more_kib
            if (more_open > open) printf " %d descriptors more;", more_open
            printf "note at most %d KiB and %d descriptors more\n", more_kib, more_open >"/dev/stderr"
        }' "$T/usage" 2>"$T/usage.note")
    cat "$T/usage.note"
}
