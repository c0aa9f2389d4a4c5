// Makes the frame plans: assigns places to values by their lifetimes, from the innermost frame to
// the outermost.
#include "runtime/run/frame_plan.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "cpu/arena_plan.h"

namespace halyard::runtime {
namespace {

constexpr size_t kAlignment = RunLayout::kAlignment;

size_t padded(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

class FrameBuilder {
 public:
  // `growing` counts the values that have growing memory. `separate`: every temporary value gets
  // growing memory.
  FrameBuilder(const Model& model, const Plan& plan, const hal::OperandSizes& sizes,
               uint32_t* growing, bool separate)
      : model_(model), plan_(plan), sizes_(sizes), growing_(growing), separate_(separate) {}

  // Sets `tooLarge` when an offset does not fit in 32 bits.
  FramePlan build(uint32_t subgraph, const PlanSequence& sequence, bool* tooLarge) {
    FramePlan frame;
    frame.subgraph = &subgraphAt(model_, subgraph);
    isMain_ = subgraph == kMainSubgraph;
    frame_ = &frame;
    for (size_t i = 0; i < frame.subgraph->inputIndexes.size(); ++i) {
      positions_.emplace(frame.subgraph->inputIndexes[i], static_cast<uint32_t>(i));
    }
    for (size_t i = 0; i < frame.subgraph->outputIndexes.size(); ++i) {
      positions_.emplace(frame.subgraph->outputIndexes[i], static_cast<uint32_t>(i));
    }
    for (const PlanNode& node : sequence) addNode(node, tooLarge);
    if (isMain_) addShadows();
    place(tooLarge);
    frame_ = nullptr;
    return frame;
  }

 private:
  struct Lifetime {
    size_t first;
    size_t last;
  };

  void addNode(const PlanNode& node, bool* tooLarge) {
    FrameNode result;
    if (const auto* compute = std::get_if<ComputeNode>(&node.what)) {
      result.step = compute->step;
      const ComputeStep& step = plan_.steps[compute->step];
      for (uint32_t operand : step.inputs) result.inputs.push_back(readValue(operand));
      for (uint32_t operand : step.outputs) result.outputs.push_back(valueOf(operand));
    } else if (const auto* branch = std::get_if<IfNode>(&node.what)) {
      result.kind = FrameNode::Kind::BRANCH;
      const Operation& operation = operationOf(branch->operation, &result);
      result.inputs.push_back(readValue(operation.inputs[0]));
      addInputs(operation, 3, &result);
      result.first = nested(operation.inputs[1], branch->thenSequence, tooLarge);
      result.second = nested(operation.inputs[2], branch->elseSequence, tooLarge);
      nestedBytes_.push_back(std::max(result.first->bytes, result.second->bytes));
    } else {
      const auto& loop = std::get<WhileNode>(node.what);
      result.kind = FrameNode::Kind::LOOP;
      const Operation& operation = operationOf(loop.operation, &result);
      addInputs(operation, 2, &result);
      result.first = nested(operation.inputs[0], loop.condition, tooLarge);
      result.second = nested(operation.inputs[1], loop.body, tooLarge);
      addLoopSlots(&result);
      nestedBytes_.push_back(result.framesBase +
                             size_t{std::max(result.first->bytes, result.second->bytes)});
    }
    if (result.kind == FrameNode::Kind::COMPUTE) nestedBytes_.push_back(0);
    frame_->nodes.push_back(std::move(result));
  }

  const Operation& operationOf(uint32_t index, FrameNode* node) {
    node->operation = index;
    const Operation& operation = frame_->subgraph->operations[index];
    for (uint32_t operand : operation.outputs) node->outputs.push_back(valueOf(operand));
    return operation;
  }

  void addInputs(const Operation& operation, size_t from, FrameNode* node) {
    for (size_t i = from; i < operation.inputs.size(); ++i) {
      node->inputs.push_back(readValue(operation.inputs[i]));
    }
  }

  // The frame of the subgraph that an operand refers to.
  std::unique_ptr<FramePlan> nested(uint32_t operand, const PlanSequence& sequence,
                                    bool* tooLarge) {
    const uint32_t subgraph = frame_->subgraph->operands[operand].location.offset;
    FrameBuilder builder(model_, plan_, sizes_, growing_, separate_);
    return std::make_unique<FramePlan>(builder.build(subgraph, sequence, tooLarge));
  }

  // Places the slots of the loop before the frames of condition and body. These two frames share
  // their space, because they never exist at the same time.
  void addLoopSlots(FrameNode* node) {
    size_t end = 0;
    const auto add = [&](const Subgraph& subgraph, size_t output) {
      TemporarySlot slot = newSlot(subgraph.operands[subgraph.outputIndexes[output]]);
      if (slot.growing) return slot;
      slot.offset = static_cast<uint32_t>(end);
      end += padded(slot.bytes);
      return slot;
    };
    node->conditionSlot = add(*node->first->subgraph, 0);
    const Subgraph& body = *node->second->subgraph;
    for (size_t i = 0; i < body.outputIndexes.size(); ++i) {
      node->loopSlots.push_back({add(body, i), add(body, i)});
    }
    loopTooLarge_ = loopTooLarge_ || end > UINT32_MAX;
    node->framesBase = static_cast<uint32_t>(end);
  }

  TemporarySlot newSlot(const Operand& operand) {
    TemporarySlot slot;
    const std::optional<uint32_t> bytes = sizes_.known(operand.type, operand.dimensions);
    slot.bytes = bytes.value_or(0);
    slot.growing = !bytes || separate_;
    if (slot.growing) slot.index = (*growing_)++;
    return slot;
  }

  uint32_t readValue(uint32_t operand) {
    const uint32_t value = valueOf(operand);
    frame_->values[value].isRead = true;
    return value;
  }

  uint32_t valueOf(uint32_t operand) {
    const auto [it, isNew] = index_.emplace(operand, static_cast<uint32_t>(frame_->values.size()));
    const size_t now = frame_->nodes.size();
    if (!isNew) {
      lifetimes_[it->second].last = now;
      return it->second;
    }
    const Operand& declared = frame_->subgraph->operands[operand];
    FrameValue value;
    value.operand = operand;
    value.fixed = sizes_.known(declared.type, declared.dimensions).has_value();
    switch (declared.lifetime) {
      case halyard::Lifetime::SUBGRAPH_INPUT:
        value.kind = FrameValue::Kind::INPUT;
        value.position = positions_.at(operand);
        break;
      case halyard::Lifetime::SUBGRAPH_OUTPUT:
        value.kind = FrameValue::Kind::OUTPUT;
        value.isRead = !isMain_;
        value.position = positions_.at(operand);
        break;
      case halyard::Lifetime::CONSTANT_COPY:
      case halyard::Lifetime::CONSTANT_REFERENCE:
        value.kind = FrameValue::Kind::CONSTANT;
        break;
      case halyard::Lifetime::NO_VALUE:
        value.kind = FrameValue::Kind::OMITTED;
        break;
      default:
        value.slot = newSlot(declared);
        break;
    }
    frame_->values.push_back(value);
    lifetimes_.push_back({now, now});
    return it->second;
  }

  void addShadows() {
    for (FrameValue& value : frame_->values) {
      if (value.kind != FrameValue::Kind::OUTPUT || !value.isRead) continue;
      value.slot.growing = true;
      value.slot.index = (*growing_)++;
    }
  }

  void place(bool* tooLarge) {
    std::vector<cpu::ArenaTensor> tensors;
    std::vector<FrameValue*> values;
    for (size_t i = 0; i < frame_->values.size(); ++i) {
      FrameValue& value = frame_->values[i];
      if (value.kind != FrameValue::Kind::TEMPORARY || value.slot.growing) continue;
      tensors.push_back({value.slot.bytes, lifetimes_[i].first, lifetimes_[i].last});
      values.push_back(&value);
    }
    for (size_t i = 0; i < frame_->nodes.size(); ++i) {
      if (nestedBytes_[i] > 0) tensors.push_back({nestedBytes_[i], i, i});
    }
    const cpu::ArenaPlan arena = cpu::planArena(tensors, kAlignment);
    *tooLarge = *tooLarge || loopTooLarge_ || arena.bytes > UINT32_MAX;
    frame_->bytes = static_cast<uint32_t>(arena.bytes);
    for (size_t i = 0; i < values.size(); ++i) {
      values[i]->slot.offset = static_cast<uint32_t>(arena.offsets[i]);
    }
    size_t next = values.size();
    for (size_t i = 0; i < frame_->nodes.size(); ++i) {
      if (nestedBytes_[i] == 0) continue;
      FrameNode& node = frame_->nodes[i];
      node.base = static_cast<uint32_t>(arena.offsets[next++]);
      node.framesBase += node.base;
    }
  }

  const Model& model_;
  const Plan& plan_;
  const hal::OperandSizes& sizes_;
  uint32_t* const growing_;
  const bool separate_;
  FramePlan* frame_ = nullptr;
  bool isMain_ = false;
  std::unordered_map<uint32_t, uint32_t> index_;  // operand index to value index
  std::unordered_map<uint32_t, uint32_t> positions_;
  std::vector<Lifetime> lifetimes_;  // by value
  std::vector<size_t> nestedBytes_;  // by node
  bool loopTooLarge_ = false;
};

bool onlyComputes(const FramePlan& frame) {
  return std::ranges::all_of(
             frame.nodes,
             [](const FrameNode& node) { return node.kind == FrameNode::Kind::COMPUTE; }) &&
         std::ranges::none_of(frame.values, [](const FrameValue& value) {
           return value.kind == FrameValue::Kind::TEMPORARY && !value.fixed;
         });
}

// The uses of value `index` by the steps, if it may stay on a device.
std::optional<DeviceValue> deviceValueOf(const FramePlan& frame, const Plan& plan, uint32_t index) {
  const FrameValue& value = frame.values[index];
  if (value.kind != FrameValue::Kind::TEMPORARY || value.slot.growing) return std::nullopt;
  DeviceValue result;
  result.operand = value.operand;
  const Device* device = nullptr;
  for (const FrameNode& node : frame.nodes) {
    for (const bool isOutput : {false, true}) {
      const std::vector<uint32_t>& list = isOutput ? node.outputs : node.inputs;
      for (uint32_t i = 0; i < list.size(); ++i) {
        if (list[i] != index) continue;
        if (node.kind != FrameNode::Kind::COMPUTE) return std::nullopt;
        const Device* const user = plan.steps[node.step].device;
        if (device == nullptr) device = user;
        if (user != device || !user->info().ownMemory) return std::nullopt;
        if (isOutput) result.writer = {node.step, i};
        if (!isOutput) result.readers.push_back({node.step, i});
      }
    }
  }
  return result.readers.empty() ? std::nullopt : std::optional(std::move(result));
}

void findDeviceValues(const Plan& plan, RunLayout* layout) {
  for (uint32_t i = 0; i < layout->main.values.size(); ++i) {
    std::optional<DeviceValue> found = deviceValueOf(layout->main, plan, i);
    if (!found) continue;
    layout->main.values[i].onDevice = static_cast<uint32_t>(layout->onDevice.size());
    layout->onDevice.push_back(std::move(*found));
  }
}

}  // namespace

RunLayout RunLayout::make(const Model& model, const Plan& plan, const hal::OperandSizes& sizes) {
  RunLayout layout;
  bool tooLarge = false;
  layout.main = FrameBuilder(model, plan, sizes, &layout.growing, false)
                    .build(kMainSubgraph, plan.sequence, &tooLarge);
  if (tooLarge) {
    // One block is too small for all values, because offsets in requests have 32 bits. Each value
    // gets memory of its own.
    layout.growing = 0;
    tooLarge = false;
    layout.main = FrameBuilder(model, plan, sizes, &layout.growing, true)
                      .build(kMainSubgraph, plan.sequence, &tooLarge);
  }
  layout.isChain = onlyComputes(layout.main);
  findDeviceValues(plan, &layout);
  return layout;
}

}  // namespace halyard::runtime
