// The module halyard._core: the C API for Python. The package around it has the interface for
// users.
#include <android/NeuralNetworks.h>
#include <halyard/halyard.h>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <sys/mman.h>

#include <algorithm>
#include <string>
#include <vector>

#include "builder.h"
#include "client/cache_folder.h"
#include "client/status.h"
#include "compiled.h"
#include "errors.h"
#include "interruptible.h"
#include "measure/device_choice.h"
#include "measure/tensor_values.h"
#include "tools/halyard/explanation.h"
#include "tools/halyard/profile_report.h"

namespace halyard::python {
namespace nb = nanobind;
using namespace nanobind::literals;
namespace {

using Json = char*;

// The text that a function of halyard.h makes.
std::string textOf(int (*function)(Json*), const char* name) {
  Json json = nullptr;
  int code = 0;
  {
    const nb::gil_scoped_release released;
    code = function(&json);
  }
  if (code != ANEURALNETWORKS_NO_ERROR)
    raise(makeStatus(static_cast<ResultCode>(code), "{}", name));
  std::string text(json);
  halyard_free(json);
  return text;
}

std::string_view formName(import::ElementForm form) {
  switch (form) {
    case import::ElementForm::INT64:
      return "i8";
    case import::ElementForm::COMPLEX64:
      return "c8";
    case import::ElementForm::WHOLE:
    case import::ElementForm::SAME:
      break;
  }
  return "";
}

// (name, type, NumPy type, NumPy type in the file or "", dimensions, scale, zero point); dimensions
// are None when the rank is not known.
nb::tuple portTuple(const import::ModelPort& port) {
  nb::object dims = nb::none();
  if (!port.dims.empty() || isScalarType(port.type)) {
    nb::list list;
    for (const uint32_t dim : port.dims) list.append(dim);
    dims = nb::tuple(list);
  }
  return nb::make_tuple(port.name, operandTypeName(port.type),
                        std::string(measure::npyTypeOf(port.type)),
                        std::string(formName(port.form)), dims, port.scale, port.zeroPoint);
}

nb::tuple descriptionTuple(const Description& description) {
  nb::list inputs;
  nb::list outputs;
  for (const import::ModelPort& port : description.inputs) inputs.append(portTuple(port));
  for (const import::ModelPort& port : description.outputs) outputs.append(portTuple(port));
  nb::list firstValues;
  for (const std::vector<uint8_t>& value : description.firstValues) {
    firstValues.append(nb::bytes(value.data(), value.size()));
  }
  return nb::make_tuple(nb::tuple(inputs), nb::tuple(outputs), description.operationCount,
                        nb::tuple(firstValues));
}

std::span<const uint8_t> bytesOf(const nb::bytes& bytes) {
  return {reinterpret_cast<const uint8_t*>(bytes.c_str()), bytes.size()};
}

using Shapes = std::vector<std::pair<std::string, std::vector<uint32_t>>>;

GraphSource sourceOf(const std::string& path, const nb::bytes& contents, bool openDimensions,
                     const Shapes& shapes, bool states, bool allowFloat16) {
  GraphSource source;
  source.path = path;
  if (path.empty()) source.bytes = bytesOf(contents);
  source.keepsOpenDimensions = openDimensions;
  source.hasStates = states;
  source.allowFloat16 = allowFloat16;
  for (const auto& [name, dims] : shapes) {
    source.shapes.push_back({name, Shape(dims.begin(), dims.end())});
  }
  return source;
}

template <typename Function>
auto withoutGil(Function function) {
  const nb::gil_scoped_release released;
  return function();
}

void defineModels(nb::module_& m) {
  nb::class_<Graph>(m, "Graph", "A finished model of the C API.")
      .def(
          "describe", [](const Graph& graph) { return descriptionTuple(graph.description()); },
          nb::sig("def describe(self) -> tuple[typing.Any, typing.Any, int, tuple[bytes, ...]]"));
  m.def(
      "describe_file",
      [](const std::string& path, const nb::bytes& contents, bool openDimensions,
         const Shapes& shapes, bool states, bool allowFloat16) {
        const GraphSource source =
            sourceOf(path, contents, openDimensions, shapes, states, allowFloat16);
        return descriptionTuple(unwrap(withoutGil([&] { return describeFile(source); })));
      },
      "path"_a, "contents"_a, "open_dimensions"_a, "shapes"_a, "states"_a, "allow_fp16"_a,
      nb::sig("def describe_file(path: str, contents: bytes, open_dimensions: bool, "
              "shapes: collections.abc.Sequence[tuple[str, collections.abc.Sequence[int]]], "
              "states: bool, allow_fp16: bool) "
              "-> tuple[typing.Any, typing.Any, int, tuple[bytes, ...]]"));
  m.def(
      "import_graph",
      [](const std::string& path, const nb::bytes& contents, bool openDimensions,
         const Shapes& shapes, bool states, bool allowFloat16,
         const std::vector<std::string>& devices) {
        const GraphSource source =
            sourceOf(path, contents, openDimensions, shapes, states, allowFloat16);
        const auto read = [&]() -> Result<std::shared_ptr<const Graph>> {
          HALYARD_ASSIGN_OR_RETURN(const Devices handles, measure::devicesOf(devices));
          return importGraph(source, handles);
        };
        return std::const_pointer_cast<Graph>(unwrap(withoutGil(read)));
      },
      "path"_a, "contents"_a, "open_dimensions"_a, "shapes"_a, "states"_a, "allow_fp16"_a,
      "devices"_a);
}

template <typename Byte>
using Bytes = nb::ndarray<nb::numpy, Byte, nb::ndim<1>>;

void defineMemory(nb::module_& m) {
  nb::class_<Memory>(m, "Memory", "Host memory, or memory of a device.")
      .def_static(
          "allocate", [](size_t size) { return unwrap(Memory::allocate(size)); }, "size"_a)
      .def_static(
          "from_fd",
          [](int fd, size_t size, bool writable, uint64_t offset) {
            return unwrap(
                Memory::fromFd(fd, size, PROT_READ | (writable ? PROT_WRITE : 0), offset));
          },
          "fd"_a, "size"_a, "writable"_a, "offset"_a)
      .def(
          "bytes",
          [](nb::handle_t<Memory> self) -> nb::object {
            const Memory& memory = nb::cast<Memory&>(self);
            const std::span<uint8_t> bytes = memory.bytes();
            if (memory.isWritable()) {
              return nb::cast(Bytes<uint8_t>(bytes.data(), {bytes.size()}, self));
            }
            return nb::cast(Bytes<const uint8_t>(bytes.data(), {bytes.size()}, self));
          },
          nb::sig("def bytes(self) -> typing.Any"),
          "The bytes of host memory, in place; read-only if the memory is.")
      .def_prop_ro("size", [](const Memory& memory) { return memory.bytes().size(); })
      .def("fd", [](const Memory& memory) { return memory.fd(); })
      .def(
          "copy_to",
          [](const Memory& from, const Memory& to) {
            raiseIfError(withoutGil([&] { return from.copyTo(to); }));
          },
          "other"_a);
}

Status addRole(const client::MemoryDesc& description, const Compiled& compiled, bool isInput,
               uint32_t index, float frequency) {
  return client::toStatus(isInput ? description.addInputRole(compiled.handle(), index, frequency)
                                  : description.addOutputRole(compiled.handle(), index, frequency));
}

nb::object compile(std::shared_ptr<Graph> graph, const std::vector<std::string>& devices,
                   bool cpuTakesTheRest, std::optional<int32_t> preference,
                   std::optional<int32_t> priority, uint64_t timeoutNs,
                   const std::string& cacheFolder, const nb::bytes& token, const nb::object& tick) {
  CompileOptions options{{}, cpuTakesTheRest, preference, priority, timeoutNs, std::nullopt};
  if (!cacheFolder.empty()) {
    client::Caching caching{cacheFolder, {}};
    if (token.size() != caching.token.size()) {
      raise(badData("a token of {} bytes, expected {}", token.size(), caching.token.size()));
    }
    std::ranges::copy(bytesOf(token), caching.token.begin());
    options.caching = std::move(caching);
  }
  struct Outcome {
    Status status;
    std::shared_ptr<Compiled> compiled;
  };
  const auto outcome = std::make_shared<Outcome>();
  auto work = [outcome, graph = std::move(graph), options, devices]() mutable -> Status {
    HALYARD_ASSIGN_OR_RETURN(options.devices, measure::devicesOf(devices));
    HALYARD_ASSIGN_OR_RETURN(outcome->compiled,
                             Compiled::create(std::move(graph), options, outcome->status));
    return okStatus();
  };
  const bool waits = isMainThread() || !tick.is_none();
  raiseIfError(waits ? runInterruptibly(std::move(work), nb::none(), tick) : withoutGil(work));
  if (!outcome->status.ok()) raise(outcome->status);
  return nb::cast(outcome->compiled);
}

void defineCompiled(nb::module_& m) {
  nb::class_<Compiled>(m, "Compiled", "A finished compilation.")
      .def("report", [](const Compiled& compiled) { return unwrap(compiled.report()); })
      .def("profile", [](const Compiled& compiled) { return unwrap(compiled.profile()); })
      .def(
          "device_memory",
          [](const Compiled& compiled, const std::vector<std::tuple<uint32_t, float>>& inputs,
             const std::vector<std::tuple<uint32_t, float>>& outputs,
             const std::vector<uint32_t>& dims) {
            const auto make = [&]() -> Result<std::shared_ptr<Memory>> {
              client::MemoryDesc description;
              HALYARD_RETURN_IF_FAILED(description.create());
              for (const auto& [index, frequency] : inputs) {
                HALYARD_RETURN_IF_ERROR(addRole(description, compiled, true, index, frequency));
              }
              for (const auto& [index, frequency] : outputs) {
                HALYARD_RETURN_IF_ERROR(addRole(description, compiled, false, index, frequency));
              }
              if (!dims.empty()) HALYARD_RETURN_IF_FAILED(description.setDimensions(dims));
              HALYARD_RETURN_IF_FAILED(description.finish());
              return Memory::fromDescription(description);
            };
            return unwrap(make());
          },
          "inputs"_a, "outputs"_a, "dims"_a);
  m.def("compile", &compile, "graph"_a, "devices"_a, "cpu_takes_the_rest"_a, "preference"_a.none(),
        "priority"_a.none(), "timeout_ns"_a, "cache_folder"_a, "token"_a, "tick"_a.none(),
        nb::sig("def compile(graph: Graph, devices: list[str], cpu_takes_the_rest: bool, "
                "preference: int | None, priority: int | None, timeout_ns: int, "
                "cache_folder: str, token: bytes, "
                "tick: typing.Callable[[float], None] | None) -> Compiled"));
}

// An argument: None, (Memory, offset, length), or an object with the buffer protocol.
std::optional<MemoryPart> memoryPart(nb::handle argument) {
  if (!nb::isinstance<nb::tuple>(argument)) return std::nullopt;
  const auto [memory, offset, length] =
      nb::cast<std::tuple<std::shared_ptr<Memory>, size_t, size_t>>(argument);
  return MemoryPart{memory, offset, length};
}

void setInput(Request& request, uint32_t index, nb::handle argument, nb::handle dims) {
  const auto real = nb::cast<std::optional<std::vector<uint32_t>>>(dims);
  if (argument.is_none()) return raiseIfError(request.omitInput(index));
  if (std::optional<MemoryPart> part = memoryPart(argument)) {
    return raiseIfError(request.setInput(index, std::move(*part), real));
  }
  raiseIfError(request.setInput(index, std::make_unique<HeldBuffer>(argument, false), real));
}

void setOutput(Request& request, uint32_t index, nb::handle argument) {
  if (std::optional<MemoryPart> part = memoryPart(argument)) {
    return raiseIfError(request.setOutput(index, std::move(*part)));
  }
  raiseIfError(request.setOutput(index, std::make_unique<HeldBuffer>(argument, true)));
}

// `dims`: None, or a list with the real dimensions of each input, or None for an input.
std::shared_ptr<Request> makeRequest(std::shared_ptr<Compiled> compiled, const nb::sequence& inputs,
                                     const nb::object& dims, const nb::sequence& outputs,
                                     bool reusable, uint64_t timeoutNs) {
  auto request = unwrap(Request::create(std::move(compiled), reusable, timeoutNs));
  uint32_t index = 0;
  for (const nb::handle input : inputs) {
    if (dims.is_none()) {
      setInput(*request, index, input, nb::none());
    } else {
      setInput(*request, index, input, nb::object(dims[index]));
    }
    ++index;
  }
  index = 0;
  for (const nb::handle output : outputs) setOutput(*request, index++, output);
  return request;
}

// False: the space for an output of unknown size is too small.
bool compute(const std::shared_ptr<Request>& request) {
  Compiled& compiled = request->compiled();
  const auto burst = std::make_shared<client::Burst>(unwrap(compiled.takeBurst()));
  const auto duration = std::make_shared<std::chrono::nanoseconds>();
  auto work = [request, burst, duration] { return request->compute(*burst, *duration); };
  const Status status = isMainThread() && !compiled.isShort()
                            ? runInterruptibly(std::move(work), nb::cast(request))
                            : withoutGil(work);
  compiled.giveBack(std::move(*burst));
  if (status.code() == ResultCode::OUTPUT_INSUFFICIENT_SIZE) return false;
  raiseIfError(status);
  compiled.noteDuration(*duration);
  return true;
}

std::shared_ptr<Event> start(const nb::object& self, const std::vector<Event*>& dependencies,
                             uint64_t timeoutNs) {
  std::vector<const ANeuralNetworksEvent*> handles;
  for (const Event* event : dependencies) handles.push_back(event->handle());
  const Request& request = nb::cast<Request&>(self);
  client::Event event = unwrap(withoutGil([&] { return request.start(handles, timeoutNs); }));
  return std::make_shared<Event>(std::move(event), self);
}

void waitFor(const nb::object& self) {
  const Event& event = nb::cast<Event&>(self);
  auto work = [&event] { return event.wait(); };
  raiseIfError(isMainThread() ? runInterruptibly(work, self) : withoutGil(work));
}

void defineRequests(nb::module_& m) {
  nb::class_<Event>(m, "Event", "The end of a started request, or a sync fence.")
      .def_static(
          "from_fd",
          [](int fd) {
            client::Event event;
            raiseIfError(client::toStatus(event.createFromSyncFenceFd(fd)));
            return std::make_shared<Event>(std::move(event), nb::none());
          },
          "fd"_a)
      .def(
          "wait", [](const nb::object& self) { waitFor(self); }, nb::sig("def wait(self) -> None"))
      .def("sync_fence", [](const Event& event) { return unwrap(event.syncFence()); });
  nb::class_<Request>(m, "Request", "One execution with its arguments.")
      .def("compute", &compute)
      .def(
          "start",
          [](const nb::object& self, const std::vector<Event*>& dependencies, uint64_t timeoutNs) {
            return start(self, dependencies, timeoutNs);
          },
          "dependencies"_a, "timeout_ns"_a,
          nb::sig("def start(self, dependencies: list[Event], timeout_ns: int) -> Event"))
      .def(
          "output_dims",
          [](const Request& request, uint32_t index) {
            nb::list dims;
            for (const uint32_t dim : unwrap(request.outputDimensions(index))) dims.append(dim);
            return nb::tuple(dims);
          },
          "index"_a, nb::sig("def output_dims(self, index: int) -> tuple[int, ...]"));
  m.def("make_request", &makeRequest, "compiled"_a, "inputs"_a, "dims"_a.none(), "outputs"_a,
        "reusable"_a, "timeout_ns"_a,
        nb::sig("def make_request(compiled: Compiled, inputs: list[typing.Any], "
                "dims: list[tuple[int, ...] | None] | None, outputs: list[typing.Any], "
                "reusable: bool, timeout_ns: int) -> Request"));
}

void defineBuilder(nb::module_& m) {
  nb::class_<OperandSpec>(m, "OperandSpec", "The type of an operand.")
      .def(nb::init<int32_t, std::vector<uint32_t>, float, int32_t>(), "type"_a, "dims"_a,
           "scale"_a, "zero_point"_a)
      .def_ro("type", &OperandSpec::type)
      .def_ro("dims", &OperandSpec::dims)
      .def_ro("scale", &OperandSpec::scale)
      .def_ro("zero_point", &OperandSpec::zeroPoint);
  nb::class_<Builder>(m, "Builder", "A model under construction.")
      .def_static("create", [] { return unwrap(Builder::create()); })
      .def(
          "add_operand",
          [](Builder& builder, const OperandSpec& spec) {
            return unwrap(builder.addOperand(spec));
          },
          "spec"_a)
      .def(
          "set_scales",
          [](Builder& builder, uint32_t operand, const std::vector<float>& scales,
             uint32_t channelDim) { raiseIfError(builder.setScales(operand, scales, channelDim)); },
          "operand"_a, "scales"_a, "channel_dim"_a)
      .def(
          "set_value",
          [](Builder& builder, uint32_t operand, const nb::object& value) {
            const HeldBuffer bytes(value, false);
            raiseIfError(builder.setValue(
                operand, {static_cast<const uint8_t*>(bytes.data()), bytes.size()}));
          },
          "operand"_a, "value"_a)
      .def(
          "omit", [](Builder& builder, uint32_t operand) { raiseIfError(builder.omit(operand)); },
          "operand"_a)
      .def(
          "set_model",
          [](Builder& builder, uint32_t operand, std::shared_ptr<Builder> model) {
            raiseIfError(builder.setModel(operand, std::move(model)));
          },
          "operand"_a, "model"_a)
      .def(
          "results_of",
          [](const Builder& builder, int32_t operation, const std::vector<uint32_t>& inputs) {
            return unwrap(builder.resultsOf(operation, inputs));
          },
          "operation"_a, "inputs"_a)
      .def(
          "add_operation",
          [](Builder& builder, int32_t operation, const std::vector<uint32_t>& inputs,
             const std::vector<uint32_t>& outputs) {
            raiseIfError(builder.addOperation(operation, inputs, outputs));
          },
          "operation"_a, "inputs"_a, "outputs"_a)
      .def(
          "finish",
          [](Builder& builder, const std::vector<uint32_t>& inputs,
             const std::vector<uint32_t>& outputs,
             bool allowFp16) { raiseIfError(builder.finish(inputs, outputs, allowFp16)); },
          "inputs"_a, "outputs"_a, "allow_fp16"_a);
  m.def(
      "graph_of",
      [](std::shared_ptr<Builder> builder, const std::vector<std::string>& inputs,
         const std::vector<std::string>& outputs) {
        return std::const_pointer_cast<Graph>(
            unwrap(Builder::graphOf(std::move(builder), inputs, outputs)));
      },
      "builder"_a, "inputs"_a, "outputs"_a);
  m.def(
      "operations",
      [] {
        nb::list all;
        for (const OperationDescription& each : allOperations()) {
          nb::list forms;
          for (const FormDescription& form : each.forms) {
            forms.append(nb::make_tuple(form.name, form.inputs, form.types));
          }
          all.append(nb::make_tuple(each.name, each.code, each.isOfExtension, forms, each.outputs));
        }
        return all;
      },
      nb::sig("def operations() -> list[tuple[str, int, bool, "
              "list[tuple[str, list[str], list[str]]], list[str]]]"));
  m.def(
      "operand_types",
      [] {
        nb::list all;
        for (const OperandTypeTraits& type : allOperandTypes()) {
          all.append(nb::make_tuple(std::string(type.name), static_cast<int32_t>(type.type),
                                    type.scalar, std::string(measure::npyTypeOf(type.type))));
        }
        return all;
      },
      nb::sig("def operand_types() -> list[tuple[str, int, bool, str]]"));
}

void defineRest(nb::module_& m) {
  m.def("version", [] { return std::string(halyard_version()); });
  m.def("devices_json", [] { return textOf(&halyard_devicesJson, "the list of devices"); });
  m.def(
      "choose_device",
      [](const std::vector<std::string>& names, const std::string& wanted) {
        return unwrap(measure::chooseDevice(names, wanted));
      },
      "names"_a, "wanted"_a);
  m.def(
      "make_cache_folder",
      [](const std::string& folder) { raiseIfError(client::makeCacheFolder(folder)); }, "folder"_a);
  m.def(
      "explanation_text",
      [](const std::string& json, bool all) {
        return unwrap(cli::explanation(json, {.everyOperation = all}));
      },
      "json"_a, "all"_a);
  m.def(
      "profile_text",
      [](const std::string& json, bool all) {
        return unwrap(cli::profileReport(json, {.everyOperation = all}));
      },
      "json"_a, "all"_a);
  m.def(
      "trace_start",
      [](uint32_t slices) {
        const int code = withoutGil([&] { return halyard_traceStart(slices); });
        if (code == ANEURALNETWORKS_NO_ERROR) return;
        raise(makeStatus(static_cast<ResultCode>(code), "a trace runs already"));
      },
      "slices"_a);
  m.def("trace_stop", [] { (void)withoutGil(&halyard_traceStop); });
  m.def("trace_json", [] { return textOf(&halyard_traceJson, "the trace"); });
}

}  // namespace

NB_MODULE(_core, m) {
  defineModels(m);
  defineMemory(m);
  defineCompiled(m);
  defineRequests(m);
  defineBuilder(m);
  defineRest(m);
}

}  // namespace halyard::python
