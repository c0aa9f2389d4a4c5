#include "device/shader_code.h"

namespace halyard::vulkandriver {
namespace {

// The included files are written by glslc.
constexpr uint32_t kArithmetic[] = {
#include <shaders/arithmetic.inc>
};
constexpr uint32_t kBinary[] = {
#include <shaders/binary.inc>
};
constexpr uint32_t kChoice[] = {
#include <shaders/choice.inc>
};
constexpr uint32_t kRecurrent[] = {
#include "shaders/recurrent.inc"
};
constexpr uint32_t kUnary[] = {
#include <shaders/unary.inc>
};
constexpr uint32_t kMove[] = {
#include <shaders/move.inc>
};
constexpr uint32_t kWindow[] = {
#include <shaders/window.inc>
};
constexpr uint32_t kLines[] = {
#include <shaders/lines.inc>
};
constexpr uint32_t kResize[] = {
#include <shaders/resize.inc>
};
constexpr uint32_t kChannels[] = {
#include <shaders/channels.inc>
};
constexpr uint32_t kSoftwareChannels[] = {
#include <shaders/channels_software.inc>
};
constexpr uint32_t kSoftwareBinary[] = {
#include <shaders/binary_software.inc>
};
constexpr uint32_t kSoftwareUnary[] = {
#include <shaders/unary_software.inc>
};
constexpr uint32_t kSoftwareMove[] = {
#include <shaders/move_software.inc>
};
constexpr uint32_t kLongLines[] = {
#include <shaders/long_lines.inc>
};
constexpr uint32_t kBoxes[] = {
#include <shaders/boxes.inc>
};
constexpr uint32_t kFixedLstm[] = {
#include <shaders/fixed_lstm.inc>
};
constexpr uint32_t kSoftwareFixedLstm[] = {
#include <shaders/fixed_lstm_software.inc>
};
constexpr uint32_t kSoftwareRecurrent[] = {
#include <shaders/recurrent_software.inc>
};
constexpr uint32_t kSoftwareResize[] = {
#include <shaders/resize_software.inc>
};
constexpr uint32_t kProduct[] = {
#include <shaders/product.inc>
};
constexpr uint32_t kSoftwareProduct[] = {
#include <shaders/product_software.inc>
};
constexpr uint32_t kProductOfDots[] = {
#include <shaders/product_dots.inc>
};
constexpr uint32_t kProductOfHalves[] = {
#include <shaders/product_halves.inc>
};
constexpr uint32_t kMatrices[] = {
#include <shaders/matrices.inc>
};
constexpr uint32_t kByteMatrices[] = {
#include <shaders/matrices_bytes.inc>
};
constexpr uint32_t kWinograd[] = {
#include <shaders/winograd.inc>
};
constexpr uint32_t kSoftwareWinograd[] = {
#include <shaders/winograd_software.inc>
};

std::span<const uint32_t> choose(bool software, std::span<const uint32_t> forSoftware,
                                 std::span<const uint32_t> other) {
  return software ? forSoftware : other;
}

}  // namespace

std::span<const uint32_t> shaderCode(Shader shader, bool software) {
  switch (shader) {
    case Shader::ARITHMETIC:
      return kArithmetic;
    case Shader::BINARY:
      return choose(software, kSoftwareBinary, kBinary);
    case Shader::CHOICE:
      return kChoice;
    case Shader::RECURRENT:
      return choose(software, kSoftwareRecurrent, kRecurrent);
    case Shader::UNARY:
      return choose(software, kSoftwareUnary, kUnary);
    case Shader::MOVE:
      return choose(software, kSoftwareMove, kMove);
    case Shader::RESIZE:
      return choose(software, kSoftwareResize, kResize);
    case Shader::LINES:
      return kLines;
    case Shader::WINDOW:
      return kWindow;
    case Shader::LONG_LINES:
      return kLongLines;
    case Shader::FIXED_LSTM:
      return choose(software, kSoftwareFixedLstm, kFixedLstm);
    case Shader::BOXES:
      return kBoxes;
    case Shader::CHANNELS:
      return choose(software, kSoftwareChannels, kChannels);
    case Shader::WINOGRAD:
      return choose(software, kSoftwareWinograd, kWinograd);
    case Shader::PRODUCT:
      return choose(software, kSoftwareProduct, kProduct);
    case Shader::PRODUCT_OF_DOTS:
      return kProductOfDots;
    case Shader::PRODUCT_OF_HALVES:
      return kProductOfHalves;
    case Shader::MATRICES:
      return kMatrices;
    case Shader::BYTE_MATRICES:
      return kByteMatrices;
  }
  return {};
}

}  // namespace halyard::vulkandriver
