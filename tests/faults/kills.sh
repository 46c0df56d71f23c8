# Processes and hosts that are killed at random times. Sourced by scripts/faults.
# shellcheck shell=bash disable=SC2034,SC2154

fault F1 rank-killed 20 1000 kills 12000 "SIGKILL to a random rank at a random time: shm, tcp, and both on two hosts" \
    "mpirun ends with 137 in 1 s (5 s on two hosts), names rank, host and signal; no process or file is left"
play_rank_killed() {
    local device
    for device in shm tcp; do
        SUIRO_DEVICE=$device SUIRO_KILL_RUNS=$count SUIRO_KILL_LIMIT_MS=1000 rust_tests kill::kill_mpi
    done
    cluster 2 || return
    local program
    program=$(compiled tests/data/ring.c) || exit
    killed_jobs choose_rank judge_rank -host node1:2,node2:2 "$program"
}

fault F2 shrink 140 10000 shrinks 600 \
    "ranks that die one after the other under --with-ft ulfm: shm, tcp, two hosts; the count is that of each" \
    "MPIX_ERR_PROC_FAILED in 100 ms as the median of the longest times of jobs, and always in 2 s; shrink and \
allreduce are right, MPI_Finalize returns"
play_shrink() {
    cluster 2 || return
    shrinks "shm" --device shm -host node1:8
    shrinks "tcp" --device tcp -host node1:8
    shrinks "two hosts" -host node1:4,node2:4
}

fault - survivors 25 1000 kills 6000 \
    "SIGKILL to a random rank, mpirun or agent, or a host that dies, at a random time, under --with-ft ulfm on two hosts" \
    "a dead rank or a lost host: the others shrink and verify; else the job ends; nothing hangs, no process or file is left"
play_survivors() {
    cluster 2 || return
    local program
    program=$(compiled tests/faults/survivors.c) || exit
    declare -A outcomes=()
    killed_jobs choose_any judge_survivors --with-ft ulfm -host node1:2,node2:2 "$program"
    echo "note ${outcomes[survived]:-0} jobs went on, ${outcomes[ended]:-0} ended"
    [ "${outcomes[survived]:-0}" -gt 0 ] || say FAIL "no job has survived a failure"
}

fault - kills 20 1000 kills 6000 \
    "SIGKILL to a random rank, mpirun or agent, or a host that dies, at a random time, on four hosts" \
    "the job ends with a code in 5 s, or 14 s if only silence tells; no process or file is left"
play_kills() {
    cluster 4 || return
    local program
    program=$(compiled tests/data/ring.c) || exit
    killed_jobs choose_any judge_end -host "$four" "$program"
}

# shrinks NAME OPTIONS...: jobs of eight ranks, each with seven shrinks.
shrinks() {
    local name=$1 program done_=0 took all_took=() wrong='' number
    shift
    program=$(compiled c-tests/failures/shrinks.c) || exit
    for ((number = seed; done_ < count; number++)); do
        rm -f "$T/deaths"
        start --with-ft ulfm "$@" "$program" $number "$T/deaths"
        strike wait_job 30000
        nothing_left 5000 "${all_nodes[@]}"
        took=$(sed -n 's/^shrinks = 7, longest = \([0-9]*\) us$/\1/p' "$T/out")
        [ "$code" = 0 ] && [ "$took" ] && grep -qx "errors = 0" "$T/out" ||
            wrong+=" seed $number: code $code, $(head -c 500 "$T/out");"
        [ "${took:-0}" -le 2000000 ] || wrong+=" seed $number: an error after $took us;"
        [ -z "$wrong" ] || break
        all_took+=("$took")
        done_=$((done_ + 7))
    done
    mapfile -t all_took < <(printf '%s\n' "${all_took[@]}" | sort -n)
    took=${all_took[${#all_took[@]} / 2]}
    # A machine that is busy otherwise delays single ones, and not the median.
    [ "${took:-0}" -le 100000 ] || wrong+=" the median of the longest times to an error is $took us;"
    verdict "$done_ shrinks, $name" "$wrong"
    echo "note $name: $done_ shrinks, errors after $((took / 1000)) ms (median of jobs) to" \
        "$((${all_took[-1]:-0} / 1000)) ms"
}

# choose_*: decides what is killed, by `chosen` and `kind`, and sets `what`, `limit`, `nodes` and `strikes`.
choose_rank() { what="a rank on node$k" strikes=(kill_one ranks "$k"); }
choose_any() {
    case $kind in
    0)
        mapfile -t nodes < <(printf '%s\n' "${all_nodes[@]}" | grep -vx "$k")
        dead=$k
        what="host node$k" strikes=(scripts/hosts kill --fin "node$k")
        [ $((chosen % 2)) = 1 ] || { what+=" silently" limit=14000 strikes=(scripts/hosts kill "node$k"); }
        ;;
    [1-6]) what="a mpirun on node$k" strikes=(kill_one launchers "$k") ;;
    *) choose_rank ;;
    esac
}
# kill_one LIST...: kills one of the processes that LIST lists, once there is one.
kill_one() {
    local all=()
    until mapfile -t all < <("$@"); [ ${#all[@]} -gt 0 ]; do
        if [ "$(now_ms)" -ge $((begin + 5000)) ]; then
            what+=", of which there is none"
            return
        fi
    done
    begin=$(now_ms)
    what+=", process ${all[chosen % ${#all[@]}]}"
    kill -9 "${all[chosen % ${#all[@]}]}"
}

# judge_*: adds to `wrong` what is wrong with the end of the job.
judge_end() { [ "$code" != hangs ] && [ "$code" != 0 ] || wrong+=" code $code;"; }
judge_rank() {
    [ "$code" = 137 ] || wrong+=" code $code;"
    grep -Eq "^mpirun: rank [0-9]+ \(process [0-9]+ on node$k\) was killed by signal 9 \(SIGKILL\)" "$T/err" ||
        wrong+=" the rank is not named;"
}
judge_survivors() {
    [ "$code" != hangs ] || wrong+=" hangs;"
    if [ "$code" = 0 ]; then
        local left=2
        [[ "$what" != "a rank "* ]] || left=3
        grep -qx "survivors = $left, errors = 0" "$T/out" || wrong+=" code 0, but: $(head -c 300 "$T/out");"
        outcomes[survived]=$((${outcomes[survived]:-0} + 1))
        return
    fi
    # A rank that dies in MPI_Init, before all know each other, ends the job.
    [[ "$what" != "a rank "* ]] || grep -Eq "MPI_Init|before" "$T/err" || wrong+=" code $code;"
    ! grep -q ", line " "$T/out" || wrong+=" $(head -c 300 "$T/out");"
    outcomes[ended]=$((${outcomes[ended]:-0} + 1))
}

# killed_jobs CHOOSE JUDGE WORDS...: `count` times a job of mpirun WORDS, in which something is killed at a random
# time.
killed_jobs() {
    local choose=$1 judge=$2 run wrong all_took=() k kind chosen delay what limit nodes=() dead strikes=() count_of_nodes
    shift 2
    count_of_nodes=${#all_nodes[@]}
    RANDOM=$((seed % 32768))
    for ((run = 1; run <= count; run++)); do
        k=$((RANDOM % count_of_nodes + 1)) kind=$((RANDOM % 20)) delay=$((RANDOM % 600)) chosen=$RANDOM
        nodes=("${all_nodes[@]}") limit=5000 dead='' wrong=''
        $choose
        # A host may die before the command reaches it.
        start -launcher-exec "$agent -o ConnectTimeout=2" "$@"
        sleep "$(printf '0.%03d' $delay)"
        strike "${strikes[@]}"
        wait_job $limit
        nothing_left "$limit" "${nodes[@]}"
        $judge
        all_took+=($(($(now_ms) - begin)))
        if [ "$wrong" ]; then
            say FAIL "kill $run of seed $seed: $what after $delay ms:$wrong"
            return
        fi
        if [ "$dead" ]; then scripts/hosts boot "node$dead"; clean; fi
    done
    mapfile -t all_took < <(printf '%s\n' "${all_took[@]}" | sort -n)
    say ok "$count kills"
    echo "note $count kills on $count_of_nodes hosts: to the end ${all_took[count / 2]} ms (median) to ${all_took[-1]} ms"
}
