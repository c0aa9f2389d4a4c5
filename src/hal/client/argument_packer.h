// ArgumentPacker: brings the arguments that a request has as pointers into shared memory, which a
// driver in another process can use, and its results back.
// Thread safety: pack may be called from several threads; a PackedRequest is used by one.
// Ownership: keeps its pools, and the memory of its tables, for later requests; a PackedRequest
// borrows one set of them.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "halyard/driver/hal_types.h"
#include "halyard/driver/shared_memory.h"

namespace halyard::hal {

class ArgumentPacker {
  struct Work;

 public:
  class PackedRequest {
   public:
    PackedRequest(PackedRequest&&) noexcept;
    PackedRequest& operator=(PackedRequest&&) = delete;
    PackedRequest(const PackedRequest&) = delete;
    ~PackedRequest();

    // All arguments are in pools, or omitted.
    const Request& request() const;
    // Before the request is computed again: copies the inputs in again. `request` is the one that
    // was packed.
    void repeat(const Request& request) const;
    // After an execution: copies what a successful one has written to where the caller wants it.
    void unpack(const Model& model, const ExecutionResult& result) const;
    // The driver may still use the pools: they are not used for other requests. Its own references
    // keep them as long as it needs them.
    void abandon();
    bool isAbandoned() const { return abandoned_; }

   private:
    friend class ArgumentPacker;
    PackedRequest(ArgumentPacker& packer, std::unique_ptr<Work> work);

    ArgumentPacker& packer_;  // to give work_ back to
    std::unique_ptr<Work> work_;
    bool abandoned_ = false;
  };

  ArgumentPacker();
  ~ArgumentPacker();
  ArgumentPacker(const ArgumentPacker&) = delete;
  ArgumentPacker& operator=(const ArgumentPacker&) = delete;

  // Copies the inputs in. BAD_DATA when all together are 4 GiB or more, OUT_OF_MEMORY.
  // The packer must outlive the result.
  Result<PackedRequest> pack(const Request& request);

 private:
  std::unique_ptr<Work> borrow();
  void giveBack(std::unique_ptr<Work> work);

  std::mutex mutex_;
  std::vector<std::unique_ptr<Work>> free_;
};

}  // namespace halyard::hal
