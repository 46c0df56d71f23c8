"""Tables and charts of the results of benches/peers.py.

Knows only the JSON file and the names of groups, libraries and targets, so old files are shown like
new ones. A figure is the median over the repetitions of each run's median. `speed` is how many
times as fast ours is as another: above 1 ours is faster, for times and for rates alike. The best
other library is the best with its defaults; the best tuned one may be one of the defaults too.

A limit is what the bare machine takes for the least that any library must do: move a cache line
(with more ranks than processors: give each waiting rank its turn), copy the message once, start the
processes. It is no promise that a library can reach it.
"""

import math
from statistics import median

import targets
from groups import GROUPS
from libraries import OURS, is_default, is_ours

NAMES = {"suiro": "Suiro", "mpich": "MPICH", "openmpi": "Open MPI", "intel": "Intel MPI"}
COLORS = {"suiro": "#1b6ca8", "mpich": "#e07a1f", "openmpi": "#2f9e44", "intel": "#8e44ad"}
# Beside the rates: shares that are hidden.
LARGER_IS_BETTER = {"overlap_asleep"}
# What the README shows: group, test, ranks, bytes.
HIGHLIGHTS = [
    ("pt2pt", "latency", 2, 8),
    ("pt2pt", "latency", 2, 65536),
    ("pt2pt", "rate", 2, 8),
    ("pt2pt", "stream", 2, 65536),
    ("pt2pt", "stream", 2, 1048576),
    ("pt2pt", "stream", 2, 4194304),
    ("pt2pt", "latency", 8, 8),
    ("coll", "barrier", 2, 0),
    ("coll", "allreduce", 2, 8),
    ("coll", "allreduce", 2, 1048576),
    ("coll", "bcast", 2, 65536),
    ("coll", "alltoall", 2, 65536),
    ("coll", "barrier", 8, 0),
    ("coll", "allreduce", 8, 8),
    ("coll", "allreduce", 8, 65536),
    ("coll", "alltoall", 8, 1024),
    ("start", "true", 2, 0),
    ("start", "init-finalize", 2, 0),
    ("start", "init-finalize", 8, 0),
    ("start", "init-finalize", 32, 0),
]


# ---- figures ----


def limits_of(result):
    """The median of each bare limit by its name, ranks and bytes."""
    values = {}
    for figure in result["limits"]:
        if "value" in figure:
            key = figure["test"], figure["ranks"], figure["bytes"]
            values.setdefault(key, []).append(figure["value"])
    return {key: median(found) for key, found in values.items()}


def limit(key, limits, processors):
    """What the bare machine allows, in the unit of the figure; None where nothing is known."""
    group, test, ranks, size = key
    if GROUPS[group].program != "peers" or GROUPS[group].layout:
        return None
    if group == "start":
        return limits.get(("spawn", ranks, 0)) if not test.startswith("MPI_") else None
    copy_us = limits.get(("copy", 1, size), 0)
    if test in ("stream", "bidirectional"):
        return (2 if test == "bidirectional" else 1) * size / copy_us if copy_us else None
    if test == "rate":
        return None
    turns = math.ceil(ranks / processors) - 1
    if turns == 0 or test == "latency":
        move_us = limits.get(("line", 2, 8))
    else:
        move_us = turns * limits[("switch", 2, 8)]
    return max(move_us, copy_us) if move_us else None


def summary(result):
    """One row for each figure, with every library's median, the speeds of ours, and the limit."""
    gathered = {}
    for sample in result["samples"]:
        key = sample["group"], sample["test"], sample["ranks"], sample["bytes"]
        gathered.setdefault(key, {}).setdefault(sample["peer"], []).append(sample)
    limits = limits_of(result)
    rows = []
    for key, by_peer in gathered.items():
        values, missing = {}, {}
        for peer, samples in by_peer.items():
            found = [sample["value"] for sample in samples if "value" in sample]
            if found:
                values[peer] = median(found)
            bad = [sample["status"] for sample in samples if sample["status"] != "ok"]
            if bad:
                missing[peer] = bad[0]
        unit = next(iter(by_peer.values()))[0]["unit"]
        row = dict(zip(["group", "test", "ranks", "bytes"], key))
        row |= {"unit": unit, "values": values, "missing": missing, "speeds": {}}
        row["limit"] = limit(key, limits, result["machine"]["processors"])
        add_speeds(row)
        rows.append(row)
    for failure in result["failures"]:
        for row in rows:
            if row["group"] == failure["group"] and row["ranks"] == failure["ranks"]:
                row["missing"].setdefault(failure["peer"], "failed")
    return sorted(rows, key=lambda row: (row["group"], row["ranks"]))


def add_speeds(row):
    others = {peer: value for peer, value in row["values"].items() if not is_ours(peer)}
    defaults = [peer for peer in others if is_default(peer)]
    if not others:
        return
    is_larger_better = "/" in row["unit"] or row["test"] in LARGER_IS_BETTER
    best_of = max if is_larger_better else min
    if defaults:
        row["best"] = best_of(defaults, key=others.get)
    if len(others) > len(defaults):
        row["tuned"] = best_of(others, key=others.get)
    own = row["values"].get(OURS)
    if own:
        row["speeds"] = {
            peer: own / value if is_larger_better else value / own
            for peer, value in others.items()
            if own > 0 and value > 0
        }


# ---- tables ----


def digits(value, count=3):
    """A number with three digits that count, and no exponent."""
    if value is None:
        return "-"
    decimals = max(0, count - 1 - math.floor(math.log10(abs(value)))) if value else 0
    return f"{value:,.{min(decimals, 4)}f}"


def with_unit(value, unit):
    """A number with its unit, in the unit that people would use."""
    for small, large, factor in [("us", "ms", 1e3), ("ms", "s", 1e3), ("MB/s", "GB/s", 1e3)]:
        if unit == small and value >= factor:
            value, unit = value / factor, large
    if unit == "us" and value < 1:
        value, unit = value * 1e3, "ns"
    return f"{digits(value)} {unit.replace('us', 'µs')}"


def size_name(size):
    if size >= 1 << 20:
        return f"{size >> 20} MiB"
    return f"{size >> 10} KiB" if size >= 1024 else f"{size} B"


def size_of(row):
    """The message size of a figure, or another one; nothing where there is none."""
    if row["group"] == "depth":
        return f"{row['bytes']:,}"
    return size_name(row["bytes"]) if row["bytes"] or row["test"] == "latency" else ""


def aligned(lines):
    """Columns of text: the first to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*lines)]
    for line in lines:
        first = line[0].ljust(widths[0])
        rest = (cell.rjust(width) for cell, width in zip(line[1:], widths[1:]))
        print("  ".join([first, *rest]).rstrip())


def cell(row, peer):
    if peer not in row["values"]:
        why = row["missing"].get(peer, "")
        return {"unsupported": "-", "budget": "cut", "": "-"}.get(why, why)
    text = digits(row["values"][peer])
    if row["missing"].get(peer) == "wrong":
        return f"{text} WRONG"
    speed = row["speeds"].get(peer)
    return f"{text} ×{digits(speed, 2)}" if speed else text


def name_of(peer):
    """What people call a library, with its variant if it is one."""
    library, *variant = peer.split()
    return " ".join([NAMES[library], *(f"({word})" for word in variant)])


def heading(result):
    machine = result["machine"]
    print(f"{result['date']}, commit {result['commit']}")
    print(
        f"{machine['model']}, {machine['processors']} processors, {machine['memory_gib']} GiB, "
        f"Linux {machine['kernel']}, load {machine['load'][0]:.1f}"
    )
    for peer, about in result["libraries"].items():
        words = [*about["environment"], *about["options"]]
        print(f"  {name_of(peer)}: {about['version']}  {' '.join(words)}".rstrip())


def print_limits(result):
    print("\nThe bare machine, by repetition (median of all in the last column)")
    named = {}
    for figure in result["limits"]:
        key = figure["test"], figure["ranks"], figure["bytes"], figure["unit"]
        named.setdefault(key, {}).setdefault(figure["repetition"], []).append(figure.get("value"))
    lines = []
    for (test, ranks, size, unit), by_repetition in named.items():
        all_values = [value for values in by_repetition.values() for value in values if value]
        if not all_values:
            continue
        name = f"{test} {ranks}" if test == "spawn" else f"{test} {size_name(size)}"
        shown = [
            digits(median([value or 0 for value in values])) for values in by_repetition.values()
        ]
        lines.append([f"{name}, {unit}", *shown, digits(median(all_values))])
    aligned(lines)
    line_us = [
        figure["value"]
        for figure in result["limits"]
        if figure["test"] == "line" and "value" in figure
    ]
    if line_us:
        print(
            f"cache line between processors: {digits(min(line_us))} to {digits(max(line_us))} us"
            " one way; above 0.2 they are far apart, and the figures beside it are not comparable"
        )


def print_tables(result):
    """Everything, for people at a terminal."""
    heading(result)
    print_limits(result)
    rows = summary(result)
    for group in GROUPS:
        for ranks in sorted({row["ranks"] for row in rows if row["group"] == group}):
            chosen = [row for row in rows if (row["group"], row["ranks"]) == (group, ranks)]
            print_group(result, f"{GROUPS[group].title}, {ranks} ranks", chosen)
    print_targets(rows)
    print("\n× and / best, / tuned: how many times as fast Suiro is; above 1 it is faster")
    for failure in result["failures"]:
        about = f"{name_of(failure['peer'])}, {failure['group']}, {failure['ranks']} ranks"
        print(f"FAILED in repetition {failure['repetition'] + 1}: {about}: {failure['why']}")


def print_group(result, title, rows):
    """Columns for our library in every form, and for the others with their defaults."""
    has = {peer for row in rows for peer in [*row["values"], *row["missing"]]}
    columns = [peer for peer in result["libraries"] if is_default(peer) or is_ours(peer)]
    columns = [peer for peer in columns if peer in has]
    has_tuned = any("tuned" in row for row in rows)
    head = ["", "", "unit", *map(name_of, columns), "/ best"]
    lines = [[*head, *(["tuned best", "/ tuned"] if has_tuned else []), "limit"]]
    for row in rows:
        cells = [row["test"], size_of(row), row["unit"], *(cell(row, peer) for peer in columns)]
        cells.append(digits(row["speeds"].get(row.get("best")), 2))
        if has_tuned:
            peer = row.get("tuned")
            cells.append(f"{digits(row['values'][peer])} {name_of(peer)}" if peer else "-")
            cells.append(digits(row["speeds"].get(peer), 2))
        lines.append([*cells, digits(row["limit"])])
    print(f"\n{title}")
    aligned(lines)


def print_targets(rows):
    """What is to be reached, if anything of it was measured."""
    lines = list(targets.lines(rows, digits, name_of))
    if lines:
        print("\nTargets: ours / the best other library, or what is said")
        head = ["", "unit", "Suiro", "best default", "best tuned", "ratio", "target", ""]
        aligned([head, *lines])


def print_markdown(result):
    """The few figures that the README shows."""
    peers = [peer for peer in result["libraries"] if is_default(peer)]
    found = {
        (row["group"], row["test"], row["ranks"], row["bytes"]): row for row in summary(result)
    }
    print(f"| | {' | '.join(NAMES[peer] for peer in peers)} | bare machine |")
    print(f"|---|{'--:|' * (len(peers) + 1)}")
    for group, test, ranks, size in HIGHLIGHTS:
        row = found.get((group, test, ranks, size))
        if not row:
            continue
        what = {"true": "`mpirun true`", "init-finalize": "`MPI_Init`, `MPI_Finalize`, whole job"}
        name = what.get(test, f"{test}, {size_name(size)}" if size else test)
        cells = [f"{name}, {ranks} ranks"]
        for peer in peers:
            value = row["values"].get(peer)
            text = with_unit(value, row["unit"]) if value else cell(row, peer)
            cells.append(f"**{text}**" if value and is_best(row, peer) else text)
        cells.append(with_unit(row["limit"], row["unit"]) if row["limit"] else "")
        print(f"| {' | '.join(cells)} |")


def is_best(row, peer):
    if peer == OURS:
        return row["speeds"] and all(speed >= 1 for speed in row["speeds"].values())
    return peer == row.get("best") and row["speeds"].get(peer, 0) < 1


# ---- charts ----


def draw(result, folder):
    """One SVG a group: every other library's speed beside ours, on a line for each figure."""
    rows = summary(result)
    paths = []
    for group in GROUPS:
        chosen = [row for row in rows if row["group"] == group and row["speeds"]]
        if chosen:
            path = folder / f"{group}.svg"
            draw_group(result, group, chosen, path)
            paths.append(path)
    return paths


def label(row):
    return f"{row['test']} {size_of(row)}".strip()


def draw_group(result, group, rows, path):
    import matplotlib
    from matplotlib.figure import Figure

    # Text stays text, and the same figures make the same file.
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "suiro", "font.size": 8})
    all_ranks = sorted({row["ranks"] for row in rows})
    labels = list(dict.fromkeys(label(row) for row in rows))[::-1]
    figure = Figure(
        figsize=(2.5 + 3 * len(all_ranks), 1.4 + 0.16 * len(labels)), layout="constrained"
    )
    axes = figure.subplots(1, len(all_ranks), sharey=True, sharex=True, squeeze=False)[0]
    for axis, ranks in zip(axes, all_ranks):
        for peer in (peer for peer in result["libraries"] if peer in COLORS and peer != OURS):
            points = [row for row in rows if row["ranks"] == ranks and peer in row["speeds"]]
            speeds = [1 / row["speeds"][peer] for row in points]
            places = [labels.index(label(row)) for row in points]
            axis.scatter(speeds, places, s=14, color=COLORS[peer], label=NAMES[peer], zorder=3)
        axis.axvline(1, color=COLORS[OURS], linewidth=1.5)
        axis.set_xscale("log")
        axis.set_yticks(range(len(labels)), labels)
        axis.set_ylim(-0.7, len(labels) - 0.3)
        axis.set_title(f"{ranks} ranks")
        axis.grid(color="#dddddd", linewidth=0.5)
        axis.set_xlabel("speed; 1 is Suiro, right of it is faster")
    handles, names = axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=len(names), frameon=False)
    figure.suptitle(f"{GROUPS[group].title}: {result['machine']['model']}, {result['date'][:10]}")
    figure.savefig(path, metadata={"Date": None})
