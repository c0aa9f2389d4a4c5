// RecordingNumbers: the client's side of a burst's recordings: it assigns numbers to requests
// (docs/burst_format.md).
// Thread safety: all methods may be called from any thread.
// Ownership: refers to requests only by their keys.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

namespace halyard::hal {

class RecordingNumbers {
 public:
  // `onFree` tells the driver that it may drop the recording, and must not block. The driver's
  // answer is recycle().
  explicit RecordingNumbers(std::function<void(uint32_t number)> onFree)
      : onFree_(std::move(onFree)) {}
  RecordingNumbers(const RecordingNumbers&) = delete;
  RecordingNumbers& operator=(const RecordingNumbers&) = delete;

  // Sets the number of recordings that the driver keeps. Called once, before the first use.
  void allow(uint32_t count);

  struct Use {
    uint32_t number;
    bool isRecorded;  // false: the next packet must record the request
  };
  // The number of a request that is about to be computed. `key` is not 0, and each request has its
  // own key. nullopt when no number is free; the request then needs a plain packet. A request that
  // has not been computed for long loses its number to others.
  std::optional<Use> use(uint64_t key);
  // The driver has recorded the request under its number.
  void confirm(uint64_t key);
  // The request will not be computed again.
  void release(uint64_t key);
  // The driver has dropped the recording, so the number may be used again. Without this
  // confirmation, a packet might overtake the call that frees the number.
  void recycle(uint32_t number);

 private:
  struct Entry {
    uint64_t key = 0;  // 0: no request
    bool isRecorded = false;
    bool isBeingFreed = false;
    uint64_t lastUse = 0;
  };
  Entry* find(uint64_t key);

  const std::function<void(uint32_t)> onFree_;
  std::mutex mutex_;
  std::vector<Entry> entries_;  // by number
  uint64_t uses_ = 0;
};

}  // namespace halyard::hal
