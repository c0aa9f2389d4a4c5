// Models that consist mainly of control flow.
#include "workloads/model_maker.h"
#include "workloads/workloads.h"

namespace halyard::workloads {
namespace {

constexpr uint32_t kElements = 64;
constexpr int kBranches = 50;
constexpr int32_t kTurns = 200;

const Kind kFloats = {OperandType::TENSOR_FLOAT32};
const Kind kInts = {OperandType::TENSOR_INT32};
const Kind kFlags = {OperandType::TENSOR_BOOL8};

// x -> x + amount.
ModelMaker shifting(float amount) {
  ModelMaker maker;
  const uint32_t x = maker.input(kFloats, {kElements});
  const uint32_t y = maker.constant(kFloats, {1}, std::vector<float>{amount});
  maker.makeOutput(maker.result(OperationType::ADD, {x, y, maker.int32(0)}, kFloats, {kElements}));
  return maker;
}

// n, x -> n < kTurns.
ModelMaker goesOn() {
  ModelMaker maker;
  const uint32_t n = maker.input(kInts, {1});
  maker.input(kFloats, {kElements});
  const uint32_t bound = maker.constant(kInts, {1}, std::vector<int32_t>{kTurns});
  maker.makeOutput(maker.result(OperationType::LESS, {n, bound}, kFlags, {1}));
  return maker;
}

// n, x -> n + 1, x + 0.25.
ModelMaker turn() {
  ModelMaker maker;
  const uint32_t n = maker.input(kInts, {1});
  const uint32_t x = maker.input(kFloats, {kElements});
  const uint32_t one = maker.constant(kInts, {1}, std::vector<int32_t>{1});
  const uint32_t quarter = maker.constant(kFloats, {1}, std::vector<float>{0.25f});
  maker.makeOutput(maker.result(OperationType::ADD, {n, one, maker.int32(0)}, kInts, {1}));
  maker.makeOutput(
      maker.result(OperationType::ADD, {x, quarter, maker.int32(0)}, kFloats, {kElements}));
  return maker;
}

}  // namespace

std::shared_ptr<const Model> branches() {
  ModelMaker maker;
  const uint32_t condition = maker.input(kFlags, {1});
  uint32_t x = maker.input(kFloats, {kElements});
  const uint32_t yes = maker.reference(shifting(1));
  const uint32_t no = maker.reference(shifting(-1));
  for (int i = 0; i < kBranches; ++i) {
    x = maker.result(OperationType::IF, {condition, yes, no, x}, kFloats, {kElements});
  }
  maker.makeOutput(x);
  return maker.take();
}

std::shared_ptr<const Model> loop() {
  ModelMaker maker;
  const uint32_t n = maker.constant(kInts, {1}, std::vector<int32_t>{0});
  const uint32_t x = maker.input(kFloats, {kElements});
  const uint32_t condition = maker.reference(goesOn());
  const uint32_t body = maker.reference(turn());
  const uint32_t last = maker.temporary(kInts, {1});
  const uint32_t y = maker.temporary(kFloats, {kElements});
  maker.operation(OperationType::WHILE, {condition, body, n, x}, {last, y});
  maker.makeOutput(last);
  maker.makeOutput(y);
  return maker.take();
}

}  // namespace halyard::workloads
