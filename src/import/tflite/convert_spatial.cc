// Converts operators on images: pooling, resizing.
#include "import/tflite/converters.h"

namespace halyard::import {
namespace {

Status convertPool(Node& node, OperationType type) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(1, 1, 1));
  const auto* options = node.options<tfl::Pool2DOptions>();
  HALYARD_ASSIGN_OR_RETURN(const int32_t padding, Node::paddingCode(options->padding()));
  HALYARD_ASSIGN_OR_RETURN(const int32_t activation,
                           Node::fuseCode(options->fused_activation_function()));
  const int32_t values[] = {padding,
                            options->stride_w(),
                            options->stride_h(),
                            options->filter_width(),
                            options->filter_height(),
                            activation};
  for (size_t i = 1; i < 5; ++i) {
    if (values[i] < 1) {
      return badData("strides {}x{} and window {}x{} (width x height), expected at least 1",
                     values[1], values[2], values[3], values[4]);
    }
  }
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  HALYARD_RETURN_IF_ERROR(node.shareQuantization(y, x));
  OperandIndexes inputs = {x};
  for (int32_t value : values) {
    HALYARD_ASSIGN_OR_RETURN(const uint32_t scalar, node.builder().int32Scalar(value));
    inputs.push_back(scalar);
  }
  return node.builder().addOperation(type, std::move(inputs), {y});
}

Status convertAveragePool2d(Node& node) {
  return convertPool(node, OperationType::AVERAGE_POOL_2D);
}

Status convertMaxPool2d(Node& node) { return convertPool(node, OperationType::MAX_POOL_2D); }

Status convertL2Pool2d(Node& node) { return convertPool(node, OperationType::L2_POOL_2D); }

template <typename Options>
Status convertResize(Node& node, OperationType type, const Options* options) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(2, 2, 1));
  const bool alignCorners = options != nullptr && options->align_corners();
  const bool halfPixelCenters = options != nullptr && options->half_pixel_centers();
  if (alignCorners && halfPixelCenters) {
    return badData("align_corners and half_pixel_centers exclude each other");
  }
  HALYARD_ASSIGN_OR_RETURN(const std::vector<int32_t> size,
                           node.constantInts(1, "the new size", 2));
  if (size.size() != 2 || size[0] < 1 || size[1] < 1) {
    return badData("the new size must be a height and a width, both at least 1");
  }
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  HALYARD_RETURN_IF_ERROR(node.shareQuantization(y, x));
  // NNAPI takes the width before the height.
  HALYARD_ASSIGN_OR_RETURN(const uint32_t width, node.builder().int32Scalar(size[1]));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t height, node.builder().int32Scalar(size[0]));
  OperandIndexes inputs = {x, width, height};
  std::vector<bool> flags;
  // Only the bilinear operation allows a missing layout.
  if (type == OperationType::RESIZE_NEAREST_NEIGHBOR) flags = {/*nchw=*/false};
  if (alignCorners || halfPixelCenters) flags = {/*nchw=*/false, alignCorners, halfPixelCenters};
  for (bool flag : flags) {
    HALYARD_ASSIGN_OR_RETURN(const uint32_t scalar, node.builder().boolScalar(flag));
    inputs.push_back(scalar);
  }
  return node.builder().addOperation(type, std::move(inputs), {y});
}

Status convertResizeBilinear(Node& node) {
  return convertResize(node, OperationType::RESIZE_BILINEAR,
                       node.options<tfl::ResizeBilinearOptions>());
}

Status convertResizeNearestNeighbor(Node& node) {
  return convertResize(node, OperationType::RESIZE_NEAREST_NEIGHBOR,
                       node.options<tfl::ResizeNearestNeighborOptions>());
}

constexpr Converter kSpatialConverters[] = {
    {tfl::BuiltinOperator::AVERAGE_POOL_2D, tfl::BuiltinOptions::Pool2DOptions,
     OptionsNeed::REQUIRED, convertAveragePool2d, kTakesOpenDimensions | kTakesInt16},
    {tfl::BuiltinOperator::MAX_POOL_2D, tfl::BuiltinOptions::Pool2DOptions, OptionsNeed::REQUIRED,
     convertMaxPool2d, kTakesOpenDimensions | kTakesInt16},
    {tfl::BuiltinOperator::L2_POOL_2D, tfl::BuiltinOptions::Pool2DOptions, OptionsNeed::REQUIRED,
     convertL2Pool2d, kTakesOpenDimensions},
    {tfl::BuiltinOperator::RESIZE_BILINEAR, tfl::BuiltinOptions::ResizeBilinearOptions,
     OptionsNeed::OPTIONAL, convertResizeBilinear, kTakesOpenDimensions},
    {tfl::BuiltinOperator::RESIZE_NEAREST_NEIGHBOR,
     tfl::BuiltinOptions::ResizeNearestNeighborOptions, OptionsNeed::OPTIONAL,
     convertResizeNearestNeighbor, kTakesOpenDimensions | kTakesInt16},
};

}  // namespace

std::span<const Converter> spatialConverters() { return kSpatialConverters; }

}  // namespace halyard::import
