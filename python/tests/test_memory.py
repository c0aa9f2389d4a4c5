"""Memory, memory of devices, and events."""
import os

import numpy as np
import pytest

import halyard
from conftest import doubling


def test_host_memory_is_read_and_written_in_place(compiled, picture):
    memory = halyard.Memory(784 + 16)
    memory.array("i1", picture.shape, 16)[...] = picture
    out = halyard.Memory(10)
    name = compiled.outputs[0].name
    result = compiled.run([memory.part(16, 784)], out=[out])
    assert result[name] is out
    np.testing.assert_array_equal(out.array("i1", (1, 10)), compiled(picture))


def test_memory_of_a_descriptor(compiled, picture):
    fd = os.memfd_create("test")
    try:
        os.write(fd, b"\0" * 4096 + picture.tobytes())
        memory = halyard.Memory.from_fd(fd, 784, offset=4096)
    finally:
        os.close(fd)
    np.testing.assert_array_equal(memory.array("i1", picture.shape), picture)
    assert os.fstat(memory.fileno()).st_size == 4096 + 784
    (result,) = compiled.run([memory]).values()
    np.testing.assert_array_equal(result, compiled(picture))
    with pytest.raises(halyard.Error):
        halyard.Memory.from_fd(fd, 784)


def test_memory_that_is_not_writable_has_a_read_only_array(compiled, picture):
    fd = os.memfd_create("test")
    try:
        os.write(fd, picture.tobytes())
        memory = halyard.Memory.from_fd(fd, 784, writable=False)
    finally:
        os.close(fd)
    array = memory.array("i1", picture.shape)
    np.testing.assert_array_equal(array, picture)
    with pytest.raises(ValueError, match="read-only"):
        array[...] = 1
    with pytest.raises(ValueError):
        array.flags.writeable = True
    (result,) = compiled.run([memory]).values()
    np.testing.assert_array_equal(result, compiled(picture))


def test_the_array_keeps_the_memory():
    array = halyard.Memory(16).array("f4")
    array[:] = 3
    assert array.tolist() == [3, 3, 3, 3]


def test_memory_of_a_device_holds_a_value_between_executions():
    compiled = doubling().compile("halyard-reference", cache=False)
    state = compiled.device_memory(inputs=["x"], outputs=["y"])
    other = compiled.device_memory(inputs=["x"], outputs=["y"])
    host = halyard.Memory(16)
    host.array("f4")[:] = [1, 2, 3, 4]
    host.copy_to(state)
    compiled.run([state], out=[other])
    compiled.run([other], out=[state])
    state.copy_to(host)
    assert host.array("f4").tolist() == [4, 8, 12, 16]
    with pytest.raises(halyard.BadDataError, match="has no array"):
        state.array()
    with pytest.raises(halyard.BadDataError, match="no input 'y'; the model has x"):
        compiled.device_memory(inputs=["y"])


@pytest.mark.parametrize("device", ["halyard-reference", "nnapi-reference"])
def test_started_executions_wait_for_others(device):
    compiled = doubling().compile(device, cache=False)
    memory = halyard.Memory(16)
    first = compiled.start([np.float32([[1, 2, 3, 4]])], out=[memory])
    second = compiled.start([memory], wait_for=[first])
    assert second.results()["y"].tolist() == [[4, 8, 12, 16]]
    first.wait()
    assert first.results()["y"] is memory


def test_a_fence_can_leave_the_library():
    compiled = doubling().compile("halyard-reference", cache=False)
    event = compiled.start([np.ones((1, 4), np.float32)])
    event.wait()
    try:
        fd = event.sync_fence()
    except halyard.Error as error:
        assert "fence" in str(error)  # the driver had finished already
        return
    try:
        halyard.Event.from_fd(fd).wait()
    finally:
        os.close(fd)


def test_an_event_that_is_dropped_ends_first():
    compiled = doubling().compile("nnapi-reference")
    for _ in range(100):
        compiled.start([np.ones((1, 4), np.float32)])
