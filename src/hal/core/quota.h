// Quota: limits the resources of a process that one client may hold, and all clients of one user
// together.
// Thread safety: all methods may be called from any thread.
// Ownership: charges share their quota; a quota shares the one above it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "halyard/driver/status.h"

namespace halyard::hal {

// All numbers are limits; UINT64_MAX means no limit.
struct QuotaLimits {
  static constexpr uint64_t kNone = UINT64_MAX;

  // Private memory for a client: models' tables and copied constants, copied arguments, buffers,
  // rings. The driver's own allocations do not count.
  uint64_t memoryBytes = kNone;
  uint64_t models = kNone;       // prepared models
  uint64_t executions = kNone;   // running ones; queued calls have a limit of their own
  uint64_t buffers = kNone;      // memories of the driver (IBuffer)
  uint64_t rings = kNone;        // rings of bursts and executions
  uint64_t descriptors = kNone;  // for files that models and running executions hold
};

class Quota : public std::enable_shared_from_this<Quota> {
 public:
  enum class Resource : uint8_t { MEMORY, MODELS, EXECUTIONS, BUFFERS, RINGS, DESCRIPTORS };
  static constexpr size_t kResources = 6;

  // A held amount, given back at destruction. Move only.
  class Charge {
   public:
    Charge() = default;
    Charge(Charge&& other) noexcept;
    Charge& operator=(Charge&& other) noexcept;
    Charge(const Charge&) = delete;
    Charge& operator=(const Charge&) = delete;
    ~Charge();
    // Adds more of the same resource, as charge() below. An empty charge counts nothing.
    Status add(uint64_t amount);

   private:
    friend class Quota;
    Charge(std::shared_ptr<Quota> quota, Resource resource, uint64_t amount)
        : quota_(std::move(quota)), resource_(resource), amount_(amount) {}

    std::shared_ptr<Quota> quota_;
    Resource resource_ = Resource::MEMORY;
    uint64_t amount_ = 0;
  };

  // `who` begins the text of an error: "the client". `above`: null, or a quota that is charged as
  // well.
  static std::shared_ptr<Quota> create(const QuotaLimits& limits, std::string who,
                                       std::shared_ptr<Quota> above = nullptr);
  static std::shared_ptr<Quota> unlimited() { return create({}, "the client"); }

  // Returns RESOURCE_EXHAUSTED_PERSISTENT when the amount alone exceeds the limit. Returns
  // RESOURCE_EXHAUSTED_TRANSIENT when it exceeds the limit together with the held amounts.
  Result<Charge> charge(Resource resource, uint64_t amount);
  uint64_t held(Resource resource) const;

 private:
  Quota(const QuotaLimits& limits, std::string who, std::shared_ptr<Quota> above);

  Status take(Resource resource, uint64_t amount);
  void giveBack(Resource resource, uint64_t amount);

  const std::array<uint64_t, kResources> limits_;
  const std::string who_;
  const std::shared_ptr<Quota> above_;
  std::array<std::atomic<uint64_t>, kResources> held_{};
};

}  // namespace halyard::hal
