// An application for crash_points_test. It uses the C API on the device halyard-crash, whose driver
// may fail at any moment, and then without named devices. It prints the first call that failed. The
// exit status is 0 unless a result was wrong, an error had no text, or the runtime's recovery
// failed.
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#include "client/nnapi.h"
#include "client/sum_model.h"

namespace {

namespace client = halyard::client;

constexpr uint32_t kValues = 4;
constexpr uint64_t kTimeout = 1'500'000'000;  // ns
constexpr float kA[kValues] = {1, 2, 3, 4};
constexpr float kB[kValues] = {10, 20, 30, 40};

// A damaged message may become another valid request.
bool mayBeWrong = false;

[[noreturn]] void die(const char* what) {
  std::printf("%s: %s\n", what, halyard_lastErrorText());
  std::fflush(stdout);
  std::_Exit(1);
}

void must(const client::CallResult& result) {
  if (!result.ok()) die(result.call());
}

client::Model makeModel() {
  client::Model model;
  must(model.create());
  must(client::addSum(model.get(), {kValues}, {kValues}, {kValues}));
  must(model.finish());
  return model;
}

const ANeuralNetworksDevice* findDevice() {
  std::vector<client::Device> devices;
  must(client::listDevices(devices));
  return client::deviceNamed(devices, "halyard-crash");
}

// One execution: its arguments, and a way to compute it.
class Run {
 public:
  explicit Run(const client::Compilation& compilation) {
    must(execution_.create(compilation.get()));
    must(execution_.setInput(0, nullptr, kA, sizeof kA));
    must(execution_.setInput(1, nullptr, kB, sizeof kB));
    must(execution_.setOutput(0, nullptr, out_, sizeof out_));
  }
  // For executions on one device: a driver that hangs stops them only for this time.
  Run& withTimeout() {
    must(execution_.setTimeout(kTimeout));
    return *this;
  }

  client::CallResult compute(
      const std::function<client::CallResult(const client::Execution&)>& how) {
    const client::CallResult result = how(execution_);
    if (result.ok() && !isRight()) die("wrong values with NO_ERROR");
    return result;
  }

 private:
  bool isRight() const {
    if (mayBeWrong) return true;
    for (uint32_t i = 0; i < kValues; ++i) {
      if (out_[i] != kA[i] + kB[i]) return false;
    }
    return true;
  }

  client::Execution execution_;
  float out_[kValues] = {};
};

client::CallResult plainly(const client::Execution& execution) { return execution.compute(); }

client::CallResult withEvent(const client::Execution& execution) {
  client::Event event;
  const client::CallResult started = execution.startCompute(event);
  return started.ok() ? event.wait() : started;
}

client::CallResult withFence(const client::Execution& execution) {
  client::Event event;
  const client::CallResult started = execution.startComputeWithDependencies({}, 0, event);
  return started.ok() ? event.wait() : started;
}

// The name of the first call that failed; null without a failure. The failure must have a text.
const char* useDevice(const client::Model& model, const ANeuralNetworksDevice* device) {
  const auto failed = [](const client::CallResult& result) {
    if (result.ok()) return false;
    if (std::strlen(halyard_lastErrorText()) < 10) die("an error without text");
    return true;
  };
  std::vector<bool> supported;
  if (failed(model.getSupportedOperationsForDevices({&device, 1}, 1, supported)))
    return "getSupportedOperationsForDevices";
  client::Compilation compilation;
  must(compilation.createForDevices(model.get(), {&device, 1}));
  must(compilation.setTimeout(kTimeout));
  const char* step = nullptr;
  client::Burst burst;
  if (failed(compilation.finish())) {
    step = "Compilation_finish";
  } else {
    must(burst.create(compilation.get()));
    const auto bursted = [&burst](const client::Execution& execution) {
      return execution.burstCompute(burst.get());
    };
    if (failed(Run(compilation).withTimeout().compute(plainly))) {
      step = "compute";
    } else if (failed(Run(compilation).withTimeout().compute(withEvent))) {
      step = "startCompute";
    } else if (failed(Run(compilation).withTimeout().compute(bursted))) {
      step = "burstCompute";
    } else if (failed(Run(compilation).withTimeout().compute(withFence))) {
      step = "startComputeWithDependencies";
    }
  }
  if (step != nullptr) std::printf("%s: %s\n", step, halyard_lastErrorText());
  return step;
}

// Computes without named devices, in any state of the driver. When the driver dies during an
// execution, that execution may fail, but not the next one.
void useAny(const client::Model& model) {
  constexpr int kTries = 3;
  for (int tries = 1;; ++tries) {
    client::Compilation compilation;
    must(compilation.create(model.get()));
    must(compilation.finish());
    if (Run(compilation).compute(plainly).ok()) return;
    if (tries == kTries) die("compute, any device");
  }
}

}  // namespace

int main() {
  const char* const point = std::getenv("HALYARD_CRASH_POINT");
  mayBeWrong = point != nullptr && std::strstr(point, ":bit") != nullptr;
  const client::Model model = makeModel();
  if (const ANeuralNetworksDevice* const device = findDevice()) {
    const char* const step = useDevice(model, device);
    if (step == nullptr) std::printf("completes\n");
  } else {
    std::printf("the device is not there\n");
  }
  // Drivers that start from now on are correct.
  ::unsetenv("HALYARD_CRASH_POINT");
  useAny(model);
  return 0;
}
