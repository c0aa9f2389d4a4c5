// Memory domains: allocation, copies and executions with buffers, and tokens.
#include <cmath>
#include <cstring>
#include <set>

#include "halyard/driver/sync_fence.h"
#include "validation/vts/hal_suite.h"
#include "validation/vts/models.h"
#include "validation/vts/rules.h"
#include "validation/vts/runs.h"

namespace halyard::validation {
namespace {

constexpr HalVersion kBufferMethod = HalVersion::V1_3;
using Roles = std::vector<hal::BufferRole>;
using Models = std::vector<DriverObjectPtr>;
const Roles kNone = {};
const Roles kFirst = {{0, 0, 1.0f}};
const Roles kBoth = {{0, 0, 1.0f}, {1, 0, 1.0f}};
// The codes that the driver may answer to a caller's mistake.
const std::initializer_list<Code> kBufferRefusals = {Code::INVALID_ARGUMENT, Code::GENERAL_FAILURE};

SharedMemoryPtr floats(size_t count, unsigned value) {
  auto memory = SharedMemory::create(count * sizeof(float), "values");
  if (!memory.ok()) return nullptr;
  const auto mapping = (*memory)->mapped();
  const std::vector<uint8_t> bytes = filled(kFloat, count, value);
  if (mapping.ok()) std::memcpy((*mapping)->data(), bytes.data(), bytes.size());
  return *memory;
}

Status expectFloats(const SharedMemoryPtr& memory, unsigned value) {
  HALYARD_ASSIGN_OR_RETURN(const Mapping* const mapping, memory->mapped());
  for (size_t i = 0; i < memory->size() / sizeof(float); ++i) {
    float actual;
    std::memcpy(&actual, mapping->data() + i * sizeof actual, sizeof actual);
    if (actual != static_cast<float>(value)) {
      return opFailed("element {} is {}, expected {}", i, actual, value);
    }
  }
  return okStatus();
}

// An argument: memory or a buffer.
struct Arg {
  Arg(SharedMemoryPtr memory, Shape dims = {})  // NOLINT(google-explicit-constructor)
      : pool(memory), length(static_cast<uint32_t>(memory->size())), dimensions(std::move(dims)) {}
  Arg(const BufferAnswer& buffer, Shape dims = {})  // NOLINT(google-explicit-constructor)
      : pool(buffer.token), dimensions(std::move(dims)) {}
  hal::RequestPool pool;
  uint32_t length = 0;
  Shape dimensions;
};

hal::Request requestOf(const std::vector<Arg>& inputs, const std::vector<Arg>& outputs) {
  hal::Request request;
  const auto add = [&](const std::vector<Arg>& from, std::vector<hal::RequestArgument>& to) {
    for (const Arg& arg : from) {
      hal::RequestArgument argument;
      argument.kind = hal::RequestArgument::Kind::POOL;
      argument.location = {static_cast<uint32_t>(request.pools.size()), 0, arg.length};
      argument.dimensions = arg.dimensions;
      request.pools.push_back(arg.pool);
      to.push_back(std::move(argument));
    }
  };
  add(inputs, request.inputs);
  add(outputs, request.outputs);
  return request;
}

// A driver with addModel(4), `model`, that allocates.
struct BufferSetting {
  HalClient& client;
  DriverObjectPtr model;

  Result<DriverObjectPtr> prepare(const Model& made) const {
    HALYARD_ASSIGN_OR_RETURN(const PreparedOrSkip prepared,
                             prepareIfSupported(client, kBufferMethod, made));
    return prepared.model;
  }
  // A buffer for the first input and the output of addModel(4).
  Result<BufferAnswer> allocate(const DriverObjectPtr& of = nullptr, Shape dims = {}) const {
    const DriverObjectPtr& used = of == nullptr ? model : of;
    HALYARD_ASSIGN_OR_RETURN(BufferAnswer buffer, client.allocate(dims, {used}, kFirst, kFirst));
    HALYARD_RETURN_IF_ERROR(expectAllocated(buffer));
    return buffer;
  }
  static Status expectAllocated(const BufferAnswer& buffer) {
    HALYARD_RETURN_IF_ERROR(expectCode("allocate", buffer.status, {Code::NONE}, buffer.message));
    if (!buffer.hasBuffer) return opFailed("allocate succeeds without a buffer");
    if (buffer.token == 0) return opFailed("allocate gives the token 0");
    return okStatus();
  }
  Result<BufferAnswer> filledWith(unsigned value) const {
    HALYARD_ASSIGN_OR_RETURN(BufferAnswer buffer, allocate());
    HALYARD_RETURN_IF_ERROR(copyIn(buffer, floats(4, value), {}, {Code::NONE}));
    return buffer;
  }
  Status copyIn(const BufferAnswer& buffer, const SharedMemoryPtr& memory, const Shape& dims,
                std::initializer_list<Code> codes) const {
    HALYARD_ASSIGN_OR_RETURN(const StatusAnswer answer,
                             client.copyFrom(buffer.buffer, memory, dims));
    return expectCode("copyFrom", answer.status, codes, answer.message);
  }
  Status copyOut(const BufferAnswer& buffer, const SharedMemoryPtr& memory,
                 std::initializer_list<Code> codes) const {
    HALYARD_ASSIGN_OR_RETURN(const StatusAnswer answer, client.copyTo(buffer.buffer, memory));
    return expectCode("copyTo", answer.status, codes, answer.message);
  }
  Status expectHolds(const BufferAnswer& buffer, unsigned value) const {
    const SharedMemoryPtr out = floats(4, 99);
    HALYARD_RETURN_IF_ERROR(copyOut(buffer, out, {Code::NONE}));
    return expectFloats(out, value);
  }
  Status expectUninitialised(const BufferAnswer& buffer) const {
    return copyOut(buffer, floats(4, 0), {Code::GENERAL_FAILURE})
        .annotate("a buffer without content");
  }
  Status run(const DriverObjectPtr& of, const hal::Request& request) const {
    for (const Path path : pathsOf(kBufferMethod)) {
      HALYARD_ASSIGN_OR_RETURN(const ExecutionAnswer answer,
                               client.execute(kBufferMethod, path, of, request));
      HALYARD_RETURN_IF_ERROR(
          expectCode("execution", answer.status(), {Code::NONE}, answer.message));
    }
    return okStatus();
  }
  Status runFails(const DriverObjectPtr& of, const hal::Request& request,
                  std::initializer_list<Code> codes) const {
    for (const Path path : pathsOf(kBufferMethod)) {
      HALYARD_ASSIGN_OR_RETURN(const ExecutionAnswer answer,
                               client.execute(kBufferMethod, path, of, request));
      HALYARD_RETURN_IF_ERROR(expectError(answer, codes), "executed {}", pathName(path));
    }
    return okStatus();
  }
};

using BufferUse = std::function<Status(const BufferSetting&)>;
HalChecks::WithClient withBuffers(BufferUse use) {
  return [use = std::move(use)](HalClient& client) -> CheckResult {
    HALYARD_ASSIGN_OR_RETURN(const PreparedOrSkip prepared,
                             prepareIfSupported(client, kBufferMethod, addModel(4)));
    if (prepared.model == nullptr) return CheckResult::skipped(prepared.skip);
    HALYARD_ASSIGN_OR_RETURN(const BufferAnswer buffer,
                             client.allocate({}, {prepared.model}, kFirst, kFirst));
    if (buffer.status == Code::GENERAL_FAILURE && !buffer.hasBuffer) {
      return CheckResult::skipped("the driver allocates no buffers: " + buffer.message);
    }
    return use(BufferSetting{client, prepared.model});
  };
}

struct BadOrder {
  const char* name;
  Shape dimensions;
  Models models;
  Roles inputs;
  Roles outputs;
};

Status refusedOrders(const BufferSetting& setting) {
  const DriverObjectPtr& add = setting.model;
  HALYARD_ASSIGN_OR_RETURN(const DriverObjectPtr five, setting.prepare(addModel(5)));
  HALYARD_ASSIGN_OR_RETURN(const DriverObjectPtr quant, setting.prepare(addModel(4, kQuant8)));
  Kind shifted = kQuant8;
  shifted.zeroPoint = 1;
  HALYARD_ASSIGN_OR_RETURN(const DriverObjectPtr other, setting.prepare(addModel(4, shifted)));
  std::vector<BadOrder> orders = {
      {"no prepared models", {}, {}, kFirst, kNone},
      {"no roles", {}, {add}, kNone, kNone},
      {"the model index of an input role", {}, {add}, {{1, 0, 1.0f}}, kNone},
      {"the model index of an output role", {}, {add}, kNone, {{0xffffffff, 0, 1.0f}}},
      {"a null prepared model", {}, {nullptr}, kFirst, kNone},
      {"the index of an input", {}, {add}, {{0, 2, 1.0f}}, kNone},
      {"the index of an output", {}, {add}, kNone, {{0, 1, 1.0f}}},
      {"frequency 0", {}, {add}, {{0, 0, 0.0f}}, kNone},
      {"a negative frequency", {}, {add}, kNone, {{0, 0, -0.5f}}},
      {"a frequency above 1", {}, {add}, {{0, 0, 1.5f}}, kNone},
      {"a frequency that is no number", {}, {add}, {{0, 0, std::nanf("")}}, kNone},
      {"an input twice", {}, {add}, {{0, 0, 1.0f}, {0, 0, 0.5f}}, kNone},
      {"an output twice", {}, {add}, kNone, {{0, 0, 1.0f}, {0, 0, 1.0f}}},
      {"other dimensions than the role's", {5}, {add}, kFirst, kNone},
      {"another rank than the role's", {2, 2}, {add}, kFirst, kNone},
  };
  if (five != nullptr) orders.push_back({"dimensions of two roles", {}, {add, five}, kBoth, kNone});
  if (quant != nullptr) orders.push_back({"types of two roles", {}, {add, quant}, kBoth, kNone});
  if (quant != nullptr && other != nullptr) {
    orders.push_back({"zero points of two roles", {}, {quant, other}, kBoth, kNone});
  }
  for (const BadOrder& order : orders) {
    HALYARD_ASSIGN_OR_RETURN(
        const BufferAnswer answer,
        setting.client.allocate(order.dimensions, order.models, order.inputs, order.outputs));
    HALYARD_RETURN_IF_ERROR(expectCode(fmt::format("allocate with {}", order.name), answer.status,
                                       kBufferRefusals, answer.message));
    if (answer.hasBuffer || answer.token != 0) {
      return opFailed("allocate with {}: {} comes with a buffer or a token", order.name,
                      codeName(answer.status));
    }
  }
  return setting.allocate().status();
}

Status tokens(const BufferSetting& setting) {
  std::vector<BufferAnswer> buffers;
  std::set<uint32_t> seen;
  for (int i = 0; i < 20; ++i) {
    HALYARD_ASSIGN_OR_RETURN(BufferAnswer buffer, setting.allocate());
    if (!seen.insert(buffer.token).second) {
      return opFailed("two living buffers have the token {}", buffer.token);
    }
    buffers.push_back(std::move(buffer));
  }
  return okStatus();
}

// The token of a released buffer is invalid.
Status releasedTokens(const BufferSetting& setting) {
  BufferAnswer ghost;
  {
    HALYARD_ASSIGN_OR_RETURN(const BufferAnswer buffer, setting.filledWith(1));
    ghost.token = buffer.token;
  }
  HALYARD_RETURN_IF_ERROR(setting.client.roundTrip());
  const SharedMemoryPtr ones = floats(4, 1);
  return setting.runFails(setting.model, requestOf({Arg(ghost), ones}, {floats(4, 0)}),
                          {Code::INVALID_ARGUMENT});
}

Status copies(const BufferSetting& setting) {
  HALYARD_ASSIGN_OR_RETURN(const BufferAnswer buffer, setting.allocate());
  HALYARD_RETURN_IF_ERROR(setting.expectUninitialised(buffer));
  HALYARD_RETURN_IF_ERROR(setting.copyIn(buffer, floats(4, 5), {}, {Code::NONE}));
  HALYARD_RETURN_IF_ERROR(setting.expectHolds(buffer, 5));
  HALYARD_RETURN_IF_ERROR(setting.copyIn(buffer, floats(4, 6), {4}, {Code::NONE}));
  return setting.expectHolds(buffer, 6);
}

Status refusedCopies(const BufferSetting& setting) {
  const std::tuple<const char*, SharedMemoryPtr, Shape> rows[] = {
      {"half the size", floats(2, 1), {}},
      {"twice the size", floats(8, 1), {}},
      {"dimension 0", floats(4, 1), {0}},
      {"other dimensions", floats(4, 1), {5}},
      {"another rank", floats(4, 1), {2, 2}}};
  for (const auto& [name, memory, dims] : rows) {
    HALYARD_ASSIGN_OR_RETURN(const BufferAnswer buffer, setting.filledWith(3));
    HALYARD_RETURN_IF_ERROR(setting.copyIn(buffer, memory, dims, {Code::INVALID_ARGUMENT}),
                            "with {}", name);
    HALYARD_RETURN_IF_ERROR(setting.expectUninitialised(buffer), "after a copy with {}", name);
  }
  HALYARD_ASSIGN_OR_RETURN(const BufferAnswer buffer, setting.filledWith(3));
  for (const size_t count : {2, 8}) {
    HALYARD_RETURN_IF_ERROR(setting.copyOut(buffer, floats(count, 0), {Code::INVALID_ARGUMENT}),
                            "to {} elements", count);
  }
  return setting.expectHolds(buffer, 3);
}

Status bufferExecutions(const BufferSetting& setting) {
  const SharedMemoryPtr ones = floats(4, 1);
  HALYARD_ASSIGN_OR_RETURN(const BufferAnswer in, setting.filledWith(2));
  HALYARD_ASSIGN_OR_RETURN(const BufferAnswer out, setting.allocate());
  HALYARD_RETURN_IF_ERROR(setting.run(setting.model, requestOf({in, ones}, {out})));
  HALYARD_RETURN_IF_ERROR(setting.expectHolds(out, 3));
  HALYARD_RETURN_IF_ERROR(setting.expectHolds(in, 2), "an input");
  // The output buffer is now an input.
  const SharedMemoryPtr memory = floats(4, 0);
  HALYARD_RETURN_IF_ERROR(setting.run(setting.model, requestOf({out, ones}, {memory})));
  return expectFloats(memory, 4);
}

Status fenced(const BufferSetting& setting) {
  const SharedMemoryPtr ones = floats(4, 1);
  HALYARD_ASSIGN_OR_RETURN(const BufferAnswer in, setting.filledWith(2));
  HALYARD_ASSIGN_OR_RETURN(const BufferAnswer out, setting.allocate());
  HALYARD_ASSIGN_OR_RETURN(
      const FencedAnswer answer,
      setting.client.executeFenced(setting.model, requestOf({in, ones}, {out})));
  HALYARD_RETURN_IF_ERROR(expectCode("executeFenced", answer.status, {Code::NONE}, answer.message));
  if (answer.hasFence) {
    HALYARD_RETURN_IF_ERROR(
        waitFence(answer.fence.get(), hal::Clock::now() + std::chrono::seconds(20)).status());
  }
  return setting.expectHolds(out, 3);
}

Status roles(const BufferSetting& setting) {
  HALYARD_ASSIGN_OR_RETURN(const BufferAnswer input,
                           setting.client.allocate({}, {setting.model}, kFirst, kNone));
  HALYARD_RETURN_IF_ERROR(BufferSetting::expectAllocated(input));
  HALYARD_ASSIGN_OR_RETURN(const BufferAnswer output,
                           setting.client.allocate({}, {setting.model}, kNone, kFirst));
  HALYARD_RETURN_IF_ERROR(BufferSetting::expectAllocated(output));
  for (const BufferAnswer& buffer : {input, output}) {
    HALYARD_RETURN_IF_ERROR(setting.copyIn(buffer, floats(4, 1), {}, {Code::NONE}));
  }
  HALYARD_ASSIGN_OR_RETURN(const DriverObjectPtr again, setting.prepare(addModel(4)));
  const SharedMemoryPtr ones = floats(4, 1);
  const SharedMemoryPtr out = floats(4, 0);
  const std::initializer_list<Code> kInvalid = {Code::INVALID_ARGUMENT};
  const std::tuple<const char*, DriverObjectPtr, hal::Request> rows[] = {
      {"input 1 of a buffer for input 0", setting.model, requestOf({ones, input}, {out})},
      {"an output of a buffer for an input", setting.model, requestOf({ones, ones}, {input})},
      {"an input of a buffer for an output", setting.model, requestOf({output, ones}, {out})},
      {"an input of another prepared model", again, requestOf({input, ones}, {out})},
      {"an output of another prepared model", again, requestOf({ones, ones}, {output})},
  };
  for (const auto& [name, model, request] : rows) {
    HALYARD_RETURN_IF_ERROR(setting.runFails(model, request, kInvalid), "{}", name);
  }
  HALYARD_RETURN_IF_ERROR(setting.expectHolds(input, 1));
  // A buffer as an input and an output at once.
  HALYARD_ASSIGN_OR_RETURN(const BufferAnswer both, setting.filledWith(1));
  return setting.runFails(setting.model, requestOf({both, ones}, {both}), kInvalid)
      .annotate("a buffer as input and output");
}

Status uninitialised(const BufferSetting& setting) {
  const SharedMemoryPtr ones = floats(4, 1);
  HALYARD_ASSIGN_OR_RETURN(const BufferAnswer in, setting.allocate());
  HALYARD_ASSIGN_OR_RETURN(const BufferAnswer out, setting.filledWith(7));
  HALYARD_RETURN_IF_ERROR(
      setting.runFails(setting.model, requestOf({in, ones}, {out}), {Code::GENERAL_FAILURE}),
      "an input without content");
  return setting.expectUninitialised(out).annotate("the output of an execution that failed");
}

Status requestDimensions(const BufferSetting& setting) {
  HALYARD_ASSIGN_OR_RETURN(const DriverObjectPtr open, setting.prepare(addModel(0)));
  if (open == nullptr) return okStatus();
  HALYARD_ASSIGN_OR_RETURN(const BufferAnswer in,
                           setting.client.allocate({4}, {open}, {{0, 0, 1.0f}}, {{0, 0, 1.0f}}));
  HALYARD_RETURN_IF_ERROR(BufferSetting::expectAllocated(in));
  HALYARD_RETURN_IF_ERROR(setting.copyIn(in, floats(4, 1), {}, {Code::NONE}));
  HALYARD_ASSIGN_OR_RETURN(const BufferAnswer out,
                           setting.client.allocate({4}, {open}, {{0, 0, 1.0f}}, {{0, 0, 1.0f}}));
  HALYARD_RETURN_IF_ERROR(BufferSetting::expectAllocated(out));
  const SharedMemoryPtr five = floats(5, 1);
  const SharedMemoryPtr four = floats(4, 1);
  HALYARD_RETURN_IF_ERROR(
      setting.runFails(open, requestOf({Arg(in, {5}), Arg(five, {5})}, {floats(5, 0)}),
                       {Code::INVALID_ARGUMENT}),
      "an input of other dimensions than its buffer");
  HALYARD_RETURN_IF_ERROR(
      setting.runFails(open, requestOf({Arg(five, {5}), Arg(five, {5})}, {Arg(out, {5})}),
                       {Code::INVALID_ARGUMENT}),
      "an output of other dimensions than its buffer");
  HALYARD_RETURN_IF_ERROR(
      setting.runFails(open, requestOf({Arg(five, {5}), Arg(five, {5})}, {Arg(out)}),
                       {Code::GENERAL_FAILURE, Code::INVALID_ARGUMENT}),
      "a result of other dimensions than its buffer");
  HALYARD_RETURN_IF_ERROR(setting.run(open, requestOf({Arg(in, {4}), Arg(four, {4})}, {Arg(out)})));
  return setting.expectHolds(out, 2);
}

Status eitherOrder(const BufferSetting& setting) {
  HALYARD_ASSIGN_OR_RETURN(DriverObjectPtr model, setting.prepare(addModel(4)));
  HALYARD_ASSIGN_OR_RETURN(BufferAnswer buffer, setting.allocate(model));
  HALYARD_RETURN_IF_ERROR(setting.copyIn(buffer, floats(4, 8), {}, {Code::NONE}));
  model.reset();
  HALYARD_RETURN_IF_ERROR(setting.client.roundTrip());
  HALYARD_RETURN_IF_ERROR(setting.expectHolds(buffer, 8), "after its model was released");
  buffer = BufferAnswer();
  HALYARD_RETURN_IF_ERROR(setting.client.roundTrip());
  return runsAdd(setting.client, kBufferMethod, setting.model, 4);
}

// One prepared model reads the output of another.
Status acrossModels(const BufferSetting& setting) {
  HALYARD_ASSIGN_OR_RETURN(const DriverObjectPtr next, setting.prepare(addModel(4)));
  HALYARD_ASSIGN_OR_RETURN(
      const BufferAnswer state,
      setting.client.allocate({}, {setting.model, next}, {{1, 0, 1.0f}}, {{0, 0, 1.0f}}));
  HALYARD_RETURN_IF_ERROR(BufferSetting::expectAllocated(state));
  HALYARD_ASSIGN_OR_RETURN(const BufferAnswer other, setting.filledWith(50));
  const SharedMemoryPtr ones = floats(4, 1);
  const SharedMemoryPtr out = floats(4, 0);
  for (unsigned value = 2; value < 5; ++value) {
    HALYARD_RETURN_IF_ERROR(
        setting.run(setting.model, requestOf({floats(4, value), ones}, {state})));
    HALYARD_RETURN_IF_ERROR(setting.run(next, requestOf({state, ones}, {out})));
    HALYARD_RETURN_IF_ERROR(expectFloats(out, value + 2), "what the other model computes");
  }
  return setting.expectHolds(other, 50).annotate("another buffer");
}

Status concurrentReads(const BufferSetting& setting) {
  HALYARD_ASSIGN_OR_RETURN(const BufferAnswer shared, setting.filledWith(2));
  Status status = inThreads(8, [&](unsigned thread) -> Status {
    const SharedMemoryPtr own = floats(4, thread);
    HALYARD_ASSIGN_OR_RETURN(const BufferAnswer out, setting.allocate());
    for (int i = 0; i < 15; ++i) {
      HALYARD_RETURN_IF_ERROR(setting.run(setting.model, requestOf({shared, own}, {out})));
      HALYARD_RETURN_IF_ERROR(setting.expectHolds(out, 2 + thread));
    }
    return okStatus();
  });
  HALYARD_RETURN_IF_ERROR(std::move(status));
  return setting.expectHolds(shared, 2);
}

}  // namespace

void listBufferChecks(HalChecks& checks) {
  const auto add = [&](const char* name, const char* what, BufferUse use) {
    checks.add(kBufferMethod, fmt::format("memory/{}", name), what, {},
               withBuffers(std::move(use)));
  };
  add("refused_orders", "buffers for roles that cannot be are refused", refusedOrders);
  add("tokens", "living buffers have different tokens, none of them 0", tokens);
  add("released_tokens", "a released buffer's token is refused", releasedTokens);
  add("copies", "a buffer holds what was copied into it", copies);
  add("refused_copies", "copies of the wrong size or shape are refused", refusedCopies);
  add("executions", "executions read and write buffers", bufferExecutions);
  add("fenced", "so do fenced executions", fenced);
  add("roles", "a buffer is used in its roles only", roles);
  add("uninitialised", "a buffer without content is no input; a failed execution leaves none",
      uninitialised);
  add("request_dimensions", "dimensions of requests and results agree with the buffer's",
      requestDimensions);
  add("either_order", "buffers and prepared models are released in any order", eitherOrder);
  add("across_models", "a buffer carries what one prepared model writes to another", acrossModels);
  add("concurrently", "several executions read one buffer at once", concurrentReads);
}

}  // namespace halyard::validation
