// Tables are made by the reference kernel, so that they are its results to the bit.
#include "kernels/elementwise/byte_table.h"

#include <utility>
#include <vector>

#include "base/made_once.h"
#include "ops/inline_services.h"
#include "ops/simd.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace halyard::cpudriver {
namespace {

// Bytes that are worth a thread of their own.
constexpr size_t kTableGrain = 1 << 16;

#if defined(__x86_64__)
#define HALYARD_TARGET_VBMI __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi")))

bool hasVbmi() {
  return madeOnce([] {
    return ops::simdLevel() == ops::SimdLevel::AVX512 && __builtin_cpu_supports("avx512vbmi") != 0;
  });
}

// The table lies in four registers; two bytes of each are chosen from by the low 7 bits.
HALYARD_TARGET_VBMI void lookUpVectors(const uint8_t* table, const uint8_t* from, uint8_t* to,
                                       size_t count) {
  const __m512i quarters[4] = {_mm512_loadu_si512(table), _mm512_loadu_si512(table + 64),
                               _mm512_loadu_si512(table + 128), _mm512_loadu_si512(table + 192)};
  for (size_t i = 0; i < count; i += 64) {
    const size_t left = count - i;
    const __mmask64 mask = left >= 64 ? ~__mmask64{0} : (__mmask64{1} << left) - 1;
    const __m512i at = _mm512_maskz_loadu_epi8(mask, from + i);
    const __m512i low = _mm512_permutex2var_epi8(quarters[0], at, quarters[1]);
    const __m512i high = _mm512_permutex2var_epi8(quarters[2], at, quarters[3]);
    _mm512_mask_storeu_epi8(to + i, mask,
                            _mm512_mask_blend_epi8(_mm512_movepi8_mask(at), low, high));
  }
}
#endif

class TableKernel final : public Kernel {
 public:
  TableKernel(const ops::ByteTable& table, size_t elements) : table_(table), elements_(elements) {}

  Status run(const KernelOperands& operands, ops::KernelServices& services) const override {
    const auto* const from = operands.input<uint8_t>(0);
    auto* const to = operands.output<uint8_t>(0);
    services.parallelFor(elements_, kTableGrain, [&](size_t begin, size_t end) {
      lookUpBytes(table_, from + begin, to + begin, end - begin);
    });
    return okStatus();
  }

 private:
  const ops::ByteTable table_;
  const size_t elements_;
};

}  // namespace

std::optional<ops::ByteTable> tableOf(const KernelSite& site) { return tableOf({&site, 1}); }

std::optional<ops::ByteTable> tableOf(std::span<const KernelSite> sites) {
  ops::ByteTable table;
  constexpr size_t kLargestElement = 4;
  std::vector<std::byte> values(table.size() * kLargestElement);
  std::vector<std::byte> results(values.size());
  for (size_t i = 0; i < table.size(); ++i) values[i] = static_cast<std::byte>(i);
  ops::InlineServices services;
  for (const KernelSite& site : sites) {
    if (site.inputs.size() != 1) return std::nullopt;
    std::vector<ops::Tensor> inputs(site.inputs.begin(), site.inputs.end());
    std::vector<ops::Tensor> outputs(site.outputs.begin(), site.outputs.end());
    inputs[0].dims = outputs[0].dims = {static_cast<uint32_t>(table.size())};
    inputs[0].data = values.data();
    outputs[0].data = results.data();
    ops::OperationContext context(inputs, outputs, &services);
    if (!ops::runReference(*site.definition, context).ok()) return std::nullopt;
    std::swap(values, results);
  }
  const OperandType from = sites.front().inputs[0].type;
  const OperandType to = sites.back().outputs[0].type;
  if (!isQuant8Asymm(from) || !isQuant8Asymm(to)) return std::nullopt;
  for (size_t i = 0; i < table.size(); ++i) table[i] = std::to_integer<uint8_t>(values[i]);
  return table;
}

void lookUpBytes(const ops::ByteTable& table, const uint8_t* from, uint8_t* to, size_t count) {
#if defined(__x86_64__)
  if (hasVbmi()) return lookUpVectors(table.data(), from, to, count);
#endif
  ops::lookUp(table, from, to, count);
}

std::unique_ptr<Kernel> makeTableKernel(const ops::ByteTable& table, size_t elements) {
  return std::make_unique<TableKernel>(table, elements);
}

}  // namespace halyard::cpudriver
