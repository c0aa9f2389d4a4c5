"""Runs one model in one of the other runtimes, by commands of `run`.

    python -m peers.peer_worker RUNTIME MODEL THREADS INPUT.npy...

Commands and answers equal those of halyard_worker.cc.
"""

import gc
import json
import sys
import time

import numpy as np


def memory_field(name):
    """A field of /proc/self/status in KiB."""
    with open("/proc/self/status") as file:
        for line in file:
            if line.startswith(name + ":"):
                return int(line.split()[1])
    return 0


class LiteRt:
    """The interpreter with its default delegate, XNNPACK."""

    def __init__(self, path, threads, inputs):
        from ai_edge_litert.interpreter import Interpreter

        self._make = lambda: Interpreter(model_path=path, num_threads=threads)
        self._inputs = inputs
        self._interpreter = None

    def load(self, batch=0):
        self._interpreter = None
        gc.collect()
        start = time.perf_counter()
        self._interpreter = self._make()
        inputs = self._inputs
        if batch:
            inputs = [np.concatenate([value] * batch) for value in inputs]
            for detail, value in zip(self._interpreter.get_input_details(), inputs):
                self._interpreter.resize_tensor_input(detail["index"], value.shape)
        self._interpreter.allocate_tensors()
        took = time.perf_counter() - start
        self.set_inputs(inputs)
        # Skips the checks in LiteRT's Python code.
        self.compute = self._interpreter._interpreter.Invoke
        return took

    def set_inputs(self, inputs):
        for detail, value in zip(self._interpreter.get_input_details(), inputs):
            self._interpreter.set_tensor(detail["index"], value)

    def outputs(self):
        # Halyard's executions start from zeros; LiteRT keeps variables from one to the next.
        self._interpreter.reset_all_variables()
        self.set_inputs(self._inputs)
        self.compute()
        return [self._interpreter.get_tensor(detail["index"])
                for detail in self._interpreter.get_output_details()]


class OnnxRuntime:
    """The CPU provider, with inputs and outputs bound to their own memory."""

    def __init__(self, path, threads, inputs):
        import onnxruntime

        self._library = onnxruntime
        self._options = onnxruntime.SessionOptions()
        self._options.intra_op_num_threads = threads
        self._options.inter_op_num_threads = 1
        self._options.log_severity_level = 3
        self._path, self._inputs = path, inputs
        self._session = self._binding = None

    def load(self):
        self.compute = self._session = self._binding = None
        gc.collect()
        start = time.perf_counter()
        self._session = self._library.InferenceSession(
            self._path, self._options, providers=["CPUExecutionProvider"])
        took = time.perf_counter() - start
        self.set_inputs(self._inputs)
        return took

    def set_inputs(self, inputs):
        value = self._library.OrtValue.ortvalue_from_numpy
        self._binding = self._session.io_binding()
        self._kept = [value(array) for array in inputs]
        for info, array in zip(self._session.get_inputs(), self._kept):
            self._binding.bind_ortvalue_input(info.name, array)
        for info, array in zip(self._session.get_outputs(),
                               self._session.run(None, self._feed(inputs))):
            kept = value(array)
            self._kept.append(kept)
            self._binding.bind_ortvalue_output(info.name, kept)
        session, binding = self._session._sess, self._binding._iobinding
        self.compute = lambda: session.run_with_iobinding(binding, None)

    def _feed(self, inputs):
        return {info.name: array for info, array in zip(self._session.get_inputs(), inputs)}

    def outputs(self):
        return self._session.run(None, self._feed(self._inputs))


class OpenVino:
    """One stream, float32 as float32. By default it computes in bfloat16 where the machine can, and
    no other runtime here does."""

    def __init__(self, path, threads, inputs):
        import openvino

        self._library = openvino
        self._core = openvino.Core()
        self._path, self._inputs = path, inputs
        self._config = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1,
                        "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}

    def load(self):
        self.compute = self._request = None
        gc.collect()
        start = time.perf_counter()
        compiled = self._core.compile_model(self._path, "CPU", self._config)
        took = time.perf_counter() - start
        self._request = compiled.create_infer_request()
        self.set_inputs(self._inputs)
        return took

    def set_inputs(self, inputs):
        self._kept = [self._library.Tensor(array, shared_memory=True) for array in inputs]
        for i, tensor in enumerate(self._kept):
            self._request.set_input_tensor(i, tensor)
        request, nothing = self._request, {}
        infer = super(type(request), request).infer
        self.compute = lambda: infer(nothing, share_outputs=True, decode_strings=False)

    def outputs(self):
        self.compute()
        count = len(self._request.model_outputs)
        return [self._request.get_output_tensor(i).data.copy() for i in range(count)]


class Ncnn:
    """On the first Vulkan device. `path` is the .param file; the .bin file stands beside it."""

    def __init__(self, path, inputs, half):
        import ncnn

        self._library, self._path, self._half = ncnn, path, half
        # From NHWC to CHW.
        self._input = np.ascontiguousarray(inputs[0][0].transpose(2, 0, 1))
        self._net = None

    def load(self):
        self.compute = self._net = None
        gc.collect()
        start = time.perf_counter()
        net = self._library.Net()
        net.opt.use_vulkan_compute = True
        net.opt.use_fp16_packed = net.opt.use_fp16_storage = self._half
        net.opt.use_fp16_arithmetic = self._half
        net.set_vulkan_device(0)
        net.load_param(self._path)
        net.load_model(self._path.removesuffix(".param") + ".bin")
        took = time.perf_counter() - start
        value = self._library.Mat(self._input)

        def compute():
            extractor = net.create_extractor()
            extractor.input("in0", value)
            return extractor.extract("out0")[1]

        self._net, self.compute = net, compute
        return took

    def outputs(self):
        return [np.array(self.compute())]


RUNTIMES = {"litert": LiteRt, "onnxruntime": OnnxRuntime, "openvino": OpenVino,
            "ncnn-fp32": lambda path, _, inputs: Ncnn(path, inputs, False),
            "ncnn-fp16": lambda path, _, inputs: Ncnn(path, inputs, True)}


def run(runtime, seconds, warm):
    compute, clock = runtime.compute, time.perf_counter
    end = clock() + warm
    while clock() < end:
        compute()
    times = []
    end = clock() + seconds
    while not times or clock() < end:
        start = clock()
        compute()
        times.append((clock() - start) * 1e6)
    return {"us": times}


def arrive(runtime, start, at):
    """As time.monotonic() counts."""
    times = []
    for seconds in at:
        due = start + seconds
        time.sleep(max(0.0, due - time.monotonic()))
        runtime.compute()
        times.append((time.monotonic() - due) * 1e6)
    return {"us": times}


def classify(runtime, inputs, path):
    images = np.fromfile(path, inputs[0].dtype).reshape(-1, *inputs[0].shape)
    classes = []
    for image in images:
        inputs[0][...] = image
        classes.append(int(np.argmax(runtime.outputs()[0])))
    return {"classes": classes}


def answer(runtime, inputs, base, command):
    what = command["do"]
    if what == "load":
        batch = command.get("batch", 0)
        took = runtime.load(batch) if batch else runtime.load()
        start = time.perf_counter()
        runtime.compute()
        return {"ms": took * 1e3, "first_ms": (time.perf_counter() - start) * 1e3}
    if what == "run":
        return run(runtime, command["seconds"], command.get("warm", 0))
    if what == "arrive":
        return arrive(runtime, command["start"], command["at"])
    if what == "output":
        files = []
        for i, value in enumerate(runtime.outputs()):
            files.append(f"{command['folder']}/{type(runtime).__name__}_{i}.npy")
            np.save(files[-1], value)
        return {"files": files}
    if what == "classify":
        return classify(runtime, inputs, command["file"])
    if what == "memory":
        return {"base_kib": base, "peak_kib": memory_field("VmHWM"), "driver_kib": 0,
                "shared_kib": 0}
    raise ValueError(f"command {command}")


def main():
    name, path, threads, *files = sys.argv[1:]
    inputs = [np.load(file) for file in files]
    base = memory_field("VmRSS")
    runtime = RUNTIMES[name](path, int(threads), inputs)
    # A library may write to standard output, so answers use another descriptor.
    out = sys.stdout
    for line in sys.stdin:
        try:
            result = answer(runtime, inputs, base, json.loads(line))
        except Exception as error:  # any exception of a runtime becomes the answer
            result = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(result), file=out, flush=True)
        if "error" in result:
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
