"""The goals of a run, and the goals that its results miss."""

import statistics

from peers.contenders import ONE_THREAD, PEERS

# Limits for Halyard's time, relative to the best peer: with one thread, and with more.
MOST_RATIO = {"float": (0.92, 0.95), "quant8": (1.00, 1.00), "transformer": (0.95, 0.95)}
MOST_RATIO_WITH_MATRIX_UNIT = {"quant8": (0.70, 0.70)}
# Limits for small models. Those of SHORT_MS have the tighter limit with one thread.
MOST_IN_PROCESS = 1.00  # relative to LiteRT
SHORT_MS, MOST_MORE_SHORT_MS, MOST_MORE_MS = 0.050, 0.003, 0.015  # out of process, beyond LiteRT
MOST_OF_ONE_THREAD = 1.05  # with more threads; equal code differs by less
MOST_LOAD, MOST_MEMORY = 1.5, 1.2
LEAST_THROUGHPUT = 0.95
MOST_TOP1_APART = 0.001


def paired_ratio(ours, theirs, what="rounds"):
    """The median of the ratios within rounds, so that a disturbance affects both sides. `what`: the
    key of our rounds."""
    return statistics.median(a / b for a, b in zip(ours[what], theirs["rounds"]))


def best_peer(results):
    """The fastest of the other runtimes; None when no other runtime ran."""
    ran = [name for name in PEERS if "ms" in results.get(name, {})]
    return min(ran, key=lambda name: results[name]["ms"], default=None)


def _most_ratio(kind, threads, matrix_unit):
    """The limit of a kind that has one, otherwise None."""
    limits = MOST_RATIO | (MOST_RATIO_WITH_MATRIX_UNIT if matrix_unit else {})
    return limits[kind][0 if threads == 1 else 1] if kind in limits else None


def _small_failures(where, threads, results):
    """Missed goals of a small model, which are relative to LiteRT."""
    litert, failures = results["litert"], []
    if "halyard/in-process" in results:
        ratio = paired_ratio(results["halyard/in-process"], litert)
        if ratio > MOST_IN_PROCESS:
            failures.append(f"{where}, in process: {ratio:.3f} x LiteRT")
    if "halyard" in results:
        pairs = zip(results["halyard"]["rounds"], litert["rounds"])
        more = statistics.median(a - b for a, b in pairs)
        is_short = threads == 1 and litert["ms"] < SHORT_MS
        if more > (MOST_MORE_SHORT_MS if is_short else MOST_MORE_MS):
            failures.append(f"{where}: {1000 * more:.1f} us more than LiteRT")
    if "halyard" in results and "ms" in results.get(ONE_THREAD, {}):
        ratio = paired_ratio(results["halyard"], results[ONE_THREAD])
        if ratio > MOST_OF_ONE_THREAD:
            failures.append(f"{where}: {ratio:.2f} of the time with one thread")
    return failures


def _latency_failures(model, threads, results, matrix_unit):
    where = f"{model['name']}, {threads} thread{'s' if threads > 1 else ''}"
    for name in ("halyard", "halyard/in-process"):
        if "error" in results.get(name, {}):
            return [f"{where}: {name}: {results[name]['error']}"]
    most, best = _most_ratio(model["kind"], threads, matrix_unit), best_peer(results)
    if most is not None and best is not None and "halyard" in results:
        ratio = paired_ratio(results["halyard"], results[best])
        if ratio > most:
            return [f"{where}: {ratio:.3f} x {best}; at most {most:.2f}"]
    if model["kind"] == "small" and "ms" in results.get("litert", {}):
        return _small_failures(where, threads, results)
    return []


def _slow_load(load, what):
    """The ratio to LiteRT's load where it is above the limit, otherwise None."""
    ratio = paired_ratio(load["halyard"], load["litert"], what)
    return ratio if ratio > MOST_LOAD else None


def slow_loads(run):
    """One text for each whole load, with the import of the file, above the limit of compiling.
    This is not a goal, but the wait of a user with a file."""
    ratios = {model["name"]: _slow_load(model["load"], "rounds")
              for model in run["models"] if "litert" in model.get("load", {})}
    return [f"{name}: load {ratio:.2f} x LiteRT's" for name, ratio in ratios.items() if ratio]


def unmeasured(run, all_models):
    """Texts about goals that a run with its options does not measure."""
    found = []
    missing = [name for name in all_models if name not in [m["name"] for m in run["models"]]]
    if missing:
        found.append(f"not measured: {', '.join(missing)}")
    for model in run["models"]:
        if set(map(int, model["threads"])) < {1, 2}:
            found.append(f"{model['name']}: not measured with 1 and 2 threads")
        if "load" not in model:
            found.append(f"{model['name']}: loading is not measured")
    if not any("throughput" in model for model in run["models"]):
        found.append("throughput is not measured")
    found += [f"{part} is not measured" for part in ("accuracy", "conformance") if not run.get(part)]
    for model in run["models"]:
        for threads, results in model["threads"].items():
            if best_peer(results) is None:
                found.append(f"{model['name']}, {threads} threads: no other runtime ran it")
    return found


def failures(run):
    """One text for each missed goal, from the measurements of a run (its JSON)."""
    found = []
    for model in run["models"]:
        for threads, results in model["threads"].items():
            found += _latency_failures(model, int(threads), results, run.get("matrix_unit", False))
        load, name = model.get("load", {}), model["name"]
        if "error" in load:
            found.append(f"{name}: loading: {load['error']}")
        elif load:
            ratio = _slow_load(load, "compile_rounds")
            if ratio:
                found.append(f"{name}: compiling takes {ratio:.2f} x LiteRT's load")
        for results in list(model["threads"].values())[:1]:
            ours, theirs = (results.get(n, {}).get("memory_kib") for n in ("halyard", "litert"))
            if ours and theirs and ours > MOST_MEMORY * theirs:
                found.append(f"{name}: peak memory {ours / theirs:.2f} x LiteRT's")
        share = model.get("throughput", {}).get("share")
        if share is not None and share < LEAST_THROUGHPUT:
            found.append(f"{name}: 8 clients reach {share:.0%} of one's throughput")
        if "error" in model.get("throughput", {}):
            found.append(f"{name}: 8 clients: {model['throughput']['error']}")
    for name, top1 in run.get("accuracy", {}).items():
        if "error" in top1:
            found.append(f"{name}: accuracy: {top1['error']}")
        elif abs(top1["halyard"] - top1["litert"]) > MOST_TOP1_APART:
            found.append(f"{name}: top-1 {top1['halyard']:.2%}, LiteRT {top1['litert']:.2%}")
    for name, counts in run.get("conformance", {}).items():
        if "error" in counts:
            found.append(f"{name}: {counts['error']}")
        elif counts["failed"] or not counts["passed"]:
            found.append(f"{name}: {counts['failed']} vectors fail, {counts['passed']} pass")
    return found
