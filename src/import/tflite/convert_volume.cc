// Converts convolutions of volumes, [batch, depth, height, width, channels].
#include <algorithm>
#include <array>

#include "import/tflite/converters.h"
#include "import/tflite/movement.h"

namespace halyard::import {
namespace {

using enum OperationType;
using Numbers = std::array<int32_t, 3>;  // of depth, height and width

struct VolumeWindow {
  Numbers strides;
  Numbers dilations;
  bool isSame;
  int32_t activation;
};

Result<VolumeWindow> volumeWindowOf(const Node& node) {
  const auto& options = *node.options<tfl::Conv3DOptions>();
  HALYARD_ASSIGN_OR_RETURN(const int32_t padding, Node::paddingCode(options.padding()));
  HALYARD_ASSIGN_OR_RETURN(const int32_t activation,
                           Node::fuseCode(options.fused_activation_function()));
  VolumeWindow window{
      {options.stride_d(), options.stride_h(), options.stride_w()},
      {options.dilation_d_factor(), options.dilation_h_factor(), options.dilation_w_factor()},
      padding == 1,
      activation};
  for (size_t d = 0; d < 3; ++d) {
    if (window.strides[d] < 1 || window.dilations[d] < 1) {
      return badData("stride {} and dilation {} of axis {}, expected at least 1", window.strides[d],
                     window.dilations[d], d);
    }
  }
  return window;
}

// The depth, height and width of a volume.
using Sizes = std::array<int64_t, 3>;

Result<Sizes> sizesOf(const Node& node, uint32_t operand, std::string_view what) {
  const Shape& dims = node.operand(operand).dimensions;
  if (dims.size() == 5) return Sizes{dims[1], dims[2], dims[3]};
  return badData("{} is {}, expected 5 dimensions", what, shapeText(dims));
}

// Returns the operand of the paddings: none, or as many as `small` windows need in `large`, half of
// them in front.
Result<uint32_t> paddingsOf(Node& node, const VolumeWindow& window, const Shape& filter,
                            const Sizes& large, const Sizes& small) {
  std::vector<int32_t> paddings(6, 0);
  for (size_t d = 0; d < 3 && window.isSame; ++d) {
    const int64_t extent = (int64_t{filter[d]} - 1) * window.dilations[d] + 1;
    const int64_t all =
        std::clamp<int64_t>((small[d] - 1) * window.strides[d] + extent - large[d], 0, INT32_MAX);
    paddings[2 * d] = static_cast<int32_t>(all / 2);
    paddings[2 * d + 1] = static_cast<int32_t>(all - all / 2);
  }
  return node.builder().int32Tensor({3, 2}, paddings);
}

// Returns input i, or zeros.
Result<uint32_t> biasOf(Node& node, size_t i, uint32_t channels) {
  if (node.hasInput(i)) return node.input(i);
  Operand zeros;
  zeros.type = OperandType::TENSOR_FLOAT32;
  zeros.dimensions = {channels};
  return node.builder().addFilledConstant(std::move(zeros), channels * sizeof(float), 0, "no bias");
}

// Returns the operands of a convolution of `x` by the filter of input 1, up to the activation. The
// bias is the input behind them. `outputs`: the filter's dimension of output channels.
Result<OperandIndexes> operandsOf(Node& node, const VolumeWindow& window, uint32_t x, size_t bias,
                                  size_t outputs, const Sizes& large, const Sizes& small) {
  HALYARD_ASSIGN_OR_RETURN(const uint32_t filter, node.input(1));
  HALYARD_RETURN_IF_ERROR(sizesOf(node, filter, "the filter").takeStatus());
  const Shape taps = node.operand(filter).dimensions;
  HALYARD_ASSIGN_OR_RETURN(const uint32_t added, biasOf(node, bias, taps[outputs]));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t paddings, paddingsOf(node, window, taps, large, small));
  OperandIndexes inputs = {x, filter, added, paddings};
  for (const Numbers& numbers : {window.strides, window.dilations}) {
    HALYARD_ASSIGN_OR_RETURN(const uint32_t list, listOf(node, {numbers.begin(), numbers.end()}));
    inputs.push_back(list);
  }
  HALYARD_ASSIGN_OR_RETURN(const uint32_t activation,
                           node.builder().int32Scalar(window.activation));
  inputs.push_back(activation);
  return inputs;
}

Status convertConv3d(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(2, 3, 1));
  HALYARD_ASSIGN_OR_RETURN(const VolumeWindow window, volumeWindowOf(node));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(0));
  HALYARD_ASSIGN_OR_RETURN(const Sizes large, sizesOf(node, x, "the input"));
  Sizes small;
  for (size_t d = 0; d < 3; ++d) {
    small[d] = (large[d] + window.strides[d] - 1) / window.strides[d];
  }
  HALYARD_ASSIGN_OR_RETURN(OperandIndexes inputs, operandsOf(node, window, x, /*bias=*/2,
                                                             /*outputs=*/4, large, small));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  return node.builder().addOperation(CONV_3D, std::move(inputs), {y});
}

// The inputs are the shape of the output, the filter, the volume, and possibly a bias.
Status convertConv3dTranspose(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(3, 4, 1));
  HALYARD_ASSIGN_OR_RETURN(const VolumeWindow window, volumeWindowOf(node));
  HALYARD_ASSIGN_OR_RETURN(const std::vector<int32_t> shape,
                           node.constantInts(0, "the shape of the output", 5));
  if (shape.size() != 5) {
    return badData("the shape of the output has {} numbers, expected 5", shape.size());
  }
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(2));
  HALYARD_ASSIGN_OR_RETURN(const Sizes small, sizesOf(node, x, "the input"));
  const Sizes large = {shape[1], shape[2], shape[3]};
  HALYARD_ASSIGN_OR_RETURN(OperandIndexes inputs, operandsOf(node, window, x, /*bias=*/3,
                                                             /*outputs=*/3, large, small));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t size, listOf(node, {shape[1], shape[2], shape[3]}));
  inputs.push_back(size);
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  return node.builder().addOperation(CONV_3D_TRANSPOSE, std::move(inputs), {y});
}

constexpr Converter kVolumeConverters[] = {
    {tfl::BuiltinOperator::CONV_3D, tfl::BuiltinOptions::Conv3DOptions, OptionsNeed::REQUIRED,
     convertConv3d},
    {tfl::BuiltinOperator::CONV_3D_TRANSPOSE, tfl::BuiltinOptions::Conv3DOptions,
     OptionsNeed::REQUIRED, convertConv3dTranspose},
};

}  // namespace

std::span<const Converter> volumeConverters() { return kVolumeConverters; }

}  // namespace halyard::import
