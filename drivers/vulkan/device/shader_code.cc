#include "device/shader_code.h"

#include "plan/recording.h"

namespace halyard::vulkandriver {
namespace {

// The included files are written by glslc.
constexpr uint32_t kBinary[] = {
#include "shaders/binary.inc"
};
constexpr uint32_t kRecurrent[] = {
#include "shaders/recurrent.inc"
};
constexpr uint32_t kUnary[] = {
#include "shaders/unary.inc"
};

}  // namespace

std::span<const uint32_t> shaderCode(Shader shader) {
  switch (shader) {
    case Shader::BINARY:
      return kBinary;
    case Shader::RECURRENT:
      return kRecurrent;
    case Shader::UNARY:
      return kUnary;
  }
  return {};
}

}  // namespace halyard::vulkandriver
