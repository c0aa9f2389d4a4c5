// Values that stay in the memory of a device between executions, through the C API: the copied
// bytes of each step, by the report. The driver has a process of its own.
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <nlohmann/json.hpp>

#include "api/api_for_test.h"
#include "halyard/driver/shared_memory.h"
#include "manifests_for_test.h"
#include "test_definitions.h"

namespace halyard::api::testing {
namespace {

using Json = nlohmann::json;

constexpr uint32_t kUnits = 8;
constexpr uint32_t kBytes = kUnits * sizeof(float);
constexpr int kSteps = 6;

// The inputs of the cell that change, and its outputs that are used.
constexpr int kInput = 0;
constexpr int kOutputStateIn = 1;
constexpr int kCellStateIn = 2;
constexpr int kScratch = 0;
constexpr int kOutputState = 1;
constexpr int kCellState = 2;
constexpr int kOutput = 3;

class DeviceMemoryApi : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    manifests_ = new ::halyard::testing::Manifests;
    manifests_->add("test-own", REFERENCE_DRIVER, R"({"own_memory": {}})");
    manifests_->add("test-importing", REFERENCE_DRIVER,
                    R"({"own_memory": {"imports": ["host_pages"]}})");
    manifests_->add("test-relu", REFERENCE_DRIVER,
                    R"({"supports": {"operations": ["RELU"]}, "capabilities":
                        {"default": {"exec_time": 0.01, "power_usage": 0.01}}})");
    const auto addWithoutTanh = [](const char* name, const char* fields) {
      manifests_->add(name, REFERENCE_DRIVER,
                      fmt::format(R"({{"own_memory": {{}}, {},
                                    "supports": {{"operations": ["RELU", "RELU6", "ADD"]}}}})",
                                  fields));
    };
    addWithoutTanh("test-skip",
                   R"("capabilities": {"default": {"exec_time": 1e-4, "power_usage": 1}})");
    addWithoutTanh("test-dying",
                   R"("capabilities": {"default": {"exec_time": 1e-5, "power_usage": 1}},
                      "faults": [{"at": "execute", "nth": 2, "do": "kill"}])");
    manifests_->use();
  }

  void SetUp() override { makeCell(); }

  // An LSTM without input gate, whose weights are constants. Its inputs are the input and the two
  // states.
  void makeCell() {
    cell_ = newModel();
    const auto tensor = [&](const client::Dims& dims) {
      EXPECT_NN_OK(cell_.addOperand(ANEURALNETWORKS_TENSOR_FLOAT32, dims));
      return operands_++;
    };
    const auto constant = [&](const client::Dims& dims, float scale) {
      const uint32_t index = tensor(dims);
      const size_t count = dims.size() == 2 ? dims[0] * dims[1] : dims[0];
      std::vector<float>& values = constants_.emplace_back(count);
      for (size_t i = 0; i < count; ++i)
        values[i] = scale * std::sin(static_cast<float>(i + index));
      EXPECT_NN_OK(cell_.setOperandValue(static_cast<int32_t>(index), values.data(),
                                         values.size() * sizeof(float)));
      return index;
    };
    const auto omitted = [&](const client::Dims& dims) {
      const uint32_t index = tensor(dims);
      EXPECT_NN_OK(cell_.setOperandValue(static_cast<int32_t>(index), nullptr, 0));
      return index;
    };
    const client::Dims matrix = {kUnits, kUnits};
    const client::Dims row = {1, kUnits};
    client::Indexes inputs = {tensor(row), omitted(matrix)};
    for (int i = 0; i < 3; ++i) inputs.push_back(constant(matrix, 0.5F));
    inputs.push_back(omitted(matrix));
    for (int i = 0; i < 3; ++i) inputs.push_back(constant(matrix, 0.25F));
    for (int i = 0; i < 4; ++i) inputs.push_back(omitted({kUnits}));
    for (int i = 0; i < 3; ++i) inputs.push_back(constant({kUnits}, 0.1F));
    inputs.push_back(omitted(matrix));
    inputs.push_back(omitted({kUnits}));
    const uint32_t states[] = {tensor(row), tensor(row)};
    inputs.insert(inputs.end(), std::begin(states), std::end(states));
    const int32_t tanh = 4;
    EXPECT_NN_OK(cell_.addOperand(ANEURALNETWORKS_INT32));
    EXPECT_NN_OK(cell_.setOperandValue(static_cast<int32_t>(operands_), &tanh, sizeof tanh));
    inputs.push_back(operands_++);
    for (int i = 0; i < 2; ++i) {
      const float noClip = 0;
      EXPECT_NN_OK(cell_.addOperand(ANEURALNETWORKS_FLOAT32));
      EXPECT_NN_OK(cell_.setOperandValue(static_cast<int32_t>(operands_), &noClip, sizeof noClip));
      inputs.push_back(operands_++);
    }
    const client::Indexes outputs = {tensor({1, 3 * kUnits}), tensor(row), tensor(row),
                                     tensor(row)};
    EXPECT_NN_OK(cell_.addOperation(ANEURALNETWORKS_LSTM, inputs, outputs));
    EXPECT_NN_OK(cell_.identifyInputsAndOutputs({inputs[0], states[0], states[1]}, outputs));
    EXPECT_NN_OK(cell_.finish());
  }

  static client::Compilation compile(const client::Model& model, const std::string& device) {
    return compileFor(model.get(), deviceNamed(device));
  }
  static Json partitionOf(const client::Compilation& compilation) {
    std::string text;
    EXPECT_NN_OK(compilation.report(text));
    return Json::parse(text, nullptr, false)["partitions"][0];
  }
  struct Role {
    const client::Compilation& compilation;
    bool isInput;
    uint32_t index;
  };
  static client::Memory memoryFor(const std::vector<Role>& roles) {
    client::MemoryDesc desc;
    EXPECT_NN_OK(desc.create());
    for (const Role& role : roles) {
      EXPECT_NN_OK(role.isInput ? desc.addInputRole(role.compilation.get(), role.index, 1)
                                : desc.addOutputRole(role.compilation.get(), role.index, 1));
    }
    EXPECT_NN_OK(desc.finish());
    client::Memory memory;
    EXPECT_NN_OK(memory.createFromDesc(desc.get()));
    return memory;
  }
  // Shared memory of the application.
  class Shared {
   public:
    explicit Shared(float value) {
      auto* const data = reinterpret_cast<float*>(memory_->mapped().value()->data());
      std::fill_n(data, kUnits, value);
    }
    client::Memory api() const {
      client::Memory result;
      EXPECT_NN_OK(result.createFromFd(kBytes, PROT_READ | PROT_WRITE, memory_->fd(), 0));
      return result;
    }
    std::vector<float> values() const {
      const auto* const data = reinterpret_cast<const float*>(memory_->mapped().value()->data());
      return {data, data + kUnits};
    }

   private:
    const SharedMemoryPtr memory_ = SharedMemory::create(kBytes, "test").value();
  };

  // The output after some steps, with all values in the application's memory.
  std::vector<float> expected() {
    const auto compilation = compile(cell_, kCpuDevice);
    return runWithPointers(compilation);
  }
  static std::vector<float> runWithPointers(const client::Compilation& compilation) {
    std::vector<float> input(kUnits, 0.5F);
    std::vector<float> scratch(3 * kUnits);
    std::array<std::vector<float>, 2> outputState = {std::vector<float>(kUnits),
                                                     std::vector<float>(kUnits)};
    std::array<std::vector<float>, 2> cellState = outputState;
    std::vector<float> output(kUnits);
    for (int step = 0; step < kSteps; ++step) {
      const auto execution = newExecution(compilation.get());
      const size_t from = step % 2;
      EXPECT_NN_OK(execution.setInput(kInput, nullptr, input.data(), kBytes));
      EXPECT_NN_OK(execution.setInput(kOutputStateIn, nullptr, outputState[from].data(), kBytes));
      EXPECT_NN_OK(execution.setInput(kCellStateIn, nullptr, cellState[from].data(), kBytes));
      EXPECT_NN_OK(execution.setOutput(kScratch, nullptr, scratch.data(), 3 * kBytes));
      EXPECT_NN_OK(
          execution.setOutput(kOutputState, nullptr, outputState[1 - from].data(), kBytes));
      EXPECT_NN_OK(execution.setOutput(kCellState, nullptr, cellState[1 - from].data(), kBytes));
      EXPECT_NN_OK(execution.setOutput(kOutput, nullptr, output.data(), kBytes));
      EXPECT_NN_OK(execution.compute());
    }
    return output;
  }

  // All values in the memory of descriptors. `isReusable`: with one execution for each direction.
  std::vector<float> runWithBuffers(const client::Compilation& compilation, bool isReusable) {
    const client::Memory input = memoryFor({{compilation, true, kInput}});
    const client::Memory scratch = memoryFor({{compilation, false, kScratch}});
    const client::Memory output = memoryFor({{compilation, false, kOutput}});
    std::array<client::Memory, 2> outputState;
    std::array<client::Memory, 2> cellState;
    for (size_t i = 0; i < 2; ++i) {
      outputState[i] =
          memoryFor({{compilation, true, kOutputStateIn}, {compilation, false, kOutputState}});
      cellState[i] =
          memoryFor({{compilation, true, kCellStateIn}, {compilation, false, kCellState}});
    }
    EXPECT_NN_OK(ANeuralNetworksMemory_copy(Shared(0.5F).api().get(), input.get()));
    EXPECT_NN_OK(ANeuralNetworksMemory_copy(Shared(0).api().get(), outputState[0].get()));
    EXPECT_NN_OK(ANeuralNetworksMemory_copy(Shared(0).api().get(), cellState[0].get()));
    std::array<client::Execution, 2> executions;
    for (int step = 0; step < kSteps; ++step) {
      const size_t from = step % 2;
      client::Execution& execution = executions[from];
      if (!isReusable || step < 2) {
        execution = newExecution(compilation.get());
        EXPECT_NN_OK(execution.setReusable(isReusable));
        const auto in = [&](int index, const client::Memory& memory) {
          EXPECT_NN_OK(execution.setInputFromMemory(index, nullptr, memory.get(), 0, 0));
        };
        const auto out = [&](int index, const client::Memory& memory) {
          EXPECT_NN_OK(execution.setOutputFromMemory(index, nullptr, memory.get(), 0, 0));
        };
        in(kInput, input);
        in(kOutputStateIn, outputState[from]);
        in(kCellStateIn, cellState[from]);
        out(kScratch, scratch);
        out(kOutputState, outputState[1 - from]);
        out(kCellState, cellState[1 - from]);
        out(kOutput, output);
      }
      EXPECT_NN_OK(execution.compute());
    }
    const Shared seen(0);
    EXPECT_NN_OK(ANeuralNetworksMemory_copy(output.get(), seen.api().get()));
    return seen.values();
  }

  static ::halyard::testing::Manifests* manifests_;
  client::Model cell_;
  // The model refers to them: it copies no value of more than 128 bytes.
  std::deque<std::vector<float>> constants_;
  uint32_t operands_ = 0;
};
::halyard::testing::Manifests* DeviceMemoryApi::manifests_ = nullptr;

// Three inputs and four outputs, one of them of three rows.
constexpr uint64_t kArguments = 9 * kBytes;

TEST_F(DeviceMemoryApi, AnLstmWithItsStateInBuffersCopiesNothing) {
  const std::vector<float> right = expected();
  for (const bool isReusable : {false, true}) {
    SCOPED_TRACE(isReusable);
    const auto compilation = compile(cell_, "test-own");
    EXPECT_EQ(runWithBuffers(compilation, isReusable), right);
    const Json partition = partitionOf(compilation);
    EXPECT_EQ(partition["executions"], kSteps);
    EXPECT_EQ(partition["copied_bytes_mean"], 0) << partition.dump(1);
  }
}

TEST_F(DeviceMemoryApi, WithPointersEachStepCopiesItTwice) {
  const auto compilation = compile(cell_, "test-own");
  EXPECT_EQ(runWithPointers(compilation), expected());
  const Json partition = partitionOf(compilation);
  // Into shared memory and back. The import copies small inputs, and the driver copies everything.
  EXPECT_EQ(partition["copied_bytes_last"], 2 * kArguments + 3 * kBytes) << partition.dump(1);
  EXPECT_EQ(partition["copied_bytes_mean"], partition["copied_bytes_last"]);
}

// A driver that uses memory of the host in place has only the copies on the way.
TEST_F(DeviceMemoryApi, ImportedMemoryIsNotCopiedByTheDriver) {
  const auto compilation = compile(cell_, "test-importing");
  EXPECT_EQ(runWithPointers(compilation), expected());
  // Small inputs are private memory of the driver's process, which is no pool that it imports.
  EXPECT_EQ(partitionOf(compilation)["copied_bytes_last"], kArguments + 2 * 3 * kBytes);
}

// The output of one model is the input of another.
TEST_F(DeviceMemoryApi, AChainOfTwoModelsCopiesNothing) {
  client::Model head = newModel();
  EXPECT_NN_OK(head.addOperand(ANEURALNETWORKS_TENSOR_FLOAT32, {1, kUnits}));
  EXPECT_NN_OK(head.addOperand(ANEURALNETWORKS_TENSOR_FLOAT32, {1, kUnits}));
  EXPECT_NN_OK(head.addOperation(ANEURALNETWORKS_TANH, {0}, {1}));
  EXPECT_NN_OK(head.identifyInputsAndOutputs({0}, {1}));
  EXPECT_NN_OK(head.finish());
  const auto first = compile(head, "test-own");
  const auto second = compile(head, "test-own");
  const client::Memory in = memoryFor({{first, true, 0}});
  const client::Memory between = memoryFor({{first, false, 0}, {second, true, 0}});
  const client::Memory out = memoryFor({{second, false, 0}});
  const auto run = [](const client::Compilation& compilation, const client::Memory& from,
                      const client::Memory& to) {
    const auto execution = newExecution(compilation.get());
    EXPECT_NN_OK(execution.setInputFromMemory(0, nullptr, from.get(), 0, 0));
    EXPECT_NN_OK(execution.setOutputFromMemory(0, nullptr, to.get(), 0, 0));
    return execution.compute();
  };
  EXPECT_NE(run(second, between, out), ANEURALNETWORKS_NO_ERROR) << "it has no contents yet";
  for (const float value : {0.25F, -0.75F}) {
    EXPECT_NN_OK(ANeuralNetworksMemory_copy(Shared(value).api().get(), in.get()));
    EXPECT_NN_OK(run(first, in, between));
    EXPECT_NN_OK(run(second, between, out));
    const Shared seen(0);
    EXPECT_NN_OK(ANeuralNetworksMemory_copy(out.get(), seen.api().get()));
    EXPECT_NEAR(seen.values()[0], std::tanh(std::tanh(value)), 1e-5);
  }
  for (const auto* compilation : {&first, &second}) {
    const Json partition = partitionOf(*compilation);
    EXPECT_EQ(partition["executions"], 2);
    EXPECT_EQ(partition["copied_bytes_mean"], 0);
  }
}

// out = relu6(in) + tanh(relu(in)), where a driver takes everything but TANH.
class SkipConnection : public DeviceMemoryApi {
 protected:
  static constexpr uint32_t kCount = 1 << 20;
  static constexpr uint32_t kSize = kCount * sizeof(float);

  void SetUp() override {
    model_ = newModel();
    for (int i = 0; i < 5; ++i) {
      EXPECT_NN_OK(model_.addOperand(ANEURALNETWORKS_TENSOR_FLOAT32, {kCount}));
    }
    const int32_t noActivation = 0;
    EXPECT_NN_OK(model_.addOperand(ANEURALNETWORKS_INT32));
    EXPECT_NN_OK(model_.setOperandValue(5, &noActivation, sizeof noActivation));
    EXPECT_NN_OK(model_.addOperation(ANEURALNETWORKS_RELU, {0}, {1}));
    EXPECT_NN_OK(model_.addOperation(ANEURALNETWORKS_RELU6, {0}, {2}));
    EXPECT_NN_OK(model_.addOperation(ANEURALNETWORKS_TANH, {1}, {3}));
    EXPECT_NN_OK(model_.addOperation(ANEURALNETWORKS_ADD, {2, 3, 5}, {4}));
    EXPECT_NN_OK(model_.identifyInputsAndOutputs({0}, {4}));
    EXPECT_NN_OK(model_.finish());
  }
  // Compiles, and runs it.
  void run(const char* driver, int times) {
    ::setenv("HALYARD_LOG", "quiet", 1);
    const ANeuralNetworksDevice* const devices[] = {deviceNamed(driver), deviceNamed(kCpuDevice)};
    EXPECT_NN_OK(compilation_.createForDevices(model_.get(), devices));
    EXPECT_NN_OK(compilation_.finish());
    std::vector<float> in(kCount);
    for (uint32_t i = 0; i < kCount; ++i) in[i] = 0.001F * static_cast<float>(i % 5000) - 1;
    for (int i = 0; i < times; ++i) {
      std::vector<float> out(kCount);
      const auto execution = newExecution(compilation_.get());
      EXPECT_NN_OK(execution.setInput(0, nullptr, in.data(), kSize));
      EXPECT_NN_OK(execution.setOutput(0, nullptr, out.data(), kSize));
      EXPECT_NN_OK(execution.compute());
      for (const uint32_t at : {0u, 1500u, 4999u, kCount - 1}) {
        const float relu = std::max(in[at], 0.0F);
        EXPECT_NEAR(out[at], std::min(relu, 6.0F) + std::tanh(relu), 1e-5) << at;
      }
    }
  }
  Json report() const {
    std::string text;
    EXPECT_NN_OK(compilation_.report(text));
    return Json::parse(text, nullptr, false);
  }

  client::Model model_;
  client::Compilation compilation_;
};

TEST_F(SkipConnection, AValueBetweenTwoPartsOfADeviceStaysThere) {
  run("test-skip", 3);
  const Json partitions = report()["partitions"];
  ASSERT_EQ(partitions.size(), 3u) << partitions.dump(1);
  // The input on its way and into the device, and the value for the CPU device back.
  EXPECT_EQ(partitions[0]["copied_bytes_last"], 3 * kSize);
  EXPECT_EQ(partitions[1]["copied_bytes_last"], 0);
  EXPECT_EQ(partitions[2]["copied_bytes_last"], 3 * kSize);
}

// The value dies with the driver. The CPU device computes the whole model then.
TEST_F(SkipConnection, ADriverThatDiesTakesItsValuesWithIt) {
  ::setenv("HALYARD_LOG", "quiet", 1);
  EXPECT_NN_OK(compilation_.create(model_.get()));
  EXPECT_NN_OK(compilation_.finish());
  ASSERT_EQ(report()["partitions"][2]["device"], "test-dying");
  std::vector<float> values(kCount, 0.5F);
  std::vector<float> out(kCount);
  const auto execution = newExecution(compilation_.get());
  EXPECT_NN_OK(execution.setInput(0, nullptr, values.data(), kSize));
  EXPECT_NN_OK(execution.setOutput(0, nullptr, out.data(), kSize));
  EXPECT_NN_OK(execution.compute());
  EXPECT_NEAR(out[0], 0.5 + std::tanh(0.5), 1e-5);
  const Json events = report()["events"];
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.back()["kind"], "CPU_FALLBACK") << events.dump(1);
}

// Each operation has a reason of the driver that refuses it.
TEST_F(DeviceMemoryApi, ReasonsOfADriverAreInTheReport) {
  client::Model model = newModel();
  for (int i = 0; i < 3; ++i) {
    EXPECT_NN_OK(model.addOperand(ANEURALNETWORKS_TENSOR_FLOAT32, {1024, 1024}));
  }
  EXPECT_NN_OK(model.addOperation(ANEURALNETWORKS_RELU, {0}, {1}));
  EXPECT_NN_OK(model.addOperation(ANEURALNETWORKS_TANH, {1}, {2}));
  EXPECT_NN_OK(model.identifyInputsAndOutputs({0}, {2}));
  EXPECT_NN_OK(model.finish());
  const ANeuralNetworksDevice* const devices[] = {deviceNamed("test-relu"),
                                                  deviceNamed(kCpuDevice)};
  client::Compilation compilation;
  EXPECT_NN_OK(compilation.createForDevices(model.get(), devices));
  EXPECT_NN_OK(compilation.finish());
  std::string text;
  EXPECT_NN_OK(compilation.report(text));
  const Json report = Json::parse(text);
  for (const Json& operation : report["operations"]) {
    for (const Json& other : operation["others"]) {
      EXPECT_NE(other["reason"], "") << operation.dump(1);
    }
  }
  EXPECT_EQ(report["operations"][1]["others"][0]["reason"], "its personality does not allow TANH");
}

}  // namespace
}  // namespace halyard::api::testing
