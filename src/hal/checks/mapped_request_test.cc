// Tests of MappedRequest and resultFor: arguments of all kinds, including inaccessible ones.
#include "halyard/driver/mapped_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>

namespace halyard::hal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A model with one input of 4 bytes and one output of open length.
Model bytesModel() {
  Model model;
  Operand operand;
  operand.type = OperandType::TENSOR_BOOL8;
  operand.dimensions = {4};
  operand.lifetime = Lifetime::SUBGRAPH_INPUT;
  model.main.operands = {operand, operand};
  model.main.operands[1].dimensions = {0};
  model.main.operands[1].lifetime = Lifetime::SUBGRAPH_OUTPUT;
  model.main.inputIndexes = {0};
  model.main.outputIndexes = {1};
  return model;
}

SharedMemoryPtr pool(std::initializer_list<uint8_t> bytes) {
  auto made = SharedMemory::create(bytes.size(), "mapped_request_test");
  EXPECT_TRUE(made.ok()) << made.status().toString();
  std::copy(bytes.begin(), bytes.end(), (*(*made)->mapped())->data());
  return *made;
}

RequestArgument inPool(uint32_t index, uint32_t offset, uint32_t length) {
  RequestArgument argument;
  argument.kind = RequestArgument::Kind::POOL;
  argument.location = {index, offset, length};
  return argument;
}

Request inPools(RequestArgument input, RequestArgument output, std::vector<RequestPool> pools) {
  Request request;
  request.inputs = {std::move(input)};
  request.outputs = {std::move(output)};
  request.pools = std::move(pools);
  return request;
}

Status errorOf(const Request& request) {
  const auto mapped = MappedRequest::map(bytesModel(), request);
  EXPECT_FALSE(mapped.ok());
  return mapped.status();
}

TEST(MappedRequestTest, FindsArgumentsInPoolsAndMemory) {
  const SharedMemoryPtr in = pool({1, 2, 3, 4, 5, 6});
  const SharedMemoryPtr out = pool({0, 0, 0});
  const auto mapped =
      MappedRequest::map(bytesModel(), inPools(inPool(0, 2, 4), inPool(1, 0, 0), {in, out}));
  ASSERT_TRUE(mapped.ok()) << mapped.status().toString();
  const MappedArgument& input = mapped->inputs()[0];
  EXPECT_EQ(std::to_integer<int>(static_cast<std::byte*>(input.data)[0]), 3);
  EXPECT_EQ(input.length, 4u);
  EXPECT_TRUE(input.shared);
  EXPECT_THAT(input.dims, ElementsAre(4));
  // Offset and length 0 mean the whole pool.
  EXPECT_EQ(mapped->outputs()[0].length, 3u);
  EXPECT_THAT(mapped->outputs()[0].dims, ElementsAre(0));
  static_cast<uint8_t*>(mapped->outputs()[0].data)[2] = 9;
  EXPECT_EQ((*out->mapped())->data()[2], 9);

  uint8_t bytes[4] = {7, 8, 9, 10};
  RequestArgument direct;
  direct.kind = RequestArgument::Kind::POINTER;
  direct.pointer = bytes;
  direct.length = 4;
  RequestArgument sized = inPool(0, 0, 3);
  sized.dimensions = {3};
  const auto second = MappedRequest::map(bytesModel(), inPools(direct, sized, {out}));
  ASSERT_TRUE(second.ok()) << second.status().toString();
  EXPECT_EQ(second->inputs()[0].data, bytes);
  EXPECT_FALSE(second->inputs()[0].shared);
  EXPECT_THAT(second->outputs()[0].dims, ElementsAre(3));
}

TEST(MappedRequestTest, DimensionsComeFromRequestAndModel) {
  Model model = bytesModel();
  model.main.operands[1].dimensions = {2, 0, 0};
  uint8_t bytes[4] = {};
  RequestArgument argument;
  argument.kind = RequestArgument::Kind::POINTER;
  argument.pointer = bytes;
  argument.length = 4;
  RequestArgument partly = argument;
  partly.dimensions = {0, 3, 0};
  const auto mapped = MappedRequest::map(model, inPools(argument, partly, {}));
  ASSERT_TRUE(mapped.ok()) << mapped.status().toString();
  EXPECT_THAT(mapped->outputs()[0].dims, ElementsAre(2, 3, 0));
}

TEST(MappedRequestTest, AnOmittedArgumentIsNull) {
  const auto mapped = MappedRequest::map(bytesModel(), inPools({}, {}, {}));
  ASSERT_TRUE(mapped.ok()) << mapped.status().toString();
  EXPECT_EQ(mapped->inputs()[0].data, nullptr);
  EXPECT_EQ(mapped->inputs()[0].length, 0u);
}

TEST(MappedRequestTest, RefusesWhatMustNotBeTouched) {
  const SharedMemoryPtr both = pool({1, 2, 3, 4});
  const auto limited = [&](int prot) {
    auto made = SharedMemory::fromFd(4, prot, both->fd(), 0);
    EXPECT_TRUE(made.ok());
    return *made;
  };
  const RequestArgument good = inPool(0, 0, 4);
  EXPECT_THAT(errorOf(inPools(good, good, {limited(PROT_READ)})).message(),
              HasSubstr("request output 0: pool 0 may not be written"));
  EXPECT_THAT(errorOf(inPools(good, good, {limited(PROT_WRITE)})).message(),
              HasSubstr("request input 0: pool 0 may not be read"));
  EXPECT_THAT(errorOf(inPools(good, good, {uint32_t{7}})).message(), HasSubstr("token"));
  EXPECT_THAT(errorOf(inPools(inPool(1, 0, 4), good, {both})).message(),
              HasSubstr("request input 0: pool 1, the request has 1"));
  EXPECT_THAT(errorOf(inPools(inPool(0, 1, 4), good, {both})).message(),
              HasSubstr("4 bytes at offset 1 of pool 0 of 4 bytes"));
  EXPECT_THAT(errorOf(inPools(inPool(0, 0, 3), good, {both})).message(),
              HasSubstr("request input 0: has 3 bytes, TENSOR_BOOL8[4] needs 4"));
  Request surplus = inPools(good, good, {both});
  surplus.inputs.push_back(good);
  EXPECT_THAT(errorOf(surplus).message(), HasSubstr("the request has 2 inputs, the model 1"));
  auto longer = SharedMemory::fromFd(5, PROT_READ, both->fd(), 0);
  ASSERT_TRUE(longer.ok());
  EXPECT_EQ(errorOf(inPools(good, good, {*longer})).code(), ResultCode::UNMAPPABLE);
}

TEST(ResultForTest, SaysWhichOutputsDoNotFit) {
  const SharedMemoryPtr memory = pool({1, 2, 3, 4});
  const Model model = bytesModel();
  const auto mapped =
      MappedRequest::map(model, inPools(inPool(0, 0, 4), inPool(0, 1, 3), {memory}));
  ASSERT_TRUE(mapped.ok());
  const ExecutionResult fits = resultFor(model, *mapped, {{3}});
  EXPECT_TRUE(fits.status.ok());
  ASSERT_EQ(fits.outputShapes.size(), 1u);
  EXPECT_TRUE(fits.outputShapes[0].isSufficient);
  const ExecutionResult tooLong = resultFor(model, *mapped, {{4}});
  EXPECT_EQ(tooLong.status.code(), ResultCode::OUTPUT_INSUFFICIENT_SIZE);
  EXPECT_THAT(tooLong.status.message(),
              HasSubstr("output 0 is TENSOR_BOOL8[4], its buffer has 3 bytes"));
  EXPECT_FALSE(tooLong.outputShapes[0].isSufficient);
  EXPECT_THAT(tooLong.outputShapes[0].dimensions, ElementsAre(4));
  EXPECT_TRUE(resultFor(model, *mapped, {{0}}).status.ok()) << "an output without elements fits";
}

class MemoryOfADriver final : public DeviceMemory {
 public:
  Status read(std::span<uint8_t>, const Shape&) override { return okStatus(); }
  Status write(std::span<const uint8_t>, const Shape&) override { return okStatus(); }
};

TEST(ValidateRequestTest, TakesTheDriversOwnMemory) {
  const Model model = bytesModel();
  Request request;
  request.pools = {std::make_shared<MemoryOfADriver>(), std::make_shared<MemoryOfADriver>()};
  request.inputs = {inPool(0, 0, 0)};
  request.outputs = {inPool(1, 0, 0)};
  const Status status = validateRequest(model, request, true);
  EXPECT_TRUE(status.ok()) << status.toString();
  request.pools[1] = DeviceMemoryPtr();
  EXPECT_THAT(validateRequest(model, request, true).toString(),
              HasSubstr("request pool 1 has no memory"));
}

}  // namespace
}  // namespace halyard::hal
