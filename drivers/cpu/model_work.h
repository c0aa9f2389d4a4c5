// ModelWork: how much a model computes and reads, which decides whether its loops are divided among
// threads.
// Thread safety: pure functions.
// Ownership: values.
#pragma once

#include <cstddef>
#include <span>

#include "cpu/execution_plan.h"
#include "kernels/processor_cache.h"
#include "ops/simd.h"
#include "step_list.h"

namespace halyard::cpudriver {

// Models of fewer products use one thread: a second one costs them more than it gains. On
// processors with AVX-512 VNNI so many products of bytes take 60 to 100 microseconds.
inline double leastDividedProducts(ops::SimdLevel level = ops::simdLevel()) {
  return level >= ops::SimdLevel::AVX512 ? 10e6 : 1.5e6;
}
// A product of floats counts as so many, since such processors multiply bytes faster. On an AMD
// EPYC (Zen 4), 2.7 million products of floats are faster with one thread, and 5.4 million with
// two.
inline double productsOfFloat(ops::SimdLevel level = ops::simdLevel()) {
  return level >= ops::SimdLevel::AVX512 ? 3 : 1;
}
// An element that an operation without products computes takes about as long as so many products.
inline constexpr double kProductsOfElement = 10;

// The multiply-adds of one execution; one of floats counts as productsOfFloat(). `steps` are those
// of `plan`, all of whose sizes are known. A step whose operation multiplies nothing counts by the
// elements of its outputs.
double productsOf(const cpu::SubgraphPlan& plan, std::span<const Step> steps);

// The same of all subgraphs with steps, each computed once. Enough for threads if the sizes of some
// body are not known.
double productsOf(const cpu::ExecutionPlan& plan);

// The bytes of the constant operands of operations with products. Each execution reads them.
size_t weightBytesOf(const cpu::SubgraphPlan& plan);

// Whether the loops of the plan's executions are divided. They are if the products are enough, or
// if the weights exceed the second-level cache of one processor. Weights beyond that cache arrive
// at a fraction of its speed, and two processors have two such caches. `clientTakesProcessor`: a
// client polls on a processor of the threads, so that the weights must be twice the cache.
// `cacheBytes` of 0: not known.
bool isWorthThreads(const cpu::ExecutionPlan& plan, bool clientTakesProcessor,
                    size_t cacheBytes = secondLevelCacheBytes());

}  // namespace halyard::cpudriver
