"""Models operation by operation."""
import numpy as np
import pytest

import halyard


def test_all_operations_have_names_and_forms():
    operations = halyard.operations()
    assert len([each for each in operations.values() if not each.is_of_extension]) == 106
    assert operations["CONV_2D"].code == 3
    assert operations["CONV_2D"].forms[0][1][:3] == ("input", "filter", "bias")


def test_a_chain_of_operations_computes():
    b = halyard.Builder()
    x = b.input("x", [2, 3])
    scaled = b.mul(x, np.float32([[2, 2, 2], [3, 3, 3]]), 0)
    model = b.finish({"soft": b.softmax(scaled, 1.0), "sums": b.reduce_sum(scaled, [1], True)})
    assert [each.shape for each in model.outputs] == [(2, 3), (2, 1)]
    x = np.float32([[1, 2, 3], [0, 1, 0]])
    soft, sums = model.compile(cache=False)(x)
    scaled = x * np.float32([[2], [3]])
    exponents = np.exp(scaled - scaled.max(1, keepdims=True))
    np.testing.assert_allclose(soft, exponents / exponents.sum(1, keepdims=True), rtol=1e-5)
    np.testing.assert_allclose(sums, scaled.sum(1, keepdims=True))


def test_inputs_have_names_and_results_have_shapes():
    b = halyard.Builder()
    image = b.input("image", [1, 5, 5, 1])
    y = b.conv_2d(image, filter=np.ones((2, 3, 3, 1), np.float32), bias=np.zeros(2, np.float32),
                  padding_scheme=2, stride_width=1, stride_height=1, activation=0)
    assert y.shape == (1, 3, 3, 2) and y.type == "TENSOR_FLOAT32"
    result = b.finish(y).compile("cpu", cache=False)(np.ones((1, 5, 5, 1), np.float32))
    np.testing.assert_array_equal(result, np.full((1, 3, 3, 2), 9, np.float32))


def test_a_quantised_result_may_have_a_quantisation_of_its_own():
    b = halyard.Builder()
    x = b.input("x", [4], "TENSOR_QUANT8_ASYMM", scale=0.5, zero_point=128)
    assert b.relu(x).scale == 0.5
    y = b.operand("TENSOR_QUANT8_ASYMM", [4], scale=1.0, zero_point=10)
    assert b.op("ADD", x, x, 0, outputs=[y]) is y
    result = b.finish(y).compile("nnapi-reference")(np.uint8([128, 130, 132, 126]))
    np.testing.assert_array_equal(result, [10, 12, 14, 8])


def test_weights_may_have_a_scale_for_each_channel():
    b = halyard.Builder()
    x = b.input("x", [1, 1, 1, 1], "TENSOR_QUANT8_ASYMM", scale=1.0)
    weights = b.constant(np.int8([2, 4]).reshape(2, 1, 1, 1), "TENSOR_QUANT8_SYMM_PER_CHANNEL",
                         scales=[1.0, 0.5])
    bias = b.constant(np.zeros(2, np.int32), "TENSOR_INT32")
    y = b.operand("TENSOR_QUANT8_ASYMM", [1, 1, 1, 2], scale=2.0)
    b.op("CONV_2D", x, weights, bias, 0, 0, 0, 0, 1, 1, 0, outputs=[y])
    result = b.finish(y).compile("nnapi-reference")(np.uint8([[[[10]]]]))
    np.testing.assert_array_equal(result.ravel(), [10, 10])


def test_an_error_names_the_operation_and_the_input():
    b = halyard.Builder()
    x = b.input("x", [1, 5, 5, 1])
    with pytest.raises(halyard.BadDataError, match=r"ADD.*input 1 .*TENSOR_INT32"):
        b.add(x, np.int32([1]), 0, outputs=[b.operand("TENSOR_FLOAT32", [1, 5, 5, 1])])
    with pytest.raises(halyard.BadDataError, match="no form takes these types"):
        b.add(x, np.int32([1]), 0)
    with pytest.raises(AttributeError, match="no operation 'convolve'"):
        b.convolve(x)
    with pytest.raises(halyard.BadDataError, match="no operation 'CONVOLVE'"):
        b.op("CONVOLVE", x)
    with pytest.raises(halyard.BadDataError, match="expected are, without gaps, a, b, activation"):
        b.add(x, y=x)
    with pytest.raises(halyard.BadDataError, match="float64 needs a type"):
        b.add(x, np.zeros(1), 0)
    with pytest.raises(halyard.BadDataError, match="of another builder"):
        halyard.Builder().relu(x)
    with pytest.raises(halyard.BadDataError, match="no type of operands 'FLOAT'"):
        b.operand("FLOAT")
    with pytest.raises(halyard.BadDataError, match="'x' exists already"):
        b.input("x", [1])


@pytest.mark.parametrize("count", range(4))
@pytest.mark.parametrize("kind", ["TENSOR_FLOAT32", "TENSOR_INT32", "TENSOR_QUANT8_ASYMM_SIGNED"])
def test_an_operation_with_too_few_inputs_gets_a_text(kind, count):
    for operation in halyard.operations().values():
        b = halyard.Builder()
        inputs = [b.input(f"x{i}", [2, 3], kind, scale=0.5 if "QUANT" in kind else 0.0) for i in range(count)]
        try:
            b.op(operation.name, *inputs)
        except halyard.BadDataError as error:
            assert count or operation.name in str(error)
        else:
            assert count


def test_too_few_inputs_are_counted():
    with pytest.raises(halyard.BadDataError, match="LOG: takes 1 input, has 0"):
        halyard.Builder().log()
    b = halyard.Builder()
    with pytest.raises(halyard.BadDataError, match="ADD: takes 3 inputs, has 1"):
        b.add(b.input("x", [2]))


def test_a_split_has_as_many_results_as_its_input_says():
    b = halyard.Builder()
    x = b.input("x", [4, 3])
    first, second = b.split(x, 0, 2)
    assert first.shape == second.shape == (2, 3)
    compiled = b.finish([first, second]).compile("nnapi-reference")
    values = np.arange(12, dtype=np.float32).reshape(4, 3)
    for result, expected in zip(compiled(values), np.split(values, 2)):
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("splits", [0, -1, 2**31 - 1])
def test_a_split_into_an_impossible_number_of_parts_gets_a_text(splits):
    b = halyard.Builder()
    with pytest.raises(halyard.BadDataError, match=rf"SPLIT input 2 .*found {splits}, expected 1 to"):
        b.split(b.input("x", [4, 3]), 0, splits)


def test_a_split_into_an_unknown_number_of_parts_needs_outputs():
    b = halyard.Builder()
    x, splits = b.input("x", [4, 3]), b.input("splits", [], "INT32")
    with pytest.raises(halyard.BadDataError, match="SPLIT input 2 .*found no constant INT32"):
        b.split(x, 0, splits)
    first, second = (b.operand("TENSOR_FLOAT32", [2, 3]) for _ in range(2))
    assert b.op("SPLIT", x, 0, splits, outputs=[first, second]) == (first, second)


def branch(factor):
    """A model that multiplies two numbers."""
    b = halyard.Builder()
    x = b.input("x", [2])
    return b.finish(b.mul(x, np.float32([factor]), 0))


def test_control_flow_needs_outputs():
    b = halyard.Builder()
    condition, x = b.input("condition", [1], "TENSOR_BOOL8"), b.input("x", [2])
    with pytest.raises(halyard.BadDataError, match="IF: found no outputs=, expected an operand for each"):
        b.op("IF", condition, branch(2), branch(3), x)
    with pytest.raises(halyard.BadDataError, match="WHILE: found no outputs="):
        b.op("WHILE", branch(2), branch(3), x)


def test_control_flow_takes_models_of_other_builders():
    b = halyard.Builder()
    condition = b.input("condition", [1], "TENSOR_BOOL8")
    x = b.input("x", [2])
    y = b.operand("TENSOR_FLOAT32", [2])
    b.op("IF", condition, branch(2), branch(3), x, outputs=[y])
    compiled = b.finish({"y": y}).compile(cache=False)
    values = np.float32([1, 2])
    np.testing.assert_array_equal(compiled(np.array([True]), values), [2, 4])
    np.testing.assert_array_equal(compiled(np.array([False]), values), [3, 6])


def test_operations_of_the_extension_can_be_added():
    b = halyard.Builder()
    x = b.input("x", [2, 3])
    y = b.gather_nd(x, np.int32([[1, 2], [0, 0]]))
    result = b.finish(y).compile("nnapi-reference")(np.arange(6, dtype=np.float32).reshape(2, 3))
    np.testing.assert_array_equal(result, [5, 0])


def test_models_that_differ_have_different_tokens():
    def token(factor):
        b = halyard.Builder()
        x = b.input("x", [1])
        return b.finish(b.mul(x, np.float32([factor]), 0))._token()

    assert token(1) == token(1) != token(2)
