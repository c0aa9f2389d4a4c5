#!/usr/bin/env python3
"""Compares Halyard's results with LiteRT's on the same models and inputs, and prints a table.

Every model runs on random inputs. It also runs on pictures when its input has the shape of one. The
runs use `halyard run` and the interpreter of PyPI's ai-edge-litert.

LiteRT has three sets of kernels. Their quantised results differ, because they round differently. By
default most operators run in its XNNPACK delegate, which rounds each result once. Its built-in and
its reference kernels round twice, each in another way. A difference of one quantum in a hidden
layer can become several behind a softmax. The comparison uses the default kernels.

Limits, by kind of output:
  quantised   at most 1 quantum on 99 % of the elements and never more than 3
  float       1e-4 of the range (greatest less least value) of LiteRT's output
  detections  each detection of score 0.3 or more has a counterpart of the same class. Box and score
              differ by at most 0.02. Both directions count; the order of equal scores is free.

Models with state start every run from zeros on both sides.

Float operators with weights of 8 bits (kws_ref_float) round their activations to steps of a range.
That range is found at run time. Halyard rounds as LiteRT's default does. It is as near to it as for
other float models while every value falls to the same step. A value on the border of two steps may
fall to the other one, by the last bit of a float. That moves the result by up to about 1e-4 of the
range. Of 40 random inputs 2 come out just beyond the limit (1.2e-4 at the most). LiteRT's other
kernels round such activations differently, and are up to 1e-2 of the range away from its own
default.

A model that Halyard refuses is a failure unless its name is in EXPECTED_REFUSALS.

Exit status: 0 when everything agrees, 1 when something does not, 2 on misuse.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from PIL import Image

SOURCE = pathlib.Path(__file__).resolve().parents[2]

# Files that must be refused, and what the refusal must say.
EXPECTED_REFUSALS = {
    "invalid_model_invoking_error": "operator fake-op-double of node 0 is not supported",
}

QUANTA_USUAL, QUANTA_SHARE, QUANTA_MOST = 1, 0.99, 3
FLOAT_LIMIT = 1e-4
DETECTION_LIMIT = 0.02
DETECTION_SCORE = 0.3
# Smaller images are not pictures (a keyword spotter's spectrogram is 49 x 10).
SMALLEST_PICTURE = 16


class HalyardError(Exception):
    """`halyard run` ended with an error; the text is its error message."""


class Reference:
    """One model in LiteRT's interpreter."""

    KERNELS = {
        "builtin": "BUILTIN_WITHOUT_DEFAULT_DELEGATES",
        "default": "AUTO",
        "reference": "BUILTIN_REF",
    }

    def __init__(self, path, kernels):
        from ai_edge_litert.interpreter import Interpreter, OpResolverType

        self._interpreter = Interpreter(
            model_path=str(path),
            num_threads=1,
            experimental_op_resolver_type=OpResolverType[self.KERNELS[kernels]],
        )
        self._interpreter.allocate_tensors()
        self.inputs = self._interpreter.get_input_details()
        self.outputs = self._interpreter.get_output_details()
        operators = self._interpreter._get_ops_details()  # the only way to see operators
        self.is_detector = any(op["op_name"] == "TFLite_Detection_PostProcess" for op in operators)

    def run(self, values):
        # Halyard's runs are independent of each other; LiteRT would keep the state of the last one.
        self._interpreter.reset_all_variables()
        for detail, value in zip(self.inputs, values):
            self._interpreter.set_tensor(detail["index"], value)
        self._interpreter.invoke()
        return [self._interpreter.get_tensor(detail["index"]) for detail in self.outputs]


def run_halyard(program, device, model, values, folder):
    """The outputs of `halyard run`, in the model's order."""
    command = [str(program), "run", str(model), "--output", str(folder / "out")]
    if device:
        command += ["--device", device]
    for i, value in enumerate(values):
        path = folder / f"input_{i}.npy"
        np.save(path, value)
        command += ["--input", f"{i}={path}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        raise HalyardError(lines[-1])
    # One line "wrote   PATH" for each output, in order, then perhaps pictures.
    lines = [line for line in done.stdout.splitlines() if line.startswith("wrote")]
    paths = [line.split(None, 1)[1] for line in lines]
    return [np.load(path) for path in paths if path.endswith(".npy")]


def random_values(details, seed):
    generator = np.random.default_rng(seed)
    values = []
    for detail in details:
        shape, dtype = detail["shape"], detail["dtype"]
        if np.issubdtype(dtype, np.floating):
            values.append(generator.uniform(-1, 1, shape).astype(dtype))
        else:
            limits = np.iinfo(dtype)
            values.append(generator.integers(limits.min, limits.max + 1, shape).astype(dtype))
    return values


def picture_values(details, path):
    """The picture as the model's only input, or None when that has not the shape of one."""
    if len(details) != 1:
        return None
    shape, dtype = details[0]["shape"], details[0]["dtype"]
    if len(shape) != 4 or shape[0] != 1 or shape[3] not in (1, 3):
        return None
    if min(shape[1:3]) < SMALLEST_PICTURE:
        return None
    image = Image.open(path).convert("RGB" if shape[3] == 3 else "L")
    image = image.resize((int(shape[2]), int(shape[1])), Image.BILINEAR)
    pixels = np.asarray(image, dtype=np.float64).reshape(shape)
    if dtype == np.uint8:
        return [pixels.astype(np.uint8)]
    if dtype == np.int8:
        return [(pixels - 128).astype(np.int8)]
    return [(pixels / 127.5 - 1).astype(dtype)]


def compare_quantised(ours, theirs):
    difference = np.abs(ours.astype(np.int64) - theirs.astype(np.int64))
    share = np.mean(difference <= QUANTA_USUAL)
    text = f"max {difference.max()} quanta, {100 * share:.2f} % within {QUANTA_USUAL}"
    return difference.max() <= QUANTA_MOST and share >= QUANTA_SHARE, text


def compare_float(ours, theirs):
    spread = float(theirs.max() - theirs.min())
    difference = np.abs(ours.astype(np.float64) - theirs.astype(np.float64))
    if not np.all(np.isfinite(ours)):
        return False, "not finite"
    if spread == 0:
        return difference.max() == 0, f"max {difference.max():.1e}, range 0"
    relative = difference / spread
    text = f"max {relative.max():.1e} of range, 99 % {np.percentile(relative, 99):.1e}"
    return relative.max() <= FLOAT_LIMIT, text


def detections(outputs, least_score):
    """(class, box, score) of the detections of one image with that score or more."""
    boxes, classes, scores, count = outputs
    return [
        (int(classes[0][i]), boxes[0][i], float(scores[0][i]))
        for i in range(int(count.flat[0]))
        if scores[0][i] >= least_score
    ]


def deviation(a, b):
    """The distance between two detections; infinite for different classes."""
    if a[0] != b[0]:
        return float("inf")
    return max(float(np.abs(a[1] - b[1]).max()), abs(a[2] - b[2]))


def unmatched(found, candidates):
    """(members of `found` without their own counterpart in `candidates`, largest deviation)."""
    left, worst, missing = list(candidates), 0.0, []
    for one in found:
        nearest = min(range(len(left)), key=lambda i: deviation(one, left[i]), default=None)
        if nearest is None or deviation(one, left[nearest]) > DETECTION_LIMIT:
            missing.append(one)
        else:
            worst = max(worst, deviation(one, left.pop(nearest)))
    return missing, worst


def compare_detections(ours, theirs):
    # A counterpart may lie just below the minimum score.
    slack = DETECTION_SCORE - DETECTION_LIMIT
    expected = detections(theirs, DETECTION_SCORE)
    lost, first = unmatched(expected, detections(ours, slack))
    extra, second = unmatched(detections(ours, DETECTION_SCORE), detections(theirs, slack))
    text = f"{len(expected)} detections, boxes and scores within {max(first, second):.4f}"
    for what, items in (("missing", lost), ("extra", extra)):
        if items:
            text += f", {what}: " + ", ".join(f"class {c} score {s:.2f}" for c, _, s in items)
    return not lost and not extra, text


def compare(reference, ours, theirs):
    """(agrees, text) for all outputs of one run."""
    if len(ours) != len(theirs):
        return False, f"{len(ours)} outputs, expected {len(theirs)}"
    for a, b in zip(ours, theirs):
        if a.shape != b.shape:
            return False, f"shape {a.shape}, expected {b.shape}"
    if reference.is_detector:
        return compare_detections(ours, theirs)
    results = []
    for a, b in zip(ours, theirs):
        if a.dtype != b.dtype:
            return False, f"type {a.dtype}, expected {b.dtype}"
        floating = np.issubdtype(b.dtype, np.floating)
        results.append(compare_float(a, b) if floating else compare_quantised(a, b))
    return all(ok for ok, _ in results), "; ".join(text for _, text in results)


def check_model(model, arguments):
    """Rows (input, outputs, difference, verdict) of one model."""
    expected = EXPECTED_REFUSALS.get(model.stem)
    try:
        reference = Reference(model, arguments.kernels)
    except (RuntimeError, ValueError) as error:
        if not expected:
            return [("-", "-", f"LiteRT: {error}".splitlines()[0], "FAIL")]
        reference = None
    if reference is None:
        cases = [("none", [])]
    else:
        cases = []
        for seed in range(arguments.seeds):
            cases.append((f"random {seed}", random_values(reference.inputs, seed)))
        for picture in arguments.pictures:
            values = picture_values(reference.inputs, picture)
            if values is not None:
                cases.append((picture.name, values))
    rows = []
    for name, values in cases:
        with tempfile.TemporaryDirectory() as folder:
            try:
                ours = run_halyard(arguments.halyard, arguments.device, model, values,
                                   pathlib.Path(folder))
            except HalyardError as error:
                known = expected is not None and expected in str(error)
                return rows + [(name, "-", str(error), "refused" if known else "FAIL")]
        if reference is None:
            return rows + [(name, "-", "Halyard runs what LiteRT refuses", "FAIL")]
        theirs = reference.run(values)
        ok, text = compare(reference, ours, theirs)
        shapes = " ".join("x".join(map(str, value.shape)) for value in theirs)
        rows.append((name, shapes, text, "ok" if ok else "FAIL"))
    return rows


def check_exists(path, what):
    if not path.exists():
        print(f"compare_with_litert: {what} {path} is not there", file=sys.stderr)
        sys.exit(2)


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=pathlib.Path,
                        help="default: models/*.tflite and ../shared/models/*.tflite")
    parser.add_argument("--halyard", type=pathlib.Path,
                        default=SOURCE / "build/release/bin/halyard", help="default: %(default)s")
    parser.add_argument("--device", default="", help="as for halyard run")
    parser.add_argument("--kernels", choices=sorted(Reference.KERNELS), default="default",
                        help="LiteRT's kernels to compare with; default: %(default)s")
    parser.add_argument("--seeds", type=int, default=2, help="random inputs a model")
    parser.add_argument("--pictures", nargs="*", type=pathlib.Path,
                        help="default: ../shared/models/*.bmp")
    arguments = parser.parse_args()
    shared = SOURCE.parent / "shared" / "models"
    if not arguments.models:
        arguments.models = sorted((SOURCE / "models").glob("*.tflite")) + sorted(
            shared.glob("*.tflite"))
    if arguments.pictures is None:
        arguments.pictures = sorted(shared.glob("*.bmp"))
    return arguments


def main():
    arguments = parse_arguments()
    check_exists(arguments.halyard, "the program")
    for path in arguments.models:
        check_exists(path, "the model")
    for path in arguments.pictures:
        check_exists(path, "the picture")
    from importlib.metadata import version

    print(f"Reference: ai-edge-litert {version('ai-edge-litert')}, {arguments.kernels} kernels, "
          f"{'XNNPACK delegate' if arguments.kernels == 'default' else 'no delegate'}, 1 thread")
    table = []
    for model in arguments.models:
        table += [(model.stem, *row) for row in check_model(model, arguments)]
    header = ("model", "input", "outputs", "difference", "verdict")
    widths = [max(len(str(row[i])) for row in [header, *table]) for i in (0, 1, 2)]
    for name, source, shapes, text, verdict in [header, *table]:
        cells = (f"{cell:{width}}" for cell, width in zip((name, source, shapes), widths))
        print(*cells, f"{verdict:7}", text, sep="  ")
    verdicts = [row[4] for row in table]
    print(f"{verdicts.count('ok')} agree, {verdicts.count('refused')} refused as expected, "
          f"{verdicts.count('FAIL')} failed")
    return 1 if "FAIL" in verdicts or "ok" not in verdicts else 0


if __name__ == "__main__":
    sys.exit(main())
