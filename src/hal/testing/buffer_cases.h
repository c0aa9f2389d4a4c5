// The rules of memory domains as tests, for each device that has buffers. A test program includes
// this file once and names its devices:
//   INSTANTIATE_TEST_SUITE_P(Remote, BufferTest, ::testing::Values(BufferDevice{...}), nameOf);
// Thread safety: one thread at a time. Ownership: the fixture owns the device.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <set>
#include <thread>

#include "hal/testing/buffer_fixture.h"

namespace halyard::hal::testing {

TEST_P(BufferTest, AllocateRefuses) {
  const auto other = GetParam().open();
  const auto stranger = prepareOn(*other, addModel(4));
  const auto five = prepare(addModel(5));
  const auto half = prepare(addModelOf(OperandType::TENSOR_FLOAT16, 0, 0));
  const auto quant = prepare(addModelOf(OperandType::TENSOR_QUANT8_ASYMM, 0.5f, 10));
  const auto scaled = prepare(addModelOf(OperandType::TENSOR_QUANT8_ASYMM, 0.25f, 10));
  const auto shifted = prepare(addModelOf(OperandType::TENSOR_QUANT8_ASYMM, 0.5f, 11));
  const auto scalar = prepare(scalarInputModel());
  const Roles none;
  const Roles first = {{0, 0, 1.0f}};
  const Roles both = {{0, 0, 1.0f}, {1, 0, 1.0f}};
  struct Row {
    const char* what;
    Shape dimensions;
    Models models;
    Roles inputs;
    Roles outputs;
  };
  const std::vector<Row> rows = {
      {"no prepared models", {}, {}, first, none},
      {"no roles", {}, {add_}, none, none},
      {"model index of an input role", {}, {add_}, {{1, 0, 1.0f}}, none},
      {"model index of an output role", {}, {add_}, none, {{0xffffffff, 0, 1.0f}}},
      {"null prepared model", {}, {nullptr}, first, none},
      {"null prepared model behind another", {}, {add_, nullptr}, both, none},
      {"prepared model of another device", {}, {stranger}, first, none},
      {"index of an input", {}, {add_}, {{0, 2, 1.0f}}, none},
      {"index of an output", {}, {add_}, none, {{0, 1, 1.0f}}},
      {"frequency 0", {}, {add_}, {{0, 0, 0.0f}}, none},
      {"frequency below 0", {}, {add_}, none, {{0, 0, -0.5f}}},
      {"frequency above 1", {}, {add_}, {{0, 0, 1.5f}}, none},
      {"frequency that is no number", {}, {add_}, {{0, 0, std::nanf("")}}, none},
      {"an input twice", {}, {add_}, {{0, 0, 1.0f}, {0, 0, 0.5f}}, none},
      {"an output twice", {}, {add_}, none, {{0, 0, 1.0f}, {0, 0, 1.0f}}},
      {"an input twice by a model listed twice", {}, {add_, add_}, both, none},
      {"types", {}, {add_, half}, both, none},
      {"scales", {}, {quant, scaled}, both, none},
      {"zero points", {}, {quant, shifted}, first, {{1, 0, 1.0f}}},
      {"dimensions of two roles", {}, {add_, five}, both, none},
      {"dimensions of the request", {5}, {add_}, first, none},
      {"rank of the request", {2, 2}, {add_}, first, none},
      {"dimensions beyond 32 bits", {1 << 30}, {open_}, first, none},
      {"dimensions for a scalar", {1}, {scalar}, {{0, 2, 1.0f}}, none},
  };
  for (const Row& row : rows) {
    const auto buffer = tryAllocate(row.dimensions, row.models, row.inputs, row.outputs);
    EXPECT_EQ(buffer.status().code(), ResultCode::BAD_DATA)
        << row.what << ": " << buffer.status().toString();
    EXPECT_NE(buffer.status().message(), "");
  }
  // The failed calls have not damaged the device. Valid calls still succeed.
  EXPECT_NE(allocate(add_), nullptr);
  EXPECT_TRUE(tryAllocate({4}, {quant, quant, add_}, {{2, 0, 1.0f}, {2, 1, 0.5f}}, none).ok());
  EXPECT_TRUE(tryAllocate({}, {scalar}, {{0, 2, 1.0f}}, none).ok());
  EXPECT_TRUE(tryAllocate({0}, {add_, open_}, both, {{1, 0, 1e-30f}}).ok());
}

TEST_P(BufferTest, TokensAreNeitherZeroNorUsedTwice) {
  std::vector<std::unique_ptr<Buffer>> buffers;
  std::set<uint32_t> tokens;
  for (int i = 0; i < 50; ++i) {
    buffers.push_back(allocate(add_));
    ASSERT_NE(buffers.back(), nullptr);
    EXPECT_NE(buffers.back()->token(), 0u);
    EXPECT_TRUE(tokens.insert(buffers.back()->token()).second);
  }
  // The numbers are not consecutive, so that a client cannot guess them.
  uint32_t low = *tokens.begin();
  uint32_t high = *tokens.rbegin();
  EXPECT_GT(high - low, 1'000'000u);
  const uint32_t gone = buffers.back()->token();
  buffers.pop_back();
  expectFails(add_, requestOf({Arg(gone), ones_}, {ones_}), ResultCode::BAD_DATA, "token");
}

// ---- 8.2: the state of a buffer ----

TEST_P(BufferTest, CopiesInAndOut) {
  const auto buffer = allocate(add_);
  expectUninitialised(*buffer, 4);
  ASSERT_TRUE(buffer->copyFrom(floats({1, 2, 3, 4}), {}).ok());
  expectHolds(*buffer, {1, 2, 3, 4});
  ASSERT_TRUE(buffer->copyFrom(floats({5, 6, 7, 8}), {4}).ok());
  expectHolds(*buffer, {5, 6, 7, 8});
}

TEST_P(BufferTest, CopiesOfEveryKindOfMemory) {
  const auto buffer = allocate(add_);
  // A file that is read-only, has an offset, and is not sealed against shrinking.
  UniqueFd fd(::memfd_create("test", MFD_CLOEXEC));
  const std::vector<float> values = {1, 2, 3, 4};
  ASSERT_EQ(::pwrite(fd.get(), values.data(), 16, 4096), 16);
  const auto file = SharedMemory::fromFd(16, PROT_READ, fd.get(), 4096).value();
  ASSERT_TRUE(buffer->copyFrom(file, {}).ok());
  expectHolds(*buffer, values);
  EXPECT_EQ(buffer->copyTo(file).code(), ResultCode::OP_FAILED);
  expectHolds(*buffer, values);
  const auto target = SharedMemory::fromFd(16, PROT_READ | PROT_WRITE, fd.get(), 0).value();
  EXPECT_TRUE(buffer->copyTo(target).ok());
  EXPECT_EQ(valuesOf(target), values);
  // The file shrinks, so the copies fail. The buffer loses its contents only if the file was the
  // source.
  ASSERT_EQ(::ftruncate(fd.get(), 8), 0);
  EXPECT_EQ(buffer->copyTo(target).code(), ResultCode::OP_FAILED);
  expectHolds(*buffer, values);
  EXPECT_EQ(buffer->copyFrom(file, {}).code(), ResultCode::OP_FAILED);
  expectUninitialised(*buffer, 4);
}

TEST_P(BufferTest, CopyFromRefuses) {
  const auto scalar = prepare(scalarInputModel());
  auto scalarBuffer = tryAllocate({}, {scalar}, {{0, 2, 1.0f}}, {}).value();
  const auto fixed = allocate(add_);
  const auto dynamic = allocate(open_);
  const auto four = floats({1, 2, 3, 4});
  struct Row {
    const char* what;
    Buffer* buffer;
    SharedMemoryPtr source;
    Shape dimensions;
  };
  const std::vector<Row> rows = {
      {"half the size", fixed.get(), floats({1, 2}), {}},
      {"twice the size", fixed.get(), floats(std::vector<float>(8)), {}},
      {"scalar with dimensions", scalarBuffer.get(), floats({0}), {1}},
      {"no dimensions for an open buffer", dynamic.get(), four, {}},
      {"dimensions with zeros", fixed.get(), four, {0}},
      {"dimensions with zeros, open", dynamic.get(), four, {0}},
      {"other dimensions", fixed.get(), four, {5}},
      {"other rank", fixed.get(), four, {2, 2}},
      {"other rank, open", dynamic.get(), four, {2, 2}},
      {"half the size of the dimensions", dynamic.get(), four, {8}},
      {"twice the size of the dimensions", dynamic.get(), four, {2}},
      {"no memory", fixed.get(), nullptr, {}},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    const bool isScalar = row.buffer == scalarBuffer.get();
    const auto good = isScalar ? floats({0}) : four;
    ASSERT_TRUE(row.buffer->copyFrom(good, isScalar ? Shape() : Shape{4}).ok());
    const Status status = row.buffer->copyFrom(row.source, row.dimensions);
    EXPECT_EQ(status.code(), ResultCode::BAD_DATA) << status.toString();
    // The buffer has lost its contents, except for a null source, which never reaches the device.
    if (row.source != nullptr) expectUninitialised(*row.buffer, isScalar ? 1 : 4);
  }
}

TEST_P(BufferTest, CopyToRefuses) {
  const auto buffer = allocate(add_);
  // The check of the size comes first.
  EXPECT_EQ(buffer->copyTo(floats({0, 0})).code(), ResultCode::BAD_DATA);
  EXPECT_EQ(buffer->copyTo(ones_).code(), ResultCode::OP_FAILED);
  ASSERT_TRUE(buffer->copyFrom(floats({1, 2, 3, 4}), {}).ok());
  EXPECT_EQ(buffer->copyTo(floats({0, 0})).code(), ResultCode::BAD_DATA);
  EXPECT_EQ(buffer->copyTo(floats(std::vector<float>(8))).code(), ResultCode::BAD_DATA);
  EXPECT_EQ(buffer->copyTo(nullptr).code(), ResultCode::BAD_DATA);
  expectHolds(*buffer, {1, 2, 3, 4});
}

TEST_P(BufferTest, ExecutesFromAndToBuffers) {
  const auto in = filled(add_, {1, 2, 3, 4});
  const auto out = allocate(add_);
  expectRuns(add_, requestOf({in, ones_}, {out}));
  expectHolds(*out, {2, 3, 4, 5});
  // The output is now an input, and the input is now an output.
  expectRuns(add_, requestOf({out, ones_}, {in}));
  expectHolds(*in, {3, 4, 5, 6});
  expectHolds(*out, {2, 3, 4, 5});
  // Memory and buffers in one request.
  const auto memory = floats({0, 0, 0, 0});
  expectRuns(add_, requestOf({in, ones_}, {memory}));
  EXPECT_EQ(valuesOf(memory), (std::vector<float>{4, 5, 6, 7}));
}

TEST_P(BufferTest, FencedExecutions) {
  const auto in = allocate(add_);
  const auto out = filled(add_, {1, 2, 3, 4});
  const Request request = requestOf({in, ones_}, {out});
  EXPECT_EQ(runFenced(*add_, request).code(), ResultCode::OP_FAILED);
  expectUninitialised(*out, 4);
  ASSERT_TRUE(in->copyFrom(floats({1, 2, 3, 4}), {}).ok());
  const Status done = runFenced(*add_, request);
  EXPECT_TRUE(done.ok()) << done.toString();
  expectHolds(*out, {2, 3, 4, 5});
  // An invalid request fails before the execution begins.
  for (const Request& wrong : {requestOf({ones_, in}, {out}), requestOf({in, ones_}, {in}),
                               requestOf({Arg(100), ones_}, {out})}) {
    const FencedResult refused = add_->executeFenced(wrong, {}, {}, std::nullopt);
    EXPECT_EQ(refused.status.code(), ResultCode::BAD_DATA) << refused.status.toString();
  }
  expectHolds(*out, {2, 3, 4, 5});
}

TEST_P(BufferTest, OneBufferForTwoInputsAndTwoModels) {
  auto buffer =
      tryAllocate({}, {add_, open_}, {{0, 0, 1.0f}, {0, 1, 1.0f}, {1, 1, 1.0f}}, {}).value();
  ASSERT_TRUE(buffer->copyFrom(floats({1, 2, 3, 4}), {}).ok());
  const auto out = floats({0, 0, 0, 0});
  expectRuns(add_, requestOf({buffer, buffer}, {out}));
  EXPECT_EQ(valuesOf(out), (std::vector<float>{2, 4, 6, 8}));
  Request samePool = requestOf({buffer, ones_}, {out});
  samePool.inputs[1] = samePool.inputs[0];
  expectRuns(add_, samePool);
  expectRuns(open_, requestOf({Arg(ones_, {4}), Arg(buffer, {4})}, {out}));
  EXPECT_EQ(valuesOf(out), (std::vector<float>{2, 3, 4, 5}));
}

TEST_P(BufferTest, RolesAreCheckedOnEachUse) {
  auto input = tryAllocate({}, {add_}, {{0, 0, 1.0f}}, {}).value();
  auto output = tryAllocate({}, {add_}, {}, {{0, 0, 1.0f}}).value();
  ASSERT_TRUE(input->copyFrom(floats({1, 2, 3, 4}), {}).ok());
  ASSERT_TRUE(output->copyFrom(floats({1, 2, 3, 4}), {}).ok());
  const auto again = prepare(addModel(4));
  const auto bad = ResultCode::BAD_DATA;
  expectFails(add_, requestOf({ones_, input}, {ones_}), bad,
              "request input 1: the buffer has no role");
  expectFails(add_, requestOf({ones_, ones_}, {input}), bad,
              "request output 0: the buffer has no role");
  expectFails(add_, requestOf({output, ones_}, {ones_}), bad,
              "request input 0: the buffer has no role");
  expectFails(again, requestOf({input, ones_}, {ones_}), bad, "no role");
  expectFails(again, requestOf({ones_, ones_}, {output}), bad, "no role");
  // The failed executions have not changed the contents.
  expectHolds(*input, {1, 2, 3, 4});
  expectHolds(*output, {1, 2, 3, 4});
}

TEST_P(BufferTest, AnOutputIsNothingElse) {
  const auto buffer = filled(add_, {1, 2, 3, 4});
  expectFails(add_, requestOf({buffer, ones_}, {buffer}), ResultCode::BAD_DATA, "input as well");
  expectHolds(*buffer, {1, 2, 3, 4});
}

TEST_P(BufferTest, UnknownTokensAreRefused) {
  const auto buffer = filled(add_, {1, 2, 3, 4});
  expectFails(add_, requestOf({Arg(100), ones_}, {ones_}), ResultCode::BAD_DATA, "token 100");
  expectFails(add_, requestOf({ones_, ones_}, {Arg(0)}), ResultCode::BAD_DATA, "token 0");
  // This also applies to a pool that no argument uses.
  Request request = requestOf({buffer, ones_}, {ones_});
  request.pools.emplace_back(uint32_t{100});
  expectFails(add_, request, ResultCode::BAD_DATA, "token 100");
  // An argument cannot refer to a part of a buffer.
  request = requestOf({buffer, ones_}, {ones_});
  request.inputs[0].location.length = 16;
  expectFails(add_, request, ResultCode::BAD_DATA, "bytes");
  request.inputs[0].location = {0, 4, 0};
  expectFails(add_, request, ResultCode::BAD_DATA, "bytes");
}

TEST_P(BufferTest, RecordedExecutionsFollowTheBuffers) {
  auto in = filled(add_, {1, 2, 3, 4});
  const auto out = allocate(add_);
  const Request request = requestOf({in, ones_}, {out});
  auto execution = add_->createReusableExecution(request);
  ASSERT_TRUE(execution.ok()) << execution.status().toString();
  for (const float value : {1.0f, 5.0f, 9.0f}) {
    ASSERT_TRUE(in->copyFrom(floats({value, 0, 0, 0}), {}).ok());
    const ExecutionResult result = (*execution)->compute({});
    EXPECT_TRUE(result.status.ok()) << result.status.toString();
    expectHolds(*out, {value + 1, 1, 1, 1});
  }
  in.reset();
  (void)device_->status();  // the device has processed the release
  EXPECT_EQ((*execution)->compute({}).status.code(), ResultCode::BAD_DATA);
  expectHolds(*out, {10, 1, 1, 1});
}

// Larger contents give a buffer new memory, which is a new request for the driver. Many changes are
// too many to record.
TEST_P(BufferTest, RecordedExecutionsFollowNewMemory) {
  const auto out = allocate(open_);
  const std::vector<BufferRole> roles = {{0, 0, 1.0f}, {0, 1, 1.0f}};
  const auto in = tryAllocate({}, {open_}, roles, {});
  ASSERT_TRUE(in.ok()) << in.status().toString();
  const Request request = requestOf({Arg(*in, {4}), Arg(*in, {4})}, {out});
  const auto execution = open_->createReusableExecution(request);
  ASSERT_TRUE(execution.ok()) << execution.status().toString();
  for (uint32_t i = 1; i < 14; ++i) {
    const uint32_t larger = 4096 * i;
    ASSERT_TRUE((*in)->copyFrom(floats(std::vector<float>(larger, 7)), {larger}).ok());
    EXPECT_EQ((*execution)->compute({}).status.code(), ResultCode::BAD_DATA) << "other dimensions";
    for (const float value : {1.0f, 2.0f}) {
      ASSERT_TRUE((*in)->copyFrom(floats({value, 0, 0, value}), {4}).ok());
      const ExecutionResult result = (*execution)->compute({});
      ASSERT_TRUE(result.status.ok()) << result.status.toString();
      expectHolds(*out, {2 * value, 0, 0, 2 * value});
    }
  }
}

TEST_P(BufferTest, UninitialisedInput) {
  const auto in = allocate(add_);
  const auto out = filled(add_, {1, 2, 3, 4});
  expectFails(add_, requestOf({in, ones_}, {out}), ResultCode::OP_FAILED, "not initialised");
  expectUninitialised(*out, 4);  // it is the output of a failed execution
}

TEST_P(BufferTest, DimensionsOfTheRequest) {
  const auto in = filled(open_, {1, 2, 3, 4});
  const auto out = allocate(open_, {4});
  const auto five = floats({1, 1, 1, 1, 1});
  const auto bad = ResultCode::BAD_DATA;
  expectFails(open_, requestOf({Arg(in, {5}), Arg(five, {5})}, {five}), bad, "dimensions [5]");
  expectFails(open_, requestOf({Arg(five, {5}), Arg(five, {5})}, {Arg(out, {5})}), bad,
              "dimensions [5]");
  expectRuns(open_, requestOf({Arg(in, {4}), Arg(ones_, {4})}, {Arg(out, {4})}));
  expectHolds(*out, {2, 3, 4, 5});
  expectRuns(open_, requestOf({Arg(in, {4}), Arg(ones_, {4})}, {Arg(out, {0})}));
  // The output is larger or smaller than the buffer.
  expectFails(open_, requestOf({Arg(five, {5}), Arg(five, {5})}, {out}), ResultCode::OP_FAILED,
              "output 0");
  expectUninitialised(*out, 4);
  const auto three = floats({1, 1, 1});
  expectRuns(open_, requestOf({Arg(in, {4}), Arg(ones_, {4})}, {out}));
  expectFails(open_, requestOf({Arg(three, {3}), Arg(three, {3})}, {out}), ResultCode::OP_FAILED,
              "output 0");
  expectUninitialised(*out, 4);
}

TEST_P(BufferTest, OpenDimensions) {
  const auto buffer = allocate(open_);
  const auto sum = allocate(open_);
  // No dimension is known, so no size is wrong.
  expectUninitialised(*buffer, 4);
  expectUninitialised(*buffer, 1);
  for (const uint32_t n : {3u, 5000u, 2u, 100'000u}) {
    SCOPED_TRACE(n);
    const auto values = floats(std::vector<float>(n, 2.0f));
    ASSERT_TRUE(buffer->copyFrom(values, {n}).ok());
    expectHolds(*buffer, std::vector<float>(n, 2.0f));
    EXPECT_EQ(buffer->copyTo(floats(std::vector<float>(n + 1))).code(), ResultCode::BAD_DATA);
    // The execution determines the size of the output.
    expectRuns(open_, requestOf({Arg(buffer, {n}), Arg(values, {n})}, {sum}));
    expectHolds(*sum, std::vector<float>(n, 4.0f));
    // The request may give the size, too.
    expectRuns(open_, requestOf({Arg(sum, {n}), Arg(values, {n})}, {Arg(buffer, {n})}));
    expectHolds(*buffer, std::vector<float>(n, 6.0f));
    EXPECT_EQ(run(open_, requestOf({Arg(buffer, {n + 1}), Arg(values, {n})}, {sum})).status.code(),
              ResultCode::BAD_DATA);
  }
}

TEST_P(BufferTest, BuffersAndPreparedModelsEndInEitherOrder) {
  auto model = prepare(addModel(4));
  auto buffer = tryAllocate({}, {model, add_}, {{0, 0, 1.0f}, {1, 0, 1.0f}}, {}).value();
  ASSERT_TRUE(buffer->copyFrom(floats({1, 2, 3, 4}), {}).ok());
  model.reset();
  expectHolds(*buffer, {1, 2, 3, 4});
  expectRuns(add_, requestOf({buffer, ones_}, {floats({0, 0, 0, 0})}));
  // A new prepared model does not have the roles of the old one.
  for (int i = 0; i < 10; ++i) {
    const auto next = prepare(addModel(4));
    expectFails(next, requestOf({buffer, ones_}, {ones_}), ResultCode::BAD_DATA, "no role");
  }
  buffer.reset();
  expectRuns(add_, requestOf({ones_, ones_}, {floats({0, 0, 0, 0})}));
}

TEST_P(BufferTest, ReadersRunAtOnce) {
  const auto buffer = filled(add_, {1, 2, 3, 4});
  std::vector<std::thread> threads;
  std::atomic<int> failures = 0;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        const auto out = floats({0, 0, 0, 0});
        const Request request = requestOf({buffer, ones_}, {out});
        if (!add_->executeSynchronously(request, {}).status.ok()) ++failures;
        if (valuesOf(out) != std::vector<float>{2, 3, 4, 5}) ++failures;
        if (!buffer->copyTo(out).ok()) ++failures;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
}

inline bool allEqual(const std::vector<float>& values) {
  return std::ranges::all_of(values, [&](float value) { return value == values.front(); });
}

// Each execution writes vectors of equal numbers. A mixed vector would show two writers, or a
// reader beside a writer.
TEST_P(BufferTest, ReadersAndWritersOfSeveralBuffersNeverMixOrHang) {
  constexpr uint32_t kCount = 20'000;
  const auto model = prepare(addModel(kCount));
  const std::vector<std::unique_ptr<Buffer>> buffers = [&] {
    std::vector<std::unique_ptr<Buffer>> made;
    for (int i = 0; i < 3; ++i) made.push_back(allocate(model));
    return made;
  }();
  std::atomic<int> mixed = 0;
  std::atomic<int> unexpected = 0;
  std::atomic<int> worked = 0;
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      const auto mine = floats(std::vector<float>(kCount, static_cast<float>(t)));
      const auto out = floats(std::vector<float>(kCount));
      for (size_t i = 0; i < 60; ++i) {
        const auto& a = buffers[(t + i) % 3];
        const auto& b = buffers[(t + 2 * i + 1) % 3];
        Status status;
        switch ((t + i) % 4) {
          case 0:
            status = a->copyFrom(mine, {});
            break;
          case 1:
            status = model->executeSynchronously(requestOf({a, mine}, {b}), {}).status;
            if (&a == &b && status.code() == ResultCode::BAD_DATA) continue;
            break;
          case 2:
            status = model->executeSynchronously(requestOf({mine, mine}, {b}), {}).status;
            break;
          default:
            status = a->copyTo(out);
            if (!status.ok()) break;
            if (!allEqual(valuesOf(out))) ++mixed;
            break;
        }
        if (status.ok()) ++worked;
        if (!status.ok() && status.code() != ResultCode::OP_FAILED) ++unexpected;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(mixed, 0);
  EXPECT_EQ(unexpected, 0);
  EXPECT_GT(worked, 0);
  for (const auto& buffer : buffers) {
    const auto mine = floats(std::vector<float>(kCount, 7.0f));
    EXPECT_TRUE(buffer->copyFrom(mine, {}).ok()) << "nobody uses it any more";
    expectHolds(*buffer, std::vector<float>(kCount, 7.0f));
  }
}

}  // namespace halyard::hal::testing
