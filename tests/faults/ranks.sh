# Ranks that leave, stop, starve or are many, and clocks. Sourced by scripts/faults.
# shellcheck shell=bash disable=SC2034,SC2154

fault F12 clocks 6 60 seconds 3000 \
    "wall clocks of launcher and ranks step by 2 h twice a second, in turns on two hosts; monotonic clocks differ by days" \
    "MPI_Wtime is monotonic, nothing times out, and the job ends with 0"
play_clocks() {
    cluster 2 || return
    local program steps=$T/clock_steps.so
    cc -shared -fPIC -D_GNU_SOURCE -O2 -o "$steps" tests/faults/clock_steps.c || exit
    program=$(compiled tests/faults/clocks.c -lm) || exit
    starter steps "host=\$1; shift; exec $agent \"\$host\" \"LD_PRELOAD=$steps; export LD_PRELOAD; \$*\""
    LD_PRELOAD=$steps start -launcher-exec "$T/steps" -host node1:2,node2:2 "$program" "$count"
    good "wall clocks step" $((count + 30)) "ranks = 4, steps = [1-9][0-9]*, errors = 0"
    echo "note $(cat "$T/out")"
    if ! on node1 unshare -T --monotonic 100000 true; then
        say skip "no clock namespaces on this machine"
        return
    fi
    # shellcheck disable=SC2016 # The shell of the rank expands it.
    start --device tcp -host node1:2,node2:2 sh -c \
        'exec unshare -T --monotonic $((PMI_RANK * 100000)) "$0" "$@"' "$program" "$count"
    good "monotonic clocks differ" $((count + 30)) "ranks = 4, steps = 0, errors = 0"
}

fault F13 rank-leaves 1 1 round 120000 "exit before MPI_Finalize, exit in MPI_Init, exec after it, fork with children alive" \
    "a named error, or success; never a hang"
play_rank_leaves() {
    rust_tests departure::every_way_to_leave_ends_with_a_reason_or_succeeds \
        departure::a_later_program_does_not_hide_that_the_earlier_did_not_finalize \
        departure::a_program_that_some_ranks_do_not_start_ends_the_job \
        pmi::leaving_without_finalize_is_explained failure::remaining_processes_of_ranks_end_with_the_job
}

fault F14 rank-stopped 5 60 seconds 6000 "SIGSTOP to a rank, then SIGCONT: one host, and two hosts" \
    "no rank is taken for dead; the report at a time limit names it; the job goes on"
play_rank_stopped() {
    local stopped
    SUIRO_STOP_S=$count rust_tests faults::a_temporarily_stopped_rank_is_no_error \
        timeout::a_stopped_rank_is_reported_as_stopped deadlock::a_stopped_rank_is_not_reported_as_deadlocked
    cluster 2 || return
    patterns_start node1:1,node2:1
    stopped=$(ranks 2 | tail -n 1)
    kill -STOP "$stopped"; sleep "$count"; kill -CONT "$stopped"
    patterns_end "a rank on another host is stopped for $count s"
}

fault F15 out-of-memory 3 100 kills 3000 "a rank exceeds the memory of its control group" \
    "as F1, and the message says that memory was the reason"
play_out_of_memory() {
    local group program round
    cluster 2 || return
    group=$(memory_group) || { say skip "no control group for memory can be made here"; return; }
    program=$(compiled tests/faults/hungry.c) || exit
    # All processes of the job on one host are in the group, as in a container.
    starter limited "host=\$1; shift; exec $agent \"\$host\" \"echo 0 >$group/cgroup.procs; \$*\""
    for ((round = 0; round < count; round++)); do
        strike start -launcher-exec "$T/limited" -host node1:2,node2:2 "$program"
        ends "a rank needs too much memory" 137 "^mpirun: rank 3 \(process [0-9]+ on node2\) was killed by \
signal 9 \(SIGKILL\), probably for lack of memory" 20000
        [ "$bad" = 0 ] || break
    done
    rmdir "$group" || say FAIL "processes are left in $group"
}

# memory_group: makes a control group of 64 MiB, in either version; prints its folder.
memory_group() {
    local root=/sys/fs/cgroup group
    if [ -e $root/memory/memory.limit_in_bytes ]; then
        group=$root/memory/$HOSTS_INSTANCE
        mkdir "$group" && echo 67108864 >"$group/memory.limit_in_bytes" || return
    else
        group=$root/$HOSTS_INSTANCE
        mkdir "$group" && echo 67108864 >"$group/memory.max" && echo 0 >"$group/memory.swap.max" || return
    fi 2>/dev/null
    echo "$group"
}

fault F16 many-ranks 4 12 programs 60000 "32 ranks on the processors of this machine: waiting, and programs of c-tests" \
    "waiting takes 5 % of a processor at most; the programs end in their time without errors"
play_many_ranks() {
    cluster 1 || return
    local program idle_s=5 name names=(coll_all matching comm_split sendrecv coll_reduce coll_gather coll_scan
        coll_blocks probe topology_cart coll_nonblocking partitioned)
    program=$(compiled tests/faults/idle.c) || exit
    start -n 32 "$program" $idle_s
    good "32 ranks wait" 60 "sum = 496, used = [0-9]+ ms"
    echo "note 32 waiting ranks: $(sed 's/.*, //' "$T/out") of processors in $idle_s s"
    [ "$(sed -n 's/.*used = \([0-9]*\) ms/\1/p' "$T/out")" -le $((idle_s * 50)) ] || say FAIL "they are not idle"
    for name in "${names[@]:0:count}"; do
        program=$(compiled "c-tests/$name.c" -pthread) || exit
        start -n 32 "$program"
        good "$name, 32 ranks" 120 "errors = 0"
    done
}
