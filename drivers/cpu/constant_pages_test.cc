// Tests that packed constants leave memory, and that constants in use stay. They look at the
// resident pages and at results.
#include "constant_pages.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "compiled_model.h"
#include "cpu_driver.h"
#include "halyard/driver/device.h"
#include "model_for_test.h"

namespace halyard::cpudriver {
namespace {

using testing::Builder;
using testing::inFile;
using testing::TemporaryFile;

constexpr uint32_t kDepth = 512;
constexpr uint32_t kUnits = 1000;
constexpr size_t kWeightBytes = size_t{kDepth} * kUnits * sizeof(float);

// Two full connections with weights that are packed, and their sum with a constant. The kernel of
// the sum reads this constant in its place, which is between the weights.
std::shared_ptr<const Model> threeConstants() {
  Builder b;
  const uint32_t x = b.input({1, kDepth});
  const uint32_t none = b.int32(0);
  const uint32_t first = b.constant({kUnits, kDepth});
  const uint32_t added = b.constant({1, kUnits});
  const uint32_t second = b.constant({kUnits, kDepth});
  const uint32_t bias = b.constant({kUnits});
  const uint32_t a = b.tensor({1, kUnits});
  const uint32_t c = b.tensor({1, kUnits});
  const uint32_t sum = b.tensor({1, kUnits});
  const uint32_t y = b.output({1, kUnits});
  b.operation(OperationType::FULLY_CONNECTED, {x, first, bias, none}, {a});
  b.operation(OperationType::FULLY_CONNECTED, {x, second, bias, none}, {c});
  b.operation(OperationType::MUL, {a, c, none}, {sum});
  b.operation(OperationType::MUL, {sum, added, none}, {y});
  return b.take();
}

std::vector<float> run(CompiledModel& model) {
  std::vector<float> in(kDepth);
  for (size_t i = 0; i < in.size(); ++i) in[i] = 0.01f * static_cast<float>(i % 61) - 0.3f;
  std::vector<float> out(*knownElementCount(model.outputShapes()[0].dimensions));
  const cpu::Argument input{reinterpret_cast<uint8_t*>(in.data()), in.size() * 4, {}};
  const cpu::Argument output{reinterpret_cast<uint8_t*>(out.data()), out.size() * 4, {}};
  const hal::ExecutionResult result =
      model.run(std::span(&input, 1), std::span(&output, 1), {}, nullptr);
  EXPECT_TRUE(result.status.ok()) << result.status.toString();
  return out;
}

// The share of [data, data + bytes) that is in memory.
size_t residentBytes(const void* data, size_t bytes) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t skip = reinterpret_cast<uintptr_t>(data) % page;
  const size_t pages = (skip + bytes + page - 1) / page;
  std::vector<unsigned char> there(pages);
  auto* const begin = const_cast<char*>(static_cast<const char*>(data)) - skip;
  EXPECT_EQ(::mincore(begin, pages * page, there.data()), 0);
  size_t resident = 0;
  for (const unsigned char each : there) resident += (each & 1) * page;
  return resident;
}

TEST(ConstantPages, PackedConstantsLeaveMemoryAndOthersStay) {
  const std::shared_ptr<const Model> model = threeConstants();
  const auto expected = CompiledModel::compile(model, {});
  ASSERT_TRUE(expected.ok()) << expected.status().toString();
  const std::vector<float> results = run(**expected);
  EXPECT_EQ((*expected)->facts().releasedBytes, 0u);  // nothing is in a pool
  for (const uint32_t gap : {0U, 100U, 4096U, 8000U}) {
    const TemporaryFile file;
    const std::shared_ptr<const Model> inPool = inFile(*model, file.fd(), gap);
    const auto compiled = CompiledModel::compile(inPool, {});
    ASSERT_TRUE(compiled.ok()) << compiled.status().toString();
    EXPECT_EQ(run(**compiled), results) << gap;
    EXPECT_GE((*compiled)->facts().releasedBytes, 2 * kWeightBytes - 4 * 4096) << gap;
    size_t large = 0;
    for (size_t i = 0; i < inPool->main.operands.size(); ++i) {
      const Operand& operand = inPool->main.operands[i];
      if (operand.lifetime != Lifetime::CONSTANT_REFERENCE) continue;
      const size_t bytes = operand.location.length;
      const size_t resident = residentBytes((*compiled)->constant(i), bytes);
      if (bytes < kWeightBytes) {
        EXPECT_GE(resident, bytes) << gap << " operand " << i;
      } else {
        ++large;
        EXPECT_LE(resident, 2 * 4096u) << gap << " operand " << i;
      }
    }
    EXPECT_EQ(large, 2u);
  }
}

// A constant that its only reader does not pack is in the place where every run looks for it. This
// holds with and without threads to read it. A constant that is too large for any other place is
// read to the same place.
TEST(ConstantPages, WhatIsNotPackedIsReadToItsPlace) {
  constexpr uint32_t kMany = 9000;  // columns of more than the buffer has
  Builder b;
  const uint32_t x = b.input({1, kDepth});
  const uint32_t none = b.int32(0);
  const uint32_t factors = b.constant({kUnits, kDepth});
  const uint32_t weights = b.constant({kMany, kDepth});
  const uint32_t bias = b.constant({kMany});
  const uint32_t products = b.tensor({kUnits, kDepth});
  const uint32_t y = b.output({kUnits, kMany});
  b.operation(OperationType::MUL, {x, factors, none}, {products});
  b.operation(OperationType::FULLY_CONNECTED, {products, weights, bias, none}, {y});
  const std::shared_ptr<const Model> model = b.take();
  const TemporaryFile file;
  const std::shared_ptr<const Model> inPool = inFile(*model, file.fd(), 20);
  ThreadShare threads(2);
  const auto expected = CompiledModel::compile(model, {});
  ASSERT_TRUE(expected.ok()) << expected.status().toString();
  const std::vector<float> results = run(**expected);
  for (ThreadShare* each : {static_cast<ThreadShare*>(nullptr), &threads}) {
    const auto compiled = CompiledModel::compile(inPool, {each});
    ASSERT_TRUE(compiled.ok()) << compiled.status().toString();
    EXPECT_EQ(run(**compiled), results);
    const size_t released = (*compiled)->facts().releasedBytes;
    EXPECT_GE(released, size_t{kMany} * kDepth * sizeof(float) - 8192);
    EXPECT_LT(released, size_t{kMany} * kDepth * sizeof(float) + kWeightBytes);
  }
}

// Large constants are read late: by then the file may be another.
TEST(ConstantPages, AFileThatHasBecomeShorterIsAnError) {
  const std::shared_ptr<const Model> model = threeConstants();
  const TemporaryFile file;
  const std::shared_ptr<const Model> inPool = inFile(*model, file.fd(), 100);
  ASSERT_EQ(::ftruncate(file.fd(), kWeightBytes + 50'000), 0);
  const auto compiled = CompiledModel::compile(inPool, {});
  EXPECT_EQ(compiled.status().code(), ResultCode::UNMAPPABLE);
  EXPECT_NE(compiled.status().message().find("truncated"), std::string::npos)
      << compiled.status().message();
}

// Pages move from one constant to the next: of different sizes, and with others on the same pages.
TEST(ConstantPages, ManyConstantsAreWhatTheyWere) {
  constexpr uint32_t kWidths[] = {512, 300, 1000, 77, 513, 1024, 64, 900, 5, 512};
  Builder b;
  const uint32_t none = b.int32(0);
  uint32_t x = b.input({1, kWidths[0]});
  for (size_t i = 1; i < std::size(kWidths); ++i) {
    const bool isLast = i + 1 == std::size(kWidths);
    const uint32_t weights = b.constant({kWidths[i], kWidths[i - 1]});
    const uint32_t bias = b.constant({kWidths[i]});
    const uint32_t y = isLast ? b.output({1, kWidths[i]}) : b.tensor({1, kWidths[i]});
    b.operation(OperationType::FULLY_CONNECTED, {x, weights, bias, none}, {y});
    x = y;
  }
  const std::shared_ptr<const Model> model = b.take();
  const TemporaryFile file;
  ThreadShare threads(2);
  const auto expected = CompiledModel::compile(model, {});
  const auto compiled = CompiledModel::compile(inFile(*model, file.fd(), 12), {&threads});
  ASSERT_TRUE(expected.ok() && compiled.ok()) << compiled.status().toString();
  EXPECT_GT((*compiled)->facts().releasedBytes, size_t{1} << 20);
  EXPECT_EQ(run(**compiled), run(**expected));
}

// Less than is given back at once is given back at the end.
TEST(ConstantPages, SmallConstantsLeaveMemoryToo) {
  constexpr uint32_t kLayers = 6;
  constexpr uint32_t kWidth = 64;
  constexpr size_t kBytes = kWidth * kWidth * sizeof(float);
  Builder b;
  const uint32_t none = b.int32(0);
  const uint32_t bias = b.constant({kWidth});
  uint32_t x = b.input({1, kWidth});
  for (uint32_t i = 0; i < kLayers; ++i) {
    const uint32_t weights = b.constant({kWidth, kWidth});
    const uint32_t y = i + 1 == kLayers ? b.output({1, kWidth}) : b.tensor({1, kWidth});
    b.operation(OperationType::FULLY_CONNECTED, {x, weights, bias, none}, {y});
    x = y;
  }
  const std::shared_ptr<const Model> model = b.take();
  const TemporaryFile file;
  const auto compiled = CompiledModel::compile(inFile(*model, file.fd(), 0), {});
  ASSERT_TRUE(compiled.ok()) << compiled.status().toString();
  EXPECT_GE((*compiled)->facts().releasedBytes, (kLayers - 1) * kBytes);
  EXPECT_LE((*compiled)->facts().releasedBytes, (kLayers + 1) * kBytes);
}

// A constant that one step needs unpacked stays, however often other steps have packed it. So do
// constants that lie within another.
TEST(ConstantPages, WhatAnyStepReadsStays) {
  Builder b;
  const uint32_t x = b.input({1, kDepth});
  const uint32_t none = b.int32(0);
  const uint32_t weights = b.constant({kUnits, kDepth});
  const uint32_t bias = b.constant({kUnits});
  const uint32_t y = b.output({1, kUnits});
  const uint32_t sum = b.output({kUnits, kDepth});
  b.operation(OperationType::FULLY_CONNECTED, {x, weights, bias, none}, {y});
  b.operation(OperationType::ADD, {weights, x, none}, {sum});
  const std::shared_ptr<const Model> model = b.take();
  const TemporaryFile file;
  const std::shared_ptr<const Model> inPool = inFile(*model, file.fd(), 0);
  const auto compiled = CompiledModel::compile(inPool, {});
  ASSERT_TRUE(compiled.ok()) << compiled.status().toString();
  EXPECT_EQ((*compiled)->facts().releasedBytes, 0u);
  EXPECT_GE(residentBytes((*compiled)->constant(weights), kWeightBytes), kWeightBytes);
}

TEST(ConstantPages, OverlappingConstantsStayWhole) {
  const std::shared_ptr<const Model> model = threeConstants();
  const TemporaryFile file;
  Model overlapping = *inFile(*model, file.fd(), 0);
  Operand* first = nullptr;
  for (Operand& operand : overlapping.main.operands) {
    if (operand.lifetime != Lifetime::CONSTANT_REFERENCE) continue;
    if (first == nullptr) first = &operand;
    // The constant that the product reads lies in the middle of the first weights.
    if (operand.dimensions == Shape{1, kUnits}) operand.location.offset = kWeightBytes / 2;
  }
  ASSERT_NE(first, nullptr);
  const auto shared = std::make_shared<const Model>(overlapping);
  const auto compiled = CompiledModel::compile(shared, {});
  ASSERT_TRUE(compiled.ok()) << compiled.status().toString();
  const std::vector<float> results = run(**compiled);
  // The same from memory that nothing is released of.
  Model copied = overlapping;
  const auto mapping = overlapping.pools[0]->map();
  ASSERT_TRUE(mapping.ok());
  for (Operand& operand : copied.main.operands) {
    if (operand.lifetime != Lifetime::CONSTANT_REFERENCE) continue;
    operand.lifetime = Lifetime::CONSTANT_COPY;
    operand.location =
        appendConstant(copied, mapping->data() + operand.location.offset, operand.location.length);
  }
  copied.pools.clear();
  const auto expected =
      CompiledModel::compile(std::make_shared<const Model>(std::move(copied)), {});
  ASSERT_TRUE(expected.ok()) << expected.status().toString();
  EXPECT_EQ(results, run(**expected));
}

}  // namespace
}  // namespace halyard::cpudriver
