// The shaders, compiled at build time.
// Thread safety: pure functions. Ownership: static storage.
#pragma once

#include <cstdint>
#include <span>

namespace halyard::vulkandriver {

// A family of functions, one shader each.
enum class Shader : uint8_t { BINARY, UNARY, MOVE, LINES, WINDOW, RESIZE, RECURRENT, CHOICE };

// SPIR-V.
std::span<const uint32_t> shaderCode(Shader shader);

}  // namespace halyard::vulkandriver
