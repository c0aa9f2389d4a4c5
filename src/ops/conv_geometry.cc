// Padding arithmetic of convolutions and pooling.
#include "ops/conv_geometry.h"

#include "ops/operand_checks.h"

namespace halyard::ops {
namespace {

constexpr int32_t kPaddingSame = 1;

struct AxisOptions {
  std::string_view name;        // "width"
  std::string_view beforeName;  // "left"
  std::string_view afterName;   // "right"
  int64_t input;
  int64_t filter;
  int64_t stride;
  int64_t dilation;
  int64_t padBefore;
  int64_t padAfter;
};

Status checkPad(const AxisOptions& options, std::string_view side, int64_t pad, int64_t extent) {
  if (pad < 0) return opFailed("{} padding is {}, expected 0 or more", side, pad);
  if (pad >= extent) {
    return opFailed("{} padding is {}, expected less than the {} of the dilated filter, {}", side,
                    pad, options.name, extent);
  }
  return okStatus();
}

Status checkPositive(std::string_view what, std::string_view axis, int64_t value) {
  if (value > 0) return okStatus();
  return opFailed("{} {} is {}, expected more than 0", what, axis, value);
}

Status resolveAxis(const AxisOptions& options, bool explicitPadding, bool same, WindowAxis* axis) {
  HALYARD_RETURN_IF_ERROR(checkPositive("filter", options.name, options.filter));
  HALYARD_RETURN_IF_ERROR(checkPositive("stride", options.name, options.stride));
  HALYARD_RETURN_IF_ERROR(checkPositive("dilation", options.name, options.dilation));
  const int64_t n = options.input;
  const int64_t stride = options.stride;
  const int64_t extent = (options.filter - 1) * options.dilation + 1;
  int64_t before = 0;
  int64_t after = 0;
  if (explicitPadding) {
    before = options.padBefore;
    after = options.padAfter;
    HALYARD_RETURN_IF_ERROR(checkPad(options, options.beforeName, before, extent));
    HALYARD_RETURN_IF_ERROR(checkPad(options, options.afterName, after, extent));
  } else if (same) {
    const int64_t needed = ((n + stride - 1) / stride - 1) * stride + extent;
    before = std::max<int64_t>(0, needed - n) / 2;
    after = std::max<int64_t>(0, needed - n) - before;
  }
  const int64_t room = n + before + after - extent;
  if (room < 0) {
    return opFailed("the dilated filter's {} {} exceeds the padded input's {}", options.name,
                    extent, n + before + after);
  }
  const int64_t output = room / stride + 1;
  if (output > UINT32_MAX) {
    return opFailed("output {} would be {}, expected 4294967295 or less", options.name, output);
  }
  *axis = {n, options.filter, stride, options.dilation, before, output};
  return okStatus();
}

}  // namespace

Status readImageDims(std::string_view name, const Shape& shape, bool nchw, ImageDims* dims) {
  if (shape.size() != 4) {
    return opFailed("{} has rank {} {}, expected rank 4", name, shape.size(), realShapeText(shape));
  }
  *dims = nchw ? ImageDims{shape[0], shape[2], shape[3], shape[1]}
               : ImageDims{shape[0], shape[1], shape[2], shape[3]};
  if (dims->height == 0 || dims->width == 0 || dims->channels == 0) {
    return opFailed("{} {} has a zero-sized dimension that is not the batch", name,
                    realShapeText(shape));
  }
  return okStatus();
}

Shape imageShape(const ImageDims& dims, bool nchw) {
  const auto n = static_cast<uint32_t>(dims.batch);
  const auto h = static_cast<uint32_t>(dims.height);
  const auto w = static_cast<uint32_t>(dims.width);
  const auto c = static_cast<uint32_t>(dims.channels);
  return nchw ? Shape{n, c, h, w} : Shape{n, h, w, c};
}

std::vector<Form> windowForms(const std::vector<OperandSpec>& tensors,
                              std::initializer_list<std::string_view> scalars, bool dilated) {
  const auto form = [&](std::string_view name, std::initializer_list<std::string_view> padding) {
    Form result{name, tensors, {}, -1};
    for (std::string_view operand : padding) result.inputs.push_back(int32(operand));
    result.inputs.push_back(int32("stride width"));
    result.inputs.push_back(int32("stride height"));
    for (std::string_view operand : scalars) result.inputs.push_back(int32(operand));
    const auto required = static_cast<uint32_t>(result.inputs.size());
    result.inputs.push_back(boolean("NCHW layout").withDefault(0));
    result.counts = {{required, FeatureLevel::FL1}, {required + 1, FeatureLevel::FL3}};
    if (dilated) {
      result.inputs.push_back(int32("dilation width").withDefault(1));
      result.inputs.push_back(int32("dilation height").withDefault(1));
      result.counts.push_back({required + 3, FeatureLevel::FL3});
    }
    return result;
  };
  return {
      form("explicit padding", {"left padding", "right padding", "top padding", "bottom padding"}),
      form("implicit padding", {"padding scheme"})};
}

std::vector<Form> windowFormsWithLayout(const std::vector<OperandSpec>& tensors,
                                        std::initializer_list<std::string_view> scalars) {
  std::vector<Form> forms = windowForms(tensors, scalars, /*dilated=*/false);
  for (Form& form : forms) {
    form.counts.clear();
    form.inputs.back().defaultValue.reset();
  }
  return forms;
}

Status readPaddingAndStrides(const OperationContext& context, bool explicitPadding, size_t* first,
                             WindowOptions* options) {
  size_t i = *first;
  options->explicitPadding = explicitPadding;
  if (explicitPadding) {
    HALYARD_RETURN_IF_ERROR(context.read(i++, &options->padLeft), "left padding");
    HALYARD_RETURN_IF_ERROR(context.read(i++, &options->padRight), "right padding");
    HALYARD_RETURN_IF_ERROR(context.read(i++, &options->padTop), "top padding");
    HALYARD_RETURN_IF_ERROR(context.read(i++, &options->padBottom), "bottom padding");
  } else {
    HALYARD_RETURN_IF_ERROR(context.read(i++, &options->paddingScheme), "padding scheme");
  }
  HALYARD_RETURN_IF_ERROR(context.read(i++, &options->strideWidth), "stride width");
  HALYARD_RETURN_IF_ERROR(context.read(i++, &options->strideHeight), "stride height");
  *first = i;
  return okStatus();
}

Status readLayoutAndDilations(const OperationContext& context, size_t first, bool dilated,
                              bool* nchw, WindowOptions* options) {
  HALYARD_RETURN_IF_ERROR(context.readOptional(first, nchw), "layout");
  if (!dilated) return okStatus();
  HALYARD_RETURN_IF_ERROR(context.readOptional(first + 1, &options->dilationWidth),
                          "dilation width");
  HALYARD_RETURN_IF_ERROR(context.readOptional(first + 2, &options->dilationHeight),
                          "dilation height");
  return okStatus();
}

Status resolveWindow(const WindowOptions& options, const ImageDims& input, int64_t filterHeight,
                     int64_t filterWidth, Window* window) {
  const bool same = options.paddingScheme == kPaddingSame;
  const AxisOptions width{"width",
                          "left",
                          "right",
                          static_cast<int64_t>(input.width),
                          filterWidth,
                          options.strideWidth,
                          options.dilationWidth,
                          options.padLeft,
                          options.padRight};
  const AxisOptions height{"height",
                           "top",
                           "bottom",
                           static_cast<int64_t>(input.height),
                           filterHeight,
                           options.strideHeight,
                           options.dilationHeight,
                           options.padTop,
                           options.padBottom};
  HALYARD_RETURN_IF_ERROR(resolveAxis(width, options.explicitPadding, same, &window->width));
  return resolveAxis(height, options.explicitPadding, same, &window->height);
}

}  // namespace halyard::ops
