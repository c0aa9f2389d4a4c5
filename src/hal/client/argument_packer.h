// ArgumentPacker: copies a request's pointer arguments into shared memory, which a driver in
// another process can use, and copies its results back.
// Thread safety: pack may be called from several threads. One thread uses a PackedRequest.
// Ownership: keeps its pools, and the memory of its tables, for later requests. A PackedRequest
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

    // The packed request. All arguments are in pools, or omitted.
    const Request& request() const;
    // Copies the inputs in again, before the request is computed again. `request` is the request
    // that was packed.
    void repeat(const Request& request) const;
    // Copies the results of a successful execution to the caller's buffers, and adds the bytes that
    // were copied for the execution to `result`. Does nothing after an error.
    void unpack(const Model& model, ExecutionResult& result) const;
    // Drops the pools, so that no other request uses them. The driver may still use them, and its
    // own references keep them for that time.
    void abandon();
    bool isAbandoned() const { return abandoned_; }

   private:
    friend class ArgumentPacker;
    PackedRequest(ArgumentPacker& packer, std::unique_ptr<Work> work);

    ArgumentPacker& packer_;  // gets work_ back
    std::unique_ptr<Work> work_;
    bool abandoned_ = false;
  };

  ArgumentPacker();
  ~ArgumentPacker();
  ArgumentPacker(const ArgumentPacker&) = delete;
  ArgumentPacker& operator=(const ArgumentPacker&) = delete;

  // Copies the inputs into a pool. BAD_DATA when the inputs together, or the outputs together, need
  // 4 GiB or more. OUT_OF_MEMORY when no pool can be made. The packer must outlive the result.
  Result<PackedRequest> pack(const Request& request);

 private:
  std::unique_ptr<Work> borrow();
  void giveBack(std::unique_ptr<Work> work);

  std::mutex mutex_;
  std::vector<std::unique_ptr<Work>> free_;
};

}  // namespace halyard::hal
