// HeaderCheck: reads the header of a request, and finds how long its body is.
// Thread safety: one thread at a time. Ownership: owns its data.
//
// The HTTP library takes headers that other servers read in another way. If a proxy stands before
// this server, the two might not agree where a request ends. So this check refuses such headers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace halyard::serve {

class HeaderCheck {
 public:
  explicit HeaderCheck(size_t mostBytes) : mostBytes_(mostBytes) {}

  // Takes the next byte. Returns false from the first fault on.
  bool take(char byte);
  // Whether the empty line has come that ends the header.
  bool hasEnded() const { return hasEnded_; }
  // The reason of a failure; empty without one.
  const std::string& fault() const { return fault_; }
  // The length of the body, once the header has ended; nullopt for a body in chunks.
  std::optional<uint64_t> bodyLength() const;

 private:
  void endLine();
  void readField(std::string_view line);
  void readLength(std::string_view value);

  size_t mostBytes_;
  size_t bytes_ = 0;
  size_t lines_ = 0;
  std::string line_;
  std::string fault_;
  bool hasEnded_ = false;
  bool isEncoded_ = false;
  std::optional<uint64_t> length_;
};

}  // namespace halyard::serve
