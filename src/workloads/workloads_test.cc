#include "workloads/workloads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>

#include "cpu/cpu_device.h"
#include "model/validation/validation.h"

namespace halyard::workloads {
namespace {

using Bytes = std::vector<uint8_t>;

// The results on the CPU device. Each byte of the inputs is `fill`.
std::vector<Bytes> run(const std::shared_ptr<const Model>& model, uint8_t fill = 0) {
  const auto device = cpu::makeCpuDevice(cpu::cpuDeviceInfo(), 2);
  const auto prepared = device->prepareModel(validated(model).value(), {});
  EXPECT_TRUE(prepared.ok()) << prepared.status().toString();
  if (!prepared.ok()) return {};
  std::vector<Bytes> inputs;
  std::vector<Bytes> outputs;
  hal::Request request;
  const auto add = [&](const std::vector<uint32_t>& indexes, std::vector<Bytes>* memory,
                       std::vector<hal::RequestArgument>* arguments, uint8_t value) {
    memory->reserve(indexes.size());
    for (const uint32_t index : indexes) {
      const Operand& operand = model->main.operands[index];
      Bytes& bytes = memory->emplace_back(*knownByteSize(operand.type, operand.dimensions), value);
      hal::RequestArgument argument;
      argument.kind = hal::RequestArgument::Kind::POINTER;
      argument.pointer = bytes.data();
      argument.length = static_cast<uint32_t>(bytes.size());
      arguments->push_back(argument);
    }
  };
  add(model->main.inputIndexes, &inputs, &request.inputs, fill);
  add(model->main.outputIndexes, &outputs, &request.outputs, 0);
  const hal::ExecutionResult result = (*prepared)->executeSynchronously(request, {});
  EXPECT_TRUE(result.status.ok()) << result.status.toString();
  return outputs;
}

std::vector<float> floatsOf(const Bytes& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

TEST(Workloads, NamesAreUniqueAndFound) {
  std::set<std::string_view> names;
  for (const Workload& workload : referenceWorkloads()) {
    EXPECT_TRUE(names.insert(workload.name).second) << workload.name;
    EXPECT_EQ(findWorkload(workload.name), &workload);
  }
  EXPECT_EQ(findWorkload("none"), nullptr);
}

TEST(Workloads, AllAreModelsThatRun) {
  for (const Workload& workload : referenceWorkloads()) {
    SCOPED_TRACE(workload.name);
    const std::shared_ptr<const Model> model = workload.make();
    const auto level = validateModel(*model);
    ASSERT_TRUE(level.ok()) << level.status().toString();
    const std::vector<Bytes> outputs = run(model);
    ASSERT_FALSE(outputs.empty());
    const Operand& first = model->main.operands[model->main.outputIndexes[0]];
    if (first.type != OperandType::TENSOR_FLOAT32) continue;
    for (const float value : floatsOf(outputs[0])) ASSERT_TRUE(std::isfinite(value));
  }
}

TEST(Workloads, NumbersAreWhatTheFigureSays) {
  for (const Workload& workload : referenceWorkloads()) {
    SCOPED_TRACE(workload.name);
    const std::shared_ptr<const Model> model = workload.make();
    EXPECT_EQ(model->relaxComputationFloat32toFloat16, workload.figure == Figure::RELAXED);
    const OperandType type = model->main.operands[model->main.operations[0].outputs.back()].type;
    switch (workload.figure) {
      case Figure::FLOAT16:
        EXPECT_EQ(type, OperandType::TENSOR_FLOAT16);
        break;
      case Figure::QUANT8:
      case Figure::QUANT16:
        EXPECT_EQ(type, OperandType::TENSOR_QUANT8_ASYMM);
        break;
      case Figure::QUANT8_SIGNED:
        EXPECT_EQ(type, OperandType::TENSOR_QUANT8_ASYMM_SIGNED);
        break;
      default:
        EXPECT_EQ(type, OperandType::TENSOR_FLOAT32);
    }
  }
}

TEST(Workloads, BranchesAreTaken) {
  const std::vector<float> up = floatsOf(run(branches(), 1)[0]);
  const std::vector<float> down = floatsOf(run(branches(), 0)[0]);
  EXPECT_FLOAT_EQ(up[0], 50);  // plus the tiny float of four bytes of 1
  EXPECT_FLOAT_EQ(down[0], -50);
}

TEST(Workloads, LoopTurns) {
  const std::vector<Bytes> outputs = run(loop());
  int32_t turns = 0;
  std::memcpy(&turns, outputs[0].data(), sizeof turns);
  EXPECT_EQ(turns, 200);
  EXPECT_FLOAT_EQ(floatsOf(outputs[1])[63], 50);
}

}  // namespace
}  // namespace halyard::workloads
