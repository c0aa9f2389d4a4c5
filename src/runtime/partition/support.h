// SupportTable: which device takes which operation of a model, and in words why not.
// Thread safety: one thread at a time; it asks several drivers at once by itself.
// Ownership: shares the model; devices must outlive it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/partition/plan.h"

namespace halyard::runtime {

// The subgraphs that an IF or WHILE refers to, in the order of its inputs; empty for others.
std::vector<uint32_t> subgraphsOf(const Model& model, uint32_t subgraph, uint32_t operation);

class SupportTable {
 public:
  // Asks a device about a subgraph of the model, as a model of its own.
  using Ask = std::function<Result<std::vector<bool>>(const Device& device, uint32_t subgraph,
                                                      const ValidModel& asModel)>;

  // Without `ask` it is the device's getSupportedOperations.
  SupportTable(ValidModel model, std::vector<const Device*> devices,
               Ask ask = nullptr);

  const ValidModel& model() const { return model_; }
  // A subgraph as a model of its own, as the devices are asked about it.
  const ValidModel& asModel(uint32_t subgraph);
  // The candidates, in the compilation's order; what follows names them by index.
  const std::vector<const Device*>& devices() const { return devices_; }
  // Of the CPU device; devices().size() when it is no candidate.
  size_t cpu() const { return cpu_; }
  bool hasCpu() const { return cpu_ < devices_.size(); }

  // Asks the devices about a subgraph, unless that has been done.
  void ask(uint32_t subgraph) { (void)answersFor(subgraph); }
  // Devices are asked about a subgraph when it is first asked for here.
  bool takes(uint32_t subgraph, uint32_t operation, size_t device);
  bool takesAll(uint32_t subgraph, size_t device);
  // Why takes() is false; empty when it is true.
  std::string reason(uint32_t subgraph, uint32_t operation, size_t device);
  // OK when the device could be asked about the subgraph.
  const Status& askStatus(uint32_t subgraph, size_t device);

  // The device has failed with these operations: it takes them no longer.
  void mask(uint32_t subgraph, std::span<const uint32_t> operations, size_t device,
            const Status& cause);
  // It takes nothing any more.
  void maskDevice(size_t device, const Status& cause);

 private:
  struct Answer {
    Status asked;
    std::vector<bool> takes;
    std::map<uint32_t, std::string> masked;  // why, by operation
    // By operation, filled when a reason is first asked for.
    bool versionsKnown = false;
    std::map<uint32_t, std::string> versions;
  };
  using Answers = std::vector<Answer>;  // by device

  Answers& answersFor(uint32_t subgraph);
  Answers answersOfDevices(uint32_t subgraph);

  ValidModel model_;
  std::vector<const Device*> devices_;
  Ask ask_;
  size_t cpu_;
  std::map<uint32_t, Answers> answers_;  // by subgraph
  std::map<uint32_t, ValidModel> models_;
  std::vector<std::string> maskedDevice_;  // why; empty: it is not
};

}  // namespace halyard::runtime
