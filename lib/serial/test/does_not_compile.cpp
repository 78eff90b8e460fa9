// SPDX-License-Identifier: Apache-2.0
// Descriptions that are mistakes: each WEIR_CASE must not compile, with the message that CMakeLists.txt names; without
// one the file must.
#include <vector>

#include "weir/serial/reader.hpp"
#include "weir/serial/writer.hpp"

#ifndef WEIR_CASE
#define WEIR_CASE 0
#endif
#define TEN(x, m) m(x##0) m(x##1) m(x##2) m(x##3) m(x##4) m(x##5) m(x##6) m(x##7) m(x##8) m(x##9)
#define HUNDRED(x, m) \
    TEN(x##0, m)      \
    TEN(x##1, m)      \
    TEN(x##2, m) TEN(x##3, m) TEN(x##4, m) TEN(x##5, m) TEN(x##6, m) TEN(x##7, m) TEN(x##8, m) TEN(x##9, m)
#define MEMBER(name) int name = 0;
#define NAME(name) #name,
#define FIELD(name) field(#name, &Subject::name),

struct Subject {
    int a = 0;
    float b = 0;
#if WEIR_CASE == 4
    HUNDRED(c, MEMBER)
#elif WEIR_CASE == 5
    HUNDRED(c, MEMBER)
    HUNDRED(d, MEMBER)
    HUNDRED(e, MEMBER)
#elif WEIR_CASE == 7
private:
    int hidden = 0;
#endif
};
struct Old {
    int a = 0;
};
struct Large {
    HUNDRED(c, MEMBER)
    HUNDRED(d, MEMBER)
    TEN(e0, MEMBER)
};
inline Subject from_old(Old old) {
    Subject made;
    made.a = old.a;
    return made;
}

namespace weir::serial {
template <>
inline constexpr auto description<Old> = members("a").version(2).class_name("Subject");
template <>
inline constexpr auto description<Subject> =
#if WEIR_CASE == 0
    members("a", member("b").since(3)).version(3).older(from_old);
#define Subject Large
template <>
inline constexpr auto description<Large> =
    fields(HUNDRED(c, FIELD) HUNDRED(d, FIELD) TEN(e0, FIELD) field("last", &Large::e09));
#undef Subject
#elif WEIR_CASE == 1
    members();
#elif WEIR_CASE == 2
    members("a", "a");
#elif WEIR_CASE == 3
    members("a", "");
#elif WEIR_CASE == 4
    members(HUNDRED(c, NAME) "a", "b");
#elif WEIR_CASE == 5
    fields(HUNDRED(c, FIELD) HUNDRED(d, FIELD) HUNDRED(e, FIELD) field("a", &Subject::a), field("b", &Subject::b));
#elif WEIR_CASE == 6
    members("a", member("b").since(4)).version(3);
#elif WEIR_CASE == 7
    members("a", "b", "hidden");
#elif WEIR_CASE == 8
    members("a", "b").version(2).older(from_old);
#elif WEIR_CASE == 9
    fields(field("a", &Subject::a), field("a", &Subject::b));
#endif
}  // namespace weir::serial

bool write(weir::serial::Writer& writer, const std::vector<Subject>& all) { return writer.stream(all).has_value(); }
bool read(weir::serial::Reader& reader, std::vector<Subject>& all) { return reader.stream(all).has_value(); }
#if WEIR_CASE == 0
bool write(weir::serial::Writer& writer, const Large& large) { return writer.stream(large).has_value(); }
#endif
