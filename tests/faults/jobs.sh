# Jobs on hosts of one machine, and what is left of them: shared by all groups of faults. Sourced by
# scripts/faults.
#
# A play prints lines that begin with "ok ", "FAIL " or "skip ", and "note " for numbers that belong into the
# table.
# shellcheck shell=bash disable=SC2034,SC2154 # The variables are those of scripts/faults.

agent=/run/hosts/bin/hosts-ssh
four=node1:2,node2:2,node3:2,node4:2

# begin_play: the process of one fault begins: a folder, and its removal with all hosts.
begin_play() {
    # With jobs of their own group, background processes do not ignore SIGINT.
    set -m
    bad=0 child=''
    export HOSTS_INSTANCE=faults$$
    T=$(mktemp -d "$build/faults.XXXXXX") || exit
    # Another user runs programs there.
    chmod 711 "$T"
    trap end_play EXIT
    trap 'exit 1' HUP INT TERM
}
end_play() {
    [ -z "$child" ] || kill -- -"$child" 2>/dev/null
    scripts/hosts down 2>/dev/null
    rm -rf "$T"
}

# cluster COUNT: so many hosts; false, after saying so, where this machine has none.
cluster() {
    local why
    if ! why=$(scripts/hosts check 2>&1); then
        say skip "$why"
        return 1
    fi
    scripts/hosts up "$1" --while $$ --share "$PWD" --share "$T" || exit
    mapfile -t all_nodes < <(seq "$1")
    clean
}
on() { scripts/hosts exec "$@"; }

# compiled SOURCE [FLAGS]: prints the path of a program, made by this mpicc.
compiled() {
    local source=$1 program
    program=$T/$(basename "${source%.c}")
    shift
    [ -e "$program" ] || "$bin/mpicc" -std=c11 -D_GNU_SOURCE -O2 -o "$program" "$source" "$@" || exit
    echo "$program"
}

now_ms() { echo $(($(date +%s%N) / 1000000)); }

# say STATE TEXT: a line of the log; a failure shows what the job wrote.
say() {
    printf '%-4s %s\n' "$1" "$2"
    if [ "$1" = FAIL ]; then
        bad=1
        [ ! -s "$T/err" ] || sed 's/^/     | /' "$T/err" | head -30
    fi
}
# verdict NAME WRONG: ok if WRONG is empty.
verdict() { if [ -z "$2" ]; then say ok "$1"; else say FAIL "$1:$2"; fi; }

# clean: notes the nodes' process namespaces, by which their processes are known, and their files.
clean() {
    local node pid k
    space=() init=()
    while read -r node _ _ pid _; do
        init[${node#node}]=$pid space[${node#node}]=$(readlink "/proc/$pid/ns/pid" | tr -dc 0-9)
    done < <(scripts/hosts status | grep ' pid ')
    for k in "${all_nodes[@]}"; do files "$k" >"$T/files$k"; done
}
# of NODE PATTERN: ids of the processes on that node whose command line fits, oldest first.
of() { ps -A --sort=start_time -o pidns=,pid=,args= | awk -v ns="${space[$1]-none}" -v like="$2" \
    '$1 == ns { pid = $2; $1 = $2 = ""; if ($0 ~ like) print pid }'; }
ranks() { of "$1" "^ *$T/"; }
launchers() { of "$1" '^ *[^ ]*/mpirun '; }   # not the shell of the agent's command
left() {        # the processes of jobs on the nodes in question
    local k
    for k in "$@"; do of "$k" . | grep -vx "${init[$k]-none}"; done
}
tree() { local k; for k in "${all_nodes[@]}"; do left "$k" | xargs -r ps -o pid=,ppid=,stat=,args= -p | cut -c-100; done; }
files() { local k; for k in "$@"; do (cd "/proc/${init[$k]}/root" && find tmp var/tmp dev/shm -xdev | sort); done; }
files_before() { local k; for k in "$@"; do cat "$T/files$k"; done; }

# start WORDS...: mpirun WORDS on node1, in the background.
start() {
    : >"$T/out"
    scripts/hosts exec node1 "$bin/mpirun" -launcher-exec "$agent" "$@" >"$T/out" 2>"$T/err" </dev/null &
    job=$!
}
strike() { begin=$(now_ms); "$@"; }

# says TEXT: waits until the job has written a line with TEXT.
says() {
    local _
    for _ in {1..600}; do
        grep -q "$1" "$T/out" && return
        kill -0 "$job" 2>/dev/null || return
        sleep 0.05
    done
}

# busy OPTIONS...: ranks that exchange messages, two on each of four nodes, once all run.
busy() {
    local k program
    program=$(compiled tests/data/ring.c) || exit
    start "$@" -host "$four" "$program"
    for _ in {1..200}; do
        [ "$(for k in 1 2 3 4; do ranks "$k"; done | wc -l)" = 8 ] && sleep 0.2 && return
        sleep 0.05
    done
}
# wait_job LIMIT_MS: its exit code to `code`; "hangs" if it has not ended by then.
wait_job() {
    local end=$((begin + $1))
    while kill -0 "$job" 2>/dev/null; do
        if [ "$(now_ms)" -ge $end ]; then
            code=hangs
            tree >>"$T/err"
            kill -9 "$job"
            wait "$job" 2>/dev/null
            return
        fi
        sleep 0.02
    done
    wait "$job" 2>/dev/null
    code=$?
}
# gone LIMIT_MS NODE...: whether all processes have ended on these nodes; their list otherwise.
gone() {
    local end=$((begin + $1)) rest
    shift
    while rest=$(left "$@"); [ "$rest" ]; do
        if [ "$(now_ms)" -ge $end ]; then
            mapfile -t rest <<<"$rest"
            ps -o pid=,args= -p "$(IFS=,; echo "${rest[*]}")"
            kill -9 "${rest[@]}" 2>/dev/null
            return 1
        fi
        sleep 0.02
    done
}
# nothing_left LIMIT_MS NODE...: adds to `wrong` what the job has left on these nodes.
nothing_left() {
    local rest
    rest=$(gone "$@") || wrong+=" left: $rest;"
    shift
    [ "$(files "$@")" = "$(files_before "$@")" ] || wrong+=" files: $(files "$@" | tr '\n' ' ');"
}
# ends NAME CODES LINE [LIMIT_MS [NODES]]: the job that was started ends with one of CODES, with a line
# that fits LINE on standard error, and leaves nothing on the nodes.
ends() {
    local name=$1 limit=${4:-5000} nodes wrong=
    read -ra nodes <<<"${5:-${all_nodes[*]}}"
    wait_job "$limit"
    nothing_left "$limit" "${nodes[@]}"
    [[ " $2 " = *" $code "* ]] || wrong+=" code $code, not $2;"
    [ -z "$3" ] || grep -Eq -- "$3" "$T/err" || wrong+=" no line '$3';"
    verdict "$name ($(($(now_ms) - begin)) ms)" "$wrong"
}

# good NAME LIMIT_S LINE: the job that was started ends with 0 and with this line, after how much ever.
good() {
    local wrong=
    strike wait_job $(($2 * 1000))
    nothing_left 5000 "${all_nodes[@]}"
    [ "$code" = 0 ] || wrong+=" code $code;"
    grep -Eqx -- "$3" "$T/out" || wrong+=" no line '$3', but: $(head -c 300 "$T/out");"
    verdict "$1" "$wrong"
}

# rust_tests NAME...: these tests of launch/tests pass. The environment has their numbers.
rust_tests() {
    local status=0
    cargo test --test launch -- --exact --nocapture --test-threads=1 "${@/#/launch::}" >"$T/tests" 2>&1 &
    child=$!
    wait $child || status=$?
    child=
    if [ $status = 0 ] && grep -q "^test result: ok. $# passed" "$T/tests"; then
        say ok "tests: $*"
        grep -E '^(skipped|[0-9]+ kills)' "$T/tests" | sed 's/^skipped/skip/; s/^[0-9]* kills/note &/'
    else
        cp "$T/tests" "$T/err"
        say FAIL "tests: $*"
    fi
}

# wait_all PID...: adds to `wrong` the exit codes of these processes that are not 0.
wait_all() {
    local pid
    for pid in "$@"; do wait "$pid" || wrong+=" process ended with $?;"; done
}
