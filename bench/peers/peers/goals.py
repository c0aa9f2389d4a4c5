"""The goals of a run, and the goals that its results miss."""

import statistics

from peers.contenders import PEERS

# Limits for Halyard's time, relative to the best peer or to LiteRT.
MOST_RATIO = 1.00
STRETCH = {"float": 0.90, "quant8": 0.80}
MOST_MORE_MS = 0.015  # out of process, small models
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


def _latency_failures(model, threads, results):
    where = f"{model['name']}, {threads} thread{'s' if threads > 1 else ''}"
    for name in ("halyard", "halyard/in-process"):
        if "error" in results.get(name, {}):
            return [f"{where}: {name}: {results[name]['error']}"]
    failures = []
    if model["kind"] in ("float", "quant8") and "halyard" in results:
        best = best_peer(results)
        if best is not None:
            ratio = paired_ratio(results["halyard"], results[best])
            if ratio > MOST_RATIO:
                failures.append(f"{where}: {ratio:.3f} x {best}")
    if model["kind"] == "small" and "ms" in results.get("litert", {}):
        litert = results["litert"]
        if "halyard/in-process" in results:
            ratio = paired_ratio(results["halyard/in-process"], litert)
            if ratio > MOST_RATIO:
                failures.append(f"{where}, in process: {ratio:.3f} x LiteRT")
        if "halyard" in results:
            pairs = zip(results["halyard"]["rounds"], litert["rounds"])
            more = statistics.median(a - b for a, b in pairs)
            if more > MOST_MORE_MS:
                failures.append(f"{where}: {1000 * more:.0f} us more than LiteRT")
    return failures


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
            found += _latency_failures(model, int(threads), results)
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
