// ModelOnDevice: a model compiled through the C API for the driver under test and for the CPU
// device. Thread safety: none. Ownership: owns its API objects; the devices are the process's.
#pragma once

#include <android/NeuralNetworks.h>

#include <memory>
#include <string>
#include <vector>

#include "client/session.h"
#include "halyard/driver/status.h"
#include "import/tflite/importer.h"
#include "measure/repeated_run.h"
#include "validation/kit/check.h"
#include "validation/kit/target.h"

namespace halyard::validation {

// A compiled model, executed again and again.
class CompiledModel {
 public:
  explicit CompiledModel(std::unique_ptr<client::Session> session) : session_(std::move(session)) {}

  // Once; the first call says which inputs, and how many bytes they have.
  Status run(const std::vector<std::vector<uint8_t>>& inputs);
  // The same, and the outputs as real numbers.
  Result<std::vector<std::vector<float>>> compute(const import::ImportedModel& model,
                                                  const std::vector<std::vector<uint8_t>>& inputs);

 private:
  // What is declared later is freed first.
  std::unique_ptr<client::Session> session_;
  std::unique_ptr<measure::RepeatedRun> run_;
};

// What the driver says of a model.
struct Support {
  const ANeuralNetworksDevice* device = nullptr;
  const ANeuralNetworksDevice* cpu = nullptr;  // the runtime's own
  size_t operations = 0;
  size_t supported = 0;
};
Result<Support> supportOf(const TargetSpec& target, const std::shared_ptr<const Model>& model);

// Executes both for so many seconds, in turns of 20 ms, so that what else the machine does is the
// same for both.
struct TurnTimes {
  std::vector<double> device;  // milliseconds of each execution
  std::vector<double> cpu;
  double timesAsFast = 0;  // the device, the median of all turns
};
Result<TurnTimes> timeInTurns(CompiledModel& device, CompiledModel& cpu,
                              const std::vector<std::vector<uint8_t>>& inputs, double seconds);

// Compiles for the driver; with the CPU device for what it does not take. Its own error: what it
// has said that it takes, it must be able to prepare.
Result<CompiledModel> compileForDevice(const Support& support,
                                       const std::shared_ptr<const Model>& model);
Result<CompiledModel> compileForCpu(const Support& support,
                                    const std::shared_ptr<const Model>& model);

}  // namespace halyard::validation
