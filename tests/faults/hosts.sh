# Faults of launchers, hosts and links, on four hosts with two ranks on each. Sourced by scripts/faults.
# shellcheck shell=bash disable=SC2034,SC2154

fault F3 mpirun-killed 1 20 rounds 60000 "SIGKILL, SIGSTOP and signals to mpirun, on one host and on four" \
    "all ranks and agents are gone in 2 s; stopping for 3 s is harmless; a mpirun that stays stopped is given up"
play_mpirun_killed() {
    cluster 4 || return
    local round
    for ((round = 0; round < count; round++)); do
        mpirun_killed
        mpirun_signals
        mpirun_stopped
    done
    rust_tests failure::nothing_is_left_if_either_launcher_process_is_killed \
        failure::a_stopped_job_stops_and_continues
}

fault F4 host-lost 1 20 rounds 120000 "SIGKILL to each process of an agent; a host without power, or shut down" \
    "mpirun ends in 5 s, or 9 s if only silence tells, and names host and ranks; nothing is left"
play_host_lost() {
    cluster 4 || return
    local round
    for ((round = 0; round < count; round++)); do
        agents_killed
        hosts_lost
    done
}

fault F6 silent-link 1 20 rounds 90000 "links that drop everything, in both directions, while ranks talk" \
    "2 s without a link, or 3 s with SUIRO_HOST_TIMEOUT=10s, are survived, byte for byte; more ends the job, which names \
the host"
play_silent_link() {
    cluster 4 || return
    local round
    for ((round = 0; round < count; round++)); do
        short_cut
        links_cut
    done
}

fault - host-faults 1 1 round 300000 \
    "every signal to a rank, starts that fail, full disks, readers that go away; several hosts" \
    "its exit code and message for each, nothing is left"
play_host_faults() {
    cluster 4 || return
    rank_signals
    starts_failed
    outputs_failed
    # The rest has numbers of its own.
    [ "$only" ] || return
    agents_killed
    mpirun_killed
    mpirun_signals
    mpirun_stopped
    hosts_lost
    links_cut
    short_cut
}

selected() { [[ "$1" = *"$only"* ]]; }     # whether to play it

rank_signals() {
    local signal number
    for signal in HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM XCPU SYS; do
        selected "a rank gets SIG$signal" || continue
        busy
        strike kill -$signal "$(ranks 3 | tail -n 1)"
        number=$(kill -l $signal)
        ends "a rank gets SIG$signal" $((128 + number)) \
            "^mpirun: rank 5 \(process [0-9]+ on node3\) was killed by signal $number \(SIG$signal\)"
    done
}

agents_killed() {
    local process
    for process in 1 2; do
        selected "process $process of an agent is killed" || continue
        busy
        strike kill -9 "$(launchers 3 | sed -n ${process}p)"
        ends "process $process of an agent is killed" 137 "^mpirun: lost host node3 .*ranks 4.*5"
    done
    if selected "an agent is stopped"; then
        busy
        strike kill -STOP "$(launchers 3 | sed -n 2p)"
        ends "an agent is stopped" 137 "^mpirun: lost host node3 .*silent for 4 s" 10000
    fi
    if selected "a command of an agent is killed"; then
        busy
        strike kill -9 "$(of 1 "hosts-ssh .*node3.*--agent" | head -n 1)"
        ends "a command of an agent is killed" 137 "^mpirun: lost host node3 "
    fi
}

mpirun_killed() {
    local process
    for process in 1 2; do
        selected "process $process of mpirun is killed" || continue
        busy
        strike kill -9 "$(launchers 1 | sed -n ${process}p)"
        ends "process $process of mpirun is killed" 137 "" 2000
    done
}

mpirun_signals() {
    local signal
    for signal in INT TERM HUP; do
        selected "mpirun gets SIG$signal" || continue
        busy
        strike kill -$signal "$(launchers 1 | head -n 1)"
        ends "mpirun gets SIG$signal" $((128 + $(kill -l $signal))) "" 2000
    done
}

mpirun_stopped() {
    local head all k rest
    if selected "mpirun is stopped"; then
        busy
        head=$(launchers 1 | sed -n 2p)
        strike kill -STOP "$head"
        rest=$(gone 14000 2 3 4)
        verdict "mpirun is stopped: other hosts ($(($(now_ms) - begin)) ms)" "$rest"
        strike kill -CONT "$head"
        ends "mpirun was stopped and goes on" "75 137" "mpirun is silent; ending its processes on node3"
    fi
    if selected "everything is stopped for 3 s"; then
        busy
        mapfile -t all < <(for k in 1 2 3 4; do launchers $k; ranks $k; done)
        kill -STOP "${all[@]}"; sleep 3; kill -CONT "${all[@]}"; sleep 3
        verdict "everything is stopped for 3 s, and goes on" "$(cat "$T/err")"
        strike kill -TERM "$(launchers 1 | head -n 1)"
        ends "the job after that" 143 ""
    fi
}

hosts_lost() {
    if selected "a host is switched off"; then
        busy
        strike scripts/hosts kill node3
        ends "a host is switched off" "1 137" "lost host node3 .*silent for 4 s" 9000 "1 2 4"
        scripts/hosts boot node3; clean
    fi
    if selected "a host shuts down"; then
        busy
        strike scripts/hosts kill --fin node3
        ends "a host shuts down" "1 137" "node3" 5000 "1 2 4"
        scripts/hosts boot node3; clean
    fi
    if selected "the host of mpirun is switched off"; then
        busy
        strike scripts/hosts kill node1
        ends "the host of mpirun is switched off" 137 "" 14000 "2 3 4"
        scripts/hosts boot node1; clean
    fi
}

# After 3 s without a link, TCP may wait for as long again before it repeats a segment (RFC 6298, 5.5): that
# would be longer than a host may be silent by default.
short_cut() {
    local seconds timeout
    for seconds in 2 3; do
        selected "a link is cut for $seconds s" || continue
        timeout=$((seconds == 2 ? 4 : 10))s
        SUIRO_HOST_TIMEOUT=$timeout patterns_start node1:1,node2:1
        scripts/hosts cut node1 node2; sleep $seconds; scripts/hosts heal; sleep 1
        patterns_end "a link is cut for $seconds s, SUIRO_HOST_TIMEOUT=$timeout"
    done
}

links_cut() {
    local rest
    if selected "a link is cut"; then
        busy
        strike scripts/hosts cut node3
        ends "a link is cut" "1 137" "node3" 9000 "1 2 4"
        rest=$(gone 14000 3)
        verdict "a link is cut: the other side ($(($(now_ms) - begin)) ms)" "$rest"
        scripts/hosts heal
    fi
    if selected "a link between two hosts is cut"; then
        busy -x SUIRO_TCP_TIMEOUT=3s
        strike scripts/hosts cut node2 node3
        ends "a link between two hosts is cut" "1 75 255" "node[23]" 20000
        scripts/hosts heal
    fi
}

# failed_start NAME CODES LINE COMMAND [OPTIONS]: a command that is to start agents and does not.
failed_start() {
    selected "$1" || return
    # shellcheck disable=SC2086 # Options are words.
    strike start -launcher-exec "$4" -host node1,node2,node3 -n 3 ${5-} sleep 300
    ends "$1" "$2" "$3" 8000
}

starter() { printf '#!/bin/sh\n%s\n' "$2" >"$T/$1"; chmod +x "$T/$1"; }

starts_failed() {
    local cannot="^mpirun: cannot start mpirun's agent on host node[23]: "
    starter asks 'echo Password: >&2; exec sleep 300'
    starter silent 'exec sleep 300'
    starter garbage 'exec head -c 100000 /dev/urandom'
    starter flood 'exec cat /dev/zero'
    starter greets "echo Welcome; exec $agent \"\$@\""
    starter complains 'yes complaint >&2'
    failed_start "an agent's command fails" 1 "${cannot}.*exited with code 1" false
    failed_start "an agent's command is missing" 1 "${cannot}/no/such: " /no/such
    failed_start "an agent's command prints garbage" 1 "$cannot" "$T/garbage"
    failed_start "an agent's command prints without end" 1 "$cannot" "$T/flood"
    failed_start "an agent's command greets" 124 "  ranks .* on node3 .process" "$T/greets" "--timeout 2"
    failed_start "an agent's command asks" 124 "node[23].*Password:" "$T/asks" "--timeout 2"
    failed_start "an agent's command hangs" 124 "node[23]" "$T/silent" "--timeout 2"
    failed_start "an agent's command complains without end" 124 "^node[23]: complaint" "$T/complains" \
        "--timeout 2"
    SUIRO_START_TIMEOUT=6s failed_start "an agent's command never answers" 1 \
        "${cannot}it has not answered" "$T/silent"
    programs_missing
    hosts_missing
}

programs_missing() {
    selected "a program that one host does not have" || return
    local k
    on node3 touch /tmp/program-that-is-here
    for k in 1 2 4; do on node$k cp "$(command -v sleep)" /tmp/program; done
    clean
    strike start -host node1,node2,node3,node4 -n 4 /tmp/program 300
    ends "a program that one host does not have" 127 "^mpirun: cannot start /tmp/program: .*node3"
    for k in 1 2 4; do on node$k mkdir /tmp/folder; done
    clean
    strike start -host node1,node2,node3,node4 -n 4 -wdir /tmp/folder sleep 300
    ends "a folder that one host does not have" "1 126 127" "^mpirun: .*/tmp/folder.*node3"
    for k in 1 2 3 4; do on node$k sh -c 'rm -rf /tmp/program* /tmp/folder'; done
    clean
}

hosts_missing() {
    selected "a host that does not exist" || return
    strike start -host node1,node9 -n 2 sleep 300
    ends "a host that does not exist" 1 "^mpirun: .*node9"
    scripts/hosts cut node3
    strike start -launcher-exec "$agent -o ConnectTimeout=2" -host node1,node3 -n 2 sleep 300
    ends "a host that does not answer" 1 "^mpirun: .*node3"
    scripts/hosts heal
}

outputs_failed() {
    local wrong='' ring
    if selected "the reader of the output goes away"; then
        strike true
        { on node1 "$bin/mpirun" -launcher-exec "$agent" -host "$four" yes 2>"$T/err"
          echo $? >"$T/code"; } | head -c 100000 >/dev/null &
        job=$!
        wait_job 8000
        nothing_left 8000 1 2 3 4
        [ "$code" != hangs ] && [ "$(cat "$T/code")" != 0 ] || wrong+=" code $code $(cat "$T/code");"
        verdict "the reader of the output goes away ($(($(now_ms) - begin)) ms)" "$wrong"
    fi
    if selected "the time limit"; then
        ring=$(compiled tests/data/ring.c) || exit
        strike start --timeout 2 -host "$four" "$ring"
        # The report reads the symbols of a build with debug information, eight times at once.
        ends "the time limit" 124 "^  ranks .*[0-9] on node4 .process" 20000
    fi
    if selected "a full disk"; then
        on node1 sh -c 'mkdir /tmp/small && mount -t tmpfs -o size=64k small /tmp/small'; clean
        # shellcheck disable=SC2016 # The shell of the rank expands it.
        strike start --output dir=/tmp/small -host "$four" sh -c 'yes $PMI_RANK | head -c 1000000'
        ends "a full disk" "1 2 74 141 137" "/tmp/small.*No space|No space.*/tmp/small" 8000
        on node1 sh -c 'umount /tmp/small; rmdir /tmp/small'; clean
        strike true
        on node1 "$bin/mpirun" -launcher-exec "$agent" -host "$four" yes >/dev/full 2>"$T/err" </dev/null &
        job=$!
        ends "output to a full device" "1 141 137" "No space" 8000
    fi
}
