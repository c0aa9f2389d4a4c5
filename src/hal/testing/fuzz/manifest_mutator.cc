#include "hal/testing/fuzz/manifest_mutator.h"

#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

namespace halyard::hal::fuzz {
namespace {

using Json = nlohmann::json;

constexpr size_t kMostNodes = 1000;
constexpr const char* kFields[] = {"name",       "version",  "hal_version",  "executable",
                                   "socket",     "library",  "arguments",    "execution_timeout_ms",
                                   "sandbox",    "service",  "allow",        "users",
                                   "groups",     "limits",   "client",       "user",
                                   "readable",   "writable", "memory_bytes", "connections",
                                   "threads",    "buffers",  "descriptors",  "executions",
                                   "file_bytes", "models",   "queued_calls", "rings"};
constexpr const char* kTexts[] = {"",
                                  "a-b",
                                  "acme-npu",
                                  "-",
                                  "a-b-c",
                                  "/x",
                                  "x",
                                  "1.3",
                                  "1.0",
                                  "1.4",
                                  "/",
                                  "off",
                                  "..",
                                  "root",
                                  "\x01",
                                  "\x7f",
                                  "\xff",
                                  "${manifest_dir}",
                                  "${manifest_dir}/../x"};

class Mutator {
 public:
  Mutator(Json& document, uint32_t seed) : document_(document), random_(seed) {}

  void mutate() {
    const size_t count = 1 + below(3);
    for (size_t i = 0; i < count; ++i) mutateOnce();
  }

 private:
  size_t below(size_t bound) { return bound == 0 ? 0 : random_() % bound; }

  Json value() {
    switch (below(9)) {
      case 0:
        return nullptr;
      case 1:
        return below(2) == 0;
      case 2: {
        constexpr int64_t kNumbers[] = {0, 1, -1, 2, 255, 65536, INT32_MAX, INT64_MIN, INT64_MAX};
        return kNumbers[below(std::size(kNumbers))];
      }
      case 3:
        return UINT64_MAX - below(2);
      case 4: {
        constexpr double kNumbers[] = {0.5, -0.0, 1e300, 9007199254740993.0, 1e-300};
        return kNumbers[below(std::size(kNumbers))];
      }
      case 5:
        return Json::array();
      case 6:
        return Json::object({{field(), value()}});
      case 7:
        return Json::array({value(), value()});
      default:
        return kTexts[below(std::size(kTexts))];
    }
  }
  std::string field() { return kFields[below(std::size(kFields))]; }

  // All values, with the document itself first.
  std::vector<Json*> nodes() {
    std::vector<Json*> all = {&document_};
    for (size_t i = 0; i < all.size() && all.size() < kMostNodes; ++i) {
      if (!all[i]->is_structured()) continue;
      for (Json& each : *all[i]) all.push_back(&each);
    }
    return all;
  }

  void mutateOnce() {
    const std::vector<Json*> all = nodes();
    Json& chosen = *all[below(all.size())];
    switch (below(5)) {
      case 0:
        chosen = value();
        return;
      case 1: {
        // A value from another place. It is copied, because it may contain the chosen value.
        Json other = *all[below(all.size())];
        chosen = std::move(other);
        return;
      }
      case 2:
        if (chosen.is_string()) {
          auto& text = chosen.get_ref<std::string&>();
          text.insert(below(text.size() + 1), kTexts[below(std::size(kTexts))]);
          return;
        }
        [[fallthrough]];
      case 3:
        if (chosen.is_array()) {
          chosen.push_back(value());
        } else if (chosen.is_object()) {
          chosen[field()] = value();
        } else if (document_.is_object()) {
          document_[field()] = value();
        }
        return;
      default:
        if (!chosen.is_structured() || chosen.empty()) return;
        chosen.erase(std::next(chosen.begin(), static_cast<std::ptrdiff_t>(below(chosen.size()))));
    }
  }

  Json& document_;
  std::minstd_rand random_;
};

// Very deep nesting would need too much memory.
bool isDeep(std::string_view text) {
  size_t depth = 0;
  for (const char c : text) {
    depth += c == '[' || c == '{' ? 1 : 0;
    if (depth > kMostNodes) return true;
  }
  return false;
}

}  // namespace

std::string mutateManifest(std::string_view text, uint32_t seed) {
  if (isDeep(text)) return "";
  Json document = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded()) return "";
  Mutator(document, seed).mutate();
  return document.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace halyard::hal::fuzz
