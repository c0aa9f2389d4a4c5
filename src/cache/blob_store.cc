#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#include "base/kept_folders.h"
#include "base/log.h"
#include "base/signals_blocked.h"
#include "cache/blob_file.h"
#include "cache/blob_format.h"
#include "cache/file_access.h"
#include "cache/private_folder.h"
#include "halyard/driver/blob_cache.h"
#include "halyard/driver/unique_fd.h"

namespace halyard::hal {

using Bytes = BlobCache::Bytes;

class BlobStore::Impl {
 public:
  explicit Impl(Settings settings)
      : settings_(std::move(settings)),
        cache_(settings_.limits, settings_.policy, settings_.build) {}
  ~Impl();

  Status connect();
  void set(Bytes key, Bytes value);
  // Searches the memory first, then the entries that other processes have saved.
  template <typename Get>
  auto get(Get look) {
    const std::lock_guard lock(mutex_);
    auto found = look(cache_);
    if (!found && takeFromFile()) found = look(cache_);
    return found;
  }
  Status save();
  size_t entries() {
    const std::lock_guard lock(mutex_);
    return cache_.entries();
  }

 private:
  bool hasFile() const { return !settings_.file.empty(); }
  uint64_t mostFileBytes() const;
  bool takeFromFile();
  void merge(Bytes bytes);
  std::vector<uint8_t> flattened();
  void saveLater();

  Settings settings_;
  std::mutex saving_;  // taken before mutex_
  std::mutex mutex_;
  std::condition_variable changed_;
  BlobCache cache_;
  std::set<std::vector<uint8_t>, BlobCache::Shorter> unsaved_;  // keys
  cache::FileStamp seen_;
  bool warned_ = false;
  bool closing_ = false;
  std::thread saver_;  // starts when there is something to save
};

BlobStore::Impl::~Impl() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  if (saver_.joinable()) saver_.join();
  const Status status = save();
  if (!status.ok()) logWarning("blobs were not saved: {}", status.toString());
}

// Entries of two bytes are the worst case: the file needs eighteen times their size.
uint64_t BlobStore::Impl::mostFileBytes() const {
  return (uint64_t{1} << 16) + 18 * static_cast<uint64_t>(settings_.limits.total);
}

Status BlobStore::Impl::connect() {
  if (!hasFile()) return okStatus();
  auto folder = cache::makePrivateFolder(settings_.file.parent_path());
  if (!folder.ok() || !settings_.file.has_filename()) {
    const std::string file = std::exchange(settings_.file, {}).string();
    if (folder.ok()) return opFailed("the file of blobs: '{}' has no name", file);
    return folder.takeStatus().annotate("the file of blobs");
  }
  settings_.file = *folder / settings_.file.filename();
  keepFolderWritable(*folder);
  const std::lock_guard lock(mutex_);
  takeFromFile();
  return okStatus();
}

// Adds the file's entries if the file has changed since the last time. Returns false if it has not.
bool BlobStore::Impl::takeFromFile() {
  if (!hasFile()) return false;
  const cache::FileStamp stamp = cache::stampOf(settings_.file);
  if (stamp == seen_) return false;
  seen_ = stamp;
  const auto bytes = cache::readOwnFile(settings_.file, mostFileBytes());
  if (bytes.ok()) {
    if (!bytes->empty()) merge(*bytes);
    return true;
  }
  if (!std::exchange(warned_, true)) {
    logWarning("{}: {}; it is replaced", settings_.file.string(), bytes.status().message());
  }
  return false;
}

void BlobStore::Impl::merge(Bytes bytes) {
  size_t damaged = 0;
  std::string problem;
  const auto head = cache::decodeBlobHead(bytes);
  if (!head.ok()) {
    problem = head.status().message();
  } else if (head->known && head->build == settings_.build) {
    const bool first = cache_.entries() == 0;
    const auto decoded = cache::decodeBlobs(bytes, *head, [&](const cache::BlobEntry& entry) {
      const std::vector<uint8_t> key(entry.key.begin(), entry.key.end());
      if (unsaved_.contains(key)) return;
      // Saved entries must not replace entries that this process uses.
      const size_t most = settings_.limits.total;
      if (first || cache_.totalBytes() + entry.key.size() + entry.value.size() <= most) {
        cache_.put(entry.key, entry.value, entry.savedAt);
      }
    });
    damaged = decoded.ok() ? *decoded : 0;
    if (!decoded.ok()) problem = decoded.status().message();
  }
  if (damaged > 0) problem = fmt::format("{} entries are damaged", damaged);
  if (!problem.empty() && !std::exchange(warned_, true)) {
    logWarning("{}: {}; they are left out", settings_.file.string(), problem);
  }
}

void BlobStore::Impl::set(Bytes key, Bytes value) {
  {
    const std::lock_guard lock(mutex_);
    cache_.set(key, value);
    if (!hasFile() || !cache_.entries_.contains(key)) return;
    unsaved_.emplace(key.begin(), key.end());
    if (!saver_.joinable()) {
      const SignalsBlocked blocked;
      saver_ = std::thread([this] { saveLater(); });
    }
  }
  changed_.notify_all();
}

void BlobStore::Impl::saveLater() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return closing_ || !unsaved_.empty(); });
    // The delay combines several changes into one save.
    changed_.wait_for(lock, settings_.saveAfter, [this] { return closing_; });
    if (closing_) return;
    lock.unlock();
    const Status status = save();
    lock.lock();
    if (status.ok()) continue;
    logWarning("blobs were not saved: {}", status.toString());
    changed_.wait_for(lock, settings_.saveAfter, [this] { return closing_; });
    if (closing_) return;
  }
}

std::vector<uint8_t> BlobStore::Impl::flattened() {
  std::vector<uint8_t> bytes(cache_.flattenedSize());
  const Status status = cache_.flatten(bytes);
  return status.ok() ? bytes : std::vector<uint8_t>();
}

Status BlobStore::Impl::save() {
  const std::lock_guard one(saving_);
  {
    const std::lock_guard lock(mutex_);
    if (!hasFile() || unsaved_.empty()) return okStatus();
  }
  const std::string lockPath = settings_.file.string() + ".lock";
  const UniqueFd lockFile(
      ::open(lockPath.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!lockFile.valid()) return errnoStatus(ResultCode::OP_FAILED, errno, lockPath);
  HALYARD_ASSIGN_OR_RETURN(
      const cache::FileLock locked,
      cache::FileLock::take(lockFile.get(), /*exclusive=*/true, settings_.wait), "{}", lockPath);
  std::vector<uint8_t> bytes;
  std::set<std::vector<uint8_t>, BlobCache::Shorter> saved;
  {
    const std::lock_guard lock(mutex_);
    takeFromFile();
    bytes = flattened();
    saved = std::exchange(unsaved_, {});
  }
  // The mutex is not held, so that no lookup waits for the disk.
  const Status status = cache::replaceFile(settings_.file, bytes);
  const std::lock_guard lock(mutex_);
  if (status.ok()) {
    seen_ = cache::stampOf(settings_.file);
  } else {
    unsaved_.merge(saved);
    // Entries that were evicted meanwhile need no save.
    std::erase_if(unsaved_, [this](const auto& key) { return !cache_.entries_.contains(key); });
  }
  return status;
}

BlobStore::BlobStore() = default;
BlobStore::~BlobStore() = default;

Status BlobStore::open(Settings settings) {
  constexpr size_t kMostBuildBytes = 1000;
  if (impl_ != nullptr) return badState("the store of blobs is open already");
  if (settings.build.size() > kMostBuildBytes) {
    return badData("the build has {} bytes, at most {} are allowed", settings.build.size(),
                   kMostBuildBytes);
  }
  impl_ = std::make_unique<Impl>(std::move(settings));
  return impl_->connect();
}

void BlobStore::close() { impl_.reset(); }

void BlobStore::set(Bytes key, Bytes value) {
  if (impl_ != nullptr) impl_->set(key, value);
}

size_t BlobStore::get(Bytes key, std::span<uint8_t> buffer) {
  if (impl_ == nullptr) return 0;
  return impl_->get([&](BlobCache& cache) { return cache.get(key, buffer); });
}

size_t BlobStore::get(Bytes key, void** value, const std::function<void*(size_t)>& allocate) {
  *value = nullptr;
  if (impl_ == nullptr) return 0;
  return impl_->get([&](BlobCache& cache) { return cache.get(key, value, allocate); });
}

std::optional<std::vector<uint8_t>> BlobStore::get(Bytes key) {
  if (impl_ == nullptr) return std::nullopt;
  return impl_->get([&](BlobCache& cache) { return cache.get(key); });
}

Status BlobStore::save() { return impl_ != nullptr ? impl_->save() : okStatus(); }

size_t BlobStore::entries() const { return impl_ != nullptr ? impl_->entries() : 0; }

Result<std::filesystem::path> BlobStore::defaultFile(const std::string& driver) {
  HALYARD_ASSIGN_OR_RETURN(const std::filesystem::path folder,
                           cache::stateFolder("blob_cache", driver));
  return folder / "blobs";
}

}  // namespace halyard::hal
