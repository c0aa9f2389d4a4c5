// PreparedBefore: that a driver has prepared a model at once when it was asked the last time, so
// that the next start need not wait for its answer. Thread safety: may be used from any thread.
// Ownership: keeps copies only.
//
// It is a note in the application's folder (CacheNote), known by everything that what a driver
// prepares can depend on but for the constants in pools, which the application's token stands for,
// and by the driver's program or socket: one that was installed anew is asked anew.
#pragma once

#include <chrono>
#include <optional>

#include "runtime/cache/cache_note.h"
#include "runtime/cache/cached_preparation.h"
#include "runtime/device/device_manager.h"

namespace halyard::runtime {

// Longer than this is no time that the first execution should have to wait unexpectedly.
inline constexpr std::chrono::milliseconds kAtOnce{5};

class PreparedBefore {
 public:
  // nullopt for a device that is no driver in another process. `request` is for files in a folder.
  static std::optional<PreparedBefore> of(const CachingRequest& request, const Model& model,
                                          const Device& device, const hal::PrepareOptions& options);

  bool isSaid() const { return note_.read().has_value(); }
  // May be said before it is so, and taken back if it then is not: who ends in between has the next
  // start find a failure at the first execution that it would have found when compiling.
  void say() const { note_.write("at once"); }
  void takeBack() const { note_.remove(); }

 private:
  explicit PreparedBefore(CacheNote note) : note_(std::move(note)) {}

  CacheNote note_;
};

}  // namespace halyard::runtime
