// LSTM models.
#include "workloads/model_maker.h"
#include "workloads/workloads.h"

namespace halyard::workloads {
namespace {

constexpr int32_t kTanh = 4;
constexpr size_t kGates = 4;

// One layer: [1, time, depth] to [1, time, units], without peepholes, projection and normalisation.
uint32_t sequenceLstm(ModelMaker& maker, const Kind& kind, uint32_t x, uint32_t units) {
  const Shape in = maker.dims(x);
  std::vector<uint32_t> inputs = {x};
  const auto append = [&](size_t count, auto make) {
    for (size_t i = 0; i < count; ++i) inputs.push_back(make());
  };
  const auto nothing = [&] { return maker.omitted(kind.type); };
  append(kGates, [&] { return maker.randomConstant(kind, {units, in[2]}, 0.05f); });
  append(kGates, [&] { return maker.randomConstant(kind, {units, units}, 0.05f); });
  append(3, nothing);  // peepholes
  append(kGates, [&] { return maker.randomConstant(kind, {units}, 0.5f); });
  append(2, nothing);  // projection and its bias
  append(2, [&] { return maker.randomConstant(kind, {1, units}, 0.0f); });
  inputs.push_back(maker.int32(kTanh));
  // No limits of the cell state and the projection.
  append(2, [&] { return maker.real(kind.type, 0); });
  inputs.push_back(maker.boolean(false));  // not time-major
  append(kGates, nothing);                 // layer normalisation
  return maker.result(OperationType::UNIDIRECTIONAL_SEQUENCE_LSTM, std::move(inputs), kind,
                      {1, in[1], units});
}

}  // namespace

std::shared_ptr<const Model> acousticLstm(Numbers numbers) {
  constexpr uint32_t kFrames = 20;
  constexpr uint32_t kFeatures = 240;
  constexpr uint32_t kUnits = 512;
  constexpr uint32_t kPhones = 42;
  constexpr int kLayers = 5;
  const Kind kind = {numbers == Numbers::FLOAT16 ? OperandType::TENSOR_FLOAT16
                                                 : OperandType::TENSOR_FLOAT32};
  ModelMaker maker;
  if (numbers == Numbers::RELAXED) maker.relax();
  uint32_t x = maker.input(kind, {1, kFrames, kFeatures});
  for (int i = 0; i < kLayers; ++i) x = sequenceLstm(maker, kind, x, kUnits);
  const uint32_t w = maker.randomConstant(kind, {kPhones, kUnits}, 0.05f);
  const uint32_t bias = maker.randomConstant(kind, {kPhones}, 0.1f);
  maker.makeOutput(maker.result(OperationType::FULLY_CONNECTED, {x, w, bias, maker.int32(0)}, kind,
                                {kFrames, kPhones}));
  return maker.take();
}

std::shared_ptr<const Model> quantizedLstm() {
  constexpr uint32_t kUnits = 256;
  constexpr int kSteps = 10;
  // The operation requires these types and scales.
  const Kind value = {OperandType::TENSOR_QUANT8_ASYMM, 1.0f / 128, 128};
  const Kind state = {OperandType::TENSOR_QUANT16_SYMM, 1.0f / 2048, 0};
  const Kind weight = {OperandType::TENSOR_QUANT8_ASYMM, 0.004f, 128};
  const Kind sum = {OperandType::TENSOR_INT32, weight.scale * value.scale, 0};
  ModelMaker maker;
  const uint32_t x = maker.input(value, {1, kUnits});
  std::vector<uint32_t> inputs = {x};
  for (size_t i = 0; i < 2 * kGates; ++i) {
    inputs.push_back(maker.randomConstant(weight, {kUnits, kUnits}));
  }
  for (size_t i = 0; i < kGates; ++i) {
    inputs.push_back(maker.constant(sum, {kUnits}, std::vector<int32_t>(kUnits)));
  }
  uint32_t cells = maker.constant(state, {1, kUnits}, std::vector<int16_t>(kUnits));
  uint32_t output = maker.constant(value, {1, kUnits}, std::vector<uint8_t>(kUnits, 128));
  for (int i = 0; i < kSteps; ++i) {
    std::vector<uint32_t> step = inputs;
    step.push_back(cells);
    step.push_back(output);
    cells = maker.temporary(state, {1, kUnits});
    output = maker.temporary(value, {1, kUnits});
    maker.operation(OperationType::QUANTIZED_16BIT_LSTM, std::move(step), {cells, output});
  }
  maker.makeOutput(cells);
  maker.makeOutput(output);
  return maker.take();
}

}  // namespace halyard::workloads
