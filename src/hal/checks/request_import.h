// A request from another process on its way to the driver: checked, and made safe to compute with.
// Thread safety: an ImportedRequest is used by one thread.
// Ownership: owns private copies of arguments; the request within points to them.
#pragma once

#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "hal/checks/pool_mapping.h"
#include "hal/core/quota.h"
#include "halyard/driver/hal_types.h"

namespace halyard::hal {

// As the wire has it: arguments of Kind::POOL or NO_VALUE, without pools; nothing is checked.
struct DecodedRequest {
  Request request;
  // One per pool: the index among the received memories, or the token of a buffer.
  struct Token {
    uint32_t token;
  };
  std::vector<std::variant<size_t, Token>> pools;
  // What the sender is charged for it; kept as long as the imported request.
  Quota::Charge memory;
  Quota::Charge descriptors;
};
// Charges `quota` for what has been decoded, before it waits for a thread; the import adds what it
// copies.
Status chargeRequest(Quota& quota, DecodedRequest& decoded,
                     const std::vector<PoolDescription>& memories);

class ImportedRequest {
 public:
  // BAD_DATA when the request does not fit the model. `version`: of the method that it came with.
  // Tokens stay as they are: the session knows whether they are those of buffers.
  // Afterwards the driver may trust the request: inputs small enough to be parameters, arguments
  // not aligned to their elements, and those in files that could shrink are in private memory.
  static Result<ImportedRequest> create(const Model& model, DecodedRequest decoded,
                                        std::vector<PoolDescription> memories, HalVersion version);
  // The same in two steps, for inputs that are not there yet: bind checks everything, but reads
  // nothing; load is called once, before the execution.
  static Result<ImportedRequest> bind(const Model& model, DecodedRequest decoded,
                                      std::vector<PoolDescription> memories, HalVersion version);
  Status load(const Model& model);

  // The same for a request whose pools are open already, one for each; its own list of pools is
  // not looked at. `memory`: what grows with each byte that is copied.
  static Result<ImportedRequest> createFromPools(const Model& model, Request request,
                                                 std::vector<ReceivedPool> pools,
                                                 HalVersion version, Quota::Charge memory = {});
  // Before the same request is executed once more: takes its private inputs from their pools anew.
  Status repeat();

  const Request& request() const { return request_; }
  // After an execution with `result`: brings outputs that were computed in private memory to their
  // pools.
  Status writeBack(const Model& model, const ExecutionResult& result) const;

 private:
  struct Free {
    void operator()(void* memory) const;
  };
  using Buffer = std::unique_ptr<uint8_t, Free>;
  struct PrivateArgument {
    size_t index;  // among the inputs or outputs
    size_t pool;   // among pools_
    uint64_t offset;
  };

  Status check(const Model& model, HalVersion version);
  Status bindPools(DecodedRequest& decoded, std::vector<PoolDescription> memories);
  Status checkAccess(RequestArgument& argument, bool isOutput) const;
  Status privatise(const Operand& operand, RequestArgument& argument, bool isOutput, size_t index);
  Result<uint8_t*> allocate(uint64_t size);
  void dropUnusedPools();

  Request request_;
  std::vector<std::optional<ReceivedPool>> pools_;  // as the request came; none for a token
  std::vector<Buffer> buffers_;
  std::vector<PrivateArgument> privateInputs_;
  std::vector<PrivateArgument> privateOutputs_;
  uint64_t allocated_ = 0;
  Quota::Charge memory_;
  Quota::Charge descriptors_;
};

// How many bytes of an output an execution has written: by the reported shape, else by the
// request's or the model's, never more than its buffer has.
size_t writtenBytes(const Operand& operand, const RequestArgument& argument,
                    const OutputShape* shape);

}  // namespace halyard::hal
