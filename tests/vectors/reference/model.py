"""Cases in the form of the files: one JSON object a line, gzip."""
import base64
import dataclasses
import gzip
import io
import json

import numpy as np

from .operand import Operand


@dataclasses.dataclass
class Subgraph:
    operands: list
    operations: list  # (type, inputs, outputs)
    inputs: list
    outputs: list


@dataclasses.dataclass
class Case:
    name: str
    main: Subgraph
    referenced: list = dataclasses.field(default_factory=list)
    hal: str | None = None
    relaxed: bool = False
    expect_failure: bool = False
    multinomial_tolerance: float = 0
    shapes: dict = dataclasses.field(default_factory=dict)  # of the executed model, by operand
    refusal: str = ""


def shortest_float32(value):
    """The number of a float32 with the fewest digits, as JSON should show it."""
    return float(str(np.float32(value)))


def parse_operand(json_operand):
    o = json_operand
    channels = o.get("channel_quant")
    # Scales are float32 in the API.
    operand = Operand(o["type"], tuple(o["dims"]), float(np.float32(o.get("scale", 0))),
                      o.get("zero_point", 0), channels["dim"] if channels else None,
                      tuple(float(np.float32(s)) for s in channels["scales"]) if channels else (),
                      o["lifetime"], o.get("ignored", False))
    if "data" in o:
        stored = np.frombuffer(base64.b64decode(o["data"]), operand.dtype)
        # Without bytes, but with a shape that has elements: left out at execution.
        if stored.size == np.prod(operand.dims):
            operand.value = stored.reshape(operand.dims)
        if stored.size == 0 and operand.lifetime == "SUBGRAPH_INPUT" and operand.dims:
            operand.value = None
    return operand


def parse_subgraph(s):
    return Subgraph([parse_operand(o) for o in s["operands"]],
                    [(p["type"], p["inputs"], p["outputs"]) for p in s["operations"]],
                    s["inputs"], s["outputs"])


def parse_case(line):
    j = json.loads(line)
    return Case(j["name"], parse_subgraph(j["main"]),
                [parse_subgraph(s) for s in j.get("referenced", [])], j["hal"],
                j.get("relaxed", False), j.get("expect_failure", False),
                j.get("multinomial_tolerance", 0))


def read_cases(path):
    with gzip.open(path, "rt") as lines:
        return [parse_case(line) for line in lines if line.strip()]


def operand_json(o):
    result = {"type": o.type, "dims": list(o.dims), "lifetime": o.lifetime}
    if o.scale:
        result["scale"] = shortest_float32(o.scale)
    if o.zero_point:
        result["zero_point"] = int(o.zero_point)
    if o.channel_scales:
        result["channel_quant"] = {"dim": o.channel_dim,
                                   "scales": [shortest_float32(s) for s in o.channel_scales]}
    if o.ignored:
        result["ignored"] = True
    if o.lifetime not in ("TEMPORARY_VARIABLE", "NO_VALUE"):
        stored = b"" if o.value is None else np.asarray(o.value, o.dtype).tobytes()
        result["data"] = base64.b64encode(stored).decode()
    return result


def subgraph_json(s):
    return {"operands": [operand_json(o) for o in s.operands],
            "operations": [{"type": t, "inputs": i, "outputs": o} for t, i, o in s.operations],
            "inputs": s.inputs, "outputs": s.outputs}


def case_line(case):
    return json.dumps({
        "name": case.name, "hal": case.hal, "relaxed": case.relaxed,
        "expect_failure": case.expect_failure,
        "multinomial_tolerance": case.multinomial_tolerance,
        "main": subgraph_json(case.main),
        "referenced": [subgraph_json(s) for s in case.referenced],
    }, separators=(",", ":"))


def packed(cases):
    """The bytes of a file, the same on every run."""
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=buffer, mtime=0, compresslevel=9) as out:
        for case in cases:
            out.write((case_line(case) + "\n").encode())
    return buffer.getvalue()
