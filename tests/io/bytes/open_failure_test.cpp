#include "bytes/open_failure.hpp"

#include "support/catch.hpp"

using ulp::io::open_failure;

TEST_CASE("what could not be opened is asked for its folder only where that may be why") {
  const std::string hint = ": does its folder exist, and is it writable?";
  CHECK(open_failure(ENOENT) == "No such file or directory" + hint);
  CHECK(open_failure(EACCES) == "Permission denied" + hint);
  CHECK(open_failure(EROFS, "unable to open database file") == "unable to open database file" + hint);
  CHECK(open_failure(0, "unable to open database file") == "unable to open database file" + hint);
  CHECK(open_failure(ENOSPC) == "No space left on device");
  CHECK(open_failure(ENOSPC, "unable to open") == "unable to open: No space left on device");
  CHECK(open_failure(EMFILE, "unable to open").find("ulimit -n") != std::string::npos);
  CHECK(open_failure(ENFILE).starts_with("too many files are open on this machine"));
}
