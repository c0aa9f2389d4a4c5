// Measures the time that the TensorFlow Lite delegate adds to an execution:
//
//   delegate_bench [--device NAME] [--check]
//
// The same small model runs through a kernel of the delegate, and through the C API with a reusable
// execution, in turns. The delegate's kernel includes the call by the interpreter's function
// pointer. It excludes the interpreter itself. With --check the exit status is 1 if the delegate
// adds more than 3 us to the median.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "client/nnapi.h"
#include "tflite_delegate/delegate.h"
#include "tflite_delegate/testing/host.h"

namespace {

using Clock = std::chrono::steady_clock;
using namespace halyard::tflite;  // NOLINT(google-build-using-namespace)
using halyard::tflite::testing::Host;

constexpr uint32_t kElements = 64;
constexpr int kOperations = 4;
constexpr int32_t kReluCode = 19;
constexpr int kRounds = 200;
constexpr int kCallsInRound = 50;
constexpr double kMostAddedUs = 3;

[[noreturn]] void fail(const std::string& text) {
  std::fprintf(stderr, "delegate_bench: %s\n", text.c_str());
  std::exit(1);
}

void check(const halyard::client::CallResult& result) {
  if (!result.ok()) fail(result.text());
}

// The model by the C API, as an execution with bound arguments.
class Direct {
 public:
  explicit Direct(const std::string& deviceName) {
    std::vector<halyard::client::Device> devices;
    check(halyard::client::listDevices(devices));
    const ANeuralNetworksDevice* const device = halyard::client::deviceNamed(devices, deviceName);
    if (device == nullptr) fail("no device '" + deviceName + "'");
    check(model_.create());
    for (int i = 0; i <= kOperations; ++i) {
      check(halyard::client::addOperand(model_.get(), ANEURALNETWORKS_TENSOR_FLOAT32, {kElements}));
    }
    for (uint32_t i = 0; i < kOperations; ++i) {
      check(halyard::client::addOperation(model_.get(), ANEURALNETWORKS_RELU, {i}, {i + 1}));
    }
    check(halyard::client::identifyInputsAndOutputs(model_.get(), {0}, {kOperations}));
    check(model_.finish());
    check(compilation_.createForDevices(model_.get(), {&device, 1}));
    check(compilation_.finish());
    check(execution_.create(compilation_.get()));
    check(execution_.setReusable(true));
    const size_t bytes = kElements * sizeof(float);
    check(execution_.setInput(0, nullptr, input_.data(), bytes));
    check(execution_.setOutput(0, nullptr, output_.data(), bytes));
  }

  void compute() { check(execution_.compute()); }

 private:
  halyard::client::Model model_;
  halyard::client::Compilation compilation_;
  std::vector<float> input_ = std::vector<float>(kElements, 1.0f);
  std::vector<float> output_ = std::vector<float>(kElements);
  halyard::client::Execution execution_;
};

// The model as nodes of an interpreter, computed by the delegate.
class Delegated {
 public:
  explicit Delegated(const std::string& deviceName) {
    DelegateOptions options;
    options.devices = {deviceName};
    options.requireDevice = true;
    options.claimsAll = true;
    halyard::Result<LiteDelegate*> made = createDelegate(options);
    if (!made.ok()) fail(made.status().toString());
    delegate_ = *made;
    int32_t last = host_.tensor(LiteType::FLOAT32, {kElements});
    const int32_t first = last;
    for (int i = 0; i < kOperations; ++i) {
      const int32_t next = host_.tensor(LiteType::FLOAT32, {kElements});
      host_.node(kReluCode, {last}, {next});
      last = next;
    }
    if (host_.apply(delegate_) != LiteStatus::OK || host_.partitions().size() != 1 ||
        host_.allocate() != LiteStatus::OK) {
      fail("the delegate does not take the model: " + host_.errors());
    }
    std::fill_n(host_.data<float>(first), kElements, 1.0f);
  }
  ~Delegated() {
    host_.freeKernels();
    destroyDelegate(delegate_);
  }
  Delegated(const Delegated&) = delete;
  Delegated& operator=(const Delegated&) = delete;

  void compute() {
    if (host_.invoke() != LiteStatus::OK) fail("invoke: " + host_.errors());
  }

 private:
  Host host_;
  LiteDelegate* delegate_ = nullptr;
};

// Microseconds of a call, the median of a round.
template <typename Body>
double medianUs(Body body) {
  std::vector<double> times;
  for (int i = 0; i < kCallsInRound; ++i) {
    const Clock::time_point start = Clock::now();
    body();
    times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
  }
  std::nth_element(times.begin(), times.begin() + kCallsInRound / 2, times.end());
  return times[kCallsInRound / 2];
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Measures the time that the delegate adds to an execution");
  std::string device = "halyard-cpu";
  bool mustHold = false;
  app.add_option("--device", device, "The device that computes");
  app.add_flag("--check", mustHold, "Fail if the delegate adds more than 3 us");
  CLI11_PARSE(app, argc, argv);
  Direct direct(device);
  Delegated delegated(device);
  std::vector<double> directTimes;
  std::vector<double> delegatedTimes;
  std::vector<double> added;
  for (int round = 0; round < kRounds; ++round) {
    directTimes.push_back(medianUs([&] { direct.compute(); }));
    delegatedTimes.push_back(medianUs([&] { delegated.compute(); }));
    added.push_back(delegatedTimes.back() - directTimes.back());
  }
  std::printf("%s: %.2f us by the C API, %.2f us by the delegate, which adds %.2f us\n",
              device.c_str(), median(directTimes), median(delegatedTimes), median(added));
  return mustHold && median(added) > kMostAddedUs ? 1 : 0;
}
