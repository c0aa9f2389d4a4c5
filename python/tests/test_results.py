"""Results equal those of the command line; arguments are checked and are not copied."""
import array

import numpy as np
import pytest

import halyard
from conftest import CORPUS, FLOAT, QUANT8, doubling
from halyard._tensors import Tensor


@pytest.mark.parametrize("path", [QUANT8, FLOAT], ids=["int8", "float"])
@pytest.mark.parametrize("device", ["halyard-cpu", "halyard-reference", "nnapi-reference"])
def test_results_are_those_of_the_command_line(path, device, command, tmp_path):
    model = halyard.load(path)
    tensor = model.inputs[0]
    generator = np.random.default_rng(1)
    x = (generator.integers(-128, 127, tensor.shape).astype(np.int8) if tensor.quantised
         else generator.uniform(0, 1, tensor.shape).astype(np.float32))
    np.save(tmp_path / "x.npy", x)
    command("run", path, "--device", device, "--no-cache", "--input", f"{tensor.name}={tmp_path}/x.npy",
            "--output", tmp_path / "out")
    (result,) = (tmp_path / "out").glob("*.npy")
    y = model.compile(device, require_device=True, cache=False)(x)
    np.testing.assert_array_equal(y, np.load(result))


def test_inputs_by_position_by_name_and_in_a_mapping_agree(compiled, picture):
    name = compiled.inputs[0].name
    first = compiled(picture)
    np.testing.assert_array_equal(first, compiled(**{name: picture}))
    results = compiled.run({name: picture})
    assert list(results) == [compiled.outputs[0].name]
    np.testing.assert_array_equal(first, results[compiled.outputs[0].name])


class WithDlpack:
    """An array of another library: it offers DLPack alone."""

    def __init__(self, values):
        self.values = values

    def __dlpack__(self, **named):
        return self.values.__dlpack__(**named)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


def test_objects_with_dlpack_and_with_the_buffer_protocol_are_taken(compiled, picture):
    expected = compiled(picture)
    np.testing.assert_array_equal(expected, compiled(WithDlpack(picture)))
    np.testing.assert_array_equal(expected, compiled(memoryview(picture)))
    model = doubling((4,)).compile("nnapi-reference")
    np.testing.assert_array_equal(model(array.array("f", [1, 2, 3, 4])), [2, 4, 6, 8])


def test_lists_and_arrays_with_gaps_are_converted(compiled, picture):
    expected = compiled(picture)
    np.testing.assert_array_equal(expected, compiled(picture.tolist()))
    wide = np.repeat(picture, 2, axis=1)[:, ::2]
    assert not wide.flags.c_contiguous
    np.testing.assert_array_equal(expected, compiled(wide))


def test_arrays_are_used_in_place(picture, compiled):
    tensor = compiled.inputs[0]
    assert tensor._prepared(picture) is picture
    out = np.zeros((1, 10), np.int8)
    result = compiled.run([picture], out=[out])
    assert result[compiled.outputs[0].name] is out
    np.testing.assert_array_equal(out, compiled(picture))


def test_the_results_of_two_runs_are_two_arrays(compiled, picture):
    first = compiled(picture)
    kept = first.copy()
    compiled(np.full_like(picture, 100))
    np.testing.assert_array_equal(first, kept)


@pytest.mark.parametrize("value, text", [
    (np.zeros((1, 28, 28, 1)), "elements of type float64, expected int8"),
    (np.zeros((1, 28, 28), np.int8), r"the array has the shape \[1, 28, 28\]"),
    (b"abc", "bytes have no shape"),
    ([[300]], "input"),
], ids=["type", "shape", "bytes", "range"])
def test_a_wrong_input_gets_a_text(compiled, value, text):
    with pytest.raises(halyard.BadDataError, match=text) as caught:
        compiled(value)
    assert caught.value.status is halyard.Status.BAD_DATA
    assert isinstance(caught.value, ValueError)


def test_a_wrong_number_of_inputs_and_wrong_names_get_a_text(compiled, picture):
    with pytest.raises(halyard.BadDataError, match='2 inputs, expected 1: "serving_default'):
        compiled(picture, picture)
    with pytest.raises(halyard.BadDataError, match="no value for input"):
        compiled.run({})
    with pytest.raises(halyard.BadDataError, match="no input 'z'; the model has serving_default"):
        compiled.run({"z": picture})
    with pytest.raises(halyard.BadDataError, match="is given twice"):
        compiled(picture, **{compiled.inputs[0].name: picture})
    with pytest.raises(halyard.BadDataError, match="expected a mapping or a list"):
        compiled.run(picture)
    with pytest.raises(halyard.BadDataError, match="out is ndarray of float32, expected"):
        compiled.run([picture], out=[np.zeros((1, 10), np.float32)])


def test_open_dimensions_take_any_size():
    builder = halyard.Builder()
    x = builder.input("x", [None, 2])
    compiled = builder.finish({"y": builder.mul(x, x, 0)}).compile("nnapi-reference")
    for rows in (1, 3, 20_000):  # the last one is larger than the first space for outputs
        x = np.arange(rows * 2, dtype=np.float32).reshape(rows, 2)
        np.testing.assert_array_equal(compiled(x), x * x)


def test_quantisation_goes_both_ways(quant8):
    tensor = quant8.inputs[0]
    real = np.float32([0, 0.5, 1])
    np.testing.assert_allclose(tensor.dequantise(tensor.quantise(real)), real, atol=tensor.scale / 2)
    assert tensor.quantise([-100, 100]).tolist() == [-128, 127]
    with pytest.raises(halyard.BadDataError, match="is not quantised"):
        halyard.load(FLOAT).inputs[0].quantise([1.0])


def test_a_batch_keeps_the_order(compiled):
    pictures = [np.full((1, 28, 28, 1), value, np.int8) for value in range(-20, 20)]
    results = list(compiled.batch(([each] for each in pictures), parallel=3))
    for each, result in zip(pictures, results):
        np.testing.assert_array_equal(result[compiled.outputs[0].name], compiled(each))


def test_a_binding_reads_and_writes_its_arrays(compiled, picture):
    binding = compiled.bind([picture])
    name = compiled.outputs[0].name
    np.testing.assert_array_equal(binding.run()[name], compiled(picture))
    picture[:] = 7
    np.testing.assert_array_equal(binding.run()[name], compiled(picture))
    with pytest.raises(halyard.BadDataError, match="bind needs a contiguous NumPy array"):
        compiled.bind([picture.tolist()])


@pytest.fixture(scope="module")
def converting():
    """A model with an int64 output of as many elements as its input has rows."""
    return halyard.load(CORPUS / "open_shapes.tflite", open_dimensions=True).compile("cpu", cache=False)


def rows(count):
    return np.eye(count, 6, dtype=np.float32).reshape(count, 2, 3)


def test_an_int64_array_in_any_order_is_converted_once():
    tensor = Tensor("x", "TENSOR_INT32", "i8", (3, 2), 0.0, 0, "i4")
    values = np.arange(6).reshape(2, 3).T
    prepared = tensor._prepared(values)
    assert prepared.flags.c_contiguous and prepared.dtype == np.int32
    np.testing.assert_array_equal(prepared, values)


@pytest.mark.parametrize("elements", [5, 8, 20_000])
def test_converted_elements_go_to_the_first_part_of_out(converting, elements):
    out = np.full(elements, -1, np.int64)
    best = converting.run([rows(5)], out=[None, out])["y (2)"]
    assert np.shares_memory(best, out) and best.tolist() == [0, 1, 2, 3, 4]
    assert out[:5].tolist() == [0, 1, 2, 3, 4] and (out[5:] == -1).all()


def test_complex_elements_go_to_out():
    compiled = halyard.load(CORPUS / "extension_operators.tflite").compile("nnapi-reference")
    (name,) = [each.name for each in compiled.outputs if each.dtype == "c8"]
    inputs = [np.ones(each.shape, each.dtype) for each in compiled.inputs]
    out = np.zeros((2, 3), np.complex64)
    assert compiled.run(inputs, out={name: out})[name] is out
    np.testing.assert_array_equal(out, compiled.run(inputs)[name])
    assert out.any()


def test_converted_elements_need_space_in_out(converting):
    out = np.full(4, -1, np.int64)
    with pytest.raises(halyard.OutputSizeError, match="out has 4 elements, expected at least 5"):
        converting.run([rows(5)], out=[None, out])
    assert (out == -1).all()


def test_out_grows_beyond_the_first_space_of_converted_elements(converting):
    out = np.full(20_000, -1, np.int64)
    converting.run([rows(20_000)], out=[None, out])
    assert out[:6].tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("out, text", [
    (np.zeros(5, np.int8), "out is ndarray of int8, expected an array of int64"),
    (np.zeros(5, np.int32), "out is ndarray of int32, expected an array of int64"),
    (np.zeros((5, 1), np.int64), r"out has the shape \[5, 1\]"),
    (np.zeros(10, np.int64)[::2], "out must be contiguous and writable"),
    ([0] * 5, "out is list, expected an array of int64"),
], ids=["int8", "int32", "shape", "gaps", "list"])
def test_a_wrong_out_of_converted_elements_gets_a_text(converting, out, text):
    with pytest.raises(halyard.BadDataError, match=text):
        converting.run([rows(5)], out=[None, out])


def test_names_of_outputs_are_unique():
    model = halyard.load(CORPUS / "casts_and_products.tflite")
    assert [each.name for each in model.outputs] == ["y", "y (2)", "y (3)", "y (4)"]
    compiled = model.compile("cpu", cache=False)
    x = np.ones(model.inputs[0].shape, np.float32)
    results = compiled.run({"x": x})
    for (name, result), each in zip(results.items(), compiled(x)):
        np.testing.assert_array_equal(result, each, err_msg=name)
    assert len(results) == 4


def test_names_of_inputs_are_unique():
    contents = (CORPUS / "uint8_arithmetic.tflite").read_bytes()
    # A text of one character has its length before it.
    before, after = b"\1\0\0\0b\0", b"\1\0\0\0a\0"
    assert contents.count(before) == 1
    model = halyard.load(contents.replace(before, after))
    assert [each.name for each in model.inputs] == ["a", "a (2)"]
    a, b = np.full((1, 2, 2, 1), 110, np.uint8), np.full((1, 2, 2, 1), 60, np.uint8)
    compiled = model.compile("cpu", cache=False)
    for result, expected in zip(compiled.run({"a (2)": b, "a": a}).values(), compiled(a, b)):
        np.testing.assert_array_equal(result, expected)
