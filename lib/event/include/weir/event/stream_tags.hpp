// SPDX-License-Identifier: Apache-2.0
// The stream tags in the header of an event: words of text. Which punctuation the ATLAS software puts
// inside one tag's text is not known to us, so this pair of functions is the only place that knows
// ours: "name type yes", then " robs:HEX,HEX" and " detectors:HEX,HEX" for a partial stream ("no"
// instead of "yes": does not obey lumi blocks). Each tag ends with NUL and is filled to a word with NUL.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "weir/base/data.hpp"
#include "weir/base/result.hpp"
#include "weir/base/stream_tag.hpp"

namespace weir::event {

inline constexpr std::size_t stream_tags_max = 64;            // of one event
inline constexpr std::size_t stream_tag_sources_max = 65536;  // ROBs of one tag

/// Whole words; empty for no tags. Errc::usage when a name or type is not allowed, Errc::limit when too many.
[[nodiscard]] Result<std::vector<std::byte>> encode_stream_tags(std::span<const StreamTag> tags);

/// Errc::unsupported when the text is written in another way than ours, Errc::truncated or
/// Errc::limit as above. The rest of an event can be used without knowing its tags.
[[nodiscard]] Result<std::vector<StreamTag>> decode_stream_tags(ConstData words);

}  // namespace weir::event
