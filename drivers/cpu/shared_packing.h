// Shares packed constants: between the plans of one model for other sizes of its inputs, and
// between the same models of several clients. Equal constants are in memory once. Thread safety:
// PackedPieces and ModelPieces may be used from any thread. A SharedPacking is used as Packing.
// Ownership: kernels own their packed constants. PackedPieces remembers them as long as a kernel
// owns them.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "halyard/driver/model.h"
#include "kernels/packing.h"
#include "run_services.h"

namespace halyard::cpudriver {

// Packed constants of which some may be equal.
class PackedPieces {
 public:
  using Bytes = Packing::Bytes;

  // Forgets constants without an owner. Returns whether none is left.
  bool isEmpty();
  // Returns the constant with these bytes, or null.
  Bytes find(const std::byte* content, size_t bytes);
  // Returns the constant with the bytes of `made`. That is `made` if it is the first one.
  Bytes share(Bytes made, size_t bytes);

 private:
  struct Piece {
    std::weak_ptr<const std::byte> memory;
    size_t bytes = 0;
  };

  Bytes findLocked(uint64_t key, const std::byte* content, size_t bytes);

  std::mutex mutex_;
  std::unordered_multimap<uint64_t, Piece> pieces_;
};

// The pieces of all models in the driver. Models of the same operations and sizes have the same
// pieces. Their constants may differ, because only equal bytes are shared. A client cannot change
// packed constants, so it cannot harm another one.
class ModelPieces {
 public:
  std::shared_ptr<PackedPieces> of(const Model& model);

 private:
  std::mutex mutex_;
  std::unordered_map<uint64_t, std::weak_ptr<PackedPieces>> byStructure_;
};

// Finds a constant that another compilation has packed by its content. The content may depend on
// the sizes, in ways that only the kernel's maker knows. So the constant is packed again and
// compared.
class SharedPacking : public Packing {
 public:
  // `threads` may be null.
  SharedPacking(PackedPieces& pieces, ThreadShare* threads);

  // Only for the first plan of the model, which packs nearly all constants.
  void expect(size_t bytes) override;
  Bytes get(size_t bytes, const Write& write) override;
  void release(const void* /*data*/) override {}
  void divide(size_t count, size_t grain, const Body& body) override {
    services_.parallelFor(count, grain, body);
  }
  void endStep(bool /*hasKernel*/, const std::vector<const void*>& /*constants*/) override {}

  // The bytes that no other compilation had packed before.
  size_t ownBytes() const { return ownBytes_; }

 protected:
  RunServices& services() { return services_; }

 private:
  Bytes share(Bytes made, size_t bytes);
  std::byte* zeros(size_t bytes);

  PackedPieces& pieces_;
  const bool isFirst_;
  RunServices services_;
  cpu::BlockPool::Block buffer_;
  size_t ownBytes_ = 0;
};

}  // namespace halyard::cpudriver
