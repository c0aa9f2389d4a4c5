#include "ops/simd.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#include <algorithm>
#include <bit>
#include <iterator>
#include <string>

#include "base/environment.h"
#include "base/environment_warning.h"
#include "base/made_once.h"

namespace halyard::ops {
namespace {

// Returns the highest level that HALYARD_INSTRUCTIONS allows.
SimdLevel mostLevel() {
  const SimdLevel last = *std::rbegin(kSimdLevels);
  const char* const name = environmentVariable("HALYARD_INSTRUCTIONS");
  if (name == nullptr) return last;
  const auto* const found = std::ranges::find(kSimdLevels, std::string_view(name), simdLevelName);
  if (found != std::end(kSimdLevels)) return *found;
  std::string names;
  for (const SimdLevel level : kSimdLevels) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", simdLevelName(level));
  }
  warnOfValue("HALYARD_INSTRUCTIONS", name, "one of: " + names);
  return last;
}

#if defined(__x86_64__)
// Not every compiler has a name for this feature: leaf 7.1, EAX bit 4.
bool hasAvxVnni() {
  unsigned int a = 0;
  unsigned int b = 0;
  unsigned int c = 0;
  unsigned int d = 0;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a >> 4 & 1) != 0;
}

bool hasAvx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512vnni");
}

// EDX of leaf 7, for features that not every compiler has a name for.
unsigned int newFeatures() {
  unsigned int a = 0;
  unsigned int b = 0;
  unsigned int c = 0;
  unsigned int d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 ? d : 0;
}

bool hasAvx512Fp16() { return (newFeatures() >> 23 & 1) != 0; }
// AMX-BF16, AMX-TILE and AMX-INT8: bits 22, 24 and 25.
bool hasTiles() { return (newFeatures() >> 22 & 0b1101) == 0b1101; }

// The registers of tiles are large. The kernel gives them only to processes that ask. A refusal has
// several reasons, for example an old kernel, or a small stack for signals.
bool requestTiles() {
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;               // the part of the state that tiles are in
  return ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

// The levels of this processor without AMX, each as the bit of its number. An AVX-512 machine may
// lack the encoding of AVX-VNNI.
unsigned processorLevels() {
  __builtin_cpu_init();
  unsigned levels = 1;
  const auto add = [&](SimdLevel level) { levels |= 1U << static_cast<unsigned>(level); };
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return levels;
  add(SimdLevel::AVX2);
  if (hasAvxVnni()) add(SimdLevel::AVX_VNNI);
  if (!hasAvx512()) return levels;
  add(SimdLevel::AVX512);
  if (hasAvx512Fp16()) add(SimdLevel::AVX512_FP16);
  return levels;
}
#elif defined(__aarch64__)
unsigned processorLevels() {
  const unsigned long features = getauxval(AT_HWCAP);
  unsigned levels = 1;
  if ((features & HWCAP_ASIMDDP) == 0) return levels;
  levels |= 1U << static_cast<unsigned>(SimdLevel::NEON_DOT);
  if ((features & HWCAP_ASIMDHP) != 0) levels |= 1U << static_cast<unsigned>(SimdLevel::NEON_FP16);
  return levels;
}
#else
unsigned processorLevels() { return 1; }
#endif

struct Levels {
  SimdLevel most = SimdLevel::BASELINE;
  unsigned there = 1;  // without AMX, each level as the bit of its number
};

const Levels& levels() {
  return madeOnce([] {
    Levels made;
    made.most = mostLevel();
    const unsigned allowed = (2U << static_cast<unsigned>(made.most)) - 1;
    made.there = processorLevels() & allowed;
    return made;
  });
}

}  // namespace

SimdLevel simdLevel() {
  return madeOnce([] { return static_cast<SimdLevel>(std::bit_width(levels().there) - 1); });
}

SimdLevel newestSimdLevel() {
#if defined(__x86_64__)
  return madeOnce([] {
    const bool isAllowed = levels().most >= SimdLevel::AMX && simdLevel() == SimdLevel::AVX512_FP16;
    return isAllowed && hasTiles() && requestTiles() ? SimdLevel::AMX : simdLevel();
  });
#else
  return simdLevel();
#endif
}

bool hasSimdLevel(SimdLevel level) {
  if (level == SimdLevel::AMX) return newestSimdLevel() == level;
  return (levels().there >> static_cast<unsigned>(level) & 1) != 0;
}

std::string_view simdLevelName(SimdLevel level) {
  switch (level) {
    case SimdLevel::BASELINE:
      return "baseline";
    case SimdLevel::AVX2:
      return "avx2";
    case SimdLevel::AVX_VNNI:
      return "avx-vnni";
    case SimdLevel::AVX512:
      return "avx512";
    case SimdLevel::AVX512_FP16:
      return "avx512-fp16";
    case SimdLevel::AMX:
      return "amx";
    case SimdLevel::NEON_DOT:
      return "neon-dot";
    case SimdLevel::NEON_FP16:
      return "neon-fp16";
  }
  return "unknown";
}

}  // namespace halyard::ops
