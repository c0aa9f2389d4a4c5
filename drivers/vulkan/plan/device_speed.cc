#include "plan/device_speed.h"

#include <algorithm>

#include "plan/model_recording.h"
#include "plan/recording_time.h"

namespace halyard::vulkandriver {
namespace {

// A measured time must be well above that of a submission.
constexpr double kLongEnough = 2e6;
constexpr uint32_t kMostGrowth = 256;
// The share of a submission that one more dispatch takes. Dispatches of a model share one.
constexpr double kDispatchShare = 0.05;

uint32_t add(Model& model, Shape dims, Lifetime lifetime) {
  Operand operand;
  operand.type = OperandType::TENSOR_FLOAT32;
  operand.dimensions = std::move(dims);
  operand.lifetime = lifetime;
  const auto index = static_cast<uint32_t>(model.main.operands.size());
  if (lifetime == Lifetime::SUBGRAPH_INPUT) model.main.inputIndexes.push_back(index);
  if (lifetime == Lifetime::SUBGRAPH_OUTPUT) model.main.outputIndexes.push_back(index);
  model.main.operands.push_back(std::move(operand));
  return index;
}

// The constant 0: no activation.
uint32_t addZero(Model& model) {
  const int32_t zero = 0;
  const uint32_t index = add(model, {}, Lifetime::CONSTANT_COPY);
  model.main.operands[index].type = OperandType::INT32;
  model.main.operands[index].location = appendConstant(model, &zero, sizeof zero);
  return index;
}

// A constant of zeros, which prepared models keep in the device's own arrangement.
uint32_t addConstant(Model& model, Shape dims) {
  const std::vector<float> zeros(knownElementCount(dims).value_or(0));
  const uint32_t index = add(model, std::move(dims), Lifetime::CONSTANT_COPY);
  model.main.operands[index].location =
      appendConstant(model, zeros.data(), zeros.size() * sizeof(float));
  return index;
}

Model sumModel(uint32_t count) {
  Model model;
  const uint32_t in = add(model, {count}, Lifetime::SUBGRAPH_INPUT);
  const uint32_t activation = addZero(model);
  const uint32_t out = add(model, {count}, Lifetime::SUBGRAPH_OUTPUT);
  model.main.operations = {{OperationType::ADD, {in, in, activation}, {out}}};
  return model;
}

constexpr uint32_t kDepth = 64;

Model productModel(uint32_t rows) {
  Model model;
  const uint32_t in = add(model, {rows, kDepth}, Lifetime::SUBGRAPH_INPUT);
  const uint32_t weights = addConstant(model, {kDepth, kDepth});
  const uint32_t bias = addConstant(model, {kDepth});
  const uint32_t activation = addZero(model);
  const uint32_t out = add(model, {rows, kDepth}, Lifetime::SUBGRAPH_OUTPUT);
  model.main.operations = {
      {OperationType::FULLY_CONNECTED, {in, weights, bias, activation}, {out}}};
  return model;
}

Result<double> timeOf(const std::shared_ptr<VulkanDevice>& device, Model model) {
  constexpr int kRounds = 3;
  const auto shared = std::make_shared<const Model>(std::move(model));
  Recording recording(shared->main.operands.size(), device->forms());
  for (const Status& answer : recordModel(*shared, device->mostBytes(), recording)) {
    HALYARD_RETURN_IF_ERROR(Status(answer));
  }
  return bestTime(device, shared, recording, kRounds);
}

// Nanoseconds beyond `idle` for one unit of work. The model grows until its time tells.
template <typename Make>
Result<double> timeOfUnit(const std::shared_ptr<VulkanDevice>& device, double idle,
                          double unitsOfFirst, const Make& make) {
  double unit = 0;
  for (uint32_t growth = 1; growth <= kMostGrowth; growth *= 16) {
    HALYARD_ASSIGN_OR_RETURN(const double time, timeOf(device, make(growth)));
    unit = std::max(time - idle, 1.0) / (unitsOfFirst * growth);
    if (time > kLongEnough + idle) break;
  }
  return unit;
}

double elements(const Operand& operand) {
  return isScalarType(operand.type) ? 1 : knownElementCount(operand.dimensions).value_or(0);
}

double products(const Subgraph& subgraph, const Operation& operation) {
  const auto operand = [&](uint32_t index) -> const Operand& { return subgraph.operands[index]; };
  const double results = elements(operand(operation.outputs.front()));
  const auto weights = [&](size_t i) -> const Shape& {
    return operand(operation.inputs[i]).dimensions;
  };
  switch (operation.type) {
    case OperationType::CONV_2D:
    case OperationType::GROUPED_CONV_2D:
    case OperationType::FULLY_CONNECTED:
      return results * elements(operand(operation.inputs[1])) / weights(1)[0];
    case OperationType::DEPTHWISE_CONV_2D:
      return results * weights(1)[1] * weights(1)[2];
    case OperationType::TRANSPOSE_CONV_2D:
      return elements(operand(operation.inputs[0])) * elements(operand(operation.inputs[1])) /
             weights(1)[3];
    case OperationType::BATCH_MATMUL:
      return results * weights(0).back();
    case OperationType::RNN:
    case OperationType::LSTM:
    case OperationType::QUANTIZED_LSTM:
    case OperationType::QUANTIZED_16BIT_LSTM:
    case OperationType::QUANTIZED_SEQUENCE_LSTM:
    case OperationType::SVDF:
    case OperationType::UNIDIRECTIONAL_SEQUENCE_RNN:
    case OperationType::UNIDIRECTIONAL_SEQUENCE_LSTM:
    case OperationType::BIDIRECTIONAL_SEQUENCE_RNN:
    case OperationType::BIDIRECTIONAL_SEQUENCE_LSTM: {
      double all = 0;
      for (size_t i = 1; i < operation.inputs.size(); ++i) {
        if (weights(i).size() == 2) all += elements(operand(operation.inputs[i]));
      }
      // Each row of the input, of each step and batch, meets all weights.
      return all * elements(operand(operation.inputs[0])) / weights(0).back();
    }
    default:
      return 0;
  }
}

double bytes(const Subgraph& subgraph, std::span<const uint32_t> operands) {
  double all = 0;
  for (const uint32_t i : operands) {
    const Operand& operand = subgraph.operands[i];
    all += knownByteSize(operand.type, operand.dimensions).value_or(0);
  }
  return all;
}

}  // namespace

Result<DeviceSpeed> measureSpeed(const std::shared_ptr<VulkanDevice>& device) {
  constexpr uint32_t kFirstCount = 1 << 14;
  constexpr uint32_t kFirstRows = 16;
  DeviceSpeed speed;
  HALYARD_ASSIGN_OR_RETURN(speed.submission, timeOf(device, sumModel(1)));
  HALYARD_ASSIGN_OR_RETURN(
      speed.byte, timeOfUnit(device, speed.submission, 2.0 * sizeof(float) * kFirstCount,
                             [](uint32_t growth) { return sumModel(kFirstCount * growth); }));
  HALYARD_ASSIGN_OR_RETURN(
      speed.product, timeOfUnit(device, speed.submission, double{kFirstRows} * kDepth * kDepth,
                                [](uint32_t growth) { return productModel(kFirstRows * growth); }));
  return speed;
}

double predictedTime(const Subgraph& subgraph, const Operation& operation,
                     const DeviceSpeed& speed) {
  return kDispatchShare * speed.submission + speed.product * products(subgraph, operation) +
         speed.byte * (bytes(subgraph, operation.inputs) + bytes(subgraph, operation.outputs));
}

}  // namespace halyard::vulkandriver
