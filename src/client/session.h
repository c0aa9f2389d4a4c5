// Session: runs a canonical model through the public C API, as an application does.
// Thread safety: one thread at a time may use a session. Sessions are independent.
// Ownership: a session shares the model and owns all API objects that it makes.
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

// The place of a cached compilation: a folder, and the token of the model there.
struct Caching {
  std::string folder;
  std::array<uint8_t, ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN> token = {};
};

// One input of an execution. The bytes are borrowed until execute returns.
struct Input {
  std::span<const uint8_t> bytes;
  Shape dimensions;      // empty: those of the model, which must then be fully known
  bool omitted = false;  // the execution gets no value for this input
};

// One result: its real dimensions (empty for a scalar) and exactly its bytes.
struct Output {
  Shape dimensions;
  std::vector<uint8_t> bytes;
};

struct Computation {
  std::vector<Output> outputs;
  std::chrono::nanoseconds duration{};  // of the last compute call only
  int attempts = 1;                     // more than 1 if output buffers of unknown size had to grow
};

class Session {
 public:
  // Builds the model as CanonicalModel does.
  static Result<std::unique_ptr<Session>> create(std::shared_ptr<const halyard::Model> model);

  // Whether the device can run each operation, in the order of model.main.operations.
  Result<std::vector<bool>> supportedOperations(const ANeuralNetworksDevice* device) const;

  // Sets the cache of the next compilation: ANeuralNetworksCompilation_setCaching.
  void setCaching(Caching caching) { caching_ = std::move(caching); }
  // Sets the preference of the next compilation: ANeuralNetworksCompilation_setPreference.
  void setPreference(int32_t preference) { preference_ = preference; }
  // Compiles for one device, or, with nullptr, for the devices that the runtime chooses. It may be
  // called once.
  Status compile(const ANeuralNetworksDevice* device);
  // Compiles for these devices, or, with an empty list, for those that the runtime chooses. It may
  // be called once.
  Status compileFor(std::span<const ANeuralNetworksDevice* const> devices);
  const halyard::Model& model() const { return model_->model(); }
  // nullptr before the start of a compilation.
  ANeuralNetworksCompilation* compilation() const { return compilation_.get(); }

  // The report of the compilation, also of a failed one: see halyard_compilationReport. BAD_STATE
  // before the start of a compilation.
  Result<std::string> report() const;
  // The times of the compilation in the trace: see halyard_compilationProfile. The errors are those
  // of report().
  Result<std::string> profile() const;

  // Runs the compiled model once. `inputs` are in the order of model.main.inputIndexes.
  // An output of unknown size starts with a buffer of 64 KiB. While the API returns
  // OUTPUT_INSUFFICIENT_SIZE, the execution is repeated with larger buffers, up to 1 GiB for each
  // output.
  Result<Computation> execute(std::span<const Input> inputs) const;

 private:
  // The buffer of one output, and whether its size is known.
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
