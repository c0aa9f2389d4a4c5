#include "cache/compile_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "base/file_size_signal.h"
#include "base/log.h"
#include "cache/file_access.h"
#include "cache/sqlite_statement.h"
#include "halyard/driver/unique_fd.h"

namespace halyard::hal {
namespace {

using cache::Statement;

// The name contains the version of the format, so that each version has its own file.
constexpr const char* kFileName = "compilations-1.sqlite3";
constexpr const char* kLockName = "lock";

// The schema as SQLite stores it, ordered by names. A database with anything else belongs to
// another program.
constexpr const char* kSchema[] = {
    "CREATE TABLE builds(driver TEXT PRIMARY KEY, build TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE entries(uid INTEGER NOT NULL, token BLOB NOT NULL, driver TEXT NOT NULL, "
    "build TEXT NOT NULL, model BLOB NOT NULL, data BLOB NOT NULL, model_bytes BLOB NOT NULL, "
    "data_bytes BLOB NOT NULL, used INTEGER NOT NULL, PRIMARY KEY(uid, token, driver)) "
    "WITHOUT ROWID",
    "CREATE INDEX entries_by_use ON entries(used)",
    "CREATE INDEX entries_of_user ON entries(uid, used)",
};

constexpr int kMostValueBytes = 1 << 20;

std::span<const uint8_t> bytesOf(const std::vector<uint64_t>& numbers) {
  return {reinterpret_cast<const uint8_t*>(numbers.data()), numbers.size() * sizeof(uint64_t)};
}

bool takeNumbers(std::span<const uint8_t> bytes, std::vector<uint64_t>& numbers) {
  if (bytes.size() % sizeof(uint64_t) != 0) return false;
  numbers.resize(bytes.size() / sizeof(uint64_t));
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<uint8_t*>(numbers.data()));
  return true;
}

bool takeDigest(std::span<const uint8_t> bytes, Digest& digest) {
  if (bytes.size() != digest.size()) return false;
  std::copy(bytes.begin(), bytes.end(), digest.begin());
  return true;
}

// Returns whether the file is not a valid store. Waiting does not help then.
bool meansDamage(int code) {
  // The file's header declares it read-only, or the folder is not writable. In the second case the
  // file stays.
  if (code == SQLITE_READONLY) return true;
  switch (code & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_SCHEMA:
    case SQLITE_MISMATCH:
    case SQLITE_CONSTRAINT:
    case SQLITE_ERROR:  // for example, a missing table
      return true;
    default:
      return false;
  }
}

// Changes the database completely or not at all.
int inTransaction(sqlite3* database, const std::function<int()>& work) {
  int code = cache::execute(database, "BEGIN IMMEDIATE");
  if (code != SQLITE_OK) return code;
  code = work();
  if (code == SQLITE_OK) code = cache::execute(database, "COMMIT");
  if (code != SQLITE_OK) (void)cache::execute(database, "ROLLBACK");
  return code;
}

// ThreadSanitizer does not support the wait of std::timed_mutex.
bool lockWithin(std::unique_lock<std::mutex>& lock, std::chrono::milliseconds wait) {
  const auto end = std::chrono::steady_clock::now() + wait;
  while (!lock.try_lock()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return true;
}

int configure(sqlite3* database, std::chrono::milliseconds wait) {
  ::sqlite3_busy_timeout(database, static_cast<int>(wait.count()));
  ::sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  ::sqlite3_limit(database, SQLITE_LIMIT_LENGTH, kMostValueBytes);
  // The store uses a journal, because a write-ahead log uses shared memory, through which another
  // process could kill this one. No write waits for the disk. After a power failure, a damaged
  // store becomes empty, and an old digest causes a miss.
  for (const char* pragma :
       {"PRAGMA trusted_schema=OFF", "PRAGMA cell_size_check=ON", "PRAGMA mmap_size=0",
        "PRAGMA temp_store=MEMORY", "PRAGMA synchronous=OFF"}) {
    const int code = cache::execute(database, pragma);
    if (code != SQLITE_OK) return code;
  }
  Statement mode(database, "PRAGMA journal_mode=TRUNCATE");
  const int code = mode.step();
  if (code != SQLITE_ROW) return code == SQLITE_DONE ? SQLITE_NOTADB : code;
  return mode.text(0) == "truncate" ? SQLITE_OK : SQLITE_NOTADB;
}

}  // namespace

CompileCache::Store::Store(const Identity& identity, std::filesystem::path folder,
                           const CompileCacheLimits& limits)
    : identity_(identity),
      folder_(std::move(folder)),
      path_((folder_ / kFileName).string()),
      limits_(limits) {}

Status CompileCache::Store::open() {
  return run("opening it", [](sqlite3*) { return SQLITE_OK; });
}

Status CompileCache::Store::checkPlace() {
  // The folder must be writable for the journal, and for replacing a file that is no valid store.
  if (::faccessat(AT_FDCWD, folder_.c_str(), W_OK | X_OK, AT_EACCESS) != 0) {
    return errnoStatus(ResultCode::OP_FAILED, errno, folder_.string());
  }
  const int code = prepareFile();
  if (code == SQLITE_OK || code == SQLITE_NOTADB) return okStatus();
  return errnoStatus(ResultCode::OP_FAILED, errno, path_);
}

bool CompileCache::Store::isCurrent() const {
  struct stat st {};
  return database_ != nullptr && ::lstat(path_.c_str(), &st) == 0 && st.st_dev == device_ &&
         st.st_ino == file_;
}

// Creates the file, or checks that only this user could have written it.
int CompileCache::Store::prepareFile() {
  struct stat st {};
  if (::lstat(path_.c_str(), &st) != 0) {
    const UniqueFd made(
        ::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!made.valid() && errno != EEXIST) return SQLITE_CANTOPEN;
    if (::lstat(path_.c_str(), &st) != 0) return SQLITE_CANTOPEN;
  }
  if (!S_ISREG(st.st_mode) || st.st_uid != ::geteuid() || (st.st_mode & 022) != 0) {
    return SQLITE_NOTADB;
  }
  if ((st.st_mode & 077) != 0 && ::chmod(path_.c_str(), 0600) != 0) return SQLITE_PERM;
  device_ = st.st_dev;
  file_ = st.st_ino;
  return SQLITE_OK;
}

int CompileCache::Store::connect() {
  database_.reset();
  int code = prepareFile();
  if (code != SQLITE_OK) return code;
  sqlite3* opened = nullptr;
  code = ::sqlite3_open_v2(
      path_.c_str(), &opened,
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE,
      nullptr);
  database_.reset(opened);
  if (code != SQLITE_OK) return code;
  code = configure(opened, limits_.wait);
  if (code == SQLITE_OK) code = checkSchema();
  if (code == SQLITE_OK) code = noteBuild();
  return code;
}

int CompileCache::Store::checkSchema() {
  std::vector<std::string> expected(std::begin(kSchema), std::end(kSchema));
  const auto found = [this](std::vector<std::string>& lines) {
    lines.clear();
    Statement all(database_.get(),
                  "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name LIMIT 100");
    int code = SQLITE_OK;
    while ((code = all.step()) == SQLITE_ROW) lines.push_back(all.text(0));
    return code == SQLITE_DONE ? SQLITE_OK : code;
  };
  std::vector<std::string> lines;
  const int code = found(lines);
  if (code != SQLITE_OK) return code;
  std::sort(lines.begin(), lines.end());
  std::sort(expected.begin(), expected.end());
  if (lines == expected) return SQLITE_OK;
  if (!lines.empty()) return SQLITE_NOTADB;
  return inTransaction(database_.get(), [&] {
    const int again = found(lines);  // another process may have been faster
    if (again != SQLITE_OK || !lines.empty()) return again;
    for (const char* line : kSchema) {
      const int made = cache::execute(database_.get(), line);
      if (made != SQLITE_OK) return made;
    }
    return SQLITE_OK;
  });
}

// Removes the entries of another build of the driver.
int CompileCache::Store::noteBuild() {
  const auto isNoted = [this](bool& noted) {
    Statement row(database_.get(), "SELECT build FROM builds WHERE driver = ?");
    row.bind(1, identity_.driver);
    const int code = row.step();
    noted = code == SQLITE_ROW && row.text(0) == identity_.build;
    return code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code;
  };
  bool noted = false;
  const int code = isNoted(noted);
  if (code != SQLITE_OK || noted) return code;
  return inTransaction(database_.get(), [&] {
    Statement remove(database_.get(), "DELETE FROM entries WHERE driver = ?");
    remove.bind(1, identity_.driver);
    const int removed = remove.finish();
    if (removed != SQLITE_OK) return removed;
    Statement note(database_.get(), "INSERT OR REPLACE INTO builds VALUES (?, ?)");
    note.bind(1, identity_.driver);
    note.bind(2, identity_.build);
    return note.finish();
  });
}

int CompileCache::Store::attempt(const Work& work) {
  if (!isCurrent()) {
    const int code = connect();
    if (code != SQLITE_OK) return code;
  }
  const int code = work(database_.get());
  // If another process has just replaced the database, the work runs again on the new one.
  if (code != SQLITE_READONLY_DBMOVED && (code == SQLITE_OK || isCurrent())) return code;
  const int again = connect();
  return again == SQLITE_OK ? work(database_.get()) : again;
}

Status CompileCache::Store::run(const char* what, const Work& work) {
  std::unique_lock lock(mutex_, std::defer_lock);
  if (!lockWithin(lock, limits_.wait)) {
    return opFailed("{}: {}: other threads have used it for {} ms", path_, what,
                    limits_.wait.count());
  }
  const FileSizeSignalHeld held;
  int code = attempt(work);
  if (meansDamage(code)) {
    HALYARD_RETURN_IF_ERROR(replace(code), "{}", path_);
    code = attempt(work);
  }
  if (code == SQLITE_OK) return okStatus();
  const int error = database_ != nullptr ? ::sqlite3_system_errno(database_.get()) : errno;
  std::string reason = ::sqlite3_errstr(code);
  if (error != 0 && (code & 0xff) != SQLITE_BUSY) {
    reason += fmt::format(" ({})", ::strerrordesc_np(error));
  }
  database_.reset();
  return opFailed("{}: {}: {}", path_, what, reason);
}

// Replaces the existing file with an empty store, unless another process has already done so.
Status CompileCache::Store::replace(int code) {
  const std::string lockPath = (folder_ / kLockName).string();
  const UniqueFd lockFile(
      ::open(lockPath.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!lockFile.valid()) return errnoStatus(ResultCode::OP_FAILED, errno, lockPath);
  HALYARD_ASSIGN_OR_RETURN(const cache::FileLock lock,
                           cache::FileLock::take(lockFile.get(), /*exclusive=*/true, limits_.wait),
                           "{}", lockPath);
  const dev_t device = device_;
  const ino_t file = file_;
  if (connect() == SQLITE_OK && (device_ != device || file_ != file)) return okStatus();
  database_.reset();
  logWarning("{}: {}; cached models are compiled again", path_, ::sqlite3_errstr(code));
  // The journal goes first. It must never be applied to the next database.
  for (const char* suffix : {"-journal", "-wal", "-shm", ""}) {
    const std::string path = path_ + suffix;
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
      return errnoStatus(ResultCode::OP_FAILED, errno, "removing the damaged " + path);
    }
  }
  return okStatus();
}

int CompileCache::Store::readEntry(sqlite3* database, const Token& token, uint32_t uid,
                                   std::optional<Entry>* entry, bool* old) {
  entry->reset();
  Statement row(database,
                "SELECT build, model, data, model_bytes, data_bytes, used, "
                "(SELECT max(used) FROM entries) FROM entries "
                "WHERE uid = ? AND token = ? AND driver = ?");
  row.bind(1, int64_t{uid});
  row.bind(2, std::span<const uint8_t>(token));
  row.bind(3, identity_.driver);
  const int code = row.step();
  if (code == SQLITE_DONE) return SQLITE_OK;
  if (code != SQLITE_ROW) return code;
  Entry found;
  found.build = row.text(0);
  if (!takeDigest(row.blob(1), found.model) || !takeDigest(row.blob(2), found.data) ||
      !takeNumbers(row.blob(3), found.modelBytes) || !takeNumbers(row.blob(4), found.dataBytes)) {
    return SQLITE_CORRUPT;
  }
  // The time of use is only written now and then, so that most lookups do not write.
  const auto spared = static_cast<int64_t>(limits_.entriesOfUser / 8);
  *old = row.number(6) - row.number(5) > spared;
  *entry = std::move(found);
  return SQLITE_OK;
}

int CompileCache::Store::touch(sqlite3* database, const Token& token, uint32_t uid) {
  Statement update(database,
                   "UPDATE entries SET used = (SELECT max(used) FROM entries) + 1 "
                   "WHERE uid = ? AND token = ? AND driver = ?");
  update.bind(1, int64_t{uid});
  update.bind(2, std::span<const uint8_t>(token));
  update.bind(3, identity_.driver);
  return update.finish();
}

Result<std::optional<CompileCache::Store::Entry>> CompileCache::Store::find(const Token& token,
                                                                            uint32_t uid) {
  std::optional<Entry> entry;
  HALYARD_RETURN_IF_ERROR(run("looking a token up", [&](sqlite3* database) {
    bool old = false;
    const int code = readEntry(database, token, uid, &entry, &old);
    // A failure to record the use is ignored, and the record does not wait.
    if (code == SQLITE_OK && old) {
      ::sqlite3_busy_timeout(database, 0);
      (void)touch(database, token, uid);
      ::sqlite3_busy_timeout(database, static_cast<int>(limits_.wait.count()));
    }
    return code;
  }));
  return entry;
}

int CompileCache::Store::evict(sqlite3* database, uint32_t uid) {
  const auto most = [](size_t entries) {
    return static_cast<int64_t>(std::min<uint64_t>(entries, INT64_MAX));
  };
  Statement ofUser(database,
                   "DELETE FROM entries WHERE uid = ?1 AND used <= (SELECT used FROM entries "
                   "WHERE uid = ?1 ORDER BY used DESC LIMIT 1 OFFSET ?2)");
  ofUser.bind(1, int64_t{uid});
  ofUser.bind(2, most(limits_.entriesOfUser));
  const int code = ofUser.finish();
  if (code != SQLITE_OK) return code;
  Statement ofAll(database,
                  "DELETE FROM entries WHERE used <= (SELECT used FROM entries "
                  "ORDER BY used DESC LIMIT 1 OFFSET ?)");
  ofAll.bind(1, most(limits_.entries));
  return ofAll.finish();
}

Status CompileCache::Store::put(const Token& token, uint32_t uid, const Entry& entry) {
  return run("recording what was saved", [&](sqlite3* database) {
    return inTransaction(database, [&] {
      Statement insert(database,
                       "INSERT OR REPLACE INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, "
                       "(SELECT coalesce(max(used), 0) + 1 FROM entries))");
      insert.bind(1, int64_t{uid});
      insert.bind(2, std::span<const uint8_t>(token));
      insert.bind(3, identity_.driver);
      insert.bind(4, entry.build);
      insert.bind(5, std::span<const uint8_t>(entry.model));
      insert.bind(6, std::span<const uint8_t>(entry.data));
      insert.bind(7, bytesOf(entry.modelBytes));
      insert.bind(8, bytesOf(entry.dataBytes));
      const int code = insert.finish();
      return code == SQLITE_OK ? evict(database, uid) : code;
    });
  });
}

Status CompileCache::Store::erase(const Token& token, uint32_t uid) {
  return run("forgetting a token", [&](sqlite3* database) {
    Statement remove(database, "DELETE FROM entries WHERE uid = ? AND token = ? AND driver = ?");
    remove.bind(1, int64_t{uid});
    remove.bind(2, std::span<const uint8_t>(token));
    remove.bind(3, identity_.driver);
    return remove.finish();
  });
}

}  // namespace halyard::hal
