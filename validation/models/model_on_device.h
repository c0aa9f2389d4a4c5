// ModelOnDevice: a model compiled through the C API for the driver under test and for the CPU
// device.
// Thread safety: one thread.
// Ownership: owns its API objects. The devices belong to the process.
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

// A compiled model that is executed repeatedly.
class CompiledModel {
 public:
  explicit CompiledModel(std::unique_ptr<client::Session> session) : session_(std::move(session)) {}

  // Executes once. The first call fixes which inputs are present, and their sizes.
  Status run(const std::vector<std::vector<uint8_t>>& inputs);
  // As run, and returns the outputs as real numbers.
  Result<std::vector<std::vector<float>>> compute(const import::ImportedModel& model,
                                                  const std::vector<std::vector<uint8_t>>& inputs);

 private:
  // Members are freed in reverse order: the run before its session.
  std::unique_ptr<client::Session> session_;
  std::unique_ptr<measure::RepeatedRun> run_;
};

// The operations of a model that the driver supports.
struct Support {
  const ANeuralNetworksDevice* device = nullptr;
  const ANeuralNetworksDevice* cpu = nullptr;  // the runtime's own
  size_t operations = 0;
  size_t supported = 0;
};
Result<Support> supportOf(const TargetSpec& target, const std::shared_ptr<const Model>& model);

// Executes both for `seconds`, in turns of 20 ms, so that other load of the machine affects both
// equally.
struct TurnTimes {
  std::vector<double> device;  // milliseconds of each execution
  std::vector<double> cpu;
  double timesAsFast = 0;  // of the device, relative to the CPU device: the median of all turns
};
Result<TurnTimes> timeInTurns(CompiledModel& device, CompiledModel& cpu,
                              const std::vector<std::vector<uint8_t>>& inputs, double seconds);

// Compiles for the driver, and for the CPU device if the driver does not support all operations. An
// error is the driver's fault: it must be able to prepare the operations that it supports.
Result<CompiledModel> compileForDevice(const Support& support,
                                       const std::shared_ptr<const Model>& model);
Result<CompiledModel> compileForCpu(const Support& support,
                                    const std::shared_ptr<const Model>& model);

}  // namespace halyard::validation
