// Records as in a trace; for tests.
// Thread safety: none.
// Ownership: results own their data.
#pragma once

#include <algorithm>
#include <cstring>
#include <string_view>

#include "trace/mark.h"
#include "trace/trace_collection.h"

namespace halyard::trace {

// `mark` is a mark's text.
inline Record recordOf(std::string_view mark, uint64_t begin, uint64_t end, uint32_t thread = 1) {
  const Mark read = parseMark(mark).value();
  Record record;
  record.begin = begin;
  record.end = end;
  record.thread = thread;
  record.layer = static_cast<uint8_t>(read.layer);
  record.phase = static_cast<uint8_t>(read.phase);
  record.variant = static_cast<uint8_t>(read.variant);
  std::memcpy(record.text.data(), read.detail.data(),
              std::min(read.detail.size(), Record::kTextBytes - 1));
  return record;
}

// Returns a record of this process's wait for a driver.
inline Record waitOf(std::string_view mark, uint64_t begin, uint64_t end, uint32_t peer) {
  Record record = recordOf(mark, begin, end);
  record.peer = peer;
  return record;
}

}  // namespace halyard::trace
