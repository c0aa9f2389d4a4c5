// CompiledModel: a model file compiled for some devices and one size of batch.
// BoundExecution: one execution of it that is repeated, with memory for its inputs and outputs.
// Thread safety: a CompiledModel does not change, any thread may use it. One thread at a time may
// use a BoundExecution.
// Ownership: a BoundExecution shares the CompiledModel and owns its memory and API objects.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/sha256.h"
#include "client/canonical_model.h"
#include "client/nnapi.h"
#include "halyard/driver/shared_memory.h"
#include "halyard/driver/status.h"
#include "import/tflite/importer.h"
#include "serve/protocol/infer.h"
#include "serve/scheduling/settings.h"

namespace halyard::serve {

struct CompileSettings {
  std::vector<std::string> devices;  // empty: all
  uint32_t batch = 0;                // the first dimension of every input; 0: that of the file
  std::optional<int32_t> preference;
  std::optional<int32_t> priority;
  bool allowFloat16 = false;  // float32 may be computed as float16
  std::string cacheFolder;    // empty: no cache
};

class CompiledModel {
 public:
  // BAD_DATA for a file that cannot be used, and for a batch that the model cannot take. Other
  // errors are those of the compilation.
  static Result<std::shared_ptr<const CompiledModel>> create(const std::string& file,
                                                             const CompileSettings& settings);

  // The same model, compiled again: after the death of a driver. Its file is not read again, since
  // it may be another one by now, or gone.
  Result<std::shared_ptr<const CompiledModel>> again(const CompileSettings& settings) const;

  const import::ImportedModel& imported() const { return *imported_; }
  ANeuralNetworksCompilation* handle() const { return compilation_.get(); }
  uint32_t batch() const { return batch_; }
  // Whether executions may have a deadline of their own: the runtime needs exactly one device.
  bool takesDeadlines() const { return takesDeadlines_; }
  // The report of the compilation: see halyard_compilationReport.
  Result<std::string> report() const;

 private:
  CompiledModel() = default;
  Status load(const std::string& file, const CompileSettings& settings);
  Status compile(const CompileSettings& settings);
  void useCache(const std::string& folder) const;

  std::string file_;             // for errors
  std::optional<Digest> token_;  // for the cache
  std::shared_ptr<const import::ImportedModel> imported_;
  uint32_t batch_ = 0;
  bool takesDeadlines_ = false;
  std::shared_ptr<const client::CanonicalModel> model_;
  client::Compilation compilation_;
};

class BoundExecution {
 public:
  static Result<std::unique_ptr<BoundExecution>> create(std::shared_ptr<const CompiledModel> model);

  const CompiledModel& model() const { return *model_; }
  // The memory of an input, in the form of NNAPI. It keeps its place.
  std::span<uint8_t> input(size_t i) const { return inputs_[i]; }
  // Computes with the present inputs. MISSED_DEADLINE_* when the deadline passes, if the model
  // takes deadlines. Outputs of unknown size get more memory as needed, up to 256 MiB.
  Status compute(std::optional<Clock::time_point> deadline);

  struct Output {
    Shape dimensions;
    std::span<const uint8_t> bytes;  // valid until the next computation
  };
  // The value of an output after a computation.
  Result<Output> output(size_t i) const;

 private:
  explicit BoundExecution(std::shared_ptr<const CompiledModel> model) : model_(std::move(model)) {}
  Status bind();
  Status bindArguments(const client::Execution& execution) const;
  Result<client::CallResult> run(std::optional<Clock::time_point> deadline);
  Status growOutputs();

  const std::shared_ptr<const CompiledModel> model_;
  std::vector<size_t> outputSizes_;
  std::vector<size_t> offsets_;  // of the inputs, then of the outputs
  Mapping mapping_;
  std::vector<std::span<uint8_t>> inputs_;
  std::vector<std::span<uint8_t>> outputs_;
  client::Memory memory_;
  client::Execution repeated_;
  client::Execution once_;  // the last computation with a deadline
  bool lastWasOnce_ = false;
  client::Burst burst_;
};

// The description of an input or output. BAD_DATA for a type that the protocol lacks.
Result<TensorInfo> tensorInfoOf(const import::ModelPort& port);

}  // namespace halyard::serve
