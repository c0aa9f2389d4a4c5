// Code shared by the tests of convolutions.
// Thread safety: none needed.
// Ownership: values.
#pragma once

#include <string>
#include <vector>

#include "ops/random_for_test.h"
#include "ops/testing/plain_convolution.h"

namespace halyard::ops::testing {

struct ConvTypeCase {
  OperandType type;
  bool perChannel;

  std::string text() const { return operandTypeName(type) + (perChannel ? " per channel" : ""); }
};
inline constexpr ConvTypeCase kConvTypes[] = {{OperandType::TENSOR_FLOAT32, false},
                                              {OperandType::TENSOR_FLOAT16, false},
                                              {OperandType::TENSOR_QUANT8_ASYMM, false},
                                              {OperandType::TENSOR_QUANT8_ASYMM, true},
                                              {OperandType::TENSOR_QUANT8_ASYMM_SIGNED, false},
                                              {OperandType::TENSOR_QUANT8_ASYMM_SIGNED, true}};

inline double largest(const std::vector<double>& values) {
  double result = 0.01;
  for (double value : values) result = std::max(result, std::abs(value));
  return result;
}

// Runs the operation on the NHWC image and compares the result with `expected`, which holds real
// values before the activation in that order. `rest` are the inputs after the image. `slack` as for
// expectReals.
inline void checkImageOperation(RandomOperands& random, OperationType operation, bool nchw,
                                const TestOperand& image, const std::vector<TestOperand>& rest,
                                std::vector<double> expected, const Shape& nhwc, FuseCode code,
                                const std::string& what, double slack) {
  std::vector<TestOperand> inputs = {nchw ? toNchw(image) : image};
  inputs.insert(inputs.end(), rest.begin(), rest.end());
  std::vector<TestOperand> outputs = {random.output(image.tensor.type, largest(expected))};
  const Status status = runOperation(operation, inputs, outputs);
  ASSERT_TRUE(status.ok()) << status.toString() << "\n" << what;
  for (double& value : expected) value = activated(value, code);
  if (nchw) {
    EXPECT_EQ(outputs[0].tensor.dims, (Shape{nhwc[0], nhwc[3], nhwc[1], nhwc[2]})) << what;
    expected = permuted(expected, nhwc, false);
  } else {
    EXPECT_EQ(outputs[0].tensor.dims, nhwc) << what;
  }
  expectReals(outputs[0], expected, what, slack);
}

}  // namespace halyard::ops::testing
