// CompileCache::Store: a SQLite database with a driver's facts about the files that it saved.
// Thread safety: any thread, any number of processes; every call ends within about twice the wait.
// Ownership: owns its connection.
#pragma once

#include <sqlite3.h>
#include <sys/types.h>

#include <functional>
#include <mutex>
#include <optional>

#include "base/sha256.h"
#include "halyard/driver/compile_cache.h"

namespace halyard::hal {

class CompileCache::Store {
 public:
  // The facts of one saved compilation.
  struct Entry {
    std::string build;
    Digest model = {};  // digest of all model cache files together
    Digest data = {};
    std::vector<uint64_t> modelBytes;  // size of each content
    std::vector<uint64_t> dataBytes;
  };

  // Does not connect. The first call that needs the database connects.
  Store(const Identity& identity, std::filesystem::path folder, const CompileCacheLimits& limits);

  Status open();
  // Checks without a connection whether the folder is writable. Creates the file.
  Status checkPlace();

  // Returns nullopt when there is no entry, and OP_FAILED when the lookup failed.
  Result<std::optional<Entry>> find(const Token& token, uint32_t uid);
  Status put(const Token& token, uint32_t uid, const Entry& entry);
  Status erase(const Token& token, uint32_t uid);

  const std::filesystem::path& folder() const { return folder_; }

 private:
  struct Close {
    void operator()(sqlite3* database) const { ::sqlite3_close_v2(database); }
  };
  using Database = std::unique_ptr<sqlite3, Close>;
  // Returns a code of SQLite; SQLITE_OK for success.
  using Work = std::function<int(sqlite3*)>;

  // Connects to the database, replaces it if it is not valid, and runs `work` on it.
  Status run(const char* what, const Work& work);
  int attempt(const Work& work);
  int connect();
  int prepareFile();
  int checkSchema();
  int noteBuild();
  int readEntry(sqlite3* database, const Token& token, uint32_t uid, std::optional<Entry>* entry,
                bool* old);
  int touch(sqlite3* database, const Token& token, uint32_t uid);
  int evict(sqlite3* database, uint32_t uid);
  bool isCurrent() const;
  Status replace(int code);

  const Identity identity_;
  const std::filesystem::path folder_;
  const std::string path_;
  const CompileCacheLimits limits_;
  std::mutex mutex_;
  Database database_;
  dev_t device_ = 0;  // device of the connected file
  ino_t file_ = 0;
};

}  // namespace halyard::hal
