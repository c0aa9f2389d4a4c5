// Implements executions that have buffers among their arguments.
#include <algorithm>
#include <limits>

#include "hal/core/failed_execution.h"
#include "hal/session/buffer_state.h"

namespace halyard::hal {
namespace {

// The bytes of an output of unknown size in the first run.
constexpr uint32_t kFirstTry = 4096;

const uint32_t* tokenOf(const Request& request, const RequestArgument& argument) {
  if (argument.kind != RequestArgument::Kind::POOL) return nullptr;
  return std::get_if<uint32_t>(&request.pools[argument.location.poolIndex]);
}

}  // namespace

BufferExecution::~BufferExecution() {
  if (!bound_) return;
  const std::lock_guard lock(buffers_.mutex_);
  if (inputsClaimed_) {
    for (const Input& input : inputs_) --input.state->readers;
  }
  for (const Output& output : outputs_) {
    if (output.claimed) output.state->writing = false;
    // A failure before the claim also counts as a failure of the output.
    if (!output.state->writing) output.state->initialised = false;
  }
}

Status BufferExecution::bind(const Request& request) {
  std::vector<Buffers::StatePtr> states(request.pools.size());
  for (size_t i = 0; i < states.size(); ++i) {
    const auto* const token = std::get_if<uint32_t>(&request.pools[i]);
    if (token == nullptr) continue;
    states[i] = buffers_.find(*token);
    if (states[i] == nullptr) {
      return badData("memory pool {}: there is no buffer with token {}", i, *token);
    }
  }
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    const RequestArgument& argument = request.inputs[i];
    if (tokenOf(request, argument) == nullptr) continue;
    HALYARD_RETURN_IF_ERROR(bindInput(i, states[argument.location.poolIndex]), "request input {}",
                            i);
  }
  for (size_t i = 0; i < request.outputs.size(); ++i) {
    const RequestArgument& argument = request.outputs[i];
    if (tokenOf(request, argument) == nullptr) continue;
    HALYARD_RETURN_IF_ERROR(bindOutput(argument, i, states[argument.location.poolIndex]),
                            "request output {}", i);
  }
  return okStatus();
}

Status BufferExecution::bindInput(size_t index, const Buffers::StatePtr& state) {
  if (!state->spec.uses.contains({modelNumber_, true, static_cast<uint32_t>(index)})) {
    return badData("the buffer has no role as this input");
  }
  inputs_.push_back({index, state, {}});
  return okStatus();
}

Status BufferExecution::bindOutput(const RequestArgument& argument, size_t index,
                                   const Buffers::StatePtr& state) {
  const BufferSpec& spec = state->spec;
  if (!spec.uses.contains({modelNumber_, false, static_cast<uint32_t>(index)})) {
    return badData("the buffer has no role as this output");
  }
  const auto same = [&](const auto& other) { return other.state == state; };
  if (std::ranges::any_of(inputs_, same)) return badData("the buffer is an input as well");
  if (std::ranges::any_of(outputs_, same)) return badData("the buffer is another output as well");
  std::optional<Shape> expected = combineShapes(spec.dimensions, argument.dimensions);
  if (!expected) {
    return badData("dimensions {}; the buffer has {}", shapeText(argument.dimensions),
                   shapeText(spec.dimensions));
  }
  outputs_.push_back({index, state, std::move(*expected)});
  return okStatus();
}

// Claims all buffers or no buffer, in one step. So two executions cannot block each other with
// partial claims.
Status BufferExecution::claim(const Request& request) {
  const std::lock_guard lock(buffers_.mutex_);
  HALYARD_RETURN_IF_ERROR(claimInputs(request));
  for (const Output& output : outputs_) {
    if (output.state->writing) {
      return opFailed("request output {}: the buffer is being written", output.index);
    }
    if (output.state->readers != 0) {
      return opFailed("request output {}: the buffer is being read", output.index);
    }
  }
  inputsClaimed_ = true;
  for (const Input& input : inputs_) ++input.state->readers;
  for (Output& output : outputs_) {
    output.claimed = true;
    output.state->writing = true;
    output.state->initialised = false;
  }
  return okStatus();
}

Status BufferExecution::claimInputs(const Request& request) {
  for (Input& input : inputs_) {
    const Buffers::State& state = *input.state;
    if (state.writing)
      return opFailed("request input {}: the buffer is being written", input.index);
    if (!state.initialised) {
      return opFailed("request input {}: the buffer is not initialised", input.index);
    }
    const Shape& asked = request.inputs[input.index].dimensions;
    if (!combineShapes(state.current, asked)) {
      bound_ = false;  // an error of the caller: the buffers stay unchanged
      return badData("request input {}: dimensions {}; the buffer has {}", input.index,
                     shapeText(asked), shapeText(state.current));
    }
    input.dimensions = state.current;
  }
  return okStatus();
}

Status BufferExecution::reserveOutputs() {
  for (Output& output : outputs_) {
    const BufferSpec& spec = output.state->spec;
    const std::optional<uint32_t> known = knownByteSize(spec.type, output.expected);
    uint64_t length = kFirstTry;
    if (known) {
      length = *known;
    } else if (output.state->memory.capacity() != 0) {
      length = output.state->memory.capacity();
    }
    HALYARD_RETURN_IF_ERROR(buffers_.reserve(*output.state, length), "request output {}",
                            output.index);
    output.length = static_cast<uint32_t>(length);
  }
  return okStatus();
}

// The request for the driver. It has only the pools that are used, and memory in place of tokens.
Request BufferExecution::substitute(const Request& request) const {
  Request own;
  own.inputs = request.inputs;
  own.outputs = request.outputs;
  constexpr uint32_t kNotYet = std::numeric_limits<uint32_t>::max();
  std::vector<uint32_t> places(request.pools.size(), kNotYet);
  const auto keepPool = [&](RequestArgument& argument) {
    if (argument.kind != RequestArgument::Kind::POOL) return;
    if (tokenOf(request, argument) != nullptr) return;
    uint32_t& place = places[argument.location.poolIndex];
    if (place == kNotYet) {
      place = static_cast<uint32_t>(own.pools.size());
      own.pools.push_back(request.pools[argument.location.poolIndex]);
    }
    argument.location.poolIndex = place;
  };
  const auto keepMemory = [&](RequestArgument& argument, const RequestPool& pool, uint32_t length) {
    const auto it = std::ranges::find(own.pools, pool);
    argument.location = {static_cast<uint32_t>(it - own.pools.begin()), 0, length};
    if (it == own.pools.end()) own.pools.push_back(pool);
  };
  for (RequestArgument& argument : own.inputs) keepPool(argument);
  for (RequestArgument& argument : own.outputs) keepPool(argument);
  for (const Input& input : inputs_) {
    RequestArgument& argument = own.inputs[input.index];
    const OperandType type = input.state->spec.type;
    keepMemory(argument, input.state->memory.pool(),
               knownByteSize(type, input.dimensions).value_or(0));
    argument.dimensions = input.dimensions;
  }
  for (const Output& output : outputs_) {
    keepMemory(own.outputs[output.index], output.state->memory.pool(), output.length);
  }
  return own;
}

ExecutionResult BufferExecution::run(const Request& request, const Buffers::Run& run) {
  bound_ = true;
  Status status = claim(request);
  if (status.ok()) status = reserveOutputs();
  if (!status.ok()) return failed(std::move(status));
  ExecutionResult result = runUntilLargeEnough(request, run);
  if (!result.status.ok()) return result;
  status = takeShapes(result);
  return status.ok() ? std::move(result) : failed(std::move(status));
}

ExecutionResult BufferExecution::runUntilLargeEnough(const Request& request,
                                                     const Buffers::Run& run) {
  for (;;) {
    ExecutionResult result = run(substitute(request));
    if (result.status.code() != ResultCode::OUTPUT_INSUFFICIENT_SIZE) return result;
    Result<bool> again = grow(request, result);
    if (!again.ok()) return failed(again.takeStatus());
    if (!*again) return result;
  }
}

// Gives outputs that were too small more memory, if they are buffers. False when the output that
// was too small is memory of the caller.
Result<bool> BufferExecution::grow(const Request& request, const ExecutionResult& result) {
  if (result.outputShapes.size() != request.outputs.size()) {
    return opFailed("the driver found an output too small without saying which");
  }
  size_t tooSmall = 0;
  for (const OutputShape& shape : result.outputShapes) tooSmall += shape.isSufficient ? 0 : 1;
  for (Output& output : outputs_) {
    const OutputShape& shape = result.outputShapes[output.index];
    if (shape.isSufficient) continue;
    --tooSmall;
    const BufferSpec& spec = output.state->spec;
    const std::optional<Shape> combined = combineShapes(output.expected, shape.dimensions);
    const std::optional<uint32_t> needed =
        combined ? knownByteSize(spec.type, *combined) : std::nullopt;
    const uint64_t length = needed ? *needed : uint64_t{output.length} * 2;
    if (!combined || knownByteSize(spec.type, output.expected) || length <= output.length) {
      return opFailed("request output {}: {} is needed; the buffer has {}", output.index,
                      shapeText(shape.dimensions), shapeText(output.expected));
    }
    HALYARD_RETURN_IF_ERROR(buffers_.reserve(*output.state, length), "request output {}",
                            output.index);
    output.length = static_cast<uint32_t>(length);
  }
  return tooSmall == 0;
}

// Stores the written shapes in the states of the buffers.
Status BufferExecution::takeShapes(const ExecutionResult& result) {
  std::vector<Shape> written;
  for (const Output& output : outputs_) {
    const BufferSpec& spec = output.state->spec;
    const Shape& shape = output.index < result.outputShapes.size()
                             ? result.outputShapes[output.index].dimensions
                             : output.expected;
    // A dimension of 0 is a real size here. A buffer cannot have it.
    const bool whole = spec.isScalar() ? shape.empty() : knownElementCount(shape).has_value();
    std::optional<Shape> combined = whole ? combineShapes(output.expected, shape) : std::nullopt;
    const std::optional<uint32_t> size =
        combined ? knownByteSize(spec.type, *combined) : std::nullopt;
    if (!size || *size > output.length) {
      return opFailed("request output {}: the execution produced {}; the buffer has {}",
                      output.index, shapeText(shape), shapeText(output.expected));
    }
    written.push_back(std::move(*combined));
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    buffers_.endWriting(*outputs_[i].state, std::move(written[i]));
    outputs_[i].claimed = false;
  }
  // Clears the list, so that the destructor does not mark these outputs as failed.
  outputs_.clear();
  return okStatus();
}

Status Buffers::checkUses(uint64_t modelNumber, const Request& request) {
  return BufferExecution(*this, modelNumber).bind(request);
}

ExecutionResult Buffers::execute(uint64_t modelNumber, const Request& request, const Run& run) {
  const bool hasTokens = std::ranges::any_of(request.pools, [](const RequestPool& pool) {
    return std::holds_alternative<uint32_t>(pool);
  });
  if (!hasTokens) return run(request);
  BufferExecution execution(*this, modelNumber);
  Status status = execution.bind(request);
  if (!status.ok()) return failed(std::move(status));
  return execution.run(request, run);
}

}  // namespace halyard::hal
