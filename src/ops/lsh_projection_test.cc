// Tests of LSH_PROJECTION against results of the published hash function, and against its
// definition.
#include <gtest/gtest.h>

#include "model/signature_for_test.h"
#include "ops/farm_hash_fingerprint.h"
#include "ops/naive_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;
using enum OperationType;

constexpr int kSparseDeprecated = 1;
constexpr int kDense = 2;
constexpr int kSparse = 3;

std::vector<TestOperand> operandsFor(const TestOperand& hash, const TestOperand& x, int type,
                                     const TestOperand* weight) {
  return {hash, x, weight != nullptr ? *weight : TestOperand::omitted(hash.tensor.type),
          TestOperand::int32(type)};
}

std::vector<int32_t> project(const TestOperand& hash, const TestOperand& x, int type,
                             const TestOperand* weight = nullptr) {
  std::vector<TestOperand> inputs = operandsFor(hash, x, type, weight);
  std::vector<TestOperand> outputs = {TestOperand::output(TENSOR_INT32)};
  const Status status = runOperation(LSH_PROJECTION, inputs, outputs);
  EXPECT_TRUE(status.ok()) << status.toString();
  if (!status.ok()) return {};
  const std::vector<int32_t> values = outputs[0].values<int32_t>();
  EXPECT_EQ(outputs[0].tensor.dims, (Shape{static_cast<uint32_t>(values.size())}));
  return values;
}

TEST(LshProjection, KnownAnswers) {
  // Calculated in Python with the package pyfarmhash.
  const TestOperand hash = TestOperand::of<float>(
      TENSOR_FLOAT32, {3, 3}, {0.5f, -1.25f, 3.0f, 0.1f, 2.0f, -0.75f, 7, 0.25f, -9});
  const TestOperand x = TestOperand::of<int32_t>(TENSOR_INT32, {3, 2}, {1, -2, 300, 4, 5, -60000});
  const TestOperand weight = TestOperand::of<float>(TENSOR_FLOAT32, {3}, {0.5f, -1.0f, 2.25f});
  EXPECT_EQ(project(hash, x, kDense, &weight), (std::vector<int32_t>{0, 1, 1, 0, 0, 1, 0, 0, 0}));
  EXPECT_EQ(project(hash, x, kSparseDeprecated), (std::vector<int32_t>{5, 5, 0}));
  EXPECT_EQ(project(hash, x, kSparse), (std::vector<int32_t>{5, 13, 16}));
}

double signedFingerprint(float seed, const uint8_t* row, size_t size) {
  std::vector<uint8_t> key(sizeof(seed));
  std::memcpy(key.data(), &seed, sizeof(seed));
  key.insert(key.end(), row, row + size);
  return static_cast<double>(static_cast<int64_t>(fingerprint64(key)));
}

TEST(LshProjection, AgreesWithDefinition) {
  RandomOperands random(271);
  for (int round = 0; round < 10; ++round) {
    for (OperandType hashType : {TENSOR_FLOAT32, TENSOR_FLOAT16}) {
      for (OperandType type : {TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_INT32, TENSOR_QUANT8_ASYMM}) {
        const Shape dims = randomShape(random, 1, 4, 5);
        TestOperand x = random.tensor(TENSOR_QUANT8_ASYMM, dims);
        if (type == TENSOR_INT32) {
          std::vector<int32_t> values(elementsOf(dims));
          for (int32_t& value : values) value = random.between(INT32_MIN, INT32_MAX);
          x = TestOperand::of<int32_t>(type, dims, values);
        } else {
          x = random.tensor(type, dims);
        }
        const size_t functions = static_cast<size_t>(random.between(1, 5));
        const size_t bits = static_cast<size_t>(random.oneOf({1, 5, 31, 32}));
        const TestOperand hash = random.tensor(
            hashType, {static_cast<uint32_t>(functions), static_cast<uint32_t>(bits)});
        const TestOperand weight = random.tensor(hashType, {dims[0]});
        const std::vector<double> seeds = realValues(hash);
        const std::vector<double> weights = realValues(weight);
        const size_t rowBytes = x.bytes.size() / dims[0];
        const auto bitsOf = [&](bool weighted) {
          std::vector<int32_t> result;
          for (double seed : seeds) {
            double sum = 0;
            for (size_t m = 0; m < dims[0]; ++m) {
              sum += (weighted ? weights[m] : 1) *
                     signedFingerprint(static_cast<float>(seed), &x.bytes[m * rowBytes], rowBytes);
            }
            result.push_back(sum > 0 ? 1 : 0);
          }
          return result;
        };
        ASSERT_EQ(project(hash, x, kDense, &weight), bitsOf(true));
        const std::vector<int32_t> plain = bitsOf(false);
        std::vector<int32_t> deprecated;
        std::vector<int32_t> sparse;
        for (uint64_t i = 0; i < functions; ++i) {
          uint64_t signature = 0;
          for (size_t j = 0; j < bits; ++j) {
            signature += static_cast<uint64_t>(plain[i * bits + j]) << (bits - 1 - j);
          }
          deprecated.push_back(static_cast<int32_t>(signature));
          sparse.push_back(static_cast<int32_t>(signature + (i << bits)));
        }
        ASSERT_EQ(project(hash, x, kSparseDeprecated), deprecated);
        ASSERT_EQ(project(hash, x, kSparse), sparse);
      }
    }
  }
}

TEST(LshProjection, Levels) {
  const auto level = [](OperandType hash, OperandType input, int type) {
    return levelNeeded(LSH_PROJECTION, {{hash, 2}, {input, 2}, {hash, 1}, {INT32, 0}},
                       {TENSOR_INT32, 1}, &type);
  };
  EXPECT_EQ(level(TENSOR_FLOAT32, TENSOR_INT32, kSparseDeprecated), 1);
  EXPECT_EQ(level(TENSOR_FLOAT32, TENSOR_QUANT8_ASYMM, kDense), 1);
  EXPECT_EQ(level(TENSOR_FLOAT32, TENSOR_FLOAT32, kSparse), 3);
  EXPECT_EQ(level(TENSOR_FLOAT32, TENSOR_FLOAT16, kDense), 3);
  EXPECT_EQ(level(TENSOR_FLOAT16, TENSOR_INT32, kDense), 3);
  // A weight that is omitted may be declared with any dimensions.
  EXPECT_EQ(levelNeeded(LSH_PROJECTION,
                        {{TENSOR_FLOAT32, 2}, {TENSOR_INT32, 2}, {TENSOR_FLOAT32, 2}, {INT32, 0}},
                        {TENSOR_INT32, 1}),
            1);
}

TEST(LshProjection, Refuses) {
  RandomOperands random(272);
  const TestOperand hash = random.tensor(TENSOR_FLOAT32, {2, 3});
  const TestOperand x = random.tensor(TENSOR_FLOAT32, {4, 2});
  const TestOperand weight = random.tensor(TENSOR_FLOAT32, {4});
  const auto refuses = [&](const TestOperand& h, const TestOperand& input, int type,
                           const TestOperand* w, const std::string& text) {
    expectFailure(LSH_PROJECTION, operandsFor(h, input, type, w),
                  {TestOperand::output(TENSOR_INT32)}, text);
  };
  refuses(hash, x, 0, nullptr, "projection type is 0, expected 1 (sparse, deprecated), 2 (dense)");
  refuses(hash, x, 4, &weight, "projection type is 4");
  refuses(hash, x, kSparse, &weight,
          "weight is given, expected none with the sparse projection type 3");
  refuses(hash, x, kSparseDeprecated, &weight, "sparse projection type 1");
  refuses(hash, x, kDense, nullptr, "weight is omitted, but a dense projection needs it");
  const TestOperand longer = random.tensor(TENSOR_FLOAT32, {5});
  refuses(hash, x, kDense, &longer, "weight has shape [5], expected [4] as the input is [4,2]");
  const TestOperand matrix = random.tensor(TENSOR_FLOAT32, {4, 1});
  refuses(hash, x, kDense, &matrix, "weight has shape [4,1], expected [4]");
  refuses(random.tensor(TENSOR_FLOAT32, {2, 33}), x, kSparse, nullptr,
          "hash has shape [2,33], expected at most 32 bits");
  refuses(random.tensor(TENSOR_FLOAT32, {2}), x, kSparse, nullptr, "hash has rank 1");
  refuses(hash, TestOperand::of<int32_t>(TENSOR_INT32, {0, 2}, {}), kSparse, nullptr,
          "input is zero-sized [0,2]");
}

}  // namespace
}  // namespace halyard::ops::testing
