// ArgumentTransfers: moves the arguments of executions into a model's memory and out of it.
// Thread safety: one thread at a time. Ownership: borrows the model's memory; owns the rest.
//
// The processor copies if it can map the memory. Otherwise it copies to staging memory, and the
// device does the rest, together with the model. Memory of the device never leaves the device.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "device/command_list.h"
#include "halyard/driver/mapped_request.h"

namespace halyard::vulkandriver {

// An input or output in the model's memory.
struct ArgumentPlace {
  uint64_t offset;
  uint64_t bytes;
};
struct ArgumentPlaces {
  std::vector<ArgumentPlace> inputs;
  std::vector<ArgumentPlace> outputs;
  uint64_t end = 0;  // all places end before it
  // A word that the model sets if an execution fails. 0: it has not failed.
  std::optional<uint64_t> fault = {};
};

// Pages of requests that the device uses in place.
struct ImportedPages {
  std::unique_ptr<DeviceBuffer> buffer;
  const uint8_t* first;
};

// The commands of a model, one list for each submission.
struct ModelCommands {
  std::span<const VkCommandBuffer> lists;  // at least one
  hal::Priority priority;
  const hal::ExecuteOptions& options;
};

class ArgumentTransfers {
 public:
  static Result<std::unique_ptr<ArgumentTransfers>> create(std::shared_ptr<VulkanDevice> device,
                                                           DeviceBuffer& memory,
                                                           ArgumentPlaces places);
  ArgumentTransfers(std::shared_ptr<VulkanDevice> device, DeviceBuffer& memory,
                    ArgumentPlaces places)
      : device_(std::move(device)), memory_(memory), places_(std::move(places)) {}

  // Runs the model's commands with the arguments of `request`. Between two submissions, the
  // deadline or a cancellation may end the run. Adds to `copied` the bytes that moved between
  // shared memory and the device.
  Status run(const ModelCommands& model, const hal::MappedRequest& request,
             const std::vector<ImportedPages>& imports, uint64_t& copied);

 private:
  // The other end of an argument's copies.
  struct End {
    const DeviceBuffer* buffer = nullptr;  // null: the argument is left out
    uint64_t offset = 0;
    bool isStaged = false;
  };
  // Recorded copies depend on these.
  struct Key {
    uint64_t buffer;
    uint64_t offset;
    bool operator==(const Key&) const = default;
  };

  Result<End> endOf(const hal::MappedArgument& argument, const ArgumentPlace& place,
                    const std::vector<ImportedPages>& imports) const;
  Status submit(const ModelCommands& model);
  Status runMapped(const ModelCommands& model, const hal::MappedRequest& request, uint64_t& copied);
  Status checkFault(const uint8_t* word) const;
  Status record(const std::vector<End>& inputs, const std::vector<End>& outputs);

  const std::shared_ptr<VulkanDevice> device_;
  DeviceBuffer& memory_;
  const ArgumentPlaces places_;
  std::unique_ptr<DeviceBuffer> staging_;  // null if the processor maps the memory
  // The copies of the last request, for others of the same form.
  std::vector<Key> recorded_;
  std::unique_ptr<CommandList> before_;
  std::unique_ptr<CommandList> after_;
};

}  // namespace halyard::vulkandriver
