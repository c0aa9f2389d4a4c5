// PartitionGraph: what partitioning needs to know of one subgraph, and the order of the parts that
// an assignment of its operations to devices makes.
// Thread safety: immutable once made. Ownership: owns its tables.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hal/checks/operand_sizes.h"
#include "halyard/driver/model.h"

namespace halyard::runtime {

constexpr uint32_t kNoOperation = UINT32_MAX;

// Lists of numbers, one after the other in one piece of memory.
class FlatLists {
 public:
  // For `count` lists of `items` numbers in all.
  void reserve(size_t count, size_t items) {
    ends_.reserve(count);
    items_.reserve(items);
  }
  // To the list that is being written.
  void add(uint32_t item) { items_.push_back(item); }
  // It is complete: the next one begins.
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
  // A value that is computed or given, rather than a constant.
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
  // `readers`: how many operations read each value.
  void listConsumers(std::span<const uint32_t> readers);
};

// Some operations of a subgraph, one after the other on one device.
struct Part {
  uint32_t device = 0;
  std::vector<uint32_t> operations;
};

// The parts in the order in which they run. `deviceOf`: by operation; those of `interpreted` become
// parts of one operation each. Operations that can run are queued by device. Over and over, of all
// queues that have something the one of the highest device is emptied into a part, also of what
// becomes ready meanwhile; `interpreted` should be above all devices, so that it comes first.
std::vector<Part> arrangeParts(const PartitionGraph& graph, std::span<const uint32_t> deviceOf,
                               uint32_t interpreted);

// What crosses the border of each part.
struct PartBorder {
  double bytesIn = 0;
  double bytesOut = 0;
  uint32_t inputs = 0;
  uint32_t outputs = 0;
  bool dynamicTemporary = false;  // an output that another part reads has an unknown size
};
std::vector<PartBorder> bordersOf(const PartitionGraph& graph, std::span<const Part> parts);

}  // namespace halyard::runtime
