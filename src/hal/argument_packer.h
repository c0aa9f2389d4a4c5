// ArgumentPacker: brings the arguments that a request has as pointers into shared memory, which a
// driver in another process can use, and its results back.
// Thread safety: pack may be called from several threads; a PackedRequest is used by one.
// Ownership: keeps its pools for later requests; a PackedRequest borrows one pair of them.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "halyard/driver/hal_types.h"
#include "halyard/driver/shared_memory.h"

namespace halyard::hal {

class ArgumentPacker {
 public:
  // A pool with its mapping.
  struct Area {
    SharedMemoryPtr memory;
    Mapping mapping;
  };
  struct Areas {
    Area inputs;
    Area outputs;
  };

  class PackedRequest {
   public:
    PackedRequest(PackedRequest&&) = default;
    PackedRequest& operator=(PackedRequest&&) = delete;
    PackedRequest(const PackedRequest&) = delete;
    ~PackedRequest();

    // All arguments are in pools, or omitted.
    const Request& request() const { return request_; }
    // After an execution: copies what a successful one has written to where the caller wants it.
    void unpack(const Model& model, const ExecutionResult& result) const;
    // The driver may still use the pools: they are not used for other requests. Its own references
    // keep them as long as it needs them.
    void abandon() { areas_.reset(); }

   private:
    friend class ArgumentPacker;
    explicit PackedRequest(Request request) : request_(std::move(request)) {}

    struct PointerOutput {
      size_t index;
      void* pointer;
    };
    ArgumentPacker* packer_ = nullptr;  // to give areas_ back to
    std::unique_ptr<Areas> areas_;
    Request request_;
    std::vector<PointerOutput> outputs_;
  };

  // Copies the inputs in. BAD_DATA when all together are 4 GiB or more, OUT_OF_MEMORY.
  // The packer must outlive the result.
  Result<PackedRequest> pack(Request request);

 private:
  std::unique_ptr<Areas> borrow();
  void giveBack(std::unique_ptr<Areas> areas);

  std::mutex mutex_;
  std::vector<std::unique_ptr<Areas>> free_;
};

}  // namespace halyard::hal
