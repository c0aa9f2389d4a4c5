#!/usr/bin/env python3
"""Checks rules on the shape of the tree; run from anywhere, exit status 1 when one is broken.

1. Code is about operations in general. Its own file, its list and the public header name an operation.
   Other files do so exactly as often as MENTIONS says. Every way of naming counts: the enumerator, the
   API's constant, the definition's function, a list's macro, and the name in quotes. Not counted:
   tests, the kit, benchmarks, documents, examples, tools, and importers of other formats.
2. Source files stay under 600 lines; scripts and the public headers, which are documentation, under
   1,000.
3. Functions that the headers for drivers declare and do not define carry HALYARD_EXPORT. Without it,
   libhalyard_driver lacks them, and only drivers outside of this tree notice. These headers include
   only headers that are installed with them.
4. Shipped code reads the environment only by environmentVariable (src/base/environment.h), so that
   elevated privileges count for every variable. docs/environment.md names Halyard's variables.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE = {".cc", ".h", ".c", ".inc", ".capnp", ".fbs", ".py", ".sh"}
UNCOUNTED = re.compile(r"(_test\.(cc|c)|_bench\.cc|_for_test\.h|/test_model\.h)$|/testing/|"
                       r"^(src/import|bench|tests|docs|examples|models|tools|validation)/")
# By file: how often it names operations, and the reason why it treats them specially.
MENTIONS = {
    "drivers/cpu/attention.cc": (8, "a pattern of operations that one kernel computes"),
    "drivers/cpu/fusion.cc": (55, "patterns of operations that one kernel computes"),
    "drivers/cpu/kernel_list.cc": (45, "the table of kernels by operation"),
    "drivers/cpu/normalization.cc": (15, "a pattern of operations that one kernel computes"),
    "drivers/vulkan/kernels/elementwise.cc": (48, "the shader's function for each operation"),
    "drivers/vulkan/kernels/kernel_list.cc": (119, "the table of kernels by operation"),
    "drivers/vulkan/kernels/lines.cc": (16, "the shader's function for each operation"),
    "drivers/vulkan/kernels/resize.cc": (1, "the shader's function for each operation"),
    "drivers/vulkan/plan/device_speed.cc": (18, "the products of each operation, for its cost"),
    "drivers/vulkan/kernels/shape.cc": (2, "one direction of two, and a border's value"),
    "drivers/vulkan/kernels/window.cc": (3, "the shader's function for each operation"),
    "src/client/sum_model.cc": (1, "a small model that shows that a device works"),
    "src/conformance/variants.cc": (2, "the operations that make an input internal"),
    "src/cpu/constant_folding.cc": (2, "constants behind DEQUANTIZE, and CAST of float16, are computed early"),
    "src/ops/quantized_sequence_lstm.cc": (1, "each step of the sequence is a QUANTIZED_LSTM"),
    "src/ops/shape.cc": (1, "SHAPE takes the types that RANK takes"),
    "src/workloads/control_flow.cc": (6, "models to measure"),
    "src/workloads/mobilenet.cc": (6, "models to measure"),
    "src/workloads/recurrent.cc": (3, "models to measure"),
}
MAX_LINES = 600
MAX_DOCUMENT_LINES = 1000


def tracked_files():
    listing = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True,
                             text=True)
    return [name for name in listing.stdout.splitlines()
            if pathlib.Path(name).suffix in SOURCE and (ROOT / name).is_file()]


def code_of(text, name):
    """The text without comments, in which an operation may be mentioned freely."""
    if name.endswith((".py", ".sh")):
        return re.sub(r"#.*", "", text)
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return re.sub(r"//.*", "", text)


def named_operations():
    """The name of each operation, and the name of the function that returns its definition."""
    lists = [(ROOT / "include/halyard/driver" / name).read_text()
             for name in ("ops.inc", "tflite_ops.inc")]
    return re.findall(r"HALYARD_OPERATION\(\w+, (\w+), (\w+)\)", "".join(lists))


class Mentions:
    """Finds the operations that code names."""

    def __init__(self, operations):
        self.names = {function: name for name, function in operations}
        name = "|".join(sorted((name for name, _ in operations), key=len, reverse=True))
        function = "|".join(sorted((function for _, function in operations), key=len, reverse=True))
        # A list's macro, such as HALYARD_OPERATION(0, ADD, add).
        macro = rf"^[ \t]*[A-Z][A-Z0-9_]+\((?:\w+, )*(?:{name})\b"
        self.way = re.compile(
            rf"\bOperationType::(?:{name})\b|\b(?:ANEURALNETWORKS|HALYARD_TFLITE)_(?:{name})\b|"
            rf"\bops::(?:{function})\b(?!::)|\bOperationDefinition& (?:{function})\(\)(?=;)|"
            rf"\"(?:{name})\"|{macro}", re.M)
        self.definition = re.compile(rf"\bOperationDefinition& ({function})\(\) \{{")

    def count(self, code):
        """How often `code` names operations, other than those that it defines."""
        own = {self.names[function] for function in self.definition.findall(code)}
        found = self.way.findall(code)
        return sum(1 for mention in found
                   if not any(mention == f"OperationType::{name}" for name in own))


def operation_mentions(files):
    mentions = Mentions(named_operations())
    problems = []
    for name in files:
        if UNCOUNTED.search(name) or name.startswith("include/") or name.endswith((".py", ".sh")):
            continue
        code = code_of((ROOT / name).read_text(), name)
        allowed = MENTIONS.get(name, (0, ""))[0]
        count = mentions.count(code)
        if count != allowed:
            problems.append(f"{name} names operations {count} times; MENTIONS says {allowed}. Code is "
                            f"about operations in general: only raise the figure for a good reason")
        if re.search(r"using enum (?:\w+::)*OperationType\b", code):
            problems.append(f"{name}: with `using enum OperationType` mentions cannot be counted")
    problems += [f"MENTIONS names {name}, which is no file" for name in MENTIONS if name not in files]
    return problems


def long_files(files):
    problems = []
    for name in files:
        lenient = name.startswith("include/") or name.endswith(".py")
        limit = MAX_DOCUMENT_LINES if lenient else MAX_LINES
        lines = (ROOT / name).read_text().count("\n")
        if lines > limit:
            problems.append(f"{name} has {lines} lines, at most {limit}")
    return problems


def top_level(code):
    """The declarations outside of all braces except those of namespaces, each with its braces."""
    code = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*$", "", code, flags=re.M)
    code = re.sub(r"namespace[\w:\s]*\{", "", code)
    depth, start = 0, 0
    for at, letter in enumerate(code):
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if depth < 0:  # the end of a namespace
            depth, start = 0, at + 1
        elif depth == 0 and (letter == ";" or letter == "}" and not code[at + 1:].startswith(";")):
            yield code[start:at + 1].strip()
            start = at + 1


def unexported(files):
    problems = []
    for name in files:
        if not re.fullmatch(r"include/halyard/driver/\w+\.h", name):
            continue
        text = (ROOT / name).read_text()
        for included in re.findall(r'#include "(.*)"', text):
            if not included.startswith("halyard/driver/"):
                problems.append(f"{name} includes {included}, which is not installed")
        for declaration in top_level(code_of(text, name)):
            if "HALYARD_EXPORT" in declaration.split("{")[0] or declaration.startswith("template"):
                continue
            if declaration.startswith(("class", "struct")):
                body, inner = declaration.partition("{")[2][:-1], 1
                while inner:  # removes definitions, from the innermost braces out
                    body, inner = re.subn(r"\{[^{}]*\}", "", body)
                needs = re.search(r"\)\s*(const|noexcept|override)*\s*;|\bvirtual\b", body)
            else:
                needs = re.search(r"\)\s*;$", declaration) and not re.match(
                    r"(inline|using|constexpr|static_assert)\b", declaration)
            if needs:
                first = declaration.splitlines()[0]
                problems.append(f"{name}: '{first}' has no HALYARD_EXPORT")
    return problems


def environment_reads(files):
    problems = []
    documented = (ROOT / "docs/environment.md").read_text()
    for name in files:
        if not re.match(r"(src|drivers|tools|validation|include)/.*\.(cc|h|c|inc)$", name):
            continue
        if re.search(r"_test\.(cc|c)$|_for_test\.h$|_fuzz\.cc$|/(testing|fuzz)/", name):
            continue
        code = code_of((ROOT / name).read_text(), name)
        if name != "src/base/environment.h" and re.search(r"\bgetenv\b|\bsecure_getenv\b", code):
            problems.append(f"{name} reads the environment by itself, not by environmentVariable")
        for variable in re.findall(r'(?:Variable|Value|FromEnvironment)\("(HALYARD_\w+)"', code):
            if f"`{variable}`" not in documented:
                problems.append(f"{name} reads {variable}, which docs/environment.md does not name")
    return problems


def main():
    files = tracked_files()
    problems = (operation_mentions(files) + long_files(files) + unexported(files) +
                environment_reads(files))
    for problem in problems:
        print(f"structure: {problem}", file=sys.stderr)
    print(f"structure: {len(files)} files looked at, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
