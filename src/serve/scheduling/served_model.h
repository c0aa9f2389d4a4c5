// ServedModel: one version of a model, loaded and ready for requests.
// Thread safety: any thread, except the destructor.
// Ownership: owns its compilations and threads. It borrows requests until it has answered them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "serve/scheduling/compiled_group.h"
#include "serve/scheduling/instance.h"
#include "serve/scheduling/scheduler.h"
#include "serve/scheduling/settings.h"
#include "serve/scheduling/statistics.h"

namespace halyard::serve {

struct ModelPlace {
  std::string name;
  std::string version;
  std::string file;         // .tflite
  std::string cacheFolder;  // of compilations; empty: no cache
};

class ServedModel {
 public:
  // Compiles the model for each size of batch and each group of devices, and computes once on each
  // instance. BAD_DATA for a file or settings that cannot be used. If the model cannot be batched,
  // it is loaded without batches, and batchRefusal() has the reason.
  static Result<std::shared_ptr<ServedModel>> load(const ModelPlace& place,
                                                   const ModelSettings& settings);

  const std::string& name() const { return shape_.name; }
  const std::string& version() const { return shape_.version; }
  // As clients see them: the first dimension is -1 if the model has batches.
  const std::vector<TensorInfo>& inputs() const { return inputs_; }
  const std::vector<TensorInfo>& outputs() const { return outputs_; }
  const ModelSettings& settings() const { return settings_; }
  // The largest batch; 0 without batches.
  uint32_t maxBatch() const { return shape_.batches ? sizes_.back() : 0; }
  // Why the model has no batches although its settings ask for them; empty otherwise.
  const std::string& batchRefusal() const { return batchRefusal_; }

  // Validates the request as submit() does, but inputs in regions are not read yet: the sizes of
  // their parts count in place of their bytes. A failure counts in the statistics.
  Outcome check(const InferRequest& request, Clock::time_point arrival);

  // Validates the request and computes it. `done` is called exactly once, perhaps before this
  // function returns. `request` must live until then. Errors name the model, the input, the
  // expected and the found value.
  void submit(const InferRequest& request, Clock::time_point arrival, AnswerFunction done);

  // Refuses further requests, and waits until all others are answered.
  void stop() { scheduler_->stop(); }

  ModelStatistics statistics() const { return statistics_.snapshot(); }
  Scheduler::Load load() const { return scheduler_->load(); }
  // The report of the compilation for the smallest batch of the first group, as JSON.
  Result<std::string> report() const;

 private:
  ServedModel(const ModelPlace& place, const ModelSettings& settings);
  Status compile(const ModelPlace& place);
  Status compileGroups(const ModelPlace& place, const std::vector<uint32_t>& sizes);
  Status describe();
  Status makeInstances(std::vector<std::unique_ptr<Instance>>& instances);
  Status checkBatches(Instance& instance);

  // Whether the inputs in regions have their bytes yet.
  enum class Regions : uint8_t { UNREAD, READ };
  Result<QueuedRequestPtr> validate(const InferRequest& request, Regions regions) const;
  Status validateInput(const TensorInfo& info, const InputTensor& input, Regions regions,
                       QueuedRequest& queued) const;
  Outcome refusal(Status status, Clock::time_point arrival);
  Status chooseOutputs(const InferRequest& request, QueuedRequest& queued) const;

  const ModelSettings settings_;
  ModelShape shape_;
  std::vector<TensorInfo> inputs_;
  std::vector<TensorInfo> outputs_;
  std::vector<uint32_t> sizes_;
  std::string batchRefusal_;
  StatisticsKeeper statistics_;
  std::vector<std::unique_ptr<CompiledGroup>> groups_;
  std::unique_ptr<Scheduler> scheduler_;  // ends first
};

}  // namespace halyard::serve
