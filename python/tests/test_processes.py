"""Threads, asyncio, signals, forks, other processes, and drivers that die."""
import asyncio
import concurrent.futures
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import halyard
from conftest import QUANT8, doubling


def run_program(text, **environment):
    """Runs a program in a process of its own, and returns its output."""
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(text)], capture_output=True, text=True,
                          timeout=120, env={**os.environ, "HALYARD_LOG": "quiet", **environment})
    assert done.returncode == 0, done.stderr
    return done.stdout


# A model that takes seconds, as a program makes it: many products of large matrices.
LONG_MODEL = """
import halyard, numpy, signal, sys, threading, os, time
# A shell may have started the tests without the signal.
signal.signal(signal.SIGINT, signal.default_int_handler)
def long_model(steps, size=700):
    b = halyard.Builder()
    x = y = b.input("x", [size, size])
    for _ in range(steps):
        y = b.batch_matmul(y, x, False, False)
    return b.finish(y)
def interrupt_after(seconds):
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    timer.daemon = True
    timer.start()
"""


def test_several_threads_may_run_one_model(compiled):
    pictures = [np.full((1, 28, 28, 1), value, np.int8) for value in range(8)]
    expected = [compiled(each) for each in pictures]

    def work(i):
        return all((compiled(pictures[i]) == expected[i]).all() for _ in range(50))

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))


def test_the_gil_is_released_while_a_model_runs():
    b = halyard.Builder()
    x = y = b.input("x", [600, 600])
    for _ in range(8):
        y = b.batch_matmul(y, x, False, False)
    compiled = b.finish(y).compile("nnapi-reference")
    steps = 0
    future = compiled.run_async([np.zeros((600, 600), np.float32)])
    while not future.done():
        steps += 1
    assert steps > 100


def test_futures_can_be_waited_for_and_awaited(compiled, picture):
    name = compiled.outputs[0].name
    expected = compiled(picture)
    assert (compiled.run_async([picture]).result()[name] == expected).all()

    async def several():
        return await asyncio.gather(*(compiled.run_async([picture]) for _ in range(10)))

    for each in asyncio.run(several()):
        assert (each[name] == expected).all()
    with pytest.raises(halyard.BadDataError):
        compiled.run_async([picture, picture]).result()


@pytest.mark.parametrize("step", ["compiled(x)", "compiled.run_async([x]).result()",
                                  "compiled.start([x]).wait()"])
def test_ctrl_c_interrupts_an_execution(step):
    lines = run_program(LONG_MODEL + f"""
x = numpy.zeros((700, 700), numpy.float32)
compiled = long_model(400).compile("nnapi-reference")
interrupt_after(0.3)
start = time.monotonic()
try:
    {step}
    print("ended")
except KeyboardInterrupt:
    print("interrupted", time.monotonic() - start)
sys.stdout.flush()
os._exit(0)
""").split()
    assert lines[0] == "interrupted"
    assert float(lines[1]) < 20


def test_a_program_goes_on_after_ctrl_c():
    assert run_program(LONG_MODEL + """
x = numpy.zeros((700, 700), numpy.float32)
compiled = long_model(400).compile("nnapi-reference")
interrupt_after(0.1)
try:
    compiled(x)
    print("ended")
except KeyboardInterrupt:
    del x
    print(long_model(1).compile("nnapi-reference")(numpy.ones((700, 700), numpy.float32))[0, 0])
""").strip() == "700.0"


def test_the_interpreter_may_end_while_interrupted_work_does():
    program = LONG_MODEL + """
x = numpy.zeros((700, 700), numpy.float32)
compiled = long_model(400).compile("nnapi-reference")
interrupt_after(0.1)
try:
    compiled(x)
except KeyboardInterrupt:
    long_model(1).compile("nnapi-reference")(x)
"""
    for _ in range(12):  # the moment is different each time
        run_program(program)


def test_a_handler_of_a_signal_runs_during_an_execution():
    assert run_program(LONG_MODEL + """
handled = []
signal.signal(signal.SIGINT, lambda *_: handled.append(time.monotonic()))
compiled = long_model(200).compile("nnapi-reference")
interrupt_after(0.05)
compiled(numpy.zeros((700, 700), numpy.float32))
print(len(handled), handled[0] < time.monotonic() - 0.05)
""").strip() == "1 True"


def test_a_forked_child_gets_a_text_and_can_compile_again():
    assert run_program(f"""
import halyard, numpy, os
x = numpy.zeros((1, 28, 28, 1), numpy.int8)
model = halyard.load({str(QUANT8)!r})
compiled = model.compile("cpu", cache=False)
expected = compiled(x)
compiled.run_async([x]).result()
child = os.fork()
if child == 0:
    code = 1
    try:
        try:
            compiled(x)
        except halyard.BadStateError as error:
            again = model.compile("cpu", cache=False)
            same = (again(x) == expected).all()
            name = again.outputs[0].name
            same = same and (again.run_async([x]).result()[name] == expected).all()
            code = 0 if same else 2
    finally:
        os._exit(code)
assert os.waitpid(child, 0)[1] == 0
print((compiled(x) == expected).all())
""").strip() == "True"


def run_elsewhere(compiled, x):
    return compiled(x)


def test_a_spawned_process_gets_a_compiled_model(compiled, picture):
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        result = pool.submit(run_elsewhere, compiled, picture).result(timeout=120)
    assert (result == compiled(picture)).all()


def test_a_killed_driver_starts_again_and_the_report_tells():
    assert run_program(f"""
import halyard, numpy, os, signal
x = numpy.zeros((1, 28, 28, 1), numpy.int8)
compiled = halyard.load({str(QUANT8)!r}).compile(cache=False)
device = compiled.devices[0]
expected = compiled(x)
pid = next(each.process_id for each in halyard.devices() if each.name == device)
os.kill(pid, signal.SIGKILL)
print((compiled(x) == expected).all(), bool(compiled.report().events))
print("signal 9" in str(compiled.explain()))
""", HALYARD_PARTITION_OVERHEAD="off").split() == ["True", "True", "True"]


def test_a_deadline_is_an_exception():
    assert run_program(LONG_MODEL + """
compiled = long_model(60).compile("halyard-reference")
try:
    compiled.run([numpy.zeros((700, 700), numpy.float32)], timeout=0.01)
    print("ended")
except halyard.DeadlineError as error:
    print(isinstance(error, TimeoutError), error.status.name.startswith("MISSED_DEADLINE"))
""").strip() == "True True"


def test_a_thread_other_than_the_main_one_may_do_everything(picture):
    results = []

    def work():
        results.append(halyard.load(QUANT8).compile("cpu", cache=False)(picture))
        results.append(doubling().compile("nnapi-reference")([[1, 2, 3, 4]]))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert results[0].shape == (1, 10) and results[1].tolist() == [[2, 4, 6, 8]]
