// SupportTable: tells which device supports which operation of a model, and the reasons if not.
// Thread safety: one thread at a time; it asks several drivers at once itself.
// Ownership: shares the model; devices must outlive it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/partition/plan.h"

namespace halyard::runtime {

// Whether the model has operations of vendors, which only a driver of the vendor computes.
bool hasVendorOperations(const Model& model);

// Returns the subgraphs that an IF or WHILE refers to, in the order of its inputs; empty for
// others.
std::vector<uint32_t> subgraphsOf(const Model& model, uint32_t subgraph, uint32_t operation);

class SupportTable {
 public:
  // Asks a device about a subgraph of the model, as a separate model.
  using Ask = std::function<Result<hal::SupportedOperations>(
      const Device& device, uint32_t subgraph, const ValidModel& asModel)>;

  // Without `ask`, the table calls the device's getSupportedOperations.
  SupportTable(ValidModel model, std::vector<const Device*> devices, Ask ask = nullptr);

  const ValidModel& model() const { return model_; }
  // Returns a subgraph as a separate model, which is used to ask the devices.
  const ValidModel& asModel(uint32_t subgraph);
  // Returns the candidates in the compilation's order. Other functions name them by index.
  const std::vector<const Device*>& devices() const { return devices_; }
  // Returns the index of the CPU device; devices().size() when it is no candidate.
  size_t cpu() const { return cpu_; }
  bool hasCpu() const { return cpu_ < devices_.size(); }

  // Asks the devices about a subgraph, unless that has been done.
  void ask(uint32_t subgraph) { (void)answersFor(subgraph); }
  // The first call for a subgraph asks the devices about it.
  bool takes(uint32_t subgraph, uint32_t operation, size_t device);
  bool takesAll(uint32_t subgraph, size_t device);
  // Returns the device's own predictions of the times of the operations, in nanoseconds.
  std::vector<std::optional<double>> costs(uint32_t subgraph, size_t device);
  // Returns the reason why takes() is false; empty when it is true.
  std::string reason(uint32_t subgraph, uint32_t operation, size_t device);
  // Returns OK when the device could be asked about the subgraph.
  const Status& askStatus(uint32_t subgraph, size_t device);

  // Marks operations that the device has failed with as unsupported.
  void mask(uint32_t subgraph, std::span<const uint32_t> operations, size_t device,
            const Status& cause);
  // Marks all operations as unsupported by the device.
  void maskDevice(size_t device, const Status& cause);

 private:
  struct Answer {
    Status asked;
    hal::SupportedOperations operations;
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
  std::vector<std::string> maskedDevice_;  // reason; empty: not masked
};

}  // namespace halyard::runtime
