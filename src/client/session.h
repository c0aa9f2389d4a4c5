// Session: runs a canonical model through the public C API, as an application does.
// Thread safety: none; one thread at a time uses a session. Sessions are independent.
// Ownership: a session shares the model and owns every API object that it makes.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "client/canonical_model.h"
#include "client/nnapi.h"
#include "halyard/driver/model.h"
#include "halyard/driver/status.h"

namespace halyard::client {

// Where a compilation is kept: a folder, and the name of the model there.
struct Caching {
  std::string folder;
  std::array<uint8_t, ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN> token = {};
};

// One input of an execution. The bytes are borrowed until execute returns.
struct Input {
  std::span<const uint8_t> bytes;
  Shape dimensions;      // empty: as the model says, which must then be fully known
  bool omitted = false;  // the execution goes without this input
};

// One result: its real dimensions (empty for a scalar) and exactly their bytes.
struct Output {
  Shape dimensions;
  std::vector<uint8_t> bytes;
};

struct Computation {
  std::vector<Output> outputs;
  std::chrono::nanoseconds duration{};  // of the last compute call alone
  int attempts = 1;  // more than 1 when buffers for outputs of unknown size had to grow
};

class Session {
 public:
  // Builds the model as CanonicalModel does.
  static Result<std::unique_ptr<Session>> create(std::shared_ptr<const halyard::Model> model);

  // For one device, by model.main.operations: whether it can run each operation.
  Result<std::vector<bool>> supportedOperations(const ANeuralNetworksDevice* device) const;

  // Where the next compilation is kept: ANeuralNetworksCompilation_setCaching.
  void setCaching(Caching caching) { caching_ = std::move(caching); }
  // What the next compilation is for: ANeuralNetworksCompilation_setPreference.
  void setPreference(int32_t preference) { preference_ = preference; }
  // Compiles for exactly one device, or with nullptr for whichever the runtime chooses. Once.
  Status compile(const ANeuralNetworksDevice* device);
  // Compiles for some devices, or with none for whichever the runtime chooses. Once.
  Status compileFor(std::span<const ANeuralNetworksDevice* const> devices);
  const halyard::Model& model() const { return model_->model(); }
  // nullptr before a compilation was begun.
  ANeuralNetworksCompilation* compilation() const { return compilation_.get(); }

  // The report of the compilation, which may have failed: see halyard_compilationReport. BAD_STATE
  // when nothing has been compiled.
  Result<std::string> report() const;
  // What the compilation has taken in the trace: see halyard_compilationProfile. The same error.
  Result<std::string> profile() const;

  // Runs the compiled model once; `inputs` in the order of model.main.inputIndexes. Outputs whose
  // size the model leaves open start with a buffer of 64 KiB, and the execution is repeated with a
  // larger one as long as the API answers OUTPUT_INSUFFICIENT_SIZE (up to 1 GiB an output).
  Result<Computation> execute(std::span<const Input> inputs) const;

 private:
  // The buffer of one output and what is known of its size.
  struct OutputBuffer {
    bool exact = false;  // the model fixes the size
    std::vector<uint8_t> bytes;
  };

  explicit Session(std::unique_ptr<CanonicalModel> model) : model_(std::move(model)) {}

  const Subgraph& main() const { return model_->model().main; }
  Result<std::vector<OutputBuffer>> makeOutputBuffers() const;
  Status setArguments(const Execution& execution, std::span<const Input> inputs,
                      std::vector<OutputBuffer>& outputs) const;
  Status growBuffers(const Execution& execution, std::vector<OutputBuffer>& outputs) const;
  Result<std::vector<Output>> takeOutputs(const Execution& execution,
                                          std::vector<OutputBuffer> outputs) const;

  const std::unique_ptr<CanonicalModel> model_;
  std::optional<Caching> caching_;
  std::optional<int32_t> preference_;
  Compilation compilation_;
};

}  // namespace halyard::client
