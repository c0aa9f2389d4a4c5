// RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR.
#include <algorithm>

#include "kernels/image_steps.h"
#include "kernels/kernel_list.h"
#include "kernels/product.h"

namespace halyard::vulkandriver {
namespace {

// As in shaders/resize.comp.
constexpr int32_t kAlignCorners = 1;
constexpr int32_t kHalfPixelCenters = 2;
constexpr int32_t kReadsFours = 4;  // in OPTION, beside one of them
constexpr int32_t kStoresFours = 8;
constexpr int32_t kQuick = 16;

// The distance of neighbouring positions of the result in the input.
float ratioOf(size_t input, size_t output, int32_t option) {
  if (option == kAlignCorners && output > 1) {
    return static_cast<float>(input - 1) / static_cast<float>(output - 1);
  }
  return static_cast<float>(input) / static_cast<float>(output);
}

}  // namespace

Status recordResize(const Site& site, Recording& recording) {
  HALYARD_ASSIGN_OR_RETURN(const ElementKind kind, elementKind(site.input(0).type));
  bool nchw = false;
  bool alignCorners = false;
  bool halfPixelCenters = false;
  HALYARD_RETURN_IF_ERROR(site.context.readOptional(3, &nchw));
  HALYARD_RETURN_IF_ERROR(site.context.readOptional(4, &alignCorners));
  HALYARD_RETURN_IF_ERROR(site.context.readOptional(5, &halfPixelCenters));
  ops::ImageDims input;
  ops::ImageDims output;
  HALYARD_RETURN_IF_ERROR(ops::readImageDims("input", site.input(0).dims, nchw, &input));
  HALYARD_RETURN_IF_ERROR(ops::readImageDims("output", site.output(0).dims, nchw, &output));
  const int32_t option = alignCorners ? kAlignCorners : halfPixelCenters ? kHalfPixelCenters : 0;
  ImageSteps in = stepsOf(input, nchw);
  const ImageSteps out = stepsOf(output, nchw);
  const auto sizeOf = [](size_t size) { return static_cast<int32_t>(size); };
  const size_t groups = (output.channels + 3) / 4;
  const size_t items = output.batch * output.height * output.width * groups;
  Place image = site.in(0);
  const size_t pixels = input.batch * input.height * input.width;
  // Four neighbours take little more time to read than one.
  const bool isSmall = pixels * groups <= std::min(items, kMostItems - 1);
  if (in.channel == 1 && isSmall) {
    image = widened({image, kind, pixels, input.channels}, site.input(0), 4, recording);
    ops::ImageDims wide = input;
    wide.channels = groups * 4;
    in = stepsOf(wide, false);
  }
  const bool readsFours = in.channel == 1 && in.width % 4 == 0;
  const bool storesFours = out.channel == 1 && output.channels % 4 == 0;
  std::vector<Parameter> parameters = {image,
                                       site.out(0),
                                       sizeOf(output.height),
                                       sizeOf(output.width),
                                       sizeOf(groups),
                                       in.batch,
                                       in.height,
                                       in.width,
                                       in.channel,
                                       out.batch,
                                       out.height,
                                       out.width,
                                       out.channel,
                                       sizeOf(input.height),
                                       sizeOf(input.width)};
  parameters.push_back(Parameter::real(ratioOf(input.height, output.height, option)));
  parameters.push_back(Parameter::real(ratioOf(input.width, output.width, option)));
  parameters.emplace_back(sizeOf(output.channels));
  const int32_t function = site.type == OperationType::RESIZE_NEAREST_NEIGHBOR ? 1 : 0;
  recording.add({Shader::RESIZE,
                 {function, static_cast<int32_t>(kind), 0,
                  option | (readsFours ? kReadsFours : 0) | (storesFours ? kStoresFours : 0) |
                      (items < kMostItems ? kQuick : 0)},
                 std::move(parameters),
                 static_cast<uint32_t>(items)});
  return okStatus();
}

}  // namespace halyard::vulkandriver
