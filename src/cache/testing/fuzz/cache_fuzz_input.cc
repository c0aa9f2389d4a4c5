#include "cache/testing/fuzz/cache_fuzz_input.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/bulk_digest.h"
#include "cache/blob_format.h"
#include "cache/cache_file.h"
#include "cache/inventory.h"
#include "halyard/driver/blob_cache.h"
#include "halyard/driver/compile_cache.h"

namespace halyard::cache::fuzz {
namespace {

using Bytes = std::vector<uint8_t>;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "cache_fuzz: %s\n", what);
  std::abort();
}

// Takes numbers and bytes from an input, and zeros after its end.
class Input {
 public:
  explicit Input(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  bool empty() const { return bytes_.empty(); }
  uint8_t byte() {
    if (bytes_.empty()) return 0;
    const uint8_t first = bytes_[0];
    bytes_ = bytes_.subspan(1);
    return first;
  }
  uint32_t number() {
    const uint32_t low = byte();
    return low | static_cast<uint32_t>(byte()) << 8;
  }
  std::span<const uint8_t> take(size_t most) {
    const auto taken = bytes_.first(std::min(most, bytes_.size()));
    bytes_ = bytes_.subspan(taken.size());
    return taken;
  }
  std::span<const uint8_t> rest() { return take(bytes_.size()); }

 private:
  std::span<const uint8_t> bytes_;
};

// Edits until the input ends or contains the end code.
void edit(Input& input, Bytes& bytes, const Bytes& other) {
  constexpr size_t kMost = 1 << 16;
  while (!input.empty()) {
    const uint8_t what = input.byte() % 7;
    const size_t at = bytes.empty() ? 0 : input.number() % bytes.size();
    switch (what) {
      case 0:
        return;
      case 1:
        if (!bytes.empty()) bytes[at] ^= input.byte();
        break;
      case 2:
        bytes.resize(at);
        break;
      case 3: {
        const auto more = input.take(input.byte());
        bytes.insert(bytes.end(), more.begin(), more.end());
        break;
      }
      case 4: {
        const auto over = input.take(input.byte());
        bytes.resize(std::max(bytes.size(), at + over.size()));
        std::copy(over.begin(), over.end(), bytes.begin() + static_cast<ptrdiff_t>(at));
        break;
      }
      case 5:
        bytes = other;
        break;
      default:
        bytes.erase(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(at));
        break;
    }
    if (bytes.size() > kMost) bytes.resize(kMost);
  }
}

void writeFile(int fd, const Bytes& bytes) {
  require(::ftruncate(fd, 0) == 0, "no file");
  require(::pwrite(fd, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()),
          "no file");
}

Bytes readFile(int fd) {
  Bytes bytes(static_cast<size_t>(::lseek(fd, 0, SEEK_END)));
  require(::pread(fd, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()),
          "no file");
  return bytes;
}

// Two saved compilations in memory, and a store in a folder that the process removes at its end.
class Saved {
 public:
  static Saved& instance() {
    static Saved saved;
    return saved;
  }
  ~Saved() {
    std::error_code error;
    std::filesystem::remove_all(folder, error);
  }

  static hal::CacheFiles makeFiles(uint8_t token) {
    hal::CacheFiles set;
    set.modelCache.emplace_back(::memfd_create("model", MFD_CLOEXEC));
    set.dataCache.emplace_back(::memfd_create("data", MFD_CLOEXEC));
    set.token[0] = token;
    return set;
  }

  std::filesystem::path folder;
  std::shared_ptr<hal::CompileCache> cache;
  hal::CacheFiles files = makeFiles(1);
  const hal::CompileCache::Content content = {{Bytes(300, 0x11)}, {Bytes(200, 0x22)}};
  Bytes model;
  Bytes data;
  Bytes otherModel;
  Bytes otherData;

 private:
  Saved() {
    std::string path = (std::filesystem::temp_directory_path() / "halyard_fuzz_XXXXXX").string();
    require(::mkdtemp(path.data()) != nullptr, "no folder");
    folder = path;
    auto opened = hal::CompileCache::open({"acme-npu", "1"}, folder / "store");
    require(opened.ok(), "no store");
    cache = *opened;
    const hal::CacheFiles other = makeFiles(2);
    require(cache->save(other, {{Bytes(300, 0x33)}, {Bytes(200, 0x44)}}, 1).ok(), "not saved");
    require(cache->save(files, content, 1).ok(), "not saved");
    model = readFile(files.modelCache[0].get());
    data = readFile(files.dataCache[0].get());
    otherModel = readFile(other.modelCache[0].get());
    otherData = readFile(other.dataCache[0].get());
  }
};

void loadEdited(Input input) {
  Saved& saved = Saved::instance();
  Bytes model = saved.model;
  Bytes data = saved.data;
  edit(input, model, saved.otherModel);
  edit(input, data, saved.otherData);
  writeFile(saved.files.modelCache[0].get(), model);
  writeFile(saved.files.dataCache[0].get(), data);
  const auto content = saved.cache->load(saved.files, 1);
  const bool same = model == saved.model && data == saved.data;
  require(content.ok() == same, same ? "the saved content is refused" : "another file is accepted");
  if (!same) {
    require(content.status().code() == ResultCode::OP_FAILED, "a refusal of another kind");
    return;
  }
  require(content->model == saved.content.model, "another model");
  require(content->data == saved.content.data, "other data");
}

void unflatten(std::span<const uint8_t> bytes) {
  hal::BlobCache cache({64, 4096, 16384},
                       {hal::BlobCache::Select::LRU, hal::BlobCache::Capacity::FIT}, "build");
  const auto damaged = cache.unflatten(bytes);
  require(cache.totalBytes() <= 16384, "more than the limit");
  if (!damaged.ok()) {
    require(damaged.status().code() == ResultCode::BAD_DATA, "a refusal of another kind");
    require(cache.entries() == 0, "a refusal that leaves something");
    return;
  }
  Bytes again(cache.flattenedSize());
  require(cache.flatten(again).ok(), "it cannot be flattened");
  const size_t entries = cache.entries();
  const auto back = cache.unflatten(again);
  require(back.ok() && *back == 0 && cache.entries() == entries, "it does not come back");
}

void unflattenEdited(Input input) {
  const std::string build = input.byte() % 4 == 0 ? "other" : "build";
  Bytes bytes(blobHeadSize(build));
  const uint32_t entries = input.byte() % 8;
  for (uint32_t i = 0; i < entries; ++i) {
    const auto key = input.take(input.byte() % 80);
    const auto value = input.take(input.byte());
    const size_t at = bytes.size();
    bytes.resize(at + blobEntrySize(key.size(), value.size()));
    encodeBlobEntry({key, value, 1}, &bytes[at]);
  }
  encodeBlobHead(build, input.byte() % 4 == 0 ? input.number() * 65537 : entries, bytes.data());
  edit(input, bytes, Bytes());
  unflatten(bytes);
}

// A file whose head has a correct digest over arbitrary fields.
Bytes claimedFile(Input& input) {
  CacheFileFacts facts;
  facts.kind = static_cast<CacheFileFacts::Kind>(input.byte() % 4);
  facts.index = input.byte() % 4;
  facts.modelFiles = input.byte() % 4;
  facts.dataFiles = input.byte() % 4;
  facts.token[0] = input.byte() % 2;
  facts.driver.assign(input.byte() % 100, static_cast<char>(input.byte()));
  const auto content = input.take(input.byte());
  facts.contentBytes =
      input.byte() % 8 == 0 ? uint64_t{input.number()} << (input.byte() % 64) : content.size();
  facts.content = bulkDigest(content);
  facts.allData = digestOfAll(std::span(&facts.content, input.byte() % 2));
  const CacheFileHead head = encodeHead(facts);
  Bytes bytes(head.size() + content.size());
  std::copy(head.begin(), head.end(), bytes.begin());
  std::copy(content.begin(), content.end(), bytes.begin() + head.size());
  return bytes;
}

void verifyClaims(Input input) {
  const std::filesystem::path folder = Saved::instance().folder / "claims";
  std::error_code error;
  std::filesystem::remove_all(folder, error);
  std::filesystem::create_directory(folder, error);
  std::string name(64, 'A');
  name[0] = static_cast<char>('A' + input.byte() % 2);
  const uint8_t files = input.byte() % 4;
  for (uint8_t i = 0; i < files; ++i) {
    const std::string suffix = (i % 2 == 0 ? "1" : "2") + std::to_string(i / 2);
    Bytes bytes = claimedFile(input);
    if (input.byte() % 4 == 0) edit(input, bytes, Bytes());
    const UniqueFd fd(::open((folder / (name + suffix)).c_str(), O_RDWR | O_CREAT, 0600));
    writeFile(fd.get(), bytes);
  }
  auto items = listCaches(folder);
  require(items.ok(), "the folder cannot be listed");
  for (CacheItem& item : *items) {
    require(item.driver.size() <= CacheFileFacts::kMaxNameBytes, "a name that is too long");
    verify(item);
    require(item.state != CacheState::UNCHECKED, "no verdict");
    require((item.state == CacheState::DAMAGED) == !item.problem.empty(),
            "a verdict without words");
  }
}

}  // namespace

void runCacheFuzzInput(std::span<const uint8_t> bytes) {
  Input input(bytes);
  switch (input.byte() % 4) {
    case 0:
      return loadEdited(input);
    case 1:
      return unflatten(input.rest());
    case 2:
      return unflattenEdited(input);
    default:
      return verifyClaims(input);
  }
}

}  // namespace halyard::cache::fuzz
