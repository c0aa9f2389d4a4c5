// CacheHint: that caching has not paid for a model like this one lately, so that a start need not
// digest the model only to find nothing again.
// Thread safety: one object for one thread at a time; processes may share the folder.
// Ownership: keeps copies only; the file is the application's, and stays.
//
// A hint only ever says "do not try". It is a note in the application's folder, known by the
// application's token, the devices and what of the model is known without reading its constants.
// What it says is forgotten after a day, for a driver may come to save what it did not.
#pragma once

#include <span>
#include <string>

#include "runtime/cache/cache_note.h"
#include "runtime/cache/cached_preparation.h"
#include "runtime/device/device_manager.h"

namespace halyard::runtime {

// After so many starts in a row in which the drivers have saved nothing, they are not asked to.
inline constexpr uint32_t kMostUselessStarts = 3;

class CacheHint {
 public:
  // `request` is for files in a folder.
  CacheHint(const CachingRequest& request, const Model& model,
            std::span<const Device* const> devices, hal::ExecutionPreference preference,
            hal::Priority priority);

  // Why caching is not worth trying; empty if it is, or nothing is known.
  std::string whyNot() const;
  // What has become of the caches of all the plan's steps; also keeps it for the next start, where
  // the folder can be written. Only after whyNot() was empty.
  void learn(const Plan& plan) const;

  const std::string& path() const { return note_.path(); }

 private:
  uint32_t uselessStarts() const;

  hal::ExecutionPreference preference_;
  CacheNote note_;
};

}  // namespace halyard::runtime
