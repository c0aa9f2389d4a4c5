// PartitionGraph: the data about one subgraph that partitioning needs. Also the order of the parts
// that result from an assignment of its operations to devices.
// Thread safety: immutable once made.
// Ownership: owns its tables.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hal/checks/operand_sizes.h"
#include "halyard/driver/model.h"

namespace halyard::runtime {

constexpr uint32_t kNoOperation = UINT32_MAX;

// Several lists of numbers, stored in one block of memory.
class FlatLists {
 public:
  // Reserves memory for `count` lists with `items` numbers in total.
  void reserve(size_t count, size_t items) {
    ends_.reserve(count);
    items_.reserve(items);
  }
  // Adds to the list that is being written.
  void add(uint32_t item) { items_.push_back(item); }
  // Completes the list; the next one begins.
  void close() { ends_.push_back(static_cast<uint32_t>(items_.size())); }
  size_t size() const { return ends_.size(); }
  std::span<const uint32_t> operator[](size_t list) const {
    const uint32_t begin = list == 0 ? 0 : ends_[list - 1];
    return {items_.data() + begin, ends_[list] - begin};
  }

 private:
  std::vector<uint32_t> items_;
  std::vector<uint32_t> ends_;  // by list
};

struct PartitionGraph {
  // A value that is computed or given, not a constant.
  struct Value {
    uint32_t operand = 0;
    uint32_t producer = kNoOperation;  // none: an input of the subgraph
    double bytes = 0;                  // unknown dimensions count as 1
    bool sizeKnown = true;
    bool isOutput = false;  // of the subgraph
  };
  std::vector<Value> values;
  FlatLists consumers;  // by value: operations, ascending, each once
  // By operation: values, each once.
  FlatLists inputs;
  FlatLists outputs;

  size_t operationCount() const { return inputs.size(); }

  PartitionGraph(const Subgraph& subgraph, const hal::OperandSizes& sizes);

 private:
  // `readers`: the number of operations that read each value.
  void listConsumers(std::span<const uint32_t> readers);
};

// Some operations of a subgraph that one device runs in sequence.
struct Part {
  uint32_t device = 0;
  std::vector<uint32_t> operations;
};

// Returns the parts in the order of execution. `deviceOf`: by operation. Operations with the value
// `interpreted` become parts of one operation each. Operations that are ready wait in a queue for
// each device. The function repeatedly empties the queue of the highest device with ready
// operations into a part. It includes operations that become ready meanwhile. `interpreted` should
// be above all devices, so that it comes first.
std::vector<Part> arrangeParts(const PartitionGraph& graph, std::span<const uint32_t> deviceOf,
                               uint32_t interpreted);

// The values that cross the border of each part.
struct PartBorder {
  double bytesIn = 0;
  double bytesOut = 0;
  uint32_t inputs = 0;
  uint32_t outputs = 0;
  bool dynamicTemporary = false;  // an output that another part reads has an unknown size
};
std::vector<PartBorder> bordersOf(const PartitionGraph& graph, std::span<const Part> parts);

}  // namespace halyard::runtime
