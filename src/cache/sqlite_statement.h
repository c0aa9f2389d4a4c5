// Statement: one SQL statement of SQLite, from preparation to finalisation.
// Thread safety: as its database connection.
// Ownership: owns the statement, borrows the connection.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <span>
#include <string>

namespace halyard::cache {

// The object keeps the first error: step() and finish() return it as a code of SQLite.
class Statement {
 public:
  Statement(sqlite3* database, const char* sql)
      : code_(::sqlite3_prepare_v2(database, sql, -1, &statement_, nullptr)) {}
  ~Statement() { ::sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // Parameters count from 1. Bound data must stay valid until the last step.
  void bind(int parameter, int64_t number) {
    note(::sqlite3_bind_int64(statement_, parameter, number));
  }
  void bind(int parameter, const std::string& text) {
    note(::sqlite3_bind_text64(statement_, parameter, text.data(), text.size(), SQLITE_STATIC,
                               SQLITE_UTF8));
  }
  void bind(int parameter, std::span<const uint8_t> bytes) {
    // A null pointer would bind NULL, not an empty value.
    static constexpr uint8_t kNothing = 0;
    note(::sqlite3_bind_blob64(statement_, parameter, bytes.empty() ? &kNothing : bytes.data(),
                               bytes.size(), SQLITE_STATIC));
  }

  // Returns SQLITE_ROW, SQLITE_DONE or an error.
  int step() { return code_ != SQLITE_OK ? code_ : ::sqlite3_step(statement_); }
  // Runs a statement without rows. Returns SQLITE_OK or an error.
  int finish() {
    const int code = step();
    return code == SQLITE_DONE || code == SQLITE_ROW ? SQLITE_OK : code;
  }

  // Columns of the row, counted from 0. The results are valid until the next step.
  std::string text(int column) {
    const auto* letters = reinterpret_cast<const char*>(::sqlite3_column_text(statement_, column));
    const int size = ::sqlite3_column_bytes(statement_, column);
    return letters != nullptr ? std::string(letters, static_cast<size_t>(size)) : std::string();
  }
  std::span<const uint8_t> blob(int column) {
    const auto* bytes = static_cast<const uint8_t*>(::sqlite3_column_blob(statement_, column));
    const int size = ::sqlite3_column_bytes(statement_, column);
    return bytes != nullptr ? std::span(bytes, static_cast<size_t>(size))
                            : std::span<const uint8_t>();
  }
  int64_t number(int column) { return ::sqlite3_column_int64(statement_, column); }

 private:
  void note(int code) {
    if (code_ == SQLITE_OK) code_ = code;
  }

  sqlite3_stmt* statement_ = nullptr;
  int code_;
};

// Runs statements without parameters, and ignores rows.
inline int execute(sqlite3* database, const char* sql) {
  return ::sqlite3_exec(database, sql, nullptr, nullptr, nullptr);
}

}  // namespace halyard::cache
