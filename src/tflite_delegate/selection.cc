#include "tflite_delegate/selection.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "tflite_delegate/layout_check.h"
#include "tflite_delegate/malloc_array.h"

namespace halyard::tflite {
namespace {

// A partition pays if its border takes at most this share of its computing. The interpreter
// computes smaller ones faster than they come to a device and back. The CPU device of the runtime
// is no faster than the interpreter, so its part of a partition counts as border.
constexpr double kMostBorder = 0.5;

// The constant that is largest: of a mapped file, it is in the mapping. Without constants, the
// names of tensors are in the mapping.
MappedModel modelOf(const LiteContext& context) {
  const LiteTensor* largest = nullptr;
  const char* name = nullptr;
  for (size_t i = 0; i < context.tensorCount; ++i) {
    const LiteTensor& tensor = context.tensors[i];
    if (name == nullptr && tensor.name != nullptr && *tensor.name != '\0') name = tensor.name;
    if (!isConstant(tensor)) continue;
    if (largest == nullptr || tensor.bytes > largest->bytes) largest = &tensor;
  }
  if (largest != nullptr) return MappedModel::containing(largest->data);
  if (name == nullptr) return {};
  MappedModel model = MappedModel::containing(name);
  return model.hasDescription() ? model : MappedModel();
}

// The obstacle that the importer does not see. Empty for none.
std::string obstacleOf(const LiteContext& context, const MappedModel& model, const LiveNode& node) {
  if (node.builtinCode == kDelegateOperator) return "another delegate computes it";
  switch (static_cast<tfl::BuiltinOperator>(node.builtinCode)) {
    case tfl::BuiltinOperator::CALL_ONCE:
    case tfl::BuiltinOperator::VAR_HANDLE:
    case tfl::BuiltinOperator::READ_VARIABLE:
    case tfl::BuiltinOperator::ASSIGN_VARIABLE:
      return "the interpreter keeps the values of variables";
    default:
      break;
  }
  if (!node.callees.empty() && !model.hasDescription()) {
    return "it calls other graphs, which only the model's file describes, and the interpreter has "
           "not mapped that";
  }
  for (const int32_t tensor : node.inputs) {
    if (tensor == kOmittedTensor) continue;
    const LiteTensor& input = context.tensors[tensor];
    if (input.allocation == Allocation::CONSTANT && input.data == nullptr && input.bytes != 0) {
      return fmt::format("tensor {} is a constant whose value is not there yet", tensor);
    }
    const IntArray* const signature = input.dimsSignature;
    const bool isOpen = signature != nullptr && signature->size > 0 &&
                        std::ranges::count(signature->values(), -1) != 0;
    if (!node.callees.empty() && isOpen) {
      return fmt::format(
          "tensor {} may get another size, and the graphs that it calls have fixed sizes", tensor);
    }
  }
  return {};
}

class Selector {
 public:
  Selector(LiteContext* context, const CompileSettings& settings)
      : context_(context), settings_(settings), model_(modelOf(*context)) {}

  Status select() {
    HALYARD_RETURN_IF_ERROR(readNodes());
    // Most graphs are taken whole. Otherwise the nodes of a partition that fails are examined one
    // by one. A partition that fails in spite of that stays with the interpreter.
    HALYARD_RETURN_IF_ERROR(compileAll());
    for (const auto& [node, reason] : std::exchange(failed_, {})) examine(nodeOf(node));
    refuseAfterOpenSizes();
    HALYARD_RETURN_IF_ERROR(compileAll());
    while (!failed_.empty()) {
      for (const auto& [node, reason] : failed_) refuse(node, reason);
      HALYARD_RETURN_IF_ERROR(compileAll());
    }
    return limitPartitions();
  }

  Selection take() {
    Selection selection;
    for (const LiveNode& node : nodes_) {
      if (const auto found = refused_.find(node.index); found != refused_.end()) {
        selection.refused.push_back({node.index, node.operatorName(), found->second});
      }
    }
    selection.partitions = std::move(partitions_);
    selection.model = std::move(model_);
    return selection;
  }

 private:
  bool isRefused(int32_t node) const { return refused_.contains(node); }
  void refuse(int32_t node, std::string reason) { refused_.emplace(node, std::move(reason)); }

  Status readNodes() {
    const IntArray* plan = nullptr;
    if (context_->getExecutionPlan(context_, &plan) != LiteStatus::OK) {
      return badData("the interpreter does not give its plan");
    }
    const std::vector<int32_t> indexes(plan->values().begin(), plan->values().end());
    for (const int32_t index : indexes) {
      Result<LiveNode> node = copyNode(context_, index);
      if (!node.ok()) {
        nodes_.emplace_back().index = index;
        refuse(index, node.status().message());
        continue;
      }
      if (std::string obstacle = obstacleOf(*context_, model_, *node); !obstacle.empty()) {
        refuse(index, std::move(obstacle));
      }
      nodes_.push_back(std::move(node).value());
    }
    return okStatus();
  }

  const LiveNode& nodeOf(int32_t index) const {
    return *std::ranges::find(nodes_, index, &LiveNode::index);
  }

  // Leaves nodes with the interpreter that follow from a size that depends on values. Only during
  // an execution the interpreter knows their shapes.
  void refuseAfterOpenSizes() {
    if (openSizes_.empty()) return;
    for (const LiveNode& node : nodes_) {
      const bool isOpen = std::ranges::any_of(
          node.inputs, [&](int32_t tensor) { return openSizes_.contains(tensor); });
      if (!isOpen) continue;
      openSizes_.insert(node.outputs.begin(), node.outputs.end());
      refuse(node.index, "the size of its input depends on values");
    }
  }

  // Whether the node's results are constants: those of its inputs are, or the interpreter has
  // computed the results at its preparation, such as shapes.
  bool computesConstants(const LiveNode& node) const {
    const bool hasResults = std::ranges::all_of(node.outputs, [&](int32_t tensor) {
      return context_->tensors[tensor].allocation == Allocation::PERSISTENT_CONSTANT;
    });
    return hasResults ||
           (!node.inputs.empty() && std::ranges::all_of(node.inputs, [&](int32_t tensor) {
             return tensor == kOmittedTensor || isConstant(context_->tensors[tensor]);
           }));
  }

  // Leaves nodes that compute constants with the interpreter if one of their readers stays there.
  // Other delegates want such values as constants, for example weights of float16. The interpreter
  // knows the shapes of more tensors if it has the shapes that they follow from.
  void refuseSharedConstants() {
    for (const LiveNode& node : nodes_) {
      if (!computesConstants(node) || isRefused(node.index)) continue;
      const auto reads = [&](const LiveNode& other) {
        return isRefused(other.index) && std::ranges::any_of(node.outputs, [&](int32_t tensor) {
                 return std::ranges::find(other.inputs, tensor) != other.inputs.end();
               });
      };
      const auto reader = std::ranges::find_if(nodes_, reads);
      if (reader == nodes_.end()) continue;
      refuse(node.index, fmt::format("its value is constant, and node {} {}, which reads it, stays "
                                     "with the interpreter",
                                     reader->index, reader->operatorName()));
    }
  }

  // The partitions that the interpreter would make of the nodes that are not refused.
  Result<std::vector<LiveGraph>> previewed() {
    refuseSharedConstants();
    std::vector<int32_t> claimed;
    for (const LiveNode& node : nodes_) {
      if (!isRefused(node.index)) claimed.push_back(node.index);
    }
    if (claimed.empty()) return std::vector<LiveGraph>();
    const MallocArray list(claimed);
    DelegateParams* partitions = nullptr;
    int32_t count = 0;
    if (context_->previewPartitions(context_, list.get(), &partitions, &count) != LiteStatus::OK) {
      return badData("the interpreter does not say how it would divide the graph");
    }
    std::vector<LiveGraph> graphs;
    for (int32_t i = 0; i < count; ++i) {
      LiveGraph& graph = graphs.emplace_back();
      for (const int32_t node : partitions[i].nodes->values()) graph.nodes.push_back(nodeOf(node));
      graph.inputs = realInputs(*context_, partitions[i].inputs->values());
      graph.outputs = realOutputs(*context_, partitions[i].outputs->values());
    }
    return graphs;
  }

  // Compiles all partitions, except those that it has compiled before. failed_ has the nodes of
  // those that fail.
  Status compileAll() {
    failed_.clear();
    std::vector<Partition> earlier = std::exchange(partitions_, {});
    HALYARD_ASSIGN_OR_RETURN(std::vector<LiveGraph> graphs, previewed());
    for (LiveGraph& graph : graphs) {
      const auto same = std::ranges::find_if(earlier, [&](const Partition& partition) {
        return std::ranges::equal(partition.graph.nodes, graph.nodes, {}, &LiveNode::index,
                                  &LiveNode::index);
      });
      if (same != earlier.end()) {
        partitions_.push_back(std::move(*same));
        earlier.erase(same);
      } else {
        compile(std::move(graph));
      }
    }
    return okStatus();
  }

  void compile(LiveGraph graph) {
    Result<std::unique_ptr<CompiledGraph>> compiled =
        compileGraph(*context_, graph, model_, settings_);
    const Status status = compiled.ok() ? reasonAgainst(graph, **compiled) : compiled.status();
    if (status.ok()) {
      partitions_.push_back({std::move(graph), std::move(compiled).value()});
      return;
    }
    for (const LiveNode& node : graph.nodes) failed_.emplace(node.index, status.message());
  }

  // Whether the partition is large enough.
  Status reasonAgainst(const LiveGraph& graph, const CompiledGraph& compiled) const {
    const DelegateOptions& options = settings_.options;
    if (graph.nodes.size() < options.minOperations) {
      return badData("its partition has {} operations, and min_operations_per_partition is {}",
                     graph.nodes.size(), options.minOperations);
    }
    if (options.claimsAll) return okStatus();
    HALYARD_ASSIGN_OR_RETURN(const std::string report, compiled.report());
    const auto json = nlohmann::json::parse(report, nullptr, false);
    double compute = 0;
    double border = 0;
    for (const auto& partition : json.value("partitions", nlohmann::json::array())) {
      const auto predicted = partition.value("predicted_ns", nlohmann::json::object());
      const std::string device = partition.value("device", "");
      const bool isSpare = device == kCpuDevice &&
                           std::ranges::find(options.devices, device) == options.devices.end();
      (isSpare ? border : compute) += predicted.value("compute", 0.0);
      border += predicted.value("boundary", 0.0);
    }
    if (border <= kMostBorder * compute) return okStatus();
    return badData(
        "its partition of {} operations does not pay: predicted are {:.1f} us on a device, and "
        "{:.1f} "
        "us to it and back, or on the CPU device of the runtime (claim_all takes it)",
        graph.nodes.size(), compute / 1e3, border / 1e3);
  }

  // Refuses a node that cannot be converted by itself.
  void examine(const LiveNode& node) {
    LiveGraph graph;
    graph.nodes = {node};
    std::set<int32_t> inputs(node.inputs.begin(), node.inputs.end());
    inputs.erase(kOmittedTensor);
    graph.inputs = realInputs(*context_, std::vector<int32_t>(inputs.begin(), inputs.end()));
    graph.outputs = realOutputs(*context_, node.outputs);
    const auto imported = importGraph(*context_, graph, model_, settings_.import);
    if (!imported.ok()) return refuse(node.index, imported.status().message());
    for (const import::ModelPort& port : imported->model.outputs) {
      if (knownByteSize(port.type, port.dims)) continue;
      openSizes_.insert(node.outputs.begin(), node.outputs.end());
      return refuse(node.index, "the size of its output depends on values");
    }
  }

  Status limitPartitions() {
    const size_t most = settings_.options.maxPartitions;
    if (most == 0 || partitions_.size() <= most) return okStatus();
    std::ranges::stable_sort(partitions_, std::ranges::greater(),
                             [](const Partition& p) { return p.graph.nodes.size(); });
    for (size_t i = most; i < partitions_.size(); ++i) {
      for (const LiveNode& node : partitions_[i].graph.nodes) {
        refuse(node.index,
               fmt::format("max_partitions is {}, and others have more operations", most));
      }
    }
    partitions_.resize(most);
    return okStatus();
  }

  LiteContext* const context_;
  const CompileSettings& settings_;
  MappedModel model_;
  std::vector<LiveNode> nodes_;  // of the plan
  std::map<int32_t, std::string> refused_;
  std::set<int32_t> openSizes_;  // tensors whose sizes depend on values
  std::vector<Partition> partitions_;
  std::map<int32_t, std::string> failed_;  // nodes of the partition that cannot be compiled
};

}  // namespace

Result<std::unique_ptr<CompiledGraph>> compileGraph(const LiteContext& context,
                                                    const LiveGraph& graph,
                                                    const MappedModel& model,
                                                    const CompileSettings& settings) {
  HALYARD_ASSIGN_OR_RETURN(ImportedGraph imported,
                           importGraph(context, graph, model, settings.import));
  return CompiledGraph::create(std::move(imported), settings);
}

Result<Selection> selectNodes(LiteContext* context, const CompileSettings& settings) {
  HALYARD_RETURN_IF_ERROR(checkLayout(context));
  Selector selector(context, settings);
  HALYARD_RETURN_IF_ERROR(selector.select());
  return selector.take();
}

}  // namespace halyard::tflite
