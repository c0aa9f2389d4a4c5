"""Measurements of one model, or of several clients. All times are in milliseconds."""

import contextlib
import statistics
import time

import numpy as np

from peers import contenders
from peers.contenders import ContenderError

ROUND_SECONDS = 0.05
FEWEST_ROUNDS = 5


def difference(ours, theirs):
    """A text about the distance of outputs from LiteRT's."""
    if len(ours) != len(theirs):
        return f"{len(ours)} outputs for {len(theirs)}"
    quanta, share = 0, 0.0
    for a, b in zip(ours, theirs):
        if a.shape != b.shape:
            return f"shape {a.shape} for {b.shape}"
        apart = np.abs(a.astype(np.float64) - b.astype(np.float64))
        if np.issubdtype(b.dtype, np.floating):
            spread = float(b.max() - b.min()) or 1.0
            share = max(share, float(apart.max()) / spread)
        else:
            quanta = max(quanta, int(apart.max()))
    texts = []
    if any(not np.issubdtype(b.dtype, np.floating) for b in theirs):
        texts.append(f"{quanta} quanta")
    if any(np.issubdtype(b.dtype, np.floating) for b in theirs):
        texts.append(f"{share:.1e} of range")
    return ", ".join(texts)


def rounds(running, seconds):
    """Medians of each round by contender. The contenders take turns; the first one changes."""
    length = {}
    for contender in running:
        once = statistics.median(contender.ask(do="run", seconds=0, warm=0.01)["us"]) / 1e6
        # A round has at least three executions.
        length[contender.name] = max(ROUND_SECONDS, 3 * once)
    medians = {contender.name: [] for contender in running}
    count = max(FEWEST_ROUNDS, round(seconds / max(length.values())))
    for number in range(count):
        shift = number % len(running)
        for contender in running[shift:] + running[:shift]:
            span = length[contender.name]
            times = contender.ask(do="run", seconds=span, warm=span / 10)["us"]
            medians[contender.name].append(statistics.median(times) / 1e3)
    return medians


def latency(model, inputs, names, threads, seconds, build, folder):
    """{contender: {"ms", "rounds", "load_ms", "first_ms", "memory_kib", "difference"} or {"error"}}.

    `memory_kib` is the growth of the contender's processes at their peak, relative to the time
    before its library was loaded. A driver's process counts completely. The pages of files that
    both processes map are the same memory, so they count once.
    """
    results = {}
    with contextlib.ExitStack() as stack:
        running = []
        for name in names:
            try:
                contender = contenders.start(name, model, inputs, threads, build)
                stack.enter_context(contender)
                loaded = contender.ask(do="load")
                results[name] = {"load_ms": loaded["ms"], "first_ms": loaded["first_ms"]}
                running.append(contender)
            except ContenderError as error:
                results[name] = {"error": str(error)}
        medians = rounds(running, seconds) if running else {}
        for contender in running:
            memory = contender.ask(do="memory")
            result = results[contender.name]
            result["rounds"] = medians[contender.name]
            result["ms"] = statistics.median(result["rounds"])
            result["memory_kib"] = (memory["peak_kib"] - memory["base_kib"] + memory["driver_kib"]
                                    - memory["shared_kib"])
        # This comes last, since reading the outputs takes memory.
        theirs = None
        for contender in running:
            ours = contender.outputs(folder)
            if contender.name == "litert":
                theirs = ours
            if theirs is not None:
                results[contender.name]["difference"] = difference(ours, theirs)
    return results


def loading(model, inputs, threads, build, seconds=4.0, fewest=15, most=75):
    """{"litert", "halyard"}: {"ms", "result_ms", "rounds"}, medians of the time to an executable
    model and to its first result. They include the reading and parsing of the file.

    Halyard's also has {"compile_ms", "compile_rounds"}: the part after the import of the file,
    which builds the model through the API and compiles it. The loads take turns, for this number
    of seconds or rounds. {"error"} where a load fails."""
    answers = {"litert": [], "halyard": []}
    try:
        with contenders.start("litert", model, inputs, threads, build) as litert, \
                build.start(model, inputs, threads) as halyard:
            begin = time.monotonic()
            while len(answers["halyard"]) <= fewest or (
                    len(answers["halyard"]) <= most and time.monotonic() - begin < seconds):
                answers["litert"].append(litert.ask(do="load"))
                answers["halyard"].append(halyard.ask(do="load"))
    except ContenderError as error:
        return {"error": str(error)}
    # The first load is also the first use of all code.
    return {name: _load_figures(several[1:]) for name, several in answers.items()}


def _load_figures(several):
    figures = {"ms": statistics.median(answer["ms"] for answer in several),
               "result_ms": statistics.median(answer["ms"] + answer["first_ms"]
                                              for answer in several),
               "rounds": [answer["ms"] for answer in several]}
    if "parts" in several[0]:
        rounds = [answer["parts"]["model"] + answer["parts"]["compile"] for answer in several]
        figures["compile_ms"], figures["compile_rounds"] = statistics.median(rounds), rounds
    return figures


def throughput(model, inputs, build, clients=8, seconds=0.7, rounds=9):
    """Inferences per second of one client and of several parallel clients, each with the driver's
    default threads, in turns: {"one", "many", "share"}."""
    ones, manies = [], []
    with contextlib.ExitStack() as stack:
        workers = [stack.enter_context(build.start(model, inputs)) for _ in range(clients)]
        try:
            for worker in workers:
                worker.ask(do="load")
            for _ in range(rounds):
                ones.append(_rate(workers[:1], seconds))
                manies.append(_rate(workers, seconds))
        except ContenderError as error:
            return {"error": str(error)}
    shares = [many / one for one, many in zip(ones, manies)]
    return {"one": statistics.median(ones), "many": statistics.median(manies),
            "share": statistics.median(shares)}


def _rate(workers, seconds):
    for worker in workers:
        worker.send(do="run", seconds=seconds, warm=0.1)
    rates = []
    for worker in workers:
        times = worker.receive()["us"]
        rates.append(len(times) / (sum(times) / 1e6))
    time.sleep(0.05)
    return sum(rates)
