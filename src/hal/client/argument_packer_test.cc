// Tests of packing pointer arguments into pools.
#include "hal/client/argument_packer.h"

#include <gtest/gtest.h>

#include <cstring>

#include "hal/testing/test_device.h"

namespace halyard::hal {
namespace {

using testing::addModel;
using testing::pointerRequest;

float* floatsOf(const Request& request, const RequestArgument& argument) {
  // The packer keeps its own mapping after this one is dropped.
  static thread_local std::vector<Mapping> mappings;
  const auto& memory = std::get<SharedMemoryPtr>(request.pools[argument.location.poolIndex]);
  mappings.push_back(memory->map().value());
  return reinterpret_cast<float*>(mappings.back().data() + argument.location.offset);
}

TEST(ArgumentPackerTest, InputsGoInAndOutputsComeBack) {
  ArgumentPacker packer;
  const Model model = addModel(3);
  const float a[] = {1, 2, 3};
  const float b[] = {4, 5, 6};
  float out[] = {0, 0, 0};
  auto packed = packer.pack(pointerRequest(a, b, out, 3));
  ASSERT_TRUE(packed.ok()) << packed.status().toString();
  const Request& request = packed->request();
  ASSERT_EQ(request.pools.size(), 2u);
  for (const auto* arguments : {&request.inputs, &request.outputs}) {
    for (const RequestArgument& argument : *arguments) {
      EXPECT_EQ(argument.kind, RequestArgument::Kind::POOL);
      EXPECT_EQ(argument.location.offset % 64, 0u);
      EXPECT_EQ(argument.location.length, 12u);
    }
  }
  EXPECT_TRUE(validateRequest(model, request, false).ok());
  EXPECT_EQ(std::memcmp(floatsOf(request, request.inputs[1]), b, sizeof b), 0);
  std::memcpy(floatsOf(request, request.outputs[0]), a, sizeof a);

  ExecutionResult failed;
  failed.status = opFailed("no");
  packed->unpack(model, failed);
  EXPECT_EQ(out[0], 0);
  ExecutionResult good;
  packed->unpack(model, good);
  EXPECT_EQ(std::memcmp(out, a, sizeof a), 0);
}

TEST(ArgumentPackerTest, ARepetitionHasTheInputsOfItsTime) {
  ArgumentPacker packer;
  float a[] = {1, 2, 3};
  const float b[] = {4, 5, 6};
  float out[] = {0, 0, 0};
  const Request request = pointerRequest(a, b, out, 3);
  auto packed = packer.pack(request);
  ASSERT_TRUE(packed.ok()) << packed.status().toString();
  const SharedMemoryPtr memory = std::get<SharedMemoryPtr>(packed->request().pools[0]);
  a[1] = 7;
  packed->repeat(request);
  EXPECT_EQ(std::get<SharedMemoryPtr>(packed->request().pools[0]), memory);
  EXPECT_EQ(std::memcmp(floatsOf(packed->request(), packed->request().inputs[0]), a, sizeof a), 0);
  EXPECT_EQ(std::memcmp(floatsOf(packed->request(), packed->request().inputs[1]), b, sizeof b), 0);
  EXPECT_FALSE(packed->isAbandoned());
  packed->abandon();
  EXPECT_TRUE(packed->isAbandoned());
}

TEST(ArgumentPackerTest, CopiesNoMoreThanWasWritten) {
  ArgumentPacker packer;
  const float a[] = {1, 2, 3};
  float out[] = {-1, -1, -1};
  auto packed = packer.pack(pointerRequest(a, a, out, 3));
  ASSERT_TRUE(packed.ok());
  const Model model = addModel(0);
  ExecutionResult result;
  result.outputShapes = {{{1}, true}};
  packed->unpack(model, result);
  EXPECT_EQ(out[0], 0);  // the value in the fresh pool
  EXPECT_EQ(out[1], -1);
  result.outputShapes = {{{0xffffffff}, true}};  // a false report of a driver
  packed->unpack(model, result);
  EXPECT_EQ(out[2], 0);
}

TEST(ArgumentPackerTest, PoolsAreReusedOneRequestAtATime) {
  ArgumentPacker packer;
  const float a[] = {1, 2, 3};
  float out[3];
  const auto poolOf = [](const Result<ArgumentPacker::PackedRequest>& packed) {
    return std::get<SharedMemoryPtr>(packed->request().pools[0]).get();
  };
  const SharedMemory* first = nullptr;
  {
    const auto one = packer.pack(pointerRequest(a, a, out, 3));
    const auto two = packer.pack(pointerRequest(a, a, out, 3));
    ASSERT_TRUE(one.ok() && two.ok());
    first = poolOf(one);
    EXPECT_NE(first, poolOf(two));
  }
  const auto again = packer.pack(pointerRequest(a, a, out, 3));
  EXPECT_EQ(first, poolOf(again));
}

TEST(ArgumentPackerTest, EmptyArgumentsAreNotTheWholePool) {
  ArgumentPacker packer;
  float out[1];
  Request request = pointerRequest(nullptr, nullptr, out, 0);
  RequestArgument empty;
  empty.kind = RequestArgument::Kind::POINTER;
  request.inputs.push_back(empty);
  const auto packed = packer.pack(request);
  ASSERT_TRUE(packed.ok());
  EXPECT_NE(packed->request().inputs[0].location.offset, 0u);
  EXPECT_EQ(packed->request().inputs[0].location.length, 0u);
}

TEST(ArgumentPackerTest, TooMuchIsRefused) {
  ArgumentPacker packer;
  Request request;
  RequestArgument huge;
  huge.kind = RequestArgument::Kind::POINTER;
  huge.length = 0x90000000u;
  request.inputs = {huge, huge};
  EXPECT_EQ(packer.pack(request).status().code(), ResultCode::BAD_DATA);
}

}  // namespace
}  // namespace halyard::hal
