// CacheNote: a line of text that the runtime keeps in the application's cache folder, from which
// nothing worse can come than a start that takes longer.
// Thread safety: one object for one thread at a time; processes may share the folder.
// Ownership: keeps copies only; the file is the application's, and stays.
//
// What a note says counts for a day. Whatever is wrong with its file is as if there were none: one
// that is no regular file, belongs to somebody else or has several names is neither read nor
// written.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/sha256.h"

namespace halyard::runtime {

inline constexpr std::chrono::hours kNoteAge{24};

class CacheNote {
 public:
  // `folder` ends in '/' unless it is empty. `of`: what the note is about.
  CacheNote(std::string_view folder, std::string_view kind, const Digest& of);

  const std::string& path() const { return path_; }
  // What follows "halyard KIND 1 " up to the end of the line.
  std::optional<std::string> read() const;
  // Replaces it, and makes it last for another day; nothing happens if that cannot be.
  void write(std::string_view text) const;
  void remove() const;

 private:
  std::string path_;
  std::string prefix_;
};

}  // namespace halyard::runtime
