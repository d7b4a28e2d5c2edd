// Counting the values of many tensors at once: the bodies of the kernels in count.cu.
//
// Values are read in pieces of tensors, and a block of threads counts one piece after the other in its shared memory. A tensor of
// one piece is done then; of others what was counted is added to the tensor's table in the device's memory, and who comes last
// takes it from there and leaves it empty, as it must be given. Of each tensor there is a header, and what is not zero is staged
// on the device, in the order in which tensors are done; `carry` brings both to the host. What finds no room is written to the
// host at once.
//
// Everything is an integer, so that no result depends on the order of blocks and threads.
#ifndef ULP_DEVICE_COUNT_HPP
#define ULP_DEVICE_COUNT_HPP

#include "block.hpp"
#include "cells.hpp"

namespace ulp::device {

// `size` values at `values`, which is aligned for their type. At most 2^20, so that the sums of a block fit.
struct piece {
  std::uint64_t values;
  std::uint32_t size;
  std::uint32_t tensor;
};

// At most 2^31 values.
struct tensor {
  std::uint64_t table;   // address of its zeros on the device; 0 where one block counts all and needs none
  std::uint32_t pieces;  // times windows
  std::uint32_t header;  // its number
};

// What is known of a tensor, once it is counted.
struct header {
  std::uint64_t counts,
      sums;  // how many; each count is a word, (counter << 32 | count), each sum four: (row | cut << 32),
             // significands, squares modulo 2^24, squares above. In any order.
  std::uint64_t most, least;  // of finite nonzero magnitudes, as bits; 0 where there is none, and of codes
  std::uint64_t counts_at,
      sums_at;  // words from the beginning of what is staged; beyond its room, of what the host has
};
constexpr std::uint32_t sum_words = 4;

// Tensors of one step.
struct batch {
  std::uint64_t staged, sent;  // words so far
  std::uint64_t room;          // of words that can be staged
  std::uint64_t stage;         // address of these, on the device, 16 bytes aligned
  std::uint64_t host;          // address of the others, room for as many as there can be
  std::uint64_t headers;       // address, on the device
};

// A table on the device: these, then the sums where there are some, then the counts.
struct table_head {
  std::uint64_t most, least;  // the latter as its complement: both only rise
  std::uint32_t done;         // pieces
  std::uint32_t unused;
};

// What a kernel is told. Block i counts the pieces from first[i] to first[i + 1].
struct work {
  const std::uint32_t* first;
  const piece* pieces;
  const tensor* tensors;
  batch* of;
};

constexpr int limb_bits = 12;  // of a significand or square, summed in 32 bits
constexpr std::uint32_t limbs = 6;
constexpr std::uint32_t sums = 3;  // significands, squares modulo 2^24, squares above

// Calls `what` with each of n values of 32 bits, four at a time where they are aligned.
template <typename Block, typename Do>
ULP_BOTH void for_words(Block& block, std::uint32_t thread, std::uint64_t address, std::uint32_t n, Do what) {
  const auto* const words = reinterpret_cast<const std::uint32_t*>(address);
  const std::uint32_t before = static_cast<std::uint32_t>(-(address / 4)) % 4;
  const std::uint32_t first = before < n ? before : n, quads = (n - first) / 4, stride = block.threads();
  const auto* const all = reinterpret_cast<const quad*>(words + first);
  const auto four = [&](const quad& q) {
    what(q.words[0]);
    what(q.words[1]);
    what(q.words[2]);
    what(q.words[3]);
  };
  std::uint32_t i = thread;
  for (; i + 3 * stride < quads; i += 4 * stride) {  // all are on their way before the first is needed
    const quad q0 = block.load(all + i), q1 = block.load(all + i + stride), q2 = block.load(all + i + 2 * stride),
               q3 = block.load(all + i + 3 * stride);
    four(q0);
    four(q1);
    four(q2);
    four(q3);
  }
  for (; i < quads; i += stride) four(block.load(all + i));
  for (i = thread; i < first; i += stride) what(words[i]);
  for (i = first + 4 * quads + thread; i < n; i += stride) what(words[i]);
}

// Where so many words of the result go, and what to call the place.
struct room {
  std::uint64_t* words;
  std::uint64_t at;
};
template <typename Block>
ULP_BOTH room room_for(Block& block, batch& of, std::uint64_t n) {
  const std::uint64_t at = block.add(of.staged, n);
  if (at + n <= of.room) return {reinterpret_cast<std::uint64_t*>(of.stage) + at, at};
  const std::uint64_t sent = block.add(of.sent, n);
  return {reinterpret_cast<std::uint64_t*>(of.host) + sent, of.room + sent};
}

// Writes `words` words for each i < n of which has(i) is true, by write(i, where); calls done(how many, where) in one thread.
template <typename Block, typename Has, typename Write, typename Done>
ULP_BOTH void compact(Block& block, batch& of, std::uint32_t n, std::uint32_t words, Has has, Write write, Done done) {
  const std::uint32_t threads = block.threads();
  block.each_ranked(
      [&](std::uint32_t thread) {
        std::uint32_t here = 0;
        for (std::uint32_t i = thread; i < n; i += threads) here += has(i) ? 1 : 0;
        return here;
      },
      [&](std::uint32_t all) {
        const room its = room_for(block, of, std::uint64_t{all} * words);
        done(all, its.at);
        return its.words;
      },
      [&](std::uint32_t thread, std::uint32_t before, std::uint64_t* to) {
        to += std::uint64_t{before} * words;
        for (std::uint32_t i = thread; i < n; i += threads) {
          if (!has(i)) continue;
          write(i, to);
          to += words;
        }
      });
}

// Takes what was counted of a tensor. Source: most(), least(), take(i), count(i), sum(row, i), cut(row), and clear(row) of sums.
template <bool with_sums, typename Block, typename Source>
ULP_BOTH void write_result(Block& block, batch& of, std::uint32_t tensor, std::uint32_t size, std::uint32_t rows,
                           const Source& source) {
  header& its = reinterpret_cast<header*>(of.headers)[tensor];
  compact(
      block, of, size, 1, [&](std::uint32_t i) { return source.count(i) != 0; },
      [&](std::uint32_t i, std::uint64_t* to) {
        *to = static_cast<std::uint64_t>(i) << 32 | source.count(i);
        source.clear(i);
      },
      [&](std::uint32_t n, std::uint64_t at) { its = {n, 0, source.most(), source.least(), at, 0}; });
  if (!with_sums) return;
  compact(
      block, of, rows, sum_words, [&](std::uint32_t row) { return source.sum(row, 0) != 0; },
      [&](std::uint32_t row, std::uint64_t* to) {
        to[0] = row | source.cut(row) << 32;
        for (std::uint32_t i = 0; i < sums; ++i) to[1 + i] = source.sum(row, i);
        source.clear_sums(row);
      },
      [&](std::uint32_t n, std::uint64_t at) {
        its.sums = n;
        its.sums_at = at;
      });
}

// A table in the device's memory.
template <bool with_sums, typename Block>
struct joint_table {
  std::uint32_t rows;
  table_head* head;
  std::uint64_t* sum_of;
  std::uint32_t* counts;

  ULP_BOTH joint_table(std::uint64_t address, std::uint32_t n)
      : rows(n),
        head(reinterpret_cast<table_head*>(address)),
        sum_of(reinterpret_cast<std::uint64_t*>(head + 1)),
        counts(reinterpret_cast<std::uint32_t*>(sum_of + (with_sums ? (sums + 1) * rows : 0))) {}

  ULP_BOTH std::uint64_t most() const { return Block::fresh(head->most); }
  ULP_BOTH std::uint64_t least() const { return most() == 0 ? 0 : ~Block::fresh(head->least); }
  ULP_BOTH std::uint32_t count(std::uint32_t i) const { return Block::fresh(counts[i]); }
  ULP_BOTH void clear(std::uint32_t i) const { counts[i] = 0; }
  ULP_BOTH std::uint64_t sum(std::uint32_t row, std::uint32_t i) const { return Block::fresh(sum_of[i * rows + row]); }
  ULP_BOTH std::uint64_t cut(std::uint32_t row) const { return sum(row, sums); }
  ULP_BOTH void clear_sums(std::uint32_t row) const {
    for (std::uint32_t i = 0; i <= sums; ++i) sum_of[i * rows + row] = 0;
  }

  // After all that this piece had to add. The last piece of the tensor takes what all have counted. is_last: a word of shared
  // memory.
  ULP_BOTH void finish(Block& block, batch& of, const tensor& its, std::uint32_t size, std::uint32_t* is_last) const {
    block.each([&](std::uint32_t thread) {
      if (thread == 0) *is_last = block.add(head->done, 1U) + 1 == its.pieces ? 1 : 0;
    });
    if (*is_last == 0) return;
    block.publish();
    write_result<with_sums>(block, of, its.header, size, rows, *this);
    block.each([&](std::uint32_t thread) {
      if (thread == 0) *head = {};
    });
  }
};

// The significand of a normalised value as an integer of 24 bits, and whether it has more.
template <typename Cells>
struct significand {
  std::uint32_t top;
  bool is_cut;

  ULP_BOTH explicit constexpr significand(typename Cells::bits fraction)
      : top(static_cast<std::uint32_t>((fraction | (Cells::low + 1)) >> (Cells::fraction - 23))),
        is_cut((fraction & ((typename Cells::bits{1} << (Cells::fraction - 23)) - 1)) != 0) {}
};

// The counters of a block for float32 values, in its shared memory.
struct float32_counters {
  // Sums of both signs of a binade lie in different banks.
  static constexpr std::uint32_t padding = 48;
  ULP_BOTH static std::uint32_t padded(std::uint32_t row) { return row + 16 * (row >> 8); }

  std::uint32_t rows;
  std::uint32_t* head;  // largest, complement of the smallest, whether the piece is the last
  std::uint32_t* table;
  std::uint32_t* limb;

  ULP_BOTH float32_counters(std::uint32_t* memory, std::uint32_t n)
      : rows(n), head(memory), table(head + 4), limb(table + n * counters) {}

  ULP_BOTH std::uint64_t most() const { return head[0]; }
  ULP_BOTH std::uint64_t least() const { return head[0] == 0 ? 0 : ~head[1]; }
  ULP_BOTH std::uint32_t count(std::uint32_t i) const { return table[i]; }
  ULP_BOTH void clear(std::uint32_t i) const { table[i] = 0; }
  ULP_BOTH std::uint64_t sum(std::uint32_t row, std::uint32_t i) const {
    const std::uint32_t* const low = limb + 2 * i * (rows + padding) + padded(row);
    return low[0] + (static_cast<std::uint64_t>(low[rows + padding]) << limb_bits);
  }
  ULP_BOTH static std::uint64_t cut(std::uint32_t /*row*/) { return 0; }
  ULP_BOTH void clear_sums(std::uint32_t row) const {
    for (std::uint32_t i = 0; i < limbs; ++i) limb[i * (rows + padding) + padded(row)] = 0;
  }

  template <typename Block>
  ULP_BOTH void add_sums(Block& block, std::uint32_t row, std::uint32_t s) const {
    const std::uint64_t square = static_cast<std::uint64_t>(s) * s;
    std::uint32_t* const to = limb + padded(row);
    const auto part = [&](std::uint32_t i, std::uint64_t n) {
      block.add(to[i * (rows + padding)], static_cast<std::uint32_t>(n) & ((1U << limb_bits) - 1));
    };
    part(0, s);
    part(1, s >> limb_bits);
    part(2, square);
    part(3, square >> limb_bits);
    part(4, square >> 2 * limb_bits);
    part(5, square >> 3 * limb_bits);
  }
};

// Sets words of shared memory to zero.
template <typename Block>
ULP_BOTH void clear(Block& block, std::uint32_t* from, std::uint32_t n) {
  block.each([&](std::uint32_t thread) {
    for (std::uint32_t i = thread; i < n; i += block.threads()) from[i] = 0;
  });
}

// Of float32. Shared memory, in words: 4, 27 for each row of a window, with sums 6 more and 288. A window is both signs, or one.
template <bool with_sums, typename Block>
ULP_BOTH void count_float32(Block& block, const work& todo) {
  using its = float32_cells;
  const std::uint32_t sign = block.window(), exponents = its::subnormals / block.windows();
  const std::uint32_t rows = its::rows / block.windows(), size = rows * counters, first_row = sign * exponents;
  const float32_counters counted(block.shared(), rows);
  clear(block, counted.head, 4 + size + (with_sums ? limbs * (rows + float32_counters::padding) : 0));
  for (std::uint32_t i = todo.first[block.index()]; i < todo.first[block.index() + 1]; ++i) {
    const piece here = todo.pieces[i];
    const tensor of = todo.tensors[here.tensor];
    block.each([&](std::uint32_t thread) {
      std::uint32_t most = 0, least = 0, zeros = 0;
      const auto add = [&](std::uint32_t row, std::uint32_t fraction, std::uint32_t magnitude) {
        block.add(counted.table[row * counters + its::counter(fraction)], 1U);
        most = magnitude > most ? magnitude : most;
        least = ~magnitude > least ? ~magnitude : least;
        if (with_sums) counted.add_sums(block, row, significand<its>(fraction).top);
      };
      for_words(block, thread, here.values, here.size, [&](std::uint32_t bits) {
        const std::uint32_t magnitude = bits & its::most, row = (bits >> its::fraction) - first_row;
        if (magnitude - (its::low + 1) < its::infinity - (its::low + 1) && row < exponents) {
          add(row, bits & its::low, magnitude);
        } else if (magnitude == 0) {  // there can be many: in a register they do not wait for one another
          ++zeros;
        } else if (row >= exponents) {
          return;
        } else if (magnitude >= its::infinity) {
          block.add(counted.table[row * counters + (magnitude > its::infinity ? 1 : 0)], 1U);
        } else {
          const std::uint32_t binade = its::binade_of(magnitude), negative = (bits >> 31) - sign;
          add(exponents + negative * its::fraction + binade, its::fraction_of(magnitude, binade), magnitude);
        }
      });
      if (zeros > 0 && sign == 0) block.add(counted.table[0], zeros);
      block.raise(counted.head[0], most);
      block.raise(counted.head[1], least);
    });
    if (of.table == 0) {
      write_result<with_sums>(block, *todo.of, of.header, size, rows, counted);
    } else {
      const joint_table<with_sums, Block> joint(of.table, its::rows);
      const auto joint_row = [=](std::uint32_t row) {
        return row < exponents ? first_row + row : its::subnormals + sign * its::fraction + row - exponents;
      };
      block.each([&](std::uint32_t thread) {
        for (std::uint32_t at = thread; at < size; at += block.threads()) {
          if (counted.table[at] == 0) continue;
          block.add(joint.counts[joint_row(at / counters) * counters + at % counters], counted.table[at]);
          counted.table[at] = 0;
        }
        for (std::uint32_t row = thread; with_sums && row < rows; row += block.threads()) {
          if (counted.sum(row, 0) == 0) continue;
          for (std::uint32_t part = 0; part < sums; ++part)
            block.add(joint.sum_of[part * its::rows + joint_row(row)], counted.sum(row, part));
          counted.clear_sums(row);
        }
        if (thread == 0 && counted.most() != 0) {
          block.raise(joint.head->most, counted.most());
          block.raise(joint.head->least, static_cast<std::uint64_t>(~counted.least()));
        }
        block.publish();
      });
      joint.finish(block, *todo.of, of, its::size, counted.head + 2);
    }
    clear(block, counted.head, 2);
  }
}

// Of float64, on a table in the device's memory: it is too large to be shared. Shared memory: a word.
template <bool with_sums, typename Block>
ULP_BOTH void count_float64(Block& block, const work& todo) {
  using its = float64_cells;
  for (std::uint32_t i = todo.first[block.index()]; i < todo.first[block.index() + 1]; ++i) {
    const piece here = todo.pieces[i];
    const tensor of = todo.tensors[here.tensor];
    const joint_table<with_sums, Block> joint(of.table, its::rows);
    const auto* const values = reinterpret_cast<const std::uint64_t*>(here.values);
    block.each([&](std::uint32_t thread) {
      std::uint64_t most = 0, least = 0;
      std::uint32_t zeros = 0;
      for (std::uint32_t at = thread; at < here.size; at += block.threads()) {
        const std::uint64_t bits = values[at], magnitude = bits & its::most;
        if (magnitude == 0) {
          ++zeros;
          continue;
        }
        auto row = static_cast<std::uint32_t>(bits >> its::fraction);
        std::uint64_t fraction = bits & its::low;
        if (magnitude >= its::infinity) {
          block.add(joint.counts[row * counters + (magnitude > its::infinity ? 1 : 0)], 1U);
          continue;
        }
        if (magnitude <= its::low) {
          const std::uint32_t binade = its::binade_of(magnitude);
          row = its::subnormals + static_cast<std::uint32_t>(bits >> 63) * its::fraction + binade;
          fraction = its::fraction_of(magnitude, binade);
        }
        block.add(joint.counts[row * counters + its::counter(fraction)], 1U);
        most = magnitude > most ? magnitude : most;
        least = ~magnitude > least ? ~magnitude : least;
        if (!with_sums) continue;
        const significand<its> s(fraction);
        const std::uint64_t square = static_cast<std::uint64_t>(s.top) * s.top;
        block.add(joint.sum_of[row], std::uint64_t{s.top});
        block.add(joint.sum_of[its::rows + row], square & 0xFFFFFF);
        block.add(joint.sum_of[2 * its::rows + row], square >> 24);
        if (s.is_cut) block.add(joint.sum_of[sums * its::rows + row], std::uint64_t{1});
      }
      if (zeros > 0) block.add(joint.counts[0], zeros);
      if (most > 0) {
        block.raise(joint.head->most, most);
        block.raise(joint.head->least, least);
      }
      block.publish();
    });
    joint.finish(block, *todo.of, of, its::size, block.shared());
  }
}

// The counters of a block for codes, in its shared memory: they have neither magnitudes nor sums.
struct code_counters {
  ULP_BOTH static std::uint64_t most() { return 0; }
  ULP_BOTH static std::uint64_t least() { return 0; }
  ULP_BOTH static std::uint64_t sum(std::uint32_t /*row*/, std::uint32_t /*i*/) { return 0; }
  ULP_BOTH static std::uint64_t cut(std::uint32_t /*row*/) { return 0; }
  ULP_BOTH static void clear_sums(std::uint32_t /*row*/) {}
};
struct code_counters8 : code_counters {
  std::uint32_t* table;
  ULP_BOTH std::uint32_t count(std::uint32_t i) const { return table[i]; }
  ULP_BOTH void clear(std::uint32_t i) const { table[i] = 0; }
};
struct code_counters16 : code_counters {  // two share a word, the first in its lower half, as in memory
  std::uint32_t* table;
  // By halves, as another thread may have the other one.
  ULP_BOTH std::uint16_t& half_of(std::uint32_t i) const { return reinterpret_cast<std::uint16_t*>(table)[i]; }
  ULP_BOTH std::uint32_t count(std::uint32_t i) const { return half_of(i); }
  ULP_BOTH void clear(std::uint32_t i) const { half_of(i) = 0; }
};

constexpr std::uint32_t codes16 = 1U << 16;

// All codes of a type of 16 bits. Shared memory, in words: 4, 2^15 / windows; a window is an equal part of the codes. At most
// 1024 threads.
//
// Threads wait for one another after 32 values each, and then take down to the tensor's table what has reached 2^15: no counter
// goes beyond 2^16 - 1. Every tensor of more than 2^15 - 1 values must have a table.
template <typename Block>
ULP_BOTH void count_codes16(Block& block, const work& todo) {
  constexpr std::uint32_t half = 1U << 15;
  const std::uint32_t size = codes16 / block.windows(), first_code = block.window() * size, threads = block.threads();
  std::uint32_t* const is_last = block.shared();
  struct four {
    quad quads[4];
  };
  typename Block::template own<four> next(block);
  code_counters16 counted;
  counted.table = is_last + 4;
  clear(block, counted.table, size / 2);
  for (std::uint32_t i = todo.first[block.index()]; i < todo.first[block.index() + 1]; ++i) {
    const piece here = todo.pieces[i];
    const tensor of = todo.tensors[here.tensor];
    const joint_table<false, Block> joint(of.table, 0);
    const auto add = [&](std::uint32_t code, std::uint32_t n) {
      const std::uint32_t at = code - first_code;
      if (at < size) block.add(counted.table[at / 2], n << 16 * (at % 2));
    };
    const auto one = [&](std::uint32_t code, std::uint32_t& zeros) {
      if (code == 0)  // there can be many: in a register they do not wait for one another
        ++zeros;
      else
        add(code, 1);
    };
    const auto take_down = [&] {
      block.each([&](std::uint32_t thread) {
        auto* const fours = reinterpret_cast<quad*>(counted.table);
        for (std::uint32_t at = thread; at < size / 8; at += threads) {
          const quad q = fours[at];
          if (((q.words[0] | q.words[1] | q.words[2] | q.words[3]) & (half << 16 | half)) == 0) continue;
          for (std::uint32_t code = 8 * at; code < 8 * at + 8; ++code)
            if (counted.count(code) >= half) {
              counted.table[code / 2] -= half << 16 * (code % 2);
              block.add(joint.counts[first_code + code], half);
            }
        }
      });
    };
    const auto* const values = reinterpret_cast<const std::uint16_t*>(here.values);
    const std::uint32_t unaligned = static_cast<std::uint32_t>(-(here.values / 2)) % 8;
    const std::uint32_t first = unaligned < here.size ? unaligned : here.size, quads = (here.size - first) / 8;
    const auto* const all = reinterpret_cast<const quad*>(values + first);
    // The next ones are on their way while threads wait for one another.
    const auto load = [&](quad(&to)[4], std::uint32_t from) {
      ULP_UNROLL
      for (std::uint32_t k = 0; k < 4; ++k)
        if (from + k * threads < quads) to[k] = block.load(all + from + k * threads);
    };
    block.each([&](std::uint32_t thread) { load(next[thread].quads, thread); });
    for (std::uint32_t from = 0; from < quads; from += 4 * threads) {
      block.each([&](std::uint32_t thread) {
        std::uint32_t zeros = 0;
        quad(&now)[4] = next[thread].quads;
        ULP_UNROLL
        for (std::uint32_t k = 0; k < 4; ++k)
          if (from + k * threads + thread < quads)
            for (const std::uint32_t both : now[k].words) {
              one(both & 0xFFFF, zeros);
              one(both >> 16, zeros);
            }
        load(now, from + 4 * threads + thread);
        if (zeros > 0) add(0, zeros);
      });
      if (of.table != 0) take_down();
    }
    block.each([&](std::uint32_t thread) {
      const std::uint32_t rest = here.size - 8 * quads;
      if (thread < rest) add(values[thread < first ? thread : 8 * quads + thread], 1);
    });
    if (of.table == 0) {
      write_result<false>(block, *todo.of, of.header, size, 0, counted);
      continue;
    }
    block.each([&](std::uint32_t thread) {
      auto* const pairs = reinterpret_cast<std::uint64_t*>(joint.counts + first_code);
      for (std::uint32_t at = thread; at < size / 2; at += threads) {
        const std::uint32_t both = counted.table[at];
        if (both == 0) continue;
        block.add(pairs[at], static_cast<std::uint64_t>(both >> 16) << 32 | (both & 0xFFFF));
        counted.table[at] = 0;
      }
      block.publish();
    });
    joint.finish(block, *todo.of, of, codes16, is_last);
  }
}

// All codes of a type of 8 bits, each warp on its own. Shared memory, in words: 4, 8 a thread.
template <typename Block>
ULP_BOTH void count_codes8(Block& block, const work& todo) {
  const std::uint32_t threads = block.threads(), warps = threads / 32;
  std::uint32_t* const is_last = block.shared();
  code_counters8 counted;
  std::uint32_t* const table = counted.table = is_last + 4;
  clear(block, table, 256 * warps);
  for (std::uint32_t i = todo.first[block.index()]; i < todo.first[block.index() + 1]; ++i) {
    const piece here = todo.pieces[i];
    const tensor of = todo.tensors[here.tensor];
    block.each([&](std::uint32_t thread) {
      const auto* const octets = reinterpret_cast<const std::uint8_t*>(here.values);
      std::uint32_t* const its = table + 256 * (thread / 32);
      const std::uint32_t unaligned = static_cast<std::uint32_t>(-here.values) % 4;
      const std::uint32_t first = unaligned < here.size ? unaligned : here.size, words = (here.size - first) / 4;
      std::uint32_t zeros = 0;
      const auto one = [&](std::uint32_t code) {
        if (code == 0)
          ++zeros;
        else
          block.add(its[code], 1U);
      };
      for_words(block, thread, here.values + first, words, [&](std::uint32_t word) {
        one(word & 0xFF);
        one(word >> 8 & 0xFF);
        one(word >> 16 & 0xFF);
        one(word >> 24);
      });
      for (std::uint32_t at = thread; at < first; at += threads) one(octets[at]);
      for (std::uint32_t at = first + 4 * words + thread; at < here.size; at += threads) one(octets[at]);
      if (zeros > 0) block.add(its[0], zeros);
    });
    block.each([&](std::uint32_t thread) {
      for (std::uint32_t code = thread; code < 256; code += threads)
        for (std::uint32_t warp = 1; warp < warps; ++warp) {
          table[code] += table[256 * warp + code];
          table[256 * warp + code] = 0;
        }
    });
    if (of.table == 0) {
      write_result<false>(block, *todo.of, of.header, 256, 0, counted);
      continue;
    }
    const joint_table<false, Block> joint(of.table, 0);
    block.each([&](std::uint32_t thread) {
      for (std::uint32_t code = thread; code < 256; code += threads) {
        if (table[code] != 0) block.add(joint.counts[code], table[code]);
        table[code] = 0;
      }
      block.publish();
    });
    joint.finish(block, *todo.of, of, 256, is_last);
  }
}

// Brings headers, so many words, and what is staged behind them to the host.
template <typename Block>
ULP_BOTH void carry(Block& block, const batch& of, std::uint64_t host, std::uint64_t header_words) {
  const auto* const from = reinterpret_cast<const quad*>(of.headers);
  auto* const to = reinterpret_cast<quad*>(host);
  const std::uint64_t staged = of.staged < of.room ? of.staged : of.room, quads = (header_words + staged + 1) / 2;
  block.each([&](std::uint32_t thread) {
    for (std::uint64_t i = std::uint64_t{block.index()} * block.threads() + thread; i < quads;
         i += std::uint64_t{block.blocks()} * block.threads())
      to[i] = from[i];
  });
}

}  // namespace ulp::device

#endif
