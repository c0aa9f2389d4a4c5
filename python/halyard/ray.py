"""Halyard on the machines of a Ray cluster: batches with Ray Data, requests with Ray Serve.

Ray schedules, restarts and scales. This module gives it workers that run a model, and a job whose
results are there exactly once. It needs the package ray: `pip install "ray[data,serve]"`.

A node of the cluster names its devices, so that each device has one worker:

    ray start --address=HEAD:6379 --resources="$(python -m halyard.ray)"
"""
from __future__ import annotations

import hashlib
import importlib
import json
import os
import pathlib
from typing import (TYPE_CHECKING, Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Tuple,
                    Union)

from ._devices import devices
from ._model import load
from ._ray_job import Job, Reader
from ._tensors import Tensor, bad_data

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Columns = Mapping[str, "NDArray[Any]"]

# The names of types in the Open Inference Protocol.
_DATATYPES = {"BOOL": "bool", "UINT8": "uint8", "INT8": "int8", "INT16": "int16", "INT32": "int32",
              "INT64": "int64", "FP16": "float16", "FP32": "float32", "FP64": "float64"}


def _ray(module: str = "ray") -> Any:
    """A module of ray, which is imported when it is first needed."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(f"halyard.ray needs the package ray ({error}): "
                          'pip install "ray[data,serve]"') from error


def resources(names: Optional[Iterable[str]] = None) -> Dict[str, float]:
    """The devices of this machine as resources of Ray, one unit each.

    names: only these devices. The runtime's own device is left out without it, since each process
        has one.
    """
    found = [each.name for each in devices()]
    if names is None:
        return {name: 1.0 for name in found if name != "nnapi-reference"}
    wanted = list(names)
    for name in wanted:
        if name not in found:
            raise bad_data(f"device '{name}', expected one of {', '.join(found)}")
    return {name: 1.0 for name in wanted}


def _reserved(device: Optional[str], cpus: float) -> Dict[str, Any]:
    """The options of a worker: its processors, and its device if one is named."""
    ray = _ray()
    if not ray.is_initialized():
        ray.init()
    if device is None:
        return {"num_cpus": cpus}
    available = ray.cluster_resources()
    if device not in available:
        shown = ", ".join(name for name in sorted(available) if not name.startswith("node:"))
        raise bad_data(f"no node of the cluster has the device '{device}' (resources: {shown}): start its "
                       'nodes with ray start --resources="$(python -m halyard.ray)"')
    return {"num_cpus": cpus, "resources": {device: 1.0}}


def _contents(model: Union[str, "os.PathLike[str]", bytes]) -> bytes:
    return model if isinstance(model, bytes) else pathlib.Path(model).read_bytes()


class Worker:
    """Runs a model over the rows of batches. Ray makes one for each device, in a process of its own."""

    def __init__(self, model: Any, device: Optional[str], allow_fp16: bool = False) -> None:
        contents = model if isinstance(model, bytes) else _ray().get(model)
        self.compiled = load(contents, allow_fp16=allow_fp16).compile(
            device, require_device=device is not None)

    def __call__(self, batch: "Columns") -> "Dict[str, NDArray[Any]]":
        """The batch with a column for each output. Its columns have the names of the inputs."""
        return {**batch, **self.outputs(batch)}

    def outputs(self, batch: "Columns") -> "Dict[str, NDArray[Any]]":
        import numpy as np

        columns = [_rows(each, batch) for each in self.compiled.inputs]
        results: Dict[str, List[Any]] = {each.name: [] for each in self.compiled.outputs}
        for row in zip(*columns):
            for name, value in self.compiled.run(list(row)).items():
                results[name].append(value[0] if value.ndim and value.shape[0] == 1 else value)
        return {name: np.stack(values) if values else np.empty((0,)) for name, values in results.items()}


def _rows(tensor: Tensor, batch: "Columns") -> "Iterator[NDArray[Any]]":
    """The rows of an input's column, each with the shape of the input."""
    import numpy as np

    if tensor.name not in batch:
        raise bad_data(f"the batch has no column for the input {tensor}; its columns are {', '.join(batch)}")
    column = np.asarray(batch[tensor.name])
    alone = tensor.shape is not None and len(tensor.shape) == column.ndim and tensor.shape[0] == 1
    if column.dtype != np.dtype(tensor.dtype):
        raise bad_data(f"input {tensor}: the column is {column.dtype}, expected {np.dtype(tensor.dtype)}")
    return (row[np.newaxis] if alone else row for row in column)


def predict(dataset: Any, model: Union[str, "os.PathLike[str]", bytes], *, device: Optional[str] = None,
            workers: Tuple[int, int] = (1, 1), cpus: float = 1, batch_size: int = 256,
            allow_fp16: bool = False) -> Any:
    """A dataset of Ray Data with a column for each output of the model. Ray computes it when it is read.

    dataset: a ray.data.Dataset, with a column for each input. A row has the shape of the input,
        without a leading 1.
    device: a device that nodes have as a resource; each of its units gets one worker. Without it,
        the runtime of each worker chooses.
    workers: the least and the greatest number of workers; Ray scales between them.
    cpus: the processors that Ray reserves for a worker.
    batch_size: the rows that a worker gets at a time.
    allow_fp16: as for halyard.load.
    """
    ray = _ray()
    data = _ray("ray.data")
    reserved = _reserved(device, cpus)
    pool = data.ActorPoolStrategy(min_size=workers[0], max_size=workers[1])
    return dataset.map_batches(Worker, compute=pool, batch_size=batch_size, **reserved,
                               fn_constructor_args=(ray.put(_contents(model)), device, allow_fp16))


class _PartWorker:
    """Computes numbered parts of a job, and writes each as a file."""

    def __init__(self, model: Any, device: Optional[str], job: Job, read: Reader) -> None:
        self.worker, self.job, self.read = Worker(model, device, job.allow_fp16), job, read

    def __call__(self, batch: "Columns") -> "Dict[str, NDArray[Any]]":
        for part in batch["part"]:
            start, stop = self.job.rows_of(int(part))
            self.job.write(int(part), self.worker.outputs(self.read(start, stop)))
        return {"part": batch["part"]}


def run_job(read: Reader, rows: int, model: Union[str, "os.PathLike[str]", bytes],
            folder: "Union[str, os.PathLike[str]]", *, rows_per_part: int = 500, device: Optional[str] = None,
            workers: Tuple[int, int] = (1, 1), cpus: float = 1,
            progress: Optional[Callable[[int, int], None]] = None, allow_fp16: bool = False) -> Job:
    """Runs a model over many rows, and writes the results into numbered files of a folder.

    A part is a file that appears by one rename, when it is whole. If a worker dies, Ray computes its
    part again. If the whole job dies, the same call continues, and skips the parts that are there.
    So each row is in the results exactly once.

    read: read(start, stop) gives these rows as a dict of arrays by the names of the inputs. It must
        give the same rows each time. Workers call it.
    rows: the number of all rows.
    folder: all machines of the cluster must see it under this path.
    rows_per_part: the rows of a file.
    device, workers, cpus: as for predict.
    progress: progress(done, all) gets the parts that are there after each new one.
    allow_fp16: as for halyard.load. A job has one value for all of its parts.
    """
    ray = _ray()
    data = _ray("ray.data")
    contents = _contents(model)
    job = Job(pathlib.Path(folder).absolute(), rows, rows_per_part, hashlib.sha256(contents).hexdigest(), allow_fp16)
    with job.opened():
        missing = job.missing()
        done = job.parts - len(missing)
        if progress:
            progress(done, job.parts)
        if missing:
            reserved = _reserved(device, cpus)
            pool = data.ActorPoolStrategy(min_size=workers[0], max_size=workers[1],
                                          max_tasks_in_flight_per_actor=2)
            parts = data.from_items([{"part": part} for part in missing], override_num_blocks=len(missing))
            results = parts.map_batches(_PartWorker, compute=pool, batch_size=1, **reserved,
                                        fn_constructor_args=(ray.put(contents), device, job, read))
            for batch in results.iter_batches(batch_size=1, prefetch_batches=0):
                done += len(batch["part"])
                if progress:
                    progress(done, job.parts)
    return job


class Replica:
    """A replica of a model for Ray Serve. It answers the Open Inference Protocol with JSON."""

    def __init__(self, model: bytes, name: str, device: Optional[str], allow_fp16: bool = False) -> None:
        self.name = name
        self.compiled = load(model, allow_fp16=allow_fp16).compile(
            device, require_device=device is not None)

    async def infer(self, inputs: "Columns") -> "Dict[str, NDArray[Any]]":
        """For handles of Ray: runs the model once, with inputs and outputs by name."""
        results: "Dict[str, NDArray[Any]]" = await self.compiled.run_async(inputs)
        return results

    async def __call__(self, request: Any) -> Any:
        responses = _ray("starlette.responses")
        path = request.url.path.rstrip("/")
        if request.method == "GET" and path.endswith("/ready"):
            return responses.JSONResponse({"ready": True})
        if request.method != "POST" or not path.endswith("/infer"):
            return responses.JSONResponse({"error": f"{request.method} {path}: expected POST .../infer or "
                                                    "GET .../ready"}, 404)
        try:
            results = await self.infer(_arrays(await request.body(), self.compiled.inputs))
        except ValueError as error:  # also halyard.BadDataError
            return responses.JSONResponse({"error": str(error)}, 400)
        outputs = [{"name": name, "datatype": _datatype(value.dtype), "shape": list(value.shape),
                    "data": value.ravel().tolist()} for name, value in results.items()]
        return responses.JSONResponse({"model_name": self.name, "model_version": "1", "outputs": outputs})


def _datatype(dtype: Any) -> str:
    return next((name for name, known in _DATATYPES.items() if known == dtype.name), str(dtype.name))


def _elements(data: Any, dtype: Any) -> "Iterator[Any]":
    """The elements of "data", in nested lists too. NumPy alone would also take null and "7", and cut 1.9."""
    import numpy as np

    if not isinstance(data, list):
        raise ValueError(f"data {data!r}, expected a list")
    taken = (int, float) if dtype.kind == "f" else (bool, int) if dtype.kind == "b" else (int,)
    limits = np.iinfo(dtype) if dtype.kind in "iu" else None
    for each in data:
        if isinstance(each, list):
            yield from _elements(each, dtype)
        elif type(each) not in taken or (dtype.kind == "b" and each not in (0, 1)) or (
                limits and not limits.min <= each <= limits.max):
            raise ValueError(f"element {each!r}, expected one of {_datatype(dtype)}")
        else:
            yield each


def _shape(shape: Any) -> List[int]:
    if not isinstance(shape, list) or any(type(extent) is not int or extent < 0 for extent in shape):
        raise ValueError(f"shape {shape!r}, expected a list of integers of 0 or more")
    return shape


def _arrays(body: bytes, tensors: Iterable[Tensor]) -> "Dict[str, NDArray[Any]]":
    """The inputs of a request. An error names the input, the expected and the found value."""
    import numpy as np

    document = json.loads(body)
    listed = document.get("inputs") if isinstance(document, dict) else None
    if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
        raise ValueError('the request needs "inputs", a list of objects')
    for i, each in enumerate(listed):
        if not isinstance(each.get("name"), str):
            raise ValueError(f"input #{i}: name {each.get('name')!r}, expected a text")
    given = {each["name"]: each for each in listed}
    arrays = {}
    for tensor in tensors:
        if tensor.name not in given:
            raise ValueError(f"input {tensor} is missing; found: {', '.join(map(str, given)) or 'no input'}")
        each = given.pop(tensor.name)
        dtype = np.dtype(tensor.dtype)
        if _DATATYPES.get(str(each.get("datatype"))) != dtype.name:
            raise ValueError(f"input {tensor}: datatype {each.get('datatype')}, expected {_datatype(dtype)}")
        try:
            elements = list(_elements(each.get("data"), dtype))
            arrays[tensor.name] = np.array(elements, dtype).reshape(_shape(each.get("shape")))
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"input {tensor}: data and shape do not fit: {error}") from error
    if given:
        raise ValueError(f"input '{next(iter(given))}' is no input of the model")
    return arrays


def deployment(model: Union[str, "os.PathLike[str]", bytes], name: str, *, device: Optional[str] = None,
               replicas: Tuple[int, int] = (1, 1), cpus: float = 1, ongoing: int = 4,
               allow_fp16: bool = False) -> Any:
    """An application of Ray Serve: `serve.run(deployment(path, "name"), route_prefix="/v2/models/name")`.

    name: the name of the model in answers, and of the deployment.
    device, cpus: as for predict.
    replicas: the least and the greatest number of replicas; Ray scales between them.
    ongoing: the requests of a replica at a time; more of them wait, and make Ray add replicas.
    allow_fp16: as for halyard.load.
    """
    serve = _ray("ray.serve")
    options = _reserved(device, cpus)
    decorated = serve.deployment(
        Replica, name=name, ray_actor_options=options, max_ongoing_requests=ongoing,
        autoscaling_config={"min_replicas": replicas[0], "max_replicas": replicas[1],
                            "target_ongoing_requests": max(1, ongoing // 2)})
    return decorated.bind(_contents(model), name, device, allow_fp16)


if __name__ == "__main__":
    print(json.dumps(resources()))
