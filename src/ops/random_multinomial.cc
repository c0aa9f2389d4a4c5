// RANDOM_MULTINOMIAL: random class numbers, drawn with given unnormalised log-probabilities.
//
// The generator is Philox4x32-10 (ops/philox.h). Its key is the pair of seeds, the first as the low
// word. Sample s of row b takes half of the block whose counter, from the low word on, is {s / 2
// mod 2^32, 0, b, 0}. An even s takes the first two words, an odd s the last two. Their first word
// is the high half of 64 bits, and the upper 53 bits are a fraction u in [0, 1). The sample is the
// first class at which the running sum of exp(x_j - max) exceeds u times the whole sum. So a sample
// depends only on the seeds, its row's logits and its position. The split of the work and the
// number of samples have no effect. With two seeds of 0, the key comes from the system's entropy.
#include <sys/random.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "ops/elementwise.h"
#include "ops/operand_checks.h"
#include "ops/operation.h"
#include "ops/philox.h"

namespace halyard::ops {
namespace {

enum Input : size_t { kLogits, kCount, kSeeds };
// A sample takes a tenth of a block's multiplications and a binary search.
constexpr size_t kSampleGrain = 1024;

Status readKey(const OperationContext& context, PhiloxKey* key) {
  std::span<const int32_t> seeds;
  HALYARD_RETURN_IF_ERROR(context.readInts(kSeeds, &seeds), "seeds");
  *key = {static_cast<uint32_t>(seeds[0]), static_cast<uint32_t>(seeds[1])};
  if (seeds[0] != 0 || seeds[1] != 0) return okStatus();
  if (getrandom(key->data(), sizeof(*key), 0) != static_cast<ssize_t>(sizeof(*key))) {
    return opFailed("the system gave no random bytes for seeds of 0");
  }
  return okStatus();
}

Status infer(OperationContext& context) {
  const Tensor& logits = context.input(kLogits);
  const Tensor& seeds = context.input(kSeeds);
  HALYARD_RETURN_IF_ERROR(checkRank(logits, 2, 2, "logits"));
  if (logits.dims[1] > INT32_MAX) {
    return opFailed("logits {} have more classes than numbers of 32 bits",
                    realShapeText(logits.dims));
  }
  HALYARD_RETURN_IF_ERROR(checkRank(seeds, 1, 1, "seeds"));
  if (seeds.dims[0] != 2) {
    return opFailed("seeds have shape {}, expected [2]", realShapeText(seeds.dims));
  }
  int32_t count = 0;
  HALYARD_RETURN_IF_ERROR(context.read(kCount, &count), "sample count");
  if (count < 1) return opFailed("sample count is {}, expected 1 or more", count);
  context.output(0).dims = {logits.dims[0], static_cast<uint32_t>(count)};
  return okStatus();
}

// Computes the running sums of the classes' weights. Classes without a finite logit have no weight.
Status sumWeights(std::span<const float> logits, std::span<double> sums) {
  float largest = -std::numeric_limits<float>::infinity();
  for (float x : logits) {
    if (std::isfinite(x)) largest = std::max(largest, x);
  }
  double sum = 0;
  for (size_t j = 0; j < logits.size(); ++j) {
    if (std::isfinite(logits[j])) {
      sum += std::exp(static_cast<double>(logits[j]) - static_cast<double>(largest));
    }
    sums[j] = sum;
  }
  if (sum > 0) return okStatus();
  return opFailed("none of the {} log-probabilities of a row is finite", logits.size());
}

int32_t drawClass(std::span<const double> sums, size_t row, size_t sample, PhiloxKey key) {
  const PhiloxCounter block =
      philox4x32({static_cast<uint32_t>(sample / 2), 0, static_cast<uint32_t>(row), 0}, key);
  const size_t half = sample % 2 * 2;
  const uint64_t bits = (uint64_t{block[half]} << 32) | block[half + 1];
  const double fraction = static_cast<double>(bits >> 11) * 0x1p-53;
  // The product is below the whole sum, as the fraction is at most 1 - 2^-53. A class of weight 0
  // has the sum of the class before it, so it is never the first to exceed a value.
  const auto found = std::upper_bound(sums.begin(), sums.end(), fraction * sums.back());
  return static_cast<int32_t>(found - sums.begin());
}

Status compute(OperationContext& context) {
  PhiloxKey key;
  HALYARD_RETURN_IF_ERROR(readKey(context, &key));
  const size_t classes = context.input(kLogits).dims[1];
  const size_t rows = context.output(0).dims[0];
  const size_t count = context.output(0).dims[1];
  const std::span<double> sums(context.scratch<double>(classes), classes);
  for (size_t row = 0; row < rows; ++row) {
    const float* logits = context.input(kLogits).as<float>() + row * classes;
    HALYARD_RETURN_IF_ERROR(sumWeights({logits, classes}, sums), "row {}", row);
    int32_t* samples = context.output(0).as<int32_t>() + row * count;
    context.services().parallelFor(count, kSampleGrain, [=](size_t begin, size_t end) {
      for (size_t s = begin; s < end; ++s) samples[s] = drawClass(sums, row, s, key);
    });
  }
  return okStatus();
}

OperationDefinition define() {
  using enum FeatureLevel;
  using enum OperandType;
  OperationDefinition definition;
  definition.type = OperationType::RANDOM_MULTINOMIAL;
  definition.signature.rows = {{FL3, {TENSOR_FLOAT32}}, {FL3, {TENSOR_FLOAT16}}};
  definition.signature.forms = {
      {"", {typed("logits", 0, rank(2)), int32("sample count"), int32List("seeds")}, {}}};
  definition.signature.outputs = {fixed("output", TENSOR_INT32)};
  definition.infer = infer;
  definition.reference = compute;
  definition.isRandom = true;
  return definition;
}

}  // namespace

const OperationDefinition& randomMultinomial() {
  return madeOnce([] { return define(); });
}

}  // namespace halyard::ops
