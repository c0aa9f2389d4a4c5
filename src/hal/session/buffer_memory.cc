#include "hal/session/buffer_memory.h"

#include <vector>

#include "hal/core/driver_exception.h"

namespace halyard::hal {
namespace {

// The bytes of a pool for one copy by the driver: its mapping, or private memory if the file could
// become shorter.
class CopyWindow {
 public:
  static Result<CopyWindow> open(const ReceivedPool& pool, size_t size, bool isWritten) {
    CopyWindow window;
    if (!pool.mappable()) {
      window.own_.resize(size);
      window.bytes_ = window.own_;
      return window;
    }
    HALYARD_ASSIGN_OR_RETURN(const Mapping* const mapping, pool.memory()->mapped());
    window.access_ = CpuAccess(pool.memory(), isWritten);
    window.bytes_ = {mapping->data(), size};
    return window;
  }
  std::span<uint8_t> bytes() const { return bytes_; }
  bool isOwn() const { return !own_.empty(); }

 private:
  std::vector<uint8_t> own_;
  CpuAccess access_;
  std::span<uint8_t> bytes_;
};

// The memory, which also keeps its charge.
template <typename Memory>
std::shared_ptr<Memory> charged(std::shared_ptr<Memory> memory, MemoryAccount::Share share) {
  using Charged = std::pair<MemoryAccount::Share, std::shared_ptr<Memory>>;
  Memory* const plain = memory.get();
  return {std::make_shared<Charged>(std::move(share), std::move(memory)), plain};
}

}  // namespace

Result<BufferMemory> BufferMemory::make(Device* device, const MemoryOrder& order,
                                        MemoryAccount::Share share) {
  if (device != nullptr) {
    Result<DeviceMemoryPtr> own = guarded([&] { return device->allocateMemory(order); });
    if (own.ok() && *own == nullptr) return opFailed("the driver has allocated no memory");
    if (own.ok()) return BufferMemory(charged(std::move(*own), std::move(share)), order.bytes);
    if (own.status().code() != ResultCode::UNAVAILABLE_DEVICE) {
      return own.takeStatus().withCode(ResultCode::OP_FAILED);
    }
  }
  auto shared = SharedMemory::create(order.bytes, "halyard buffer");
  if (!shared.ok()) return shared.takeStatus().withCode(ResultCode::OP_FAILED);
  return BufferMemory(charged(std::move(*shared), std::move(share)), order.bytes);
}

Status BufferMemory::read(const ReceivedPool& to, size_t size, const Shape& dimensions) const {
  if (const auto* const shared = std::get_if<SharedMemoryPtr>(&pool_)) {
    HALYARD_ASSIGN_OR_RETURN(const Mapping* const from, (*shared)->mapped());
    return to.write(0, {from->data(), size});
  }
  HALYARD_ASSIGN_OR_RETURN(const CopyWindow window, CopyWindow::open(to, size, true));
  HALYARD_RETURN_IF_ERROR(
      guarded([&] { return std::get<DeviceMemoryPtr>(pool_)->read(window.bytes(), dimensions); }));
  return window.isOwn() ? to.write(0, window.bytes()) : okStatus();
}

Status BufferMemory::write(const ReceivedPool& from, size_t size, const Shape& dimensions) const {
  if (const auto* const shared = std::get_if<SharedMemoryPtr>(&pool_)) {
    HALYARD_ASSIGN_OR_RETURN(const Mapping* const to, (*shared)->mapped());
    return from.read(0, {to->data(), size});
  }
  HALYARD_ASSIGN_OR_RETURN(const CopyWindow window, CopyWindow::open(from, size, false));
  if (window.isOwn()) HALYARD_RETURN_IF_ERROR(from.read(0, window.bytes()));
  return guarded(
      [&] { return std::get<DeviceMemoryPtr>(pool_)->write(window.bytes(), dimensions); });
}

}  // namespace halyard::hal
