// Compiled: a finished compilation. Request: one execution with its arguments. Event: the end of a
// started request.
// Thread safety: the GIL protects the members. Requests of one Compiled may run at the same time;
// one thread at a time may use a request.
// Ownership: a request keeps its Compiled, buffers and memories alive; an event keeps its request.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/session.h"
#include "graph.h"
#include "memory.h"

namespace halyard::python {

struct CompileOptions {
  Devices devices;  // empty: the runtime chooses
  // Whether operations that these devices do not support go to the runtime's own CPU device.
  bool cpuTakesTheRest = false;
  std::optional<int32_t> preference;
  std::optional<int32_t> priority;
  uint64_t timeoutNs = 0;  // 0: none
  std::optional<client::Caching> caching;
};

class Compiled {
 public:
  // The compilation of a failed finish is there too, for its report. `outcome` receives the status.
  static Result<std::shared_ptr<Compiled>> create(std::shared_ptr<const Graph> graph,
                                                  const CompileOptions& options, Status& outcome);

  const Graph& graph() const { return *graph_; }
  ANeuralNetworksCompilation* handle() const { return compilation_.get(); }
  Result<std::string> report() const;
  Result<std::string> profile() const;

  // A burst in which nothing runs. giveBack returns it.
  Result<client::Burst> takeBurst();
  void giveBack(client::Burst burst) { idleBursts_.push_back(std::move(burst)); }

  // Whether an execution is so short that Ctrl-C may wait for it.
  bool isShort() const { return shortest_ < std::chrono::milliseconds(1); }
  void noteDuration(std::chrono::nanoseconds duration) {
    shortest_ = std::min(shortest_, duration);
  }

 private:
  explicit Compiled(std::shared_ptr<const Graph> graph) : graph_(std::move(graph)) {}

  // In the order that the API needs: a later member is freed first.
  const std::shared_ptr<const Graph> graph_;
  client::Compilation compilation_;
  std::vector<client::Burst> idleBursts_;
  std::chrono::nanoseconds shortest_ = std::chrono::nanoseconds::max();
};

// A part of a memory as an argument. The length 0 means all of a memory of a device.
struct MemoryPart {
  std::shared_ptr<Memory> memory;
  size_t offset = 0;
  size_t length = 0;
};

class Request;

class Event {
 public:
  Event(client::Event event, nanobind::object request)
      : request_(std::move(request)), event_(std::move(event)) {}
  // Waits for the request, without the GIL.
  ~Event();
  const ANeuralNetworksEvent* handle() const { return event_.get(); }
  Status wait() const;
  // A new descriptor of the sync fence.
  Result<int> syncFence() const;

 private:
  nanobind::object request_;
  client::Event event_;
};

class Request {
 public:
  static Result<std::shared_ptr<Request>> create(std::shared_ptr<Compiled> compiled, bool reusable,
                                                 uint64_t timeoutNs);

  // `dims`: the real dimensions, where the model leaves some open.
  Status setInput(uint32_t index, std::unique_ptr<HeldBuffer> buffer,
                  const std::optional<std::vector<uint32_t>>& dims);
  Status setInput(uint32_t index, MemoryPart part,
                  const std::optional<std::vector<uint32_t>>& dims);
  Status omitInput(uint32_t index);
  Status setOutput(uint32_t index, std::unique_ptr<HeldBuffer> buffer);
  Status setOutput(uint32_t index, MemoryPart part);

  Compiled& compiled() const { return *compiled_; }
  // Runs it in this burst, and returns the status. The GIL is not needed.
  Status compute(const client::Burst& burst, std::chrono::nanoseconds& duration) const;
  Result<client::Event> start(const std::vector<const ANeuralNetworksEvent*>& dependencies,
                              uint64_t timeoutNs) const;
  // After a run, also after one with OUTPUT_INSUFFICIENT_SIZE.
  Result<Shape> outputDimensions(uint32_t index) const;

 private:
  explicit Request(std::shared_ptr<Compiled> compiled) : compiled_(std::move(compiled)) {}
  Result<ANeuralNetworksOperandType> typeOf(uint32_t index,
                                            const std::optional<std::vector<uint32_t>>& dims) const;

  const std::shared_ptr<Compiled> compiled_;
  std::vector<std::unique_ptr<HeldBuffer>> buffers_;
  std::vector<std::shared_ptr<Memory>> memories_;
  client::Execution execution_;
};

}  // namespace halyard::python
