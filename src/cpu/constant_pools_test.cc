#include "cpu/constant_pools.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

namespace halyard::cpu {
namespace {

constexpr size_t kBytes = size_t{1} << 20;

class File {
 public:
  File() : file_(std::tmpfile()) {
    std::vector<uint8_t> bytes(kBytes);
    for (size_t i = 0; i < kBytes; ++i) bytes[i] = byteAt(i);
    EXPECT_EQ(::pwrite(fd(), bytes.data(), kBytes, 0), static_cast<ssize_t>(kBytes));
  }
  ~File() { std::fclose(file_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int fd() const { return ::fileno(file_); }
  static uint8_t byteAt(size_t i) { return static_cast<uint8_t>(1 + i % 251); }

 private:
  std::FILE* const file_;
};

Model modelWith(SharedMemoryPtr pool, const std::vector<DataLocation>& constants) {
  Model model;
  model.pools = {std::move(pool)};
  for (const DataLocation& at : constants) {
    Operand operand;
    operand.type = OperandType::TENSOR_QUANT8_ASYMM;
    operand.dimensions = {at.length};
    operand.lifetime = Lifetime::CONSTANT_REFERENCE;
    operand.location = at;
    model.main.operands.push_back(operand);
  }
  return model;
}

TEST(ConstantPools, OfAFileOnlyConstantsAreCopied) {
  const File file;
  const auto pool = SharedMemory::fromFd(kBytes - 4096, PROT_READ, file.fd(), 4096).value();
  Model model = modelWith(pool, {{0, 500'000, 3000}, {0, 10, 100}, {0, 501'000, 50}});
  model.referenced.push_back(modelWith(pool, {{0, 800'000, 20'000}}).main);
  const auto pools = mapConstantPools(model);
  ASSERT_TRUE(pools.ok()) << pools.status().toString();
  ASSERT_EQ(pools->mappings.size(), 1u);
  EXPECT_TRUE(pools->later.empty());
  const Mapping& mapping = pools->mappings[0];
  ASSERT_EQ(mapping.size(), kBytes - 4096);
  // A mapping of the file would be invalid now.
  ASSERT_EQ(::ftruncate(file.fd(), 0), 0);
  const auto isConstant = [](size_t i) {
    return (i >= 500'000 && i < 503'000) || (i >= 10 && i < 110) || (i >= 800'000 && i < 820'000);
  };
  for (size_t i = 0; i < mapping.size(); ++i) {
    ASSERT_EQ(mapping.data()[i], isConstant(i) ? File::byteAt(4096 + i) : 0) << i;
  }
  const auto late = mapConstantPools(model);
  EXPECT_EQ(late.status().code(), ResultCode::UNMAPPABLE);
  EXPECT_NE(late.status().message().find("truncated"), std::string::npos)
      << late.status().message();
}

TEST(ConstantPools, CopiesAreAlignedAsTheFileIs) {
  const File file;
  const auto pool = SharedMemory::fromFd(100'000, PROT_READ, file.fd(), 4098).value();
  const auto pools = mapConstantPools(modelWith(pool, {{0, 2, 100}, {0, 70'002, 5000}}));
  ASSERT_TRUE(pools.ok()) << pools.status().toString();
  const Mapping& mapping = pools->mappings[0];
  EXPECT_EQ(reinterpret_cast<uintptr_t>(mapping.data()) % 4096, 2u);
  EXPECT_EQ(mapping.data()[2], File::byteAt(4100));
  EXPECT_EQ(mapping.data()[75'001], File::byteAt(4098 + 75'001));
}

TEST(ConstantPools, LargeOnesAreReadLater) {
  const File file;
  const auto pool = SharedMemory::fromFd(kBytes - 4098, PROT_READ, file.fd(), 4098).value();
  const std::vector<DataLocation> constants = {
      {0, 0, 70'000},        // large
      {0, 80'000, 100},      // small
      {0, 200'000, 70'000},  // the same twice
      {0, 200'000, 70'000},  //
      {0, 300'000, 70'000},  // overlap
      {0, 360'000, 70'000},  //
      {0, 500'000, 80'000},  // with indices
      {0, 600'000, 80'000},  // not aligned in the file
  };
  Model model = modelWith(pool, constants);
  for (const size_t i : {size_t{6}, size_t{7}}) {
    model.main.operands[i].dimensions = {20'000};
    model.main.operands[i].type = i == 6 ? OperandType::TENSOR_INT32 : OperandType::TENSOR_FLOAT32;
  }
  const auto pools = mapConstantPools(model, ConstantReading::LARGE_LATER);
  ASSERT_TRUE(pools.ok()) << pools.status().toString();
  ASSERT_EQ(pools->later.size(), 2u);
  EXPECT_EQ(pools->later[0].bytes.begin, 0u);
  EXPECT_EQ(pools->later[0].bytes.end, 70'000u);
  EXPECT_EQ(pools->later[1].bytes.begin, 200'000u);
  const Mapping& mapping = pools->mappings[0];
  for (size_t i = 0; i < constants.size(); ++i) {
    const size_t last = constants[i].offset + constants[i].length - 1;
    const bool isLater = i == 0 || i == 2 || i == 3;
    EXPECT_EQ(mapping.data()[last], isLater ? 0 : File::byteAt(4098 + last)) << i;
  }
  for (const LaterConstant& later : pools->later) {
    const Status read = readIntoCopy(*pool, later.bytes, mapping);
    ASSERT_TRUE(read.ok()) << read.toString();
    EXPECT_EQ(mapping.data()[later.bytes.end - 1], File::byteAt(4098 + later.bytes.end - 1));
  }
}

TEST(ConstantPools, WhatCannotShrinkIsMapped) {
  const auto pool = SharedMemory::create(10000, "test").value();
  const auto pools = mapConstantPools(modelWith(pool, {{0, 0, 100}}));
  ASSERT_TRUE(pools.ok()) << pools.status().toString();
  pool->map()->data()[9999] = 7;
  EXPECT_EQ(pools->mappings[0].data()[9999], 7);
}

TEST(ConstantPools, UnreadableMemoryIsRefused) {
  const File file;
  const auto pool = SharedMemory::fromFd(kBytes, PROT_WRITE, file.fd(), 0).value();
  EXPECT_EQ(mapConstantPools(modelWith(pool, {{0, 0, 100}})).status().code(),
            ResultCode::UNMAPPABLE);
}

}  // namespace
}  // namespace halyard::cpu
