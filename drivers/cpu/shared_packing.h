// Shares the packed constants of one model's plans. Each plan is for other sizes of the inputs, but
// most packed constants are equal in all of them. They are in memory once.
// Thread safety: PackedPieces may be used by any number of SharedPackings, which wait for each
// other; a SharedPacking is used as Packing.
// Ownership: kernels own their packed constants; PackedPieces remembers them as long as a kernel
// owns them.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "kernels/packing.h"
#include "run_services.h"

namespace halyard::cpudriver {

class PackedPieces {
 private:
  friend class SharedPacking;
  struct Piece {
    std::weak_ptr<const std::byte> memory;
    size_t bytes = 0;
  };

  std::mutex packing_;  // held by the thread that packs
  std::unordered_multimap<uint64_t, Piece> pieces_;
};

// A piece that another plan has packed is found by its content. The content may depend on the
// sizes, in ways that only the kernel's maker knows. So the constant is packed again and compared.
class SharedPacking final : public Packing {
 public:
  // Waits until no other thread packs for the same model. `threads` may be null.
  SharedPacking(PackedPieces& pieces, ThreadShare* threads);

  // Only for the first plan of the model, which packs nearly all constants.
  void expect(size_t bytes) override;
  Bytes get(size_t bytes, const Write& write) override;
  void release(const void* /*data*/) override {}
  void divide(size_t count, size_t grain, const Body& body) override {
    services_.parallelFor(count, grain, body);
  }
  void endStep(bool /*hasKernel*/, const std::vector<const void*>& /*constants*/) override {}

  // The bytes that no other plan had packed before.
  size_t ownBytes() const { return ownBytes_; }

 private:
  Bytes find(uint64_t key, const std::byte* content, size_t bytes);
  void remember(uint64_t key, const Bytes& memory, size_t bytes);
  std::byte* zeros(size_t bytes);

  PackedPieces& pieces_;
  const std::unique_lock<std::mutex> lock_;
  const bool isFirst_;
  RunServices services_;
  cpu::BlockPool::Block buffer_;
  size_t ownBytes_ = 0;
};

}  // namespace halyard::cpudriver
