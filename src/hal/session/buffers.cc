#include "hal/session/buffers.h"

#include <limits>

#include "hal/checks/pool_mapping.h"
#include "hal/session/buffer_state.h"

namespace halyard::hal {
namespace {

// Opens the memory of the caller for reading or writing. OP_FAILED when that is not possible.
Result<ReceivedPool> openForCopy(const SharedMemoryPtr& memory, bool toWrite) {
  Result<ReceivedPool> pool = ReceivedPool::inspect(memory);
  if (!pool.ok()) return pool.takeStatus().withCode(ResultCode::OP_FAILED);
  if (toWrite ? !pool->writable() : !pool->readable()) {
    return opFailed("it may not be {}", toWrite ? "written" : "read");
  }
  return pool;
}

Status checkSize(const SharedMemory& memory, uint32_t size, std::string_view what) {
  if (memory.size() == size) return okStatus();
  return badData("the {} has {} bytes, the buffer {}", what, memory.size(), size);
}

}  // namespace

// The object for the client.
class Buffers::Handle final : public Buffer {
 public:
  Handle(std::shared_ptr<Buffers> buffers, StatePtr state)
      : buffers_(std::move(buffers)), state_(std::move(state)) {}
  ~Handle() override { buffers_->release(state_->token); }

  uint32_t token() const override { return state_->token; }

  Status copyTo(const SharedMemoryPtr& destination) override {
    if (destination == nullptr) return badData("the destination is null");
    HALYARD_ASSIGN_OR_RETURN(const uint32_t size, beginReading(*destination));
    const Status copied = [&]() -> Status {
      HALYARD_ASSIGN_OR_RETURN(const ReceivedPool to, openForCopy(destination, true));
      return state_->memory.read(to, size, state_->current);
    }();
    const std::lock_guard lock(buffers_->mutex_);
    --state_->readers;
    return copied.ok() ? okStatus()
                       : internal::annotated(copied.withCode(ResultCode::OP_FAILED), "destination");
  }

  Status copyFrom(const SharedMemoryPtr& source, const Shape& dimensions) override {
    Result<Shape> shape = checkSource(source, dimensions);
    Status status = shape.ok() ? buffers_->claimForWriting(*state_) : shape.takeStatus();
    if (!status.ok()) {
      const std::lock_guard lock(buffers_->mutex_);
      if (!state_->writing) state_->initialised = false;
      return status;
    }
    status = fill(source, *shape);
    buffers_->endWriting(*state_, status.ok() ? std::optional<Shape>(*shape) : std::nullopt);
    return status.withCode(ResultCode::OP_FAILED);
  }

 private:
  // Checks the size first, then whether the buffer has contents.
  Result<uint32_t> beginReading(const SharedMemory& destination) {
    const std::lock_guard lock(buffers_->mutex_);
    const std::optional<uint32_t> size = state_->currentSize();
    if (size) HALYARD_RETURN_IF_ERROR(checkSize(destination, *size, "destination"));
    if (state_->writing) return opFailed("the buffer is being written");
    if (!state_->initialised || !size) return opFailed("the buffer is not initialised");
    ++state_->readers;
    return *size;
  }

  // The dimensions of the buffer after a copy from `source`.
  Result<Shape> checkSource(const SharedMemoryPtr& source, const Shape& dimensions) const {
    const BufferSpec& spec = state_->spec;
    if (source == nullptr) return badData("the source is null");
    if (spec.isScalar() && !dimensions.empty()) {
      return badData("dimensions {} for a scalar", shapeText(dimensions));
    }
    if (!spec.isFixed() && dimensions.empty()) {
      return badData("no dimensions; the buffer knows no more than {}", shapeText(spec.dimensions));
    }
    for (size_t i = 0; i < dimensions.size(); ++i) {
      if (dimensions[i] == 0) {
        return badData("dimension {} of {} is not specified", i, shapeText(dimensions));
      }
    }
    std::optional<Shape> combined = combineShapes(spec.dimensions, dimensions);
    if (!combined) {
      return badData("dimensions {}; the buffer has {}", shapeText(dimensions),
                     shapeText(spec.dimensions));
    }
    const std::optional<uint32_t> size = knownByteSize(spec.type, *combined);
    if (!size) return badData("dimensions {} are too large", shapeText(*combined));
    HALYARD_RETURN_IF_ERROR(checkSize(*source, *size, "source"));
    return std::move(*combined);
  }

  Status fill(const SharedMemoryPtr& source, const Shape& dimensions) {
    HALYARD_ASSIGN_OR_RETURN(const ReceivedPool from, openForCopy(source, false), "source");
    HALYARD_RETURN_IF_ERROR(buffers_->reserve(*state_, source->size()));
    HALYARD_RETURN_IF_ERROR(state_->memory.write(from, source->size(), dimensions), "source");
    return okStatus();
  }

  const std::shared_ptr<Buffers> buffers_;
  const StatePtr state_;
};

Buffers::Buffers(std::shared_ptr<TokenPool> tokens, std::shared_ptr<MemoryAccount> account,
                 std::shared_ptr<Device> device)
    : tokens_(std::move(tokens)), account_(std::move(account)), device_(std::move(device)) {}

Result<std::unique_ptr<Buffer>> Buffers::allocate(BufferSpec spec) {
  HALYARD_ASSIGN_OR_RETURN(Quota::Charge counted, account_->countBuffer());
  HALYARD_ASSIGN_OR_RETURN(const uint32_t token, tokens_->take());
  auto state = std::make_shared<State>(token, std::move(spec));
  state->counted = std::move(counted);
  // The handle owns the token from now on.
  auto handle = std::make_unique<Handle>(shared_from_this(), state);
  if (state->spec.isFixed()) {
    HALYARD_RETURN_IF_ERROR(
        reserve(*state, knownByteSize(state->spec.type, state->spec.dimensions).value_or(0)));
  }
  const std::lock_guard lock(mutex_);
  if (states_.size() >= kMaxBuffers) {
    return opFailed("there are {} buffers already, as many as a client can have", states_.size());
  }
  states_.emplace(token, std::move(state));
  return std::unique_ptr<Buffer>(std::move(handle));
}

Buffers::StatePtr Buffers::find(uint32_t token) const {
  const std::lock_guard lock(mutex_);
  const auto it = states_.find(token);
  return it == states_.end() ? nullptr : it->second;
}

Status Buffers::reserve(State& state, uint64_t size) const {
  if (size != 0 && state.memory.capacity() >= size) return okStatus();
  if (size == 0 || size > std::numeric_limits<uint32_t>::max()) {
    return opFailed("a buffer of {} bytes", size);
  }
  // Frees the old memory first, so that old and new memory do not count at the same time.
  state.memory = {};
  auto share = account_->take(size);
  if (!share.ok()) {
    return internal::annotated(share.takeStatus().withCode(ResultCode::OP_FAILED), "buffer memory");
  }
  HALYARD_ASSIGN_OR_RETURN(
      state.memory, BufferMemory::make(device_.get(), state.spec.order(size), std::move(*share)));
  return okStatus();
}

Status Buffers::claimForWriting(State& state) const {
  const std::lock_guard lock(mutex_);
  if (state.writing) return opFailed("the buffer is being written");
  if (state.readers != 0) return opFailed("the buffer is being read");
  state.writing = true;
  state.initialised = false;
  return okStatus();
}

void Buffers::endWriting(State& state, const std::optional<Shape>& written) const {
  const std::lock_guard lock(mutex_);
  state.writing = false;
  if (!written) return;
  state.current = *written;
  state.initialised = true;
}

void Buffers::release(uint32_t token) {
  StatePtr last;  // frees the memory without the lock
  {
    const std::lock_guard lock(mutex_);
    const auto it = states_.find(token);
    if (it != states_.end()) {
      last = std::move(it->second);
      states_.erase(it);
    }
  }
  tokens_->release(token);
}

size_t Buffers::count() const {
  const std::lock_guard lock(mutex_);
  return states_.size();
}

}  // namespace halyard::hal
