#include "npz_file.hpp"

#include <ulp/io/bytes/error.hpp>
#include <ulp/model/cells/element_types.hpp>

#include "bytes/text.hpp"

namespace ulp::io {
namespace {

stored_as what_is_in(const npy_header& of) {
  if (of.values) return stored_as::numbers;
  if (!of.codes || of.codes->size != 1) return stored_as::other;
  return of.descr.find('V') != std::string::npos ? stored_as::nameless : stored_as::bytes;
}

}  // namespace

npz_file::npz_file(const std::string& path, const read_limits& limits) : archive_(path, limits) {
  for (const zip_member& member : archive_.members()) {
    const std::optional<std::string> name = name_of_array(archive_, member);
    if (!name) {
      others_.push_back(&member);
      continue;
    }
    const auto in = archive_.open(member);
    npy_header header = header_of(*in, member);
    stored_tensor& t = stored_.emplace_back();
    t.name = *name;
    t.type = header.descr;
    t.as = what_is_in(header);
    t.shape = header.shape;
    t.bytes = in->left();
    if (header.values) {
      t.number = header.values->type;
      t.order = header.values->order;
    }
    if (header.by_columns && header.shape.size() > 1)
      for (std::size_t i = header.shape.size(); i-- > 0;) t.lies_by.push_back(i);
    arrays_.push_back({&member, std::move(header)});
  }
}

std::unique_ptr<byte_stream> npz_file::open_stored(std::size_t index) const {
  const array& of = arrays_.at(index);
  auto in = archive_.open(*of.member);
  if (header_of(*in, *of.member).numel != of.header.numel) fail(*of.member, "changed while it was read");
  return in;
}

void npz_file::fail(const zip_member& member, const std::string& reason) const {
  throw input_error(path(), "member " + in_quotes(member.name), reason);
}

npy_header npz_file::header_of(byte_stream& in, const zip_member& member) const {
  return read_npy_header(in, path(), "member " + in_quotes(member.name));
}

}  // namespace ulp::io
