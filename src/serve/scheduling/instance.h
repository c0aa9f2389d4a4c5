// Instance: computes batches of requests, one at a time.
// Thread safety: one thread at a time may use an instance.
// Ownership: shares the compilations and owns its executions.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "serve/scheduling/compiled_group.h"
#include "serve/scheduling/queued_request.h"
#include "serve/scheduling/statistics.h"

namespace halyard::serve {

// The parts of a model's description that an instance needs. They outlive all instances.
struct ModelShape {
  std::string name;
  std::string version;
  std::vector<TensorInfo> inputs;
  std::vector<TensorInfo> outputs;
  std::vector<std::string> labels;
  bool batches = false;
};

class Instance {
 public:
  // Binds an execution for each size of batch. `group`, `shape` and `statistics` outlive the
  // instance.
  static Result<std::unique_ptr<Instance>> create(CompiledGroup& group, const ModelShape& shape,
                                                  StatisticsKeeper& statistics);

  // Computes the requests in one execution, and answers each of them. If the execution fails, each
  // request is computed alone, so that a faulty request fails only itself. If a driver dies, the
  // model is compiled again and computed again, within the deadlines.
  void compute(std::vector<QueuedRequestPtr> batch);

  // Computes once with the present inputs, for the first call. The errors are those of the device.
  Status warmUp();
  // Whether a batch gives the same results as its elements alone. BAD_DATA with the output that
  // differs.
  Status checkIndependence(uint32_t size);

 private:
  Instance(CompiledGroup& group, const ModelShape& shape, StatisticsKeeper& statistics)
      : group_(group), shape_(shape), statistics_(statistics) {}

  uint32_t sizeFor(uint32_t rows) const;
  void computeTogether(std::span<const QueuedRequestPtr> batch, bool mayDivide);
  Status execute(uint32_t size, std::span<const QueuedRequestPtr> batch, ExecutionTimes& times);
  void gather(BoundExecution& execution, std::span<const QueuedRequestPtr> batch) const;
  Status recover(uint32_t size);
  Result<InferAnswer> answerOf(const BoundExecution& execution, const QueuedRequest& request,
                               uint32_t firstRow, uint32_t size) const;

  CompiledGroup& group_;
  const ModelShape& shape_;
  StatisticsKeeper& statistics_;
  std::map<uint32_t, std::unique_ptr<BoundExecution>> executions_;
};

}  // namespace halyard::serve
