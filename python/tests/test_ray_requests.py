"""Requests of halyard.ray as JSON. The package ray is not needed."""
import json

import numpy as np
import pytest

from halyard import ray
from halyard._tensors import Tensor

INTEGERS = Tensor("x", "TENSOR_INT32", "i4", (None,), 0.0, 0)
FLOATS = Tensor("x", "TENSOR_FLOAT32", "f4", (None,), 0.0, 0)
TRUTHS = Tensor("x", "TENSOR_BOOL8", "b1", (None,), 0.0, 0)
DATATYPES = {"i4": "INT32", "f4": "FP32", "b1": "BOOL"}


def request(tensor, data, **changes):
    described = {"name": "x", "datatype": DATATYPES[tensor.dtype], "shape": [2], "data": data, **changes}
    body = {"inputs": [{name: value for name, value in described.items() if value is not ...}]}
    return ray._arrays(json.dumps(body).encode(), [tensor])["x"]


@pytest.mark.parametrize("tensor, data, values", [
    (INTEGERS, [-2**31, 2**31 - 1], [-2**31, 2**31 - 1]), (FLOATS, [1, 2.5], [1, 2.5]),
    (FLOATS, [[1], [2]], [1, 2]), (TRUTHS, [True, 0], [True, False])])
def test_elements_become_an_array(tensor, data, values):
    array = request(tensor, data)
    assert array.dtype == np.dtype(tensor.dtype) and array.tolist() == values


@pytest.mark.parametrize("tensor, data, text", [
    (FLOATS, ..., "data None, expected a list"), (FLOATS, 1.5, "data 1.5, expected a list"),
    (FLOATS, [None, 1], "element None, expected one of FP32"), (FLOATS, ["7", 1], "element '7'"),
    (FLOATS, [True, 1], "element True"), (INTEGERS, [1.9, -1.9], "element 1.9, expected one of INT32"),
    (INTEGERS, ["7", 1], "element '7'"), (INTEGERS, [1, True], "element True"),
    (INTEGERS, [1, 2**31], "element 2147483648"), (INTEGERS, [1, -2**70], "element -1180591620717411303424"),
    (TRUTHS, [1, 2], "element 2, expected one of BOOL"), (FLOATS, [1, 10**400], "too large"),
    (FLOATS, [1], "cannot reshape")])
def test_other_elements_are_refused(tensor, data, text):
    with pytest.raises(ValueError, match=f'input "x".*{text}'):
        request(tensor, data)


@pytest.mark.parametrize("shape", [..., 2, [-1], [True, 2], ["2"], [2.0]])
def test_a_shape_is_a_list_of_integers(shape):
    with pytest.raises(ValueError, match='input "x".* expected a list of integers'):
        request(FLOATS, [1, 2], shape=shape)


@pytest.mark.parametrize("name", [["x"], {}, None, 7, ...])
def test_a_name_is_a_text(name):
    with pytest.raises(ValueError, match="input #0: name .*, expected a text"):
        request(FLOATS, [1, 2], name=name)
