// Values of a subgraph, parts and their borders.
#include "runtime/partition/partition_graph.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace halyard::runtime {
namespace {

bool isValue(Lifetime lifetime) {
  return lifetime == Lifetime::TEMPORARY_VARIABLE || lifetime == Lifetime::SUBGRAPH_INPUT ||
         lifetime == Lifetime::SUBGRAPH_OUTPUT;
}

}  // namespace

PartitionGraph::PartitionGraph(const Subgraph& subgraph, const hal::OperandSizes& sizes) {
  std::vector<uint32_t> valueOf(subgraph.operands.size(), UINT32_MAX);
  values.reserve(
      static_cast<size_t>(std::ranges::count_if(subgraph.operands, isValue, &Operand::lifetime)));
  for (uint32_t i = 0; i < subgraph.operands.size(); ++i) {
    const Operand& operand = subgraph.operands[i];
    if (!isValue(operand.lifetime)) continue;
    valueOf[i] = static_cast<uint32_t>(values.size());
    Value value;
    value.operand = i;
    value.bytes = sizes.estimated(operand.type, operand.dimensions);
    // An extension's type may have rank 0 because it is a scalar.
    const bool isOpen = std::ranges::find(operand.dimensions, 0u) != operand.dimensions.end();
    value.sizeKnown = isExtension(operand.type)
                          ? !isOpen
                          : knownByteSize(operand.type, operand.dimensions).has_value();
    value.isOutput = operand.lifetime == Lifetime::SUBGRAPH_OUTPUT;
    values.push_back(value);
  }
  std::vector<uint32_t> readers(values.size());  // number of consumers of each value
  std::vector<uint32_t> readBy(values.size(), kNoOperation);
  inputs.reserve(subgraph.operations.size(), subgraph.operands.size());
  outputs.reserve(subgraph.operations.size(), values.size());
  for (uint32_t n = 0; n < subgraph.operations.size(); ++n) {
    for (const uint32_t operand : subgraph.operations[n].inputs) {
      const uint32_t value = valueOf[operand];
      if (value == UINT32_MAX || std::exchange(readBy[value], n) == n) continue;
      ++readers[value];
      inputs.add(value);
    }
    inputs.close();
    for (const uint32_t operand : subgraph.operations[n].outputs) {
      values[valueOf[operand]].producer = n;
      outputs.add(valueOf[operand]);
    }
    outputs.close();
  }
  listConsumers(readers);
}

void PartitionGraph::listConsumers(std::span<const uint32_t> readers) {
  std::vector<uint32_t> next(readers.size());  // position for the next consumer of each value
  std::exclusive_scan(readers.begin(), readers.end(), next.begin(), 0u);
  const std::vector<uint32_t> begin = next;
  std::vector<uint32_t> all(readers.empty() ? 0 : next.back() + readers.back());
  for (uint32_t n = 0; n < inputs.size(); ++n) {
    for (const uint32_t value : inputs[n]) all[next[value]++] = n;
  }
  consumers.reserve(readers.size(), all.size());
  for (size_t value = 0; value < readers.size(); ++value) {
    for (uint32_t i = 0; i < readers[value]; ++i) consumers.add(all[begin[value] + i]);
    consumers.close();
  }
}

std::vector<Part> arrangeParts(const PartitionGraph& graph, std::span<const uint32_t> deviceOf,
                               uint32_t interpreted) {
  const size_t count = graph.operationCount();
  std::vector<std::vector<uint32_t>> queues;  // by device; cleared as a whole, so never popped
  std::vector<uint32_t> missing(count, 0);
  const auto push = [&](uint32_t operation) {
    const uint32_t device = deviceOf[operation];
    if (device >= queues.size()) queues.resize(device + 1);
    queues[device].push_back(operation);
  };
  for (uint32_t n = 0; n < count; ++n) {
    for (const uint32_t value : graph.inputs[n]) {
      if (graph.values[value].producer != kNoOperation) ++missing[n];
    }
    if (missing[n] == 0) push(n);
  }
  const auto finish = [&](uint32_t operation) {
    for (const uint32_t value : graph.outputs[operation]) {
      for (const uint32_t consumer : graph.consumers[value]) {
        if (--missing[consumer] == 0) push(consumer);
      }
    }
  };
  std::vector<Part> parts;
  while (true) {
    size_t device = queues.size();
    while (device > 0 && queues[device - 1].empty()) --device;
    if (device == 0) break;
    --device;
    Part part;
    part.device = static_cast<uint32_t>(device);
    for (size_t i = 0; i < queues[device].size(); ++i) {
      const uint32_t operation = queues[device][i];
      part.operations.push_back(operation);
      finish(operation);
      if (device != interpreted) continue;
      parts.push_back(std::move(part));
      part = Part{interpreted, {}};
    }
    queues[device].clear();
    if (!part.operations.empty()) parts.push_back(std::move(part));
  }
  return parts;
}

std::vector<PartBorder> bordersOf(const PartitionGraph& graph, std::span<const Part> parts) {
  std::vector<uint32_t> partOf(graph.operationCount(), 0);
  for (uint32_t p = 0; p < parts.size(); ++p) {
    for (const uint32_t operation : parts[p].operations) partOf[operation] = p;
  }
  std::vector<PartBorder> borders(parts.size());
  std::vector<uint32_t> readBy(graph.values.size(), UINT32_MAX);  // the last part that reads it
  for (uint32_t p = 0; p < parts.size(); ++p) {
    PartBorder& border = borders[p];
    for (const uint32_t operation : parts[p].operations) {
      for (const uint32_t index : graph.inputs[operation]) {
        const PartitionGraph::Value& value = graph.values[index];
        const bool isOwn = value.producer != kNoOperation && partOf[value.producer] == p;
        if (isOwn || readBy[index] == p) continue;
        readBy[index] = p;
        ++border.inputs;
        border.bytesIn += value.bytes;
      }
      for (const uint32_t index : graph.outputs[operation]) {
        const PartitionGraph::Value& value = graph.values[index];
        const bool isRead = std::ranges::any_of(
            graph.consumers[index], [&](uint32_t consumer) { return partOf[consumer] != p; });
        if (isRead && !value.sizeKnown && !value.isOutput) border.dynamicTemporary = true;
        if (!isRead && !value.isOutput) continue;
        ++border.outputs;
        border.bytesOut += value.bytes;
      }
    }
  }
  return borders;
}

}  // namespace halyard::runtime
