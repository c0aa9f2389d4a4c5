#include "device/shader_code.h"

namespace halyard::vulkandriver {
namespace {

// The included files are written by glslc.
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

}  // namespace

std::span<const uint32_t> shaderCode(Shader shader) {
  switch (shader) {
    case Shader::BINARY:
      return kBinary;
    case Shader::CHOICE:
      return kChoice;
    case Shader::RECURRENT:
      return kRecurrent;
    case Shader::UNARY:
      return kUnary;
    case Shader::MOVE:
      return kMove;
    case Shader::RESIZE:
      return kResize;
    case Shader::LINES:
      return kLines;
    case Shader::WINDOW:
      return kWindow;
  }
  return {};
}

}  // namespace halyard::vulkandriver
