// Random windows (padding, strides, dilations) of convolutions and pooling in all forms.
// Thread safety: none needed.
// Ownership: values.
#pragma once

#include <string>
#include <vector>

#include "ops/testing/random_operands.h"

namespace halyard::ops::testing {

// One axis of a window, resolved by the definition and not by the code under test.
struct TestAxis {
  int input = 1;
  int filter = 1;
  int stride = 1;
  int dilation = 1;
  int padBefore = 0;
  int padAfter = 0;
  int output = 0;

  int extent() const { return (filter - 1) * dilation + 1; }
  int source(int o, int tap) const { return o * stride - padBefore + tap * dilation; }
  bool inside(int position) const { return position >= 0 && position < input; }
};

struct TestWindow {
  bool explicitPadding = false;
  int scheme = 0;
  bool layoutGiven = false;
  bool dilationsGiven = false;
  bool nchw = false;
  TestAxis height;
  TestAxis width;

  std::string text() const {
    const auto axis = [](const TestAxis& a) {
      return fmt::format("n{} f{} s{} d{} p{},{} -> {}", a.input, a.filter, a.stride, a.dilation,
                         a.padBefore, a.padAfter, a.output);
    };
    return fmt::format("{} padding {}, nchw {}, height {}, width {}",
                       explicitPadding ? "explicit" : "implicit", scheme, nchw, axis(height),
                       axis(width));
  }
  // Appends pads or scheme, then strides.
  void appendPaddingAndStrides(std::vector<TestOperand>& inputs) const {
    if (explicitPadding) {
      for (int pad : {width.padBefore, width.padAfter, height.padBefore, height.padAfter}) {
        inputs.push_back(TestOperand::int32(pad));
      }
    } else {
      inputs.push_back(TestOperand::int32(scheme));
    }
    inputs.push_back(TestOperand::int32(width.stride));
    inputs.push_back(TestOperand::int32(height.stride));
  }
  void appendLayoutAndDilations(std::vector<TestOperand>& inputs) const {
    if (layoutGiven) inputs.push_back(TestOperand::boolean(nchw));
    if (!dilationsGiven) return;
    inputs.push_back(TestOperand::int32(width.dilation));
    inputs.push_back(TestOperand::int32(height.dilation));
  }
};

inline TestAxis randomAxis(RandomOperands& random, bool explicitPadding, int scheme,
                           bool mayDilate) {
  TestAxis axis;
  axis.filter = random.between(1, 4);
  axis.dilation = mayDilate ? random.between(1, 3) : 1;
  axis.stride = random.between(1, 3);
  if (explicitPadding) {
    axis.padBefore = random.between(0, axis.extent() - 1);
    axis.padAfter = random.between(0, axis.extent() - 1);
    axis.input = std::max(random.between(1, 9), axis.extent() - axis.padBefore - axis.padAfter);
    axis.output = (axis.input + axis.padBefore + axis.padAfter - axis.extent()) / axis.stride + 1;
  } else if (scheme == 1) {
    axis.input = random.between(1, 9);
    axis.output = (axis.input + axis.stride - 1) / axis.stride;
    const int surplus = std::max(0, (axis.output - 1) * axis.stride + axis.extent() - axis.input);
    axis.padBefore = surplus / 2;
    axis.padAfter = surplus - surplus / 2;
  } else {
    axis.input = axis.extent() + random.between(0, 6);
    axis.output = (axis.input - axis.extent()) / axis.stride + 1;
  }
  return axis;
}

inline TestWindow randomWindow(RandomOperands& random, bool mayDilate) {
  TestWindow window;
  window.explicitPadding = random.coin();
  window.scheme = random.between(1, 2);
  window.layoutGiven = random.coin();
  window.dilationsGiven = window.layoutGiven && mayDilate && random.coin();
  window.nchw = window.layoutGiven && random.coin();
  window.height = randomAxis(random, window.explicitPadding, window.scheme, window.dilationsGiven);
  window.width = randomAxis(random, window.explicitPadding, window.scheme, window.dilationsGiven);
  return window;
}

}  // namespace halyard::ops::testing
