// Pooling, reductions, concatenation, resizing and selection against the reference kernels.
#include "kernels/kernel_for_test.h"
#include "ops/testing/random_window.h"

namespace halyard::cpudriver::testing {
namespace {

using namespace ops::testing;
using enum OperandType;

constexpr OperandType kMovedTypes[] = {TENSOR_FLOAT32, TENSOR_QUANT8_ASYMM,
                                       TENSOR_QUANT8_ASYMM_SIGNED};

TEST(PoolKernel, IsTheReferenceInAllForms) {
  RandomOperands random(51);
  for (int round = 0; round < 60; ++round) {
    for (const OperandType type : kMovedTypes) {
      for (const OperationType operation :
           {OperationType::AVERAGE_POOL_2D, OperationType::MAX_POOL_2D}) {
        TestWindow window = randomWindow(random, /*mayDilate=*/false);
        window.nchw = false;
        const auto depth = static_cast<uint32_t>(random.oneOf({1, 3, 16, 70, 300}));
        const auto size = [](int n) { return static_cast<uint32_t>(n); };
        KernelCase test;
        test.operation = operation;
        test.inputs = {
            random.tensor(type, {random.oneOf<uint32_t>({1, 2}), size(window.height.input),
                                 size(window.width.input), depth})};
        window.appendPaddingAndStrides(test.inputs);
        test.inputs.push_back(TestOperand::int32(window.width.filter));
        test.inputs.push_back(TestOperand::int32(window.height.filter));
        test.inputs.push_back(TestOperand::int32(random.between(0, 3)));
        window.dilationsGiven = false;
        window.appendLayoutAndDilations(test.inputs);
        const ops::Tensor& input = test.inputs[0].tensor;
        test.outputs = {TestOperand::output(type, input.scale, input.zeroPoint)};
        test.slack = 1e-6;
        const bool isLeft = operation == OperationType::MAX_POOL_2D && type != TENSOR_FLOAT32;
        checkKernel(std::move(test), isLeft ? 0 : 3,
                    fmt::format("operation {} of {}, {} channels, {}", static_cast<int>(operation),
                                operandTypeName(type), depth, window.text()));
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(ReduceKernel, IsTheReferenceWhereOneRunOfDimensionsIsReduced) {
  RandomOperands random(52);
  const std::pair<Shape, std::vector<int32_t>> cases[] = {
      {{2, 7, 7, 70}, {1, 2}}, {{1, 7, 7, 1280}, {1, 2}},
      {{4, 5, 300}, {2}},      {{4, 5, 300}, {-1}},
      {{1000}, {0}},           {{3, 4, 5, 6}, {0, 1, 2, 3}},
      {{600, 3}, {1}},         {{5, 1, 6}, {1, 2}},
      {{25, 5, 64}, {2}}};
  for (const auto& [shape, axes] : cases) {
    for (const OperationType operation : {OperationType::MEAN, OperationType::REDUCE_MAX,
                                          OperationType::REDUCE_MIN, OperationType::REDUCE_SUM}) {
      for (const OperandType type : kMovedTypes) {
        const bool isMean = operation == OperationType::MEAN;
        if (type != TENSOR_FLOAT32 && !isMean) continue;
        KernelCase test;
        test.operation = operation;
        test.inputs = {
            random.tensor(type, shape),
            TestOperand::of<int32_t>(TENSOR_INT32, {static_cast<uint32_t>(axes.size())}, axes),
            isMean ? TestOperand::int32(1) : TestOperand::boolean(true)};
        const ops::Tensor& input = test.inputs[0].tensor;
        test.outputs = {TestOperand::output(type, input.scale, input.zeroPoint)};
        test.slack = 1e-6;
        checkKernel(std::move(test), 3,
                    fmt::format("operation {} of {} {}", static_cast<int>(operation),
                                operandTypeName(type), shapeText(shape)));
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(ConcatenationKernel, IsTheReferenceForAllAxes) {
  RandomOperands random(53);
  for (const OperandType type : kMovedTypes) {
    for (int axis = 0; axis < 4; ++axis) {
      for (const bool isSame : {false, true}) {
        KernelCase test;
        test.operation = OperationType::CONCATENATION;
        for (const uint32_t extent : {1u, 5u, 70u}) {
          Shape shape = {2, 3, 4, 5};
          shape[static_cast<size_t>(axis)] = extent;
          test.inputs.push_back(random.tensor(type, shape));
          if (isSame) {
            test.inputs.back().tensor.scale = test.inputs[0].tensor.scale;
            test.inputs.back().tensor.zeroPoint = test.inputs[0].tensor.zeroPoint;
          }
        }
        test.variables = 3;
        test.inputs.push_back(TestOperand::int32(axis));
        const ops::Tensor& first = test.inputs[0].tensor;
        test.outputs = {isSame ? TestOperand::output(type, first.scale, first.zeroPoint)
                               : random.output(type, 3)};
        checkKernel(std::move(test), 3, fmt::format("{}, axis {}", operandTypeName(type), axis));
        if (HasFatalFailure()) return;
      }
    }
  }
}

using Size = std::pair<uint32_t, uint32_t>;  // height, width

KernelCase resizing(RandomOperands& random, OperationType operation, OperandType type,
                    uint32_t channels, Size from, Size to, bool align, bool half) {
  KernelCase test;
  test.operation = operation;
  test.inputs = {random.tensor(type, {2, from.first, from.second, channels}),
                 TestOperand::int32(static_cast<int32_t>(to.second)),
                 TestOperand::int32(static_cast<int32_t>(to.first)),
                 TestOperand::boolean(false),
                 TestOperand::boolean(align),
                 TestOperand::boolean(half)};
  const ops::Tensor& image = test.inputs[0].tensor;
  test.outputs = {TestOperand::output(type, image.scale, image.zeroPoint)};
  test.slack = 1e-6;
  return test;
}

TEST(ResizeKernel, IsTheReferenceInAllModes) {
  RandomOperands random(54);
  const std::pair<Size, Size> sizes[] = {{{5, 7}, {13, 20}}, {{33, 33}, {257, 257}},
                                         {{1, 1}, {9, 9}},   {{8, 8}, {8, 8}},
                                         {{9, 9}, {5, 5}},   {{2, 4}, {3, 1500}}};
  for (const auto& [from, to] : sizes) {
    for (const uint32_t channels : {1u, 3u, 21u, 64u}) {
      for (const auto& [align, half] : {std::pair{false, false}, {true, false}, {false, true}}) {
        for (const OperandType type : kMovedTypes) {
          // The largest takes long.
          if (type != TENSOR_FLOAT32 && to.first == 257 && channels != 21) continue;
          checkKernel(resizing(random, OperationType::RESIZE_BILINEAR, type, channels, from, to,
                               align, half),
                      3,
                      fmt::format("{}, {} x {} to {} x {}, {} channels, align {}, half {}",
                                  operandTypeName(type), from.first, from.second, to.first,
                                  to.second, channels, align, half));
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(ResizeKernel, IsTheReferenceInBytesOfRandomSizes) {
  RandomOperands random(55);
  const auto size = [&](int most) { return static_cast<uint32_t>(random.between(1, most)); };
  for (int round = 0; round < 200; ++round) {
    const uint32_t channels = random.oneOf<uint32_t>({1, 2, 3, 4, 16, 37, 1500});
    const int most = channels == 1500 ? 6 : 40;
    const Size from = {size(most), size(most)};
    const Size to = {size(most), size(most)};
    const bool align = random.coin();
    const bool half = !align && random.coin();
    const OperandType type = random.coin() ? TENSOR_QUANT8_ASYMM : TENSOR_QUANT8_ASYMM_SIGNED;
    checkKernel(
        resizing(random, OperationType::RESIZE_BILINEAR, type, channels, from, to, align, half), 3,
        fmt::format("{}, {} x {} to {} x {}, {} channels, align {}, half {}", operandTypeName(type),
                    from.first, from.second, to.first, to.second, channels, align, half));
    if (HasFatalFailure()) return;
  }
}

bool isLeftToTheReference(KernelCase test) {
  if (!ops::testing::runOperation(test.operation, test.inputs, test.outputs).ok()) return false;
  std::vector<ops::Tensor> inputs;
  for (TestOperand& input : test.inputs) {
    inputs.push_back(input.tensor);
    if (inputs.size() > 1) inputs.back().data = input.bytes.data();
  }
  const std::vector<ops::Tensor> outputs = {test.outputs[0].tensor};
  return makeKernel(*ops::definitionOf(test.operation), {inputs, outputs}) == nullptr;
}

// Its tables, or the memory that each thread keeps, would be large. The reference kernel has
// neither.
TEST(ResizeKernel, LeavesHugeImagesToTheReference) {
  RandomOperands random(56);
  const auto isLeft = [&](OperandType type, uint32_t channels, Size from, Size to) {
    return isLeftToTheReference(
        resizing(random, OperationType::RESIZE_BILINEAR, type, channels, from, to, false, false));
  };
  for (const OperandType type : kMovedTypes) {
    SCOPED_TRACE(operandTypeName(type));
    EXPECT_TRUE(isLeft(type, 1, {1, 2}, {1, 40000}));
    EXPECT_TRUE(isLeft(type, 140000, {1, 2}, {1, 3}));
    EXPECT_FALSE(isLeft(type, 50000, {1, 2}, {1, 3}));
  }
}

TEST(TopkKernel, IsTheReferenceForAllCountsAndTies) {
  RandomOperands random(57);
  constexpr OperandType kAllTypes[] = {TENSOR_FLOAT32, TENSOR_INT32, TENSOR_QUANT8_ASYMM,
                                       TENSOR_QUANT8_ASYMM_SIGNED};
  for (int round = 0; round < 100; ++round) {
    const auto length = static_cast<uint32_t>(random.oneOf({1, 5, 63, 64, 65, 400, 3000}));
    const int k = random.coin() ? random.between(1, static_cast<int>(std::min(length, 8u)))
                                : random.between(1, static_cast<int>(length));
    for (const OperandType type : kAllTypes) {
      KernelCase test;
      test.operation = OperationType::TOPK_V2;
      const Shape shape = {2, 3, length};
      std::vector<int32_t> integers(size_t{6} * length);
      for (int32_t& value : integers) value = random.between(-1000, 1000);
      test.inputs = {type == TENSOR_INT32 ? TestOperand::of<int32_t>(type, shape, integers)
                                          : random.tensor(type, shape),
                     TestOperand::int32(k)};
      std::vector<uint8_t>& bytes = test.inputs[0].bytes;
      const size_t size = elementSize(type);
      const int kind = random.between(0, 3);
      for (size_t i = 0; i + size <= bytes.size(); i += size) {
        if (kind == 1 && random.coin()) std::fill_n(&bytes[i], size, uint8_t{0});
        // Of floats, these are NaN.
        if (kind == 2 && random.coin()) std::fill_n(&bytes[i], size, uint8_t{255});
        if (kind == 3) std::fill_n(&bytes[i], size, uint8_t{255});
      }
      const ops::Tensor& input = test.inputs[0].tensor;
      test.outputs = {TestOperand::output(type, input.scale, input.zeroPoint),
                      TestOperand::output(TENSOR_INT32)};
      checkKernel(std::move(test), 3,
                  fmt::format("{}, {} of {}, kind {}", operandTypeName(type), k, length, kind));
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace halyard::cpudriver::testing
