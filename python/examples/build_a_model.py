"""Builds a model operation by operation, and runs it on two inputs at once."""
import asyncio

import numpy as np

import halyard


def main():
    builder = halyard.Builder()
    x = builder.input("x", [2, 3])
    doubled = builder.mul(x, np.float32([[2, 2, 2]]), 0)
    try:
        builder.add(x, np.int32([1]), 0)
    except halyard.BadDataError as error:
        print(error)
    model = builder.finish({"probabilities": builder.softmax(doubled, 1.0)})
    compiled = model.compile()

    async def both():
        first = np.float32([[1, 2, 3], [3, 2, 1]])
        return await asyncio.gather(compiled.run_async({"x": first}),
                                    compiled.run_async({"x": first[::-1].copy()}))

    for results in asyncio.run(both()):
        print(results["probabilities"].argmax(axis=1))


if __name__ == "__main__":
    main()
# prints: [2 0]
# prints: [0 2]
# prints: BAD_DATA: ADD
