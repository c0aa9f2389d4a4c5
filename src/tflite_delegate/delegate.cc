#include "tflite_delegate/delegate.h"

#include <algorithm>
#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "client/status.h"
#include "measure/device_choice.h"
#include "tflite_delegate/malloc_array.h"
#include "tflite_delegate/report.h"
#include "tflite_delegate/selection.h"

namespace halyard::tflite {
namespace {

constexpr const char* kName = "HalyardDelegate";
// The sets of shapes that a kernel keeps compiled.
constexpr size_t kMostShapes = 4;

// The state that the delegate shares with its kernels.
struct Shared {
  Shared(CompileSettings theSettings, std::optional<CompileSettings> theSpare)
      : settings(std::move(theSettings)),
        spare(std::move(theSpare)),
        report(settings.options.report, settings.options.verbose) {}

  const CompileSettings settings;
  // For the CPU device of the runtime, if that may take the place of the named devices.
  const std::optional<CompileSettings> spare;
  Report report;

  // Returns whether kernels compute the nodes that call the graph.
  bool isCalled(const LiteContext* graph) {
    const std::lock_guard lock(mutex_);
    return called_.contains(graph);
  }
  void addCalled(const LiteContext* graph) {
    const std::lock_guard lock(mutex_);
    called_.insert(graph);
  }
  void removeCalled(const LiteContext* graph) {
    const std::lock_guard lock(mutex_);
    const auto found = called_.find(graph);
    if (found != called_.end()) called_.erase(found);
  }

 private:
  std::mutex mutex_;
  std::multiset<const LiteContext*> called_;
};

// The graphs that claimed nodes call. The interpreter offers them, too, but does not run them. They
// are exempt as long as the kernels that share this exist: another graph may have the address
// later.
class CalledGraphs {
 public:
  explicit CalledGraphs(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}
  ~CalledGraphs() {
    for (const LiteContext* graph : graphs_) shared_->removeCalled(graph);
  }
  CalledGraphs(const CalledGraphs&) = delete;
  CalledGraphs& operator=(const CalledGraphs&) = delete;

  // Adds the graphs, and those that their nodes call.
  void add(LiteContext* context, std::span<const int32_t> callees) {
    for (const int32_t callee : callees) {
      LiteContext* graph = nullptr;
      if (context->acquireGraph == nullptr ||
          context->acquireGraph(context, callee, &graph) != LiteStatus::OK) {
        continue;
      }
      if (graphs_.insert(graph).second) {
        shared_->addCalled(graph);
        addCalleesOf(graph);
      }
      context->releaseGraph(context, callee);
    }
  }

 private:
  void addCalleesOf(LiteContext* graph) {
    const IntArray* plan = nullptr;
    if (graph->getExecutionPlan(graph, &plan) != LiteStatus::OK) return;
    const std::vector<int32_t> nodes(plan->values().begin(), plan->values().end());
    for (const int32_t index : nodes) {
      const Result<LiveNode> node = copyNode(graph, index);
      if (node.ok()) add(graph, node->callees);
    }
  }

  const std::shared_ptr<Shared> shared_;
  std::set<const LiteContext*> graphs_;
};

// A delegate begins with the structure that the interpreter knows.
struct Delegate {
  LiteDelegate base = {};
  std::shared_ptr<Shared> shared;
};

// Tells the interpreter and the report about a failure.
LiteStatus fail(LiteContext* context, Shared& shared, const Status& status) {
  shared.report.addError(status);
  context->reportError(context, "%s: %s", kName, status.toString().c_str());
  return LiteStatus::DELEGATE_ERROR;
}

// Calls `body`, whose exceptions must not reach the interpreter.
template <typename Body>
Status guarded(Body body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return Status(ResultCode::OUT_OF_MEMORY, "no memory is left");
  } catch (const std::exception& exception) {
    return opFailed("{}", exception.what());
  }
}

// A partition of a graph as one node of the interpreter.
class Kernel {
 public:
  Kernel(std::shared_ptr<Shared> shared, MappedModel model, size_t graphNumber,
         std::shared_ptr<CalledGraphs> called)
      : shared_(std::move(shared)),
        model_(std::move(model)),
        graphNumber_(graphNumber),
        called_(std::move(called)) {}
  ~Kernel() {
    for (const Shaped& shaped : shapes_) {
      shared_->report.addCompilation(graphNumber_, graph_, *shaped.compiled);
    }
  }
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  Shared& shared() { return *shared_; }

  // Takes a partition that selectNodes has compiled.
  void take(const LiteContext& context, Partition partition) {
    graph_ = std::move(partition.graph);
    shapes_.push_back({inputShapes(context), std::move(partition.compiled)});
  }
  // Copies nodes that are in no partition compiled before.
  Status copyNodes(LiteContext* context, const DelegateParams& params) {
    for (const int32_t node : params.nodes->values()) {
      HALYARD_ASSIGN_OR_RETURN(graph_.nodes.emplace_back(), copyNode(context, node));
    }
    graph_.inputs = realInputs(*context, params.inputs->values());
    graph_.outputs = realOutputs(*context, params.outputs->values());
    return okStatus();
  }

  // Compiles for the inputs' shapes, unless it has, and gives the outputs theirs.
  Status prepare(LiteContext* context) {
    std::vector<Shape> shapes = inputShapes(*context);
    const auto found = std::ranges::find(shapes_, shapes, &Shaped::inputs);
    if (found != shapes_.end()) {
      shapes_.splice(shapes_.begin(), shapes_, found);
    } else {
      HALYARD_ASSIGN_OR_RETURN(std::unique_ptr<CompiledGraph> compiled,
                               compileGraph(*context, graph_, model_, shared_->settings));
      shapes_.push_front({std::move(shapes), std::move(compiled)});
      if (shapes_.size() > kMostShapes) shapes_.pop_back();
    }
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
      HALYARD_RETURN_IF_ERROR(resizeOutput(context, i));
    }
    return okStatus();
  }

  // Computes. After the death of a driver it compiles again, and computes on the new one. If that
  // fails, too, the CPU device computes, unless the named devices are required.
  Status invoke(const LiteContext& context) {
    Status status = run(context);
    if (status.code() != ResultCode::DEAD_OBJECT) return status;
    status = recover(context, shared_->settings, status);
    if (status.code() != ResultCode::DEAD_OBJECT || !shared_->spare) return status;
    return recover(context, *shared_->spare, status);
  }

 private:
  struct Shaped {
    std::vector<Shape> inputs;
    std::unique_ptr<CompiledGraph> compiled;
  };

  Status recover(const LiteContext& context, const CompileSettings& settings,
                 const Status& failure) {
    shared_->report.addError(failure);
    std::unique_ptr<CompiledGraph>& compiled = shapes_.front().compiled;
    shared_->report.addCompilation(graphNumber_, graph_, *compiled);
    HALYARD_ASSIGN_OR_RETURN(compiled, compileGraph(context, graph_, model_, settings));
    return run(context);
  }

  Status run(const LiteContext& context) {
    inputs_.clear();
    outputs_.clear();
    for (const int32_t tensor : graph_.inputs) inputs_.push_back(bytesOf(context, tensor));
    for (const int32_t tensor : graph_.outputs) outputs_.push_back(bytesOf(context, tensor));
    states_.clear();
    CompiledGraph& compiled = *shapes_.front().compiled;
    for (const int32_t tensor : compiled.states()) states_.push_back(bytesOf(context, tensor));
    return compiled.run(inputs_, outputs_, states_);
  }

  static Bytes bytesOf(const LiteContext& context, int32_t tensor) {
    return {context.tensors[tensor].data, context.tensors[tensor].bytes};
  }

  std::vector<Shape> inputShapes(const LiteContext& context) const {
    std::vector<Shape> shapes;
    for (const int32_t tensor : graph_.inputs) {
      const auto dims = dimsOf(context.tensors[tensor]);
      shapes.emplace_back(dims.begin(), dims.end());
    }
    return shapes;
  }

  Status resizeOutput(LiteContext* context, size_t i) {
    LiteTensor& tensor = context->tensors[graph_.outputs[i]];
    Shape dims = shapes_.front().compiled->outputDims(i);
    const auto now = dimsOf(tensor);
    // A scalar of the interpreter is one element for NNAPI.
    if (now.empty() && dims == Shape{1}) return okStatus();
    const auto same = [](int32_t a, uint32_t b) { return static_cast<uint32_t>(a) == b; };
    if (std::ranges::equal(now, dims, same)) return okStatus();
    const std::vector<int32_t> wanted(dims.begin(), dims.end());
    MallocArray list(wanted);
    if (context->resizeTensor(context, &tensor, list.release()) == LiteStatus::OK) {
      return okStatus();
    }
    return opFailed("the interpreter does not give tensor {} the shape {}", graph_.outputs[i],
                    shapeText(dims));
  }

  const std::shared_ptr<Shared> shared_;
  const MappedModel model_;
  const size_t graphNumber_;
  const std::shared_ptr<CalledGraphs> called_;
  LiveGraph graph_;
  std::list<Shaped> shapes_;  // the last used one first
  std::vector<Bytes> inputs_;
  std::vector<Bytes> outputs_;
  std::vector<Bytes> states_;
};

// The selection of `prepareGraph`, for the kernels that the interpreter makes during its call.
struct Pending {
  std::shared_ptr<Shared> shared;
  Selection selection;
  size_t graphNumber = 0;
  std::shared_ptr<CalledGraphs> called;
};
thread_local Pending* pending = nullptr;

Result<std::unique_ptr<Kernel>> makeKernel(LiteContext* context, const DelegateParams& params) {
  auto kernel = std::make_unique<Kernel>(pending->shared, pending->selection.model,
                                         pending->graphNumber, pending->called);
  const auto nodes = params.nodes->values();
  for (Partition& partition : pending->selection.partitions) {
    if (!std::ranges::equal(nodes, partition.graph.nodes, {}, {}, &LiveNode::index)) continue;
    kernel->take(*context, std::move(partition));
    return kernel;
  }
  HALYARD_RETURN_IF_ERROR(kernel->copyNodes(context, params));
  return kernel;
}

void* initKernel(LiteContext* context, const char* buffer, size_t /*length*/) {
  void* const failed = reinterpret_cast<void*>(-1);
  if (pending == nullptr) return failed;
  Kernel* made = nullptr;
  const Status status = guarded([&] {
    HALYARD_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel,
                             makeKernel(context, *reinterpret_cast<const DelegateParams*>(buffer)));
    made = kernel.release();
    return okStatus();
  });
  if (status.ok()) return made;
  fail(context, *pending->shared, status);
  return failed;
}

void freeKernel(LiteContext* /*context*/, void* kernel) {
  if (kernel == reinterpret_cast<void*>(-1)) return;
  delete static_cast<Kernel*>(kernel);
}

LiteStatus prepareKernel(LiteContext* context, LiteNode* node) {
  Kernel& kernel = *static_cast<Kernel*>(node->userData);
  const Status status = guarded([&] { return kernel.prepare(context); });
  return status.ok() ? LiteStatus::OK : fail(context, kernel.shared(), status);
}

LiteStatus invokeKernel(LiteContext* context, LiteNode* node) {
  Kernel& kernel = *static_cast<Kernel*>(node->userData);
  const Status status = guarded([&] { return kernel.invoke(*context); });
  return status.ok() ? LiteStatus::OK : fail(context, kernel.shared(), status);
}

LiteRegistration kernelRegistration() {
  LiteRegistration registration = {};
  registration.init = initKernel;
  registration.free = freeKernel;
  registration.prepare = prepareKernel;
  registration.invoke = invokeKernel;
  registration.builtinCode = kDelegateOperator;
  registration.customName = kName;
  registration.version = 1;
  return registration;
}

Status claimNodes(LiteContext* context, LiteDelegate* delegate, Pending& selected) {
  std::vector<int32_t> nodes;
  for (const Partition& partition : selected.selection.partitions) {
    for (const LiveNode& node : partition.graph.nodes) nodes.push_back(node.index);
  }
  if (nodes.empty()) return okStatus();
  const MallocArray list(nodes);
  pending = &selected;
  const LiteStatus status =
      context->replaceNodes(context, kernelRegistration(), list.get(), delegate);
  pending = nullptr;
  if (status == LiteStatus::OK) return okStatus();
  return opFailed("the interpreter does not give the delegate {} nodes", nodes.size());
}

// The graphs that the nodes of the partitions call.
std::vector<int32_t> calleesOf(const std::vector<Partition>& partitions) {
  std::vector<int32_t> callees;
  for (const Partition& partition : partitions) {
    for (const LiveNode& node : partition.graph.nodes) {
      callees.insert(callees.end(), node.callees.begin(), node.callees.end());
    }
  }
  return callees;
}

// To propagate shapes, the interpreter prepares the kernels of all nodes, also of those that the
// delegate has taken. It fails if a node has none. So the delegate gives up resized inputs then.
void renounceShapes(const std::vector<Partition>& partitions, LiteDelegate& base) {
  for (const Partition& partition : partitions) {
    if (std::ranges::all_of(partition.graph.nodes, &LiveNode::hasKernel)) continue;
    std::atomic_ref(base.flags) &= ~kNeedsPropagatedShapes;
  }
}

LiteStatus prepareGraph(LiteContext* context, LiteDelegate* base) {
  Delegate& delegate = *reinterpret_cast<Delegate*>(base);
  const std::shared_ptr<Shared> shared = delegate.shared;
  if (shared->isCalled(context)) return LiteStatus::OK;
  const Status status = guarded([&]() -> Status {
    Pending selected{shared, {}, 0, std::make_shared<CalledGraphs>(shared)};
    HALYARD_ASSIGN_OR_RETURN(selected.selection, selectNodes(context, shared->settings));
    selected.graphNumber = shared->report.addGraph(selected.selection);
    selected.called->add(context, calleesOf(selected.selection.partitions));
    renounceShapes(selected.selection.partitions, *base);
    return claimNodes(context, base, selected);
  });
  return status.ok() ? LiteStatus::OK : fail(context, *shared, status);
}

// `names`: of devices; empty: those that the runtime chooses.
Result<CompileSettings> settingsFor(const std::vector<std::string>& names,
                                    const DelegateOptions& options) {
  CompileSettings settings;
  settings.options = options;
  HALYARD_ASSIGN_OR_RETURN(settings.devices, measure::devicesOf(names), "option 'device'");
  HALYARD_ASSIGN_OR_RETURN(settings.import, measure::importOptionsFor(settings.devices));
  settings.import.states = import::StateUse::OF_TENSORS;
  settings.import.allowFloat16 = options.allowFloat16;
  return settings;
}

Result<std::shared_ptr<Shared>> sharedOf(const DelegateOptions& options) {
  std::vector<std::string> names = options.devices;
  // Without names, the runtime itself computes on another device after a failure.
  const bool mayUseCpu = !names.empty() && !options.requireDevice;
  std::optional<CompileSettings> spare;
  if (mayUseCpu) {
    HALYARD_ASSIGN_OR_RETURN(spare, settingsFor({std::string(kCpuDevice)}, options));
    if (std::ranges::find(names, kCpuDevice) == names.end()) names.emplace_back(kCpuDevice);
  }
  HALYARD_ASSIGN_OR_RETURN(CompileSettings settings, settingsFor(names, options));
  return std::make_shared<Shared>(std::move(settings), std::move(spare));
}

}  // namespace

Result<LiteDelegate*> createDelegate(const DelegateOptions& options) {
  LiteDelegate* created = nullptr;
  HALYARD_RETURN_IF_ERROR(guarded([&]() -> Status {
    auto delegate = std::make_unique<Delegate>();
    HALYARD_ASSIGN_OR_RETURN(delegate->shared, sharedOf(options));
    delegate->base.data = delegate.get();
    delegate->base.prepare = prepareGraph;
    delegate->base.flags = kAllowsDynamicTensors | kNeedsPropagatedShapes;
    created = &delegate.release()->base;
    return okStatus();
  }));
  return created;
}

void destroyDelegate(LiteDelegate* delegate) { delete reinterpret_cast<Delegate*>(delegate); }

}  // namespace halyard::tflite
