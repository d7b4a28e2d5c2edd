// ulp record on several machines. Rank 0 asks for nothing: the others count their part and send it, one step ahead of it at
// most, until all is sent or they are told to stop; then every rank, whatever happened, ends in the same way.
#include <fcntl.h>
#include <fmt/format.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <ulp/io/bytes/printable.hpp>
#include <ulp/io/output/program.hpp>
#include <ulp/io/source/share.hpp>
#include <utility>

#include "command.hpp"
#include "interrupt.hpp"
#include "process_group.hpp"

namespace ulp::cli {
namespace {

enum tag : int { rows_tag = 1, error_tag, end_tag, stop_tag };

struct failed_elsewhere {};

class world {
 public:
  world() {
    MPI_Init(nullptr, nullptr);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }
  ~world() { MPI_Finalize(); }
  world(const world&) = delete;
  world& operator=(const world&) = delete;
  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return size_; }

 private:
  int rank_ = 0;
  int size_ = 1;
};

struct message {
  int what = end_tag;
  std::string bytes;
};

message receive(int from) {
  MPI_Status status;
  MPI_Probe(from, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
  int size = 0;
  MPI_Get_count(&status, MPI_BYTE, &size);
  message m{status.MPI_TAG, std::string(static_cast<std::size_t>(size), '\0')};
  MPI_Recv(m.bytes.data(), size, MPI_BYTE, from, status.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return m;
}

// How a step is counted: by one rank, or by all where there are fewer steps than ranks.
class division {
 public:
  division(std::uint64_t steps, int size)
      : by_tensor_(steps < static_cast<std::uint64_t>(size)), size_(static_cast<std::uint64_t>(size)) {}

  [[nodiscard]] bool counts(std::uint64_t number, int rank) const {
    return by_tensor_ || number % size_ == static_cast<std::uint64_t>(rank);
  }
  // The next step of the source with what `rank` counts of it.
  [[nodiscard]] bool next(source& from, step& into, std::uint64_t number, int rank) const {
    if (by_tensor_) return next_part(from, into, static_cast<std::size_t>(rank), size_);
    return next_part(from, into, counts(number, rank) ? 0 : 1, 1);
  }

 private:
  bool by_tensor_;
  std::uint64_t size_;
};

// On rank 0.
class gathering_source final : public forwarding_source {
 public:
  gathering_source(std::unique_ptr<source> own, int size)
      : forwarding_source(std::move(own)), size_(size), division_(inner().step_count(), size) {}

  [[nodiscard]] bool next(step& into) override {
    if (!division_.next(inner(), into, number_, 0)) return false;
    for (int rank = 1; rank < size_; ++rank) {
      if (!division_.counts(number_, rank)) continue;
      const message m = receive(rank);
      if (m.what == error_tag) throw std::runtime_error(m.bytes);
      append_rows(m.bytes, inner().tensors().size(), into.tensors);
    }
    std::ranges::sort(into.tensors, {}, &tensor_row::tensor);  // as dumps give them to a single process
    ++number_;
    return true;
  }

 private:
  int size_;
  division division_;
  std::uint64_t number_ = 0;
};

// On the others.
class sender {
 public:
  sender() { MPI_Irecv(&stop_, 1, MPI_BYTE, 0, stop_tag, MPI_COMM_WORLD, &stopped_); }
  sender(const sender&) = delete;
  sender& operator=(const sender&) = delete;

  // false: told to stop; nothing was sent.
  bool send(int what, std::string bytes) {
    if (!wait()) return false;
    bytes_ = std::move(bytes);
    // Synchronous: who is ahead waits, and memory holds one message.
    MPI_Issend(bytes_.data(), static_cast<int>(bytes_.size()), MPI_BYTE, 0, what, MPI_COMM_WORLD, &sending_);
    return true;
  }
  // Rank 0 takes what was sent before it takes the end.
  void end() {
    MPI_Wait(&sending_, MPI_STATUS_IGNORE);
    MPI_Send(nullptr, 0, MPI_BYTE, 0, end_tag, MPI_COMM_WORLD);
    MPI_Wait(&stopped_, MPI_STATUS_IGNORE);
  }

 private:
  bool wait() {
    if (stopped_ == MPI_REQUEST_NULL) return false;
    std::array<MPI_Request, 2> requests{sending_, stopped_};
    if (sending_ != MPI_REQUEST_NULL) {
      int which = 0;
      MPI_Waitany(2, requests.data(), &which, MPI_STATUS_IGNORE);
      sending_ = requests[0];
      stopped_ = requests[1];
    }
    return stopped_ != MPI_REQUEST_NULL;
  }

  char stop_ = 0;
  std::string bytes_;
  MPI_Request sending_ = MPI_REQUEST_NULL;
  MPI_Request stopped_ = MPI_REQUEST_NULL;
};

void help(source& from, const world& all, sender& to) {
  try {
    const division how(from.step_count(), all.size());
    step now;
    for (std::uint64_t number = 0; how.next(from, now, number, all.rank()); ++number)
      if (how.counts(number, all.rank()) && !to.send(rows_tag, rows_to_bytes(now.tensors))) return;
  } catch (const std::exception& problem) {
    to.send(error_tag, problem.what());
  }
}

// Equal where ranks see the same tensors and steps: a file that is on one machine only is noticed before it counts.
std::uint64_t fingerprint(const source& from) {
  std::uint64_t hash = from.step_count();
  for (const tensor_info& t : from.tensors()) {
    hash = hash * 0x9E3779B97F4A7C15 + std::hash<std::string>{}(t.name);
    hash = hash * 0x9E3779B97F4A7C15 + t.numel;
  }
  return hash;
}

class mpi_process_group final : public process_group {
 public:
  mpi_process_group() {
    // What there is to say rank 0 says, once.
    if (all_.rank() == 0) return;
    if (const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC); nowhere >= 0) {
      dup2(nowhere, STDERR_FILENO);
      ::close(nowhere);
    }
  }

  [[nodiscard]] int size() const noexcept { return all_.size(); }

  [[nodiscard]] int run(const std::function<int()>& work) override {
    int code = bad_input;
    try {
      code = work();
    } catch (const failed_elsewhere&) {
    } catch (const std::exception& problem) {
      const bool stopped = progress::interrupted();
      if (stopped) code = 128 + SIGINT;
      // Now: mpirun ends all as soon as one has left with an error.
      print_error(fmt::format("ulp: {}\n", stopped ? "interrupted" : printable(problem.what())));
    }
    if (all_.rank() == 0) dismiss();
    MPI_Bcast(&code, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return code;
  }

  [[nodiscard]] std::unique_ptr<source> open(const std::function<std::unique_ptr<source>()>& how) override {
    std::unique_ptr<source> from;
    std::exception_ptr own_failure;
    std::string reason;
    try {
      from = how();
    } catch (const std::exception& problem) {
      own_failure = std::current_exception();
      reason = problem.what();
    }
    const int failed = agree(own_failure ? all_.rank() : std::numeric_limits<int>::max(), MPI_MIN);
    if (failed == 0 && all_.rank() == 0) std::rethrow_exception(own_failure);
    if (failed < all_.size()) {
      if (failed > 0 && all_.rank() == failed)
        MPI_Send(reason.data(), static_cast<int>(reason.size()), MPI_BYTE, 0, error_tag, MPI_COMM_WORLD);
      if (failed > 0 && all_.rank() == 0)
        throw std::runtime_error(receive(failed).bytes + " (on rank " + std::to_string(failed) + ")");
      throw failed_elsewhere{};
    }
    const std::uint64_t seen = fingerprint(*from);
    std::array<std::uint64_t, 2> range{~seen, seen};  // ~least, most
    MPI_Allreduce(MPI_IN_PLACE, range.data(), 2, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
    if (~range[0] != range[1]) {
      if (all_.rank() != 0) throw failed_elsewhere{};
      throw std::runtime_error(
          "ranks see different tensors or steps: the input files must be the same on all machines");
    }
    const bool divided = divides(*from);
    if (all_.rank() == 0) {
      helped_ = divided;
      if (!divided) return from;
      return std::make_unique<gathering_source>(std::move(from), all_.size());
    }
    if (divided) {
      sender to;
      help(*from, all_, to);
      to.end();
    }
    throw failed_elsewhere{};  // rank 0 says how it ended
  }

 private:
  [[nodiscard]] static int agree(int value, MPI_Op how) {
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, how, MPI_COMM_WORLD);
    return value;
  }

  // Tells the others to stop, and takes what they still send.
  void dismiss() {
    if (!helped_) return;
    const char nothing = 0;
    for (int rank = 1; rank < all_.size(); ++rank) MPI_Send(&nothing, 1, MPI_BYTE, rank, stop_tag, MPI_COMM_WORLD);
    for (int rank = 1; rank < all_.size(); ++rank)
      while (receive(rank).what != end_tag) {
      }
  }

  world all_;
  bool helped_ = false;
};

}  // namespace

std::unique_ptr<process_group> join_process_group() {
  const launcher_environment started = launcher_environment_of_process();
  if (started.size <= 1) return nullptr;
  auto together = std::make_unique<mpi_process_group>();
  if (together->size() > 1) return together;
  throw usage_error(
      fmt::format("this is process {} of {}, but not of an MPI job: use the mpirun of the MPI library that ulp was "
                  "built with, srun --mpi=pmix, or start it once",
                  started.rank, started.size));
}

}  // namespace ulp::cli
