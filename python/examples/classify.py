"""Classifies one picture, and shows which device computed the model.

    python classify.py [MODEL.tflite [PICTURE.npy]]
"""
import pathlib
import sys

import numpy as np

import halyard

MODELS = pathlib.Path(__file__).resolve().parents[2] / "models"


def main(arguments):
    path = arguments[0] if arguments else MODELS / "fashion_mnist_int8.tflite"
    compiled = halyard.load(path).compile()
    tensor = compiled.inputs[0]
    # A picture of a bright square on black, unless there is a file.
    real = np.zeros(tensor.shape, np.float32)
    real[:, 6:22, 8:20] = 0.8
    picture = np.load(arguments[1]) if len(arguments) > 1 else tensor.quantise(real)
    scores = compiled.outputs[0].dequantise(compiled(picture))[0]
    for index in np.argsort(scores)[::-1][:3]:
        print(f"class {index}: {scores[index]:.3f}")
    print("computed on", ", ".join(compiled.devices))


if __name__ == "__main__":
    main([each for each in sys.argv[1:] if each.endswith((".tflite", ".npy"))])
# prints: class
# prints: computed on
