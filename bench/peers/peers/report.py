"""Prints the results as text."""

from peers import goals
from peers.contenders import HALYARDS, PEERS

_SHORT = {"litert": "LiteRT", "onnxruntime": "ORT", "openvino": "OpenVINO",
          "openvino/onnx": "OV onnx", "halyard": "Halyard", "halyard/in-process": "in process"}
_COLUMNS = (*PEERS, *HALYARDS)


def print_head(run):
    versions = ", ".join(f"{name} {number}" for name, number in run["versions"].items())
    print(f"{run['machine']}; {versions}")
    print("Medians in ms. RATIO is Halyard's, with the driver in a process of its own, to the best "
          "of the others;\nLITERT is that in process to LiteRT. APART is how far the outputs are "
          "from LiteRT's.")
    cells = "".join(f"{_SHORT[name]:>11}" for name in _COLUMNS)
    print(f"\n{'model':30} T{cells}  RATIO BEST         LITERT  APART", flush=True)


def _milliseconds(result):
    if "ms" not in result:
        return "-"
    return f"{result['ms']:.3f}"


def print_latency(name, threads, results):
    cells = "".join(f"{_milliseconds(results.get(column, {})):>11}" for column in _COLUMNS)
    best, ratio, litert = goals.best_peer(results), "", ""
    if best is not None and "ms" in results.get("halyard", {}):
        ratio = f"{goals.paired_ratio(results['halyard'], results[best]):.2f}"
    if "ms" in results.get("litert", {}) and "ms" in results.get(HALYARDS[1], {}):
        litert = f"{goals.paired_ratio(results[HALYARDS[1]], results['litert']):.2f}"
    apart = results.get("halyard", {}).get("difference", "")
    print(f"{name:30} {threads}{cells}  {ratio:>5} {best or '-':13}{litert:>6}  {apart}", flush=True)


def _print_loads(run):
    print("\nLoading a model, ms: until it can be executed, the compiling part of Halyard's time, "
          "and until\nits first result is there; peak memory, MiB")
    print(f"{'model':30}{'LiteRT':>9}{'Halyard':>9}{'compile':>9}"
          f"  | {'LiteRT':>9}{'Halyard':>9}  | {'LiteRT':>9}{'Halyard':>9}{'ratio':>7}")
    for model in run["models"]:
        load = model.get("load", {})
        if "litert" not in load:
            continue
        line = f"{model['name']:30}"
        line += "".join(f"{load[name]['ms']:9.2f}" for name in ("litert", "halyard"))
        line += f"{load['halyard']['compile_ms']:9.2f}  | "
        line += "".join(f"{load[name]['result_ms']:9.2f}" for name in ("litert", "halyard"))
        line += "  | "
        for results in list(model["threads"].values())[:1]:
            ours, theirs = (results.get(n, {}).get("memory_kib") for n in ("halyard", "litert"))
            if ours and theirs:
                line += f"{theirs / 1024:9.1f}{ours / 1024:9.1f}{ours / theirs:7.2f}"
        print(line)


def _print_differences(run):
    """Shows conversions that changed the function of a model."""
    lines = []
    for model in run["models"]:
        results = next(iter(model["threads"].values()), {})
        apart = [f"{_SHORT[name]} {result['difference']}" for name, result in results.items()
                 if name in PEERS[1:] and "difference" in result]
        if apart:
            lines.append(f"  {model['name']}: {'; '.join(apart)}")
    if lines:
        print("\nHow far the others' outputs are from LiteRT's:")
        print("\n".join(lines))


def _print_errors(run):
    errors = {}
    for model in run["models"]:
        for results in model["threads"].values():
            for name, result in results.items():
                if "error" in result:
                    errors[(model["name"], name)] = result["error"]
    if errors:
        print("\nNot run:")
    for (model, name), error in errors.items():
        print(f"  {model}, {name}: {error}")


def print_tail(run):
    _print_errors(run)
    _print_differences(run)
    if any("litert" in model.get("load", {}) for model in run["models"]):
        _print_loads(run)
    for model in run["models"]:
        rates = model.get("throughput", {})
        if "share" in rates:
            print(f"\n{model['name']}: {rates['one']:.1f} inferences/s with one client, "
                  f"{rates['many']:.1f} with 8: {rates['share']:.0%}")
    for name, top1 in run.get("accuracy", {}).items():
        if "halyard" in top1:
            print(f"\n{name}: top-1 {top1['halyard']:.2%}, LiteRT {top1['litert']:.2%} "
                  f"({top1['images']} images)")
    for name, counts in run.get("conformance", {}).items():
        if "passed" in counts:
            print(f"\n{name}: {counts['passed']} vectors pass, {counts['failed']} fail, "
                  f"{counts['skipped']} are skipped")
    if run["missing"]:
        print(f"\nNot on this machine: {', '.join(run['missing'])}")
    slow = goals.slow_loads(run)
    if slow:
        print("\nNot goals, which are about compiling, but beyond the same limit:")
        print("\n".join(f"  {text}" for text in slow))
    print(f"\n{len(run['failures'])} goals missed" if run["failures"] else "\nAll goals hold")
    for failure in run["failures"]:
        print(f"  {failure}")
