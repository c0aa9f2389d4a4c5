"""Shows the division of a model among the devices, and the time of each operation."""
import pathlib
import tempfile

import halyard

MODEL = pathlib.Path(__file__).resolve().parents[2] / "models/fashion_mnist_float.tflite"


def main():
    compiled = halyard.load(MODEL).compile()
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder) / "trace.json"
        print(compiled.profile(runs=10, trace=trace))
        print("the trace for ui.perfetto.dev has", trace.stat().st_size > 0)
    print(compiled.explain())


if __name__ == "__main__":
    main()
# prints: OPERATION
# prints: PARTITION
# prints: the trace for ui.perfetto.dev has True
